//! Moments in milliseconds since 1970 UTC. The rules are handed a [`Reading`]; they never ask for the time.
//!
//! A clock has two hands. `now` is monotonic: ends of holds and entries, windows and history follow it, so
//! that setting the wall clock ends or revives nothing. `wall` is what people read off their own clocks:
//! opening times and dates follow it, so that a corrected wall clock counts at once.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    pub fn plus_ms(self, ms: i64) -> Moment {
        Moment(self.0.saturating_add(ms))
    }

    pub fn ms_until(self, later: Moment) -> i64 {
        later.0.saturating_sub(self.0)
    }

    /// Whole seconds until `later`, rounded up, never negative: what a countdown shows.
    pub fn seconds_until(self, later: Moment) -> u64 {
        let ms = self.ms_until(later).max(0) as u64;
        ms.div_ceil(1000)
    }
}

/// Both hands of a clock, read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The ledger's own time. It never goes back.
    pub now: Moment,
    pub wall: Moment,
}

/// A clock whose hands agree.
impl From<Moment> for Reading {
    fn from(now: Moment) -> Reading {
        Reading { now, wall: now }
    }
}

/// Where the time comes from. Implemented outside this crate: by the system, or by a test's hand.
pub trait Clock: Send + Sync {
    /// The monotonic hand.
    fn now(&self) -> Moment;

    fn wall(&self) -> Moment {
        self.now()
    }

    /// What a stored moment needs to be shown as the wall clock has it. Changes only when the wall clock was
    /// set, so that one moment is always shown alike.
    fn shift_ms(&self) -> i64 {
        0
    }

    fn read(&self) -> Reading {
        Reading { now: self.now(), wall: self.wall() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_up_and_stop_at_zero() {
        assert_eq!(Moment(0).seconds_until(Moment(1)), 1);
        assert_eq!(Moment(0).seconds_until(Moment(1000)), 1);
        assert_eq!(Moment(5000).seconds_until(Moment(1000)), 0);
    }
}
