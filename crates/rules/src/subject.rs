//! Subjects: the kinds of things that are sold, and the ids that contain them. An id names its subject, so no lookup is
//! needed to find it.

use std::fmt::{self, Debug, Display};
use std::hash::Hash;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::command::{Command, Terms};
use crate::decide::{self, Deciding, Decision, Opening};
use crate::history::{Actor, Happened};
use crate::holds::book::HoldChanges;
use crate::holds::{Hold, HoldTerms};
use crate::ids::{EventId, NotAnId, ReservationId, whole};
use crate::once::NewAnswer;
use crate::outcome::{Done, Refusal};
use crate::time::Reading;

/// A kind of thing that is sold: an event or a room type. The value itself is the row that every batch locks. One
/// engine serves every kind; an implementation defines only what differs.
pub trait Subject: Clone + Debug + PartialEq + Send + Sync + 'static {
    type Id: Copy + Debug + Display + Eq + Ord + Hash + Send + Sync + 'static;
    /// An action on this kind of subject.
    type Action: Clone + Debug + PartialEq + Eq + Send + Sync + 'static;
    /// What the ledger read for a batch.
    type Known: Debug + Default + Send;
    /// The working state of a batch while it is decided, besides holds and stored answers.
    type Draft: Debug;
    /// What a batch writes.
    type Writes: Writes;
    /// What a batch changed besides its rows, to be published.
    type Effects: Debug + Default + Send + Sync + 'static;

    fn subject(id: Self::Id) -> SubjectId;

    fn id(&self) -> Self::Id;

    /// It was deleted for good: requests for it get 404, its rows may be gone, its holds are no longer marked expired.
    fn deleted(&self) -> bool {
        false
    }

    /// The number of its newest history row.
    fn newest(&self) -> u64;

    /// Commands that give stock back are decided first in a batch, so that later ones may get it.
    fn gives_back(action: &Self::Action) -> bool;

    /// The action creates or concerns a hold: such requests have a deadline of one second.
    fn about_a_hold(action: &Self::Action) -> bool;

    /// Combines the effects of two batches, one after the other.
    fn then(effects: &mut Self::Effects, later: Self::Effects);

    /// The subject's own hold settings, if it has any.
    fn hold_terms(&self, terms: HoldTerms) -> HoldTerms {
        terms
    }

    /// Begins a batch with what was read for it.
    fn open(&self, known: Self::Known) -> Opening<Self::Draft>;

    /// Adds the newly counted lapsed holds to the sums, before any of them is marked expired.
    fn count_lapsed(deciding: &mut Deciding<Self>);

    /// Called after the lapsed holds were marked expired. Ends what else has lapsed, before the first command.
    fn turn_lapsed(_: &mut Deciding<Self>) {}

    /// Answers one command.
    fn perform(deciding: &mut Deciding<Self>, command: &Command<Self>) -> Result<Done, Refusal>;

    /// A hold began: take its stock.
    fn take_stock(deciding: &mut Deciding<Self>, hold: &Hold, actor: &Actor);

    /// A hold ended without a sale: free its stock.
    fn return_stock(deciding: &mut Deciding<Self>, hold: &Hold, why: Happened, actor: Option<&Actor>);

    /// A hold was confirmed: sell its stock. Returns the history numbers of the reservations.
    fn sell_stock(deciding: &mut Deciding<Self>, hold: &Hold, actor: &Actor) -> Vec<u64>;

    /// A hold was extended.
    fn record_extension(deciding: &mut Deciding<Self>, hold: &Hold, actor: &Actor);

    /// The ledger stopped reading before it found stock that this batch can sell. It reads further, and decides again.
    fn short(_: &Self::Draft) -> bool {
        false
    }

    /// Ends the batch: moves what the draft collected to the row, the writes and the effects.
    fn close(before: &Self, after: &mut Self, draft: Self::Draft, writes: &mut Self::Writes) -> Self::Effects;

    /// Decides a batch. `commands` may come in any order; the answers have the same order.
    fn decide(&self, known: Self::Known, commands: &[Command<Self>], terms: &Terms, read: Reading) -> Decision<Self> {
        decide::decide(self, known, commands, terms, read)
    }
}

/// What a batch of any subject writes.
pub trait Writes: Clone + Debug + Default + Send + Sync + 'static {
    /// Nothing to write: the batch was refused, and needs neither row lock nor flush.
    fn is_empty(&self) -> bool;

    /// The number of its first history row.
    fn first_n(&self) -> Option<u64>;

    /// Takes over what every kind of subject writes.
    fn keep(&mut self, holds: HoldChanges, answers: Vec<NewAnswer>);

    /// Holds that began or changed, in their new state.
    fn holds(self) -> Vec<Hold>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoomTypeId(pub i64);

