//! What can be asked of an event.

use crate::entries::EntryToken;
use crate::event::{EventAmendment, Turn};
use crate::holds::Ask;
use crate::ids::{Number, Seat};

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
