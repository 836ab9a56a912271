//! The actions of an event.

use crate::buyer::Buyer;
use crate::entries::EntryToken;
use crate::event::{EventAmendment, Turn};
use crate::holds::Ask;
use crate::ids::{Number, Seat, User};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventAction {
    /// The lowest free seat, first come, first served.
    Reserve(Buyer),
    /// This seat only, by the same rules.
    ReserveSeat {
        seat: Seat,
        buyer: Buyer,
    },
    /// All of these seats, in order and each once, or none of them.
    Hold {
        seats: Vec<Seat>,
        key: Box<str>,
    },
    OnHold {
        n: u64,
        ask: Ask,
    },
    /// The owner confirms a hold and names the buyer.
    ConfirmWith {
        n: u64,
        buyer: Box<Buyer>,
    },
    /// A service confirms a hold for its owner. The owner's seats and entry count as if the owner had confirmed: the
    /// confirmation may reach the limit and end the entry.
    ConfirmFor {
        n: u64,
        owner: User,
        /// None: the caller's dialect has no buyer for a hold.
        buyer: Option<Box<Buyer>>,
    },
    /// Cancels this sale and frees its seat.
    Cancel {
        n: u64,
    },
    /// Enters with this number, or returns the live entry that the user already has.
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
    /// Deletes a rehearsal together with its sales.
    DeleteSold,
}

impl EventAction {
    /// Commands that give stock back are decided first in a batch, so that later ones may get it.
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

    /// It requests a seat: it passes the door and gets an arrival number.
    pub fn wants_a_seat(&self) -> bool {
        matches!(self, EventAction::Reserve(_) | EventAction::ReserveSeat { .. })
    }
}
