//! What operators do: create events, open and close sales, read reservations. Every handler takes
//! an `Admin`, which only a request with the admin token has.

pub mod audit;
pub mod events;
mod fields;
pub mod history;
pub mod holds;
pub mod reservations;
pub mod room_types;
pub mod waiting_room;
mod whole;
