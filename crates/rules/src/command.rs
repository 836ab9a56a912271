//! What can be asked of an event; `stays.rs` says it of a room type. A command is whole before it is queued: nothing is looked up,
//! parsed or awaited between the queue and the decision.

use crate::entries::EntryToken;
use crate::event::{Event, EventAmendment, Turn};
use crate::history::Actor;
use crate::holds::{Ask, HoldTerms};
use crate::ids::{Number, RequestName, Seat};
use crate::subject::Subject;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command<S: Subject = Event> {
    pub actor: Actor,
    /// Order of arrival; none for what is ordered by the server's queue alone.
    pub number: Option<Number>,
    pub name: RequestName,
    pub key: Option<Key>,
    /// Shown by whoever books in an event with a waiting room.
    pub entry: Option<EntryToken>,
    pub action: S::Action,
}

/// A caller's `Idempotency-Key`, with a digest of what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub text: Box<str>,
    pub content: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventAction {
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
    /// Comes into the waiting room by this number, or finds the entry that one has.
    Enter {
        number: Option<Number>,
        token: EntryToken,
    },
    /// Gives the entry back.
    Leave,
    /// The entry lives on, as long as it may.
    Renew,
    Turn(Turn),
    Amend(EventAmendment),
    Delete,
}

impl EventAction {
    /// In a batch, what gives back comes first: those behind it may have the seat.
    pub fn gives_back(&self) -> bool {
        matches!(self, EventAction::Cancel { .. } | EventAction::Leave | EventAction::OnHold { ask: Ask::Cancel, .. })
    }

    pub fn is_about_entries(&self) -> bool {
        matches!(self, EventAction::Enter { .. } | EventAction::Leave | EventAction::Renew)
    }

    /// Holds are waited for at most a second.
    pub fn about_a_hold(&self) -> bool {
        matches!(self, EventAction::Hold { .. } | EventAction::OnHold { .. })
    }

    /// It asks for a seat: it comes through the door and gets a number.
    pub fn wants_a_seat(&self) -> bool {
        matches!(self, EventAction::Reserve(_) | EventAction::ReserveSeat { .. })
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
