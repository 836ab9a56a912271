//! Seats: how a hall names them, and the row that says who has one.

use serde::{Deserialize, Serialize};

use crate::ids::{Number, Seat, User};
use crate::time::Moment;

/// How many seats there are and what they are called. Names are computed, never stored per seat:
/// a million seats cost nothing to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hall {
    /// One row `A` of so many seats.
    Count(u32),
}

impl Hall {
    pub fn seat_count(&self) -> u32 {
        match self {
            Hall::Count(count) => *count,
        }
    }

    pub fn seat_name(&self, seat: Seat) -> String {
        match self {
            Hall::Count(_) => format!("A{}", seat.0),
        }
    }
}

/// A seat that was sold, as its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sale {
    pub seat: Seat,
    /// History number of the sale; with the event it is the reservation's id.
    pub n: u64,
    /// Nobody's seats have neither owner nor unit.
    pub owner: Option<Unit>,
    pub buyer_name: Option<Box<str>>,
    pub phone: Option<Box<str>>,
    pub number: Option<Number>,
    pub at: Moment,
}

/// Which of a user's seats this is. Unique per user and event, and never above the limit of the
/// moment it was sold: the ledger's constraints say the same again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub user: User,
    pub unit: u32,
    pub limit: u32,
}
