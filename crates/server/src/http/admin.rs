//! What operators do: make events, open and close sales, look at reservations.

pub mod events;
pub mod reservations;
pub mod room_types;
