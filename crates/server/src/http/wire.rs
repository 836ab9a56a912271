//! The shapes of bodies, as the contract writes them. The schemas of the OpenAPI document are derived
//! from these types, and their `///` comments are its descriptions.
//!
//! An `Option` that is left out when it is none has `#[schemars(required)]`, or `with` its type: to schemars
//! that means "if it is there, it is not null".

pub mod answers;
pub mod asked;
pub mod events;
pub mod line;
pub mod live;
pub mod orders;
pub mod records;
pub mod refusals;
pub mod reservations;
pub mod seats;
pub mod seeds;
pub mod stays;
pub mod tokens;
pub mod users;
mod verdict;
pub mod webhooks;

use jiff::Timestamp;
use rules::time::Moment;

pub use self::events::{AdminEventBody, EventBody, WaitingRoomBody};
pub use self::reservations::{AdminReservationBody, ReservationBody, ReservedBody, SeatName};
pub use self::seats::{BareSeatBody, LayoutBody, SeatBody, SoldSeatBody};
pub use self::verdict::{Failed, Succeeded};

/// RFC 3339 in UTC, always with milliseconds.
pub fn moment(at: Moment) -> String {
    format!("{:.3}", timestamp(at))
}

/// The same as the dialects of the seeds write it: without zeros at the end.
pub fn seed_moment(at: Moment) -> String {
    timestamp(at).to_string()
}

fn timestamp(at: Moment) -> Timestamp {
    Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// RFC 3339 with an offset, or none if there is no such moment.
pub fn read_moment(text: &str) -> Option<Moment> {
    text.parse::<Timestamp>().ok().map(|at| Moment(at.as_millisecond()))
}
