//! The handlers, one file per resource. Each gets a `Call` that has passed the checks its row in the
//! route table declares.

pub mod admin;
pub mod details;
pub mod docs;
pub mod events;
pub mod health;
pub mod holds;
pub mod page;
pub mod queue;
pub mod reservations;
pub mod room_types;
pub mod seats;
pub mod stream;
