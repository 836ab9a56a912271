//! Timestamps in milliseconds since 1970 UTC. The caller passes a [`Reading`] to the rules; they never read a clock.
//!
//! A clock has two readings. `now` is monotonic. Ends of holds and entries, windows and history use it, so that setting
//! the wall clock expires or revives nothing. `wall` is the wall clock. Opening times and dates use it, so that a
//! correction of the wall clock applies at once.

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

    /// Whole seconds until `later`, rounded up, never negative: the value of a countdown.
    pub fn seconds_until(self, later: Moment) -> u64 {
        let ms = self.ms_until(later).max(0) as u64;
        ms.div_ceil(1000)
    }
}

/// Both readings of a clock, taken at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The ledger's own time. It never goes back.
    pub now: Moment,
    pub wall: Moment,
}

/// A clock whose two readings are equal.
impl From<Moment> for Reading {
    fn from(now: Moment) -> Reading {
        Reading { now, wall: now }
    }
}

/// The source of the time. Implemented outside this crate: by the system, or by a test.
pub trait Clock: Send + Sync {
    /// The monotonic reading.
    fn now(&self) -> Moment;

    fn wall(&self) -> Moment {
        self.now()
    }

    /// The offset that converts a stored timestamp to wall clock time for display. It changes only when the wall clock
    /// was set, so that one timestamp is always displayed alike.
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
