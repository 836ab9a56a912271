//! Sold seats: the row that records the owner of a seat. `hall.rs` names the seats.

use crate::buyer::Metadata;
pub use crate::hall::{Hall, HallRow, Section};
use crate::ids::{Number, Seat, User};
use crate::time::Moment;

/// A sold seat, as read from its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sale {
    pub seat: Seat,
    /// History number of the sale; with the event it is the reservation's id.
    pub n: u64,
    /// None for an anonymous sale, which has neither owner nor unit.
    pub owner: Option<Unit>,
    pub buyer_name: Option<Box<str>>,
    pub phone: Option<Box<str>>,
    pub email: Option<Box<str>>,
    pub metadata: Option<Metadata>,
    pub number: Option<Number>,
    pub at: Moment,
}

/// Which of a user's seats this is. Unique per user and event, and never above the limit that applied when it was sold.
/// The constraints of the ledger enforce the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub user: User,
    pub unit: u32,
    pub limit: u32,
}
