//! What a batch of an event reads, what it writes, and what it changes besides its rows.

use std::collections::{HashMap, HashSet};

use super::stock::{SeatRow, Walk, Was};
use crate::buyer::Metadata;
use crate::entries::{Entry, Moved};
use crate::history::EventRecord;
use crate::holds::book::HoldChanges;
use crate::holds::{CountStep, Hold};
use crate::ids::{Number, Seat, User};
use crate::once::{KeptAnswers, NewAnswer};
use crate::seats::{Sale, Unit};
use crate::subject::Writes;
use crate::time::Moment;

/// What the ledger read.
#[derive(Debug, Default)]
pub struct EventKnown {
    /// Lapsed seats beyond the event's mark.
    pub count: Option<CountStep<u32>>,
    /// Every seat that each of those users has in this event.
    pub holdings: HashMap<User, Vec<Holding>>,
    pub answers: KeptAnswers,
    /// Sales that were not cancelled.
    pub sales: HashMap<u64, Sale>,
    /// The lowest freed seats.
    pub free: Vec<Seat>,
    /// The requested seats that have a row.
    pub rows: HashMap<Seat, SeatRow>,
    /// The lowest gaps beyond the cursor. None: they were not read.
    pub walk: Option<Walk>,
    /// Entries that have not ended.
    pub entries: HashMap<User, Entry>,
    /// The requested arrival numbers that were already used to enter.
    pub spent: HashSet<Number>,
    /// The oldest lapsed entries that have not been ended yet.
    pub lapsed: Vec<Entry>,
    /// The holds on the seats, of the users and with the keys that were requested, and lapsed holds on other seats, by
    /// the history number at which they began. Read only if anything is on hold.
    pub holds: HashMap<u64, Hold>,
    /// When the first live hold ends.
    pub first_end: Option<Moment>,
}

/// A seat that a user has, sold or on hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub seat: Seat,
    pub n: u64,
    pub unit: u32,
    pub at: Moment,
}

/// What a batch of an event changed besides its rows.
#[derive(Debug, Default)]
pub struct EventEffects {
    /// When the first hold ends.
    pub first_end: Option<Moment>,
    /// Entries that began, were renewed or ended. They are sent to the door.
    pub moved: Vec<Moved>,
}

/// What to write, in this order: seats freed, freed seats sold again, seats sold for the first time; then changed
/// holds, new holds, seats put on hold, held seats that were sold; then entries created, renewed and ended.
#[derive(Clone, Debug, Default)]
pub struct EventWrites {
    pub freed: Vec<FreedSeat>,
    pub resold: Vec<Sale>,
    pub sold: Vec<Sale>,
    /// The ledger refuses to change a hold that is not held.
    pub holds_changed: Vec<Hold>,
    pub holds_begun: Vec<Hold>,
    pub held: Vec<HeldSeat>,
    pub confirmed: Vec<ConfirmedSeat>,
    pub entered: Vec<NewEntry>,
    pub renewed: Vec<RenewedEntry>,
    pub over: Vec<EndedEntry>,
    pub history: Vec<EventRecord>,
    pub answers: Vec<NewAnswer>,
    /// Name, limit, opening, state or the end of the draw changed: write more of the event's row than its counts.
    pub event_changed: bool,
    /// How many rows the cursor passed.
    pub cursor_moved: u32,
    /// Whether lapsed holds were counted.
    pub counted: bool,
}

/// A refused batch still writes the cursor if the next batch would otherwise read this many rows again.
const CURSOR_FAR: u32 = 1_000;

impl Writes for EventWrites {
    fn is_empty(&self) -> bool {
        let entries = self.renewed.is_empty() && self.over.is_empty();
        let counts = !self.counted && self.cursor_moved < CURSOR_FAR;
        self.history.is_empty() && entries && counts && !self.event_changed
    }

    fn first_n(&self) -> Option<u64> {
        self.history.first().map(|record| record.n)
    }

    fn keep(&mut self, holds: HoldChanges, answers: Vec<NewAnswer>) {
        (self.holds_changed, self.holds_begun, self.answers) = (holds.changed, holds.begun, answers);
    }

    fn holds(self) -> Vec<Hold> {
        self.holds_changed.into_iter().chain(self.holds_begun).collect()
    }
}

/// A seat to put on hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSeat {
    pub seat: Seat,
    pub n: u64,
    pub unit: Unit,
    pub hold: u64,
    pub at: Moment,
    pub ends_at: Moment,
    pub was: Was,
}

/// A held seat that becomes a sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmedSeat {
    pub seat: Seat,
    pub hold: u64,
    /// History number of the sale.
    pub n: u64,
    pub at: Moment,
    /// The metadata of its hold.
    pub metadata: Option<Metadata>,
    /// What the buyer gave with the confirmation.
    pub buyer_name: Option<Box<str>>,
    pub phone: Option<Box<str>>,
    pub email: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreedSeat {
    pub seat: Seat,
    /// The sale or hold that this ends: the ledger refuses to free any other.
    pub n: u64,
}

/// A new entry, and what the database checks it against: it is number `nth` of at most `most` inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pub entry: Entry,
    pub nth: u32,
    pub most: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewedEntry {
    pub number: Number,
    pub ends: Moment,
}

/// An entry that was given back or has lapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedEntry {
    pub number: Number,
    pub at: Moment,
}
