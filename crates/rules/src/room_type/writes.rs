//! What is read for a batch of a room type, and what the batch writes.

use std::collections::HashMap;

use super::{NightRow, RoomRecord, Stay};
use crate::holds::Hold;
use crate::holds::book::HoldChanges;
use crate::nights::Night;
use crate::once::{KeptAnswers, NewAnswer};
use crate::subject::Writes;

/// What the ledger found.
#[derive(Debug, Default)]
pub struct RoomTypeKnown {
    /// The rows of nights within the hull; the others were never touched.
    pub nights: HashMap<Night, NightRow>,
    /// Every hold that was asked for, and what has lapsed: by the number it began with.
    pub holds: HashMap<u64, Hold>,
    pub stays: HashMap<u64, Stay>,
    pub answers: KeptAnswers,
}

/// What to write, in this order.
#[derive(Clone, Debug, Default)]
pub struct RoomTypeWrites {
    /// Rows of nights that nobody touched before.
    pub new_nights: Vec<Night>,
    pub shifts: Vec<Shift>,
    /// The ledger refuses to change one that is not held.
    pub changed: Vec<Hold>,
    pub begun: Vec<Hold>,
    pub stays: Vec<Stay>,
    /// Stays that end, by history number.
    pub ended: Vec<u64>,
    pub history: Vec<RoomRecord>,
    pub answers: Vec<NewAnswer>,
    /// The room type was amended; nights from this one on get its total.
    pub amended: Option<Night>,
}

impl Writes for RoomTypeWrites {
    fn is_empty(&self) -> bool {
        self.history.is_empty()
    }

    fn first_n(&self) -> Option<u64> {
        self.history.first().map(|record| record.n)
    }

    fn keep(&mut self, holds: HoldChanges, answers: Vec<NewAnswer>) {
        (self.changed, self.begun, self.answers) = (holds.changed, holds.begun, answers);
    }

    fn holds(self) -> Vec<Hold> {
        self.changed.into_iter().chain(self.begun).collect()
    }
}

/// By how much a night's counts change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    pub night: Night,
    pub reserved: i32,
    pub held: i32,
}
