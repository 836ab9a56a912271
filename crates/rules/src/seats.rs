//! Sold seats: the row that says who owns one. `hall.rs` names the seats.

use crate::buyer::Metadata;
pub use crate::hall::{Hall, HallRow, Section};
use crate::ids::{Number, Seat, User};
use crate::time::Moment;

/// A seat that was sold, as its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sale {
    pub seat: Seat,
    /// History number of the sale; with the event it is the reservation's id.
    pub n: u64,
    /// None for an anonymous sale: it has neither owner nor unit.
    pub owner: Option<Unit>,
    pub buyer_name: Option<Box<str>>,
    pub phone: Option<Box<str>>,
    pub email: Option<Box<str>>,
    pub metadata: Option<Metadata>,
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
