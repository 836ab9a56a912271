//! FAULTS A and C on PostgreSQL and Redis: what happens to them, and what must not happen to buyers.

mod boot;
mod databases;
mod doors;
pub mod history;
mod holds;
pub mod servers;
mod waking;
mod wall_clock;
