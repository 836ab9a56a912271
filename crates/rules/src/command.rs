//! What can be asked of an event; `stays.rs` says it of a room type. A command is whole before it is queued: nothing is looked up,
//! parsed or awaited between the queue and the decision.

use crate::event::{Amendment, Turn};
use crate::history::Actor;
use crate::holds::{Ask, HoldTerms};
use crate::ids::{Number, RequestName, Seat};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command<A = Action> {
    pub actor: Actor,
    /// Order of arrival; none for what is ordered by the server's queue alone.
    pub number: Option<Number>,
    pub name: RequestName,
    pub key: Option<Key>,
    pub action: A,
}

/// A caller's `Idempotency-Key`, with a digest of what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub text: Box<str>,
    pub content: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The lowest free seat, first come, first served.
    Reserve(Buyer),
    /// This seat and no other, by the same rules.
    ReserveSeat {
        seat: Seat,
        buyer: Buyer,
    },
    /// These seats, in order and each once, or none of them.
    Hold {
        seats: Vec<Seat>,
        key: Box<str>,
    },
    OnHold {
        n: u64,
        ask: Ask,
    },
    /// Gives the seat of this sale back.
    Cancel {
        n: u64,
    },
    Turn(Turn),
    Amend(Amendment),
    Delete,
}

impl Action {
    /// In a batch, what gives back comes first: those behind it may have the seat.
    pub fn gives_back(&self) -> bool {
        matches!(self, Action::Cancel { .. } | Action::OnHold { ask: Ask::Cancel, .. })
    }

    /// Holds are waited for at most a second.
    pub fn about_a_hold(&self) -> bool {
        matches!(self, Action::Hold { .. } | Action::OnHold { .. })
    }

    /// It asks for a seat: it comes through the door and gets a number.
    pub fn wants_a_seat(&self) -> bool {
        matches!(self, Action::Reserve(_) | Action::ReserveSeat { .. })
    }
}

/// What the buyer told about themselves. Kept with the sale, shown to the admin only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buyer {
    pub name: Option<Box<str>>,
    /// E.164.
    pub phone: Option<Box<str>>,
}

/// Settings that a decision depends on, the same for all events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long after a sale a repeated request is called `duplicate`; 0: for ever.
    pub user_ttl_ms: i64,
    /// How long an answer is kept for its key.
    pub key_ttl_ms: i64,
    pub holds: HoldTerms,
}

impl Default for Terms {
    fn default() -> Self {
        Terms { user_ttl_ms: 900_000, key_ttl_ms: 86_400_000, holds: HoldTerms::default() }
    }
}
