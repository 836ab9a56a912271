//! History records: one row per change, numbered per subject without gaps, in commit order.

use crate::ids::{Number, Seat, User};
use crate::time::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Happened {
    Created,
    Reserved,
    Cancelled,
    Opened,
    Paused,
    Resumed,
    Closed,
    Amended,
    Deleted,
    Entered,
    Left,
    Held,
    Extended,
    /// A newer hold of the same user took its place.
    Replaced,
    /// A hold was given back.
    Released,
    /// A hold ended by the clock.
    Expired,
}

impl Happened {
    pub const ALL: [Happened; 16] = [
        Happened::Created,
        Happened::Reserved,
        Happened::Cancelled,
        Happened::Opened,
        Happened::Paused,
        Happened::Resumed,
        Happened::Closed,
        Happened::Amended,
        Happened::Deleted,
        Happened::Entered,
        Happened::Left,
        Happened::Held,
        Happened::Extended,
        Happened::Replaced,
        Happened::Released,
        Happened::Expired,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Happened::Created => "created",
            Happened::Reserved => "reserved",
            Happened::Cancelled => "cancelled",
            Happened::Opened => "opened",
            Happened::Paused => "paused",
            Happened::Resumed => "resumed",
            Happened::Closed => "closed",
            Happened::Amended => "amended",
            Happened::Deleted => "deleted",
            Happened::Entered => "entered",
            Happened::Left => "left",
            Happened::Held => "held",
            Happened::Extended => "extended",
            Happened::Replaced => "replaced",
            Happened::Released => "released",
            Happened::Expired => "expired",
        }
    }

    pub fn named(text: &str) -> Option<Happened> {
        Happened::ALL.into_iter().find(|h| h.as_str() == text)
    }
}

/// Who did it. `Nobody` is a reservation without any identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    User(User),
    Nobody,
    Admin,
}

impl Actor {
    pub fn user(&self) -> Option<&User> {
        match self {
            Actor::User(user) => Some(user),
            Actor::Nobody | Actor::Admin => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    pub n: u64,
    pub what: Happened,
    pub seat: Option<Seat>,
    /// Whose seat it is about. None for changes of the event itself and for anonymous sales.
    pub owner: Option<User>,
    pub by_admin: bool,
    pub number: Option<Number>,
    pub at: Moment,
    /// The hold it is about, by the number it began with.
    pub hold: Option<u64>,
}
