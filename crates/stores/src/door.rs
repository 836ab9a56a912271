//! The door port: who may come in, and in which order. Nothing here can sell or free anything,
//! so all of it may be lost at any moment.

pub mod local;

use std::fmt;

use rules::arrive::{Arrival, Arrived};
use rules::ids::{EventId, RequestName, User};

use crate::Working;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoorFault(pub String);

impl fmt::Display for DoorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the door cannot be used: {}", self.0)
    }
}

impl std::error::Error for DoorFault {}

/// A mark to take away: whose, and the request that set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub user: User,
    pub name: RequestName,
}

pub trait Door: Send + Sync + 'static {
    /// Lets requests in, in this order; one answer each. Without a known generation every answer
    /// is `NoNumber`: the caller raises it in the ledger, calls `open`, and asks again.
    fn arrive(&self, event: EventId, arrivals: Vec<Arrival>) -> Working<Result<Vec<Arrived>, DoorFault>>;

    /// Numbers of this generation may be given. A lower one than the door knows is ignored.
    fn open(&self, event: EventId, generation: u64) -> Working<Result<(), DoorFault>>;

    /// These requests have ended, so their users may ask again.
    fn release(&self, event: EventId, ended: Vec<Release>) -> Working<Result<(), DoorFault>>;

    fn ready(&self) -> Working<Result<(), DoorFault>>;
}
