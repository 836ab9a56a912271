//! Clocks that a test moves instead of sleeping.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rules::time::{Clock, Moment};

/// Where fixture clocks begin: some day in 2027.
pub const START: Moment = Moment(1_800_000_000_000);

/// Stands still until it is moved.
pub struct FixtureClock(AtomicI64);

impl FixtureClock {
    pub fn at(moment: Moment) -> FixtureClock {
        FixtureClock(AtomicI64::new(moment.0))
    }

    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    pub fn set(&self, moment: Moment) {
        self.0.store(moment.0, Ordering::SeqCst);
    }

    /// Never back.
    pub fn raise_to(&self, moment: Moment) {
        self.0.fetch_max(moment.0, Ordering::SeqCst);
    }
}

impl Default for FixtureClock {
    fn default() -> Self {
        FixtureClock::at(START)
    }
}

impl Clock for FixtureClock {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::SeqCst))
    }
}

/// Another clock plus what the test added.
pub struct ShiftedClock<C> {
    pub base: C,
    pub added_ms: Arc<AtomicI64>,
}

impl<C: Clock> Clock for ShiftedClock<C> {
    fn now(&self) -> Moment {
        self.base.now().plus_ms(self.added_ms.load(Ordering::SeqCst))
    }
}