impl fmt::Display for RoomTypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

impl FromStr for RoomTypeId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let id = whole(text).and_then(|id| i64::try_from(id).ok()).filter(|id| *id >= 1);
        id.map(RoomTypeId).ok_or(NotAnId)
    }
}

/// The unit of ordering: every change of a subject goes through it, in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SubjectId {
    Event(EventId),
    RoomType(RoomTypeId),
    /// The ledger itself: what operators do that concerns no event and no room type. It has a history, but no lane.
    Ledger,
}

impl SubjectId {
    /// Its key in the tables that both kinds share: event ids are positive, room type ids negative, so that one column
    /// is a key for either.
    pub fn row(self) -> i64 {
        match self {
            SubjectId::Event(event) => event.0,
            SubjectId::RoomType(room_type) => -room_type.0,
            SubjectId::Ledger => 0,
        }
    }

    pub fn of_row(row: i64) -> SubjectId {
        match row {
            0 => SubjectId::Ledger,
            row if row < 0 => SubjectId::RoomType(RoomTypeId(-row)),
            row => SubjectId::Event(EventId(row)),
        }
    }
}

/// `e1`, `r7`: also the hash tag of its Redis keys.
impl fmt::Display for SubjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubjectId::Event(event) => write!(f, "e{event}"),
            SubjectId::RoomType(room_type) => write!(f, "r{room_type}"),
            SubjectId::Ledger => f.write_str("ledger"),
        }
    }
}

/// A hold, named by its subject and the history number at which it began: `hr7-12`, `he2-31`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HoldId {
    pub subject: SubjectId,
    pub n: u64,
}

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{}-{}", self.subject, self.n)
    }
}

/// A confirmed stay, named by its room type and the history number of its confirmation: `r7-13`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StayId {
    pub room_type: RoomTypeId,
    pub n: u64,
}

impl fmt::Display for StayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}-{}", self.room_type, self.n)
    }
}

/// What a reservation's id can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyReservation {
    Seat(ReservationId),
    Stay(StayId),
}

fn numbers(text: &str) -> Option<(i64, u64)> {
    let (subject, n) = text.split_once('-')?;
    let subject = whole(subject).and_then(|id| i64::try_from(id).ok())?;
    let n = whole(n).filter(|n| i64::try_from(*n).is_ok())?;
    Some((subject, n))
}

impl FromStr for AnyReservation {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        match text.strip_prefix('r') {
            Some(rest) => {
                let (room_type, n) = numbers(rest).ok_or(NotAnId)?;
                Ok(AnyReservation::Stay(StayId { room_type: RoomTypeId(room_type), n }))
            }
            None => text.parse().map(AnyReservation::Seat),
        }
    }
}

impl FromStr for HoldId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let rest = text.strip_prefix('h').ok_or(NotAnId)?;
        let (kind, rest) = rest.split_at_checked(1).ok_or(NotAnId)?;
        let (id, n) = numbers(rest).ok_or(NotAnId)?;
        let subject = match kind {
            "e" => SubjectId::Event(EventId(id)),
            "r" => SubjectId::RoomType(RoomTypeId(id)),
            _ => return Err(NotAnId),
        };
        Ok(HoldId { subject, n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_spelling() {
        let on_room = HoldId { subject: SubjectId::RoomType(RoomTypeId(7)), n: 12 };
        let on_event = HoldId { subject: SubjectId::Event(EventId(2)), n: 31 };
        assert_eq!((on_room.to_string(), on_event.to_string()), ("hr7-12".into(), "he2-31".into()));
        assert_eq!((on_room.to_string().parse(), on_event.to_string().parse()), (Ok(on_room), Ok(on_event)));
        for bad in ["", "h", "hr", "hr7", "hr7-", "h7-1", "hx7-1", "hr07-1", "hr7-01", "r7-1", "hr7-1 ", "hé7-1"] {
            assert_eq!(bad.parse::<HoldId>(), Err(NotAnId), "{bad}");
        }
        let stay = StayId { room_type: RoomTypeId(7), n: 13 };
        assert_eq!(stay.to_string().parse(), Ok(AnyReservation::Stay(stay)));
        let seat = ReservationId { event: EventId(1), n: 43 };
        assert_eq!("e1-43".parse(), Ok(AnyReservation::Seat(seat)));
        assert_eq!("r7-+1".parse::<AnyReservation>(), Err(NotAnId));
    }

    #[test]
    fn row_numbers_round_trip() {
        for subject in [SubjectId::Event(EventId(7)), SubjectId::RoomType(RoomTypeId(7))] {
            assert_eq!(SubjectId::of_row(subject.row()), subject);
        }
    }
}
