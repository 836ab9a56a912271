//! What a batch of a room type reads and writes.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Add, Neg};

use super::{NightRow, RoomRecord, Stay};
use crate::holds::book::HoldChanges;
use crate::holds::{CountStep, Hold};
use crate::nights::{Dates, Night};
use crate::once::{KeptAnswers, NewAnswer};
use crate::subject::Writes;

/// What the ledger read.
#[derive(Debug, Default)]
pub struct RoomTypeKnown {
    /// The rows of nights within the hull; other nights have no row.
    pub nights: HashMap<Night, NightRow>,
    /// Every requested hold, and every lapsed hold that was read, by the history number at which it began.
    pub holds: HashMap<u64, Hold>,
    pub stays: HashMap<u64, Stay>,
    pub answers: KeptAnswers,
    /// Lapsed holds beyond the room type's mark, by their dates.
    pub count: Option<CountStep<Vec<(Dates, u32)>>>,
}

/// What to write, in this order.
#[derive(Clone, Debug, Default)]
pub struct RoomTypeWrites {
    /// New rows of nights without a row, with their totals.
    pub new_nights: Vec<(Night, u32)>,
    pub shifts: Vec<Shift>,
    /// The ledger refuses to change a hold that is not held.
    pub changed: Vec<Hold>,
    pub begun: Vec<Hold>,
    pub stays: Vec<Stay>,
    /// Stays that end, by history number.
    pub ended: Vec<u64>,
    pub history: Vec<RoomRecord>,
    pub answers: Vec<NewAnswer>,
    /// Nights whose total changes.
    pub totals: BTreeMap<Night, u32>,
    /// Whether lapsed holds were counted.
    pub counted: bool,
}

impl Writes for RoomTypeWrites {
    fn is_empty(&self) -> bool {
        self.history.is_empty() && !self.counted
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

/// The change of a night's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    pub night: Night,
    pub by: NightShift,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NightShift {
    pub reserved: i32,
    pub held: i32,
    pub lapsed: i32,
}

impl Add for NightShift {
    type Output = NightShift;

    fn add(self, other: NightShift) -> NightShift {
        NightShift {
            reserved: self.reserved + other.reserved,
            held: self.held + other.held,
            lapsed: self.lapsed + other.lapsed,
        }
    }
}

impl Neg for NightShift {
    type Output = NightShift;

    fn neg(self) -> NightShift {
        NightShift { reserved: -self.reserved, held: -self.held, lapsed: -self.lapsed }
    }
}
