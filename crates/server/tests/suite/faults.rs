//! FAULTS A and C on PostgreSQL and Redis: what happens to them, and what must not happen to buyers.

mod boot;
mod caches;
mod databases;
mod disk;
mod doors;
pub mod history;
mod holds;
mod log_lines;
mod order;
mod restores;
pub mod servers;
mod waking;
mod wall_clock;
