//! What can be asked of an event.

use crate::buyer::Buyer;
use crate::entries::EntryToken;
use crate::event::{EventAmendment, Turn};
use crate::holds::Ask;
use crate::ids::{Number, Seat, User};

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
    /// Its owner confirms a hold and says who buys.
    ConfirmWith {
        n: u64,
        buyer: Box<Buyer>,
    },
    /// A service confirms a hold for its owner. The owner's seats and entry matter as if the owner had
    /// confirmed: the confirmation may reach the limit and end the entry.
    ConfirmFor {
        n: u64,
        owner: User,
        /// None: the caller's dialect knows no buyer of a hold.
        buyer: Option<Box<Buyer>>,
    },
    /// Gives the seat of this sale back.
    Cancel {
        n: u64,
    },
    /// Enters by this number, or returns the live entry that the user already has.
    Enter {
        number: Option<Number>,
        token: EntryToken,
    },
    /// Gives the entry back.
    Leave,
    /// Extends the entry, at most to its cap.
    Renew,
    Turn(Turn),
    Amend(EventAmendment),
    Delete,
    /// Deletes a rehearsal with what it sold.
    DeleteSold,
}

impl EventAction {
    /// Commands that give back are served first in a batch, so that later ones may get what came back.
    pub fn gives_back(&self) -> bool {
        matches!(self, EventAction::Cancel { .. } | EventAction::Leave | EventAction::OnHold { ask: Ask::Cancel, .. })
    }

    pub fn is_about_entries(&self) -> bool {
        matches!(self, EventAction::Enter { .. } | EventAction::Leave | EventAction::Renew)
    }

    /// Requests about holds have a deadline of one second.
    pub fn about_a_hold(&self) -> bool {
        matches!(self, EventAction::Hold { .. } | EventAction::OnHold { .. }) || self.confirms_a_hold()
    }

    pub fn confirms_a_hold(&self) -> bool {
        matches!(
            self,
            EventAction::OnHold { ask: Ask::Confirm, .. }
                | EventAction::ConfirmWith { .. }
                | EventAction::ConfirmFor { .. }
        )
    }

    /// It asks for a seat: it comes through the door and gets a number.
    pub fn wants_a_seat(&self) -> bool {
        matches!(self, EventAction::Reserve(_) | EventAction::ReserveSeat { .. })
    }
}
