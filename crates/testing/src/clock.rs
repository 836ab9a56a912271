//! Clocks that a test moves instead of sleeping. They have a monotonic and a wall hand, as real ones do.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rules::time::{Clock, Moment};

/// Where fixture clocks begin: some day in 2027.
pub const START: Moment = Moment(1_800_000_000_000);

/// Stands still until it is moved.
pub struct FixtureClock {
    now: AtomicI64,
    /// How far the wall hand is ahead of the monotonic one.
    stepped_ms: AtomicI64,
}

impl FixtureClock {
    pub fn at(moment: Moment) -> FixtureClock {
        FixtureClock { now: AtomicI64::new(moment.0), stepped_ms: AtomicI64::new(0) }
    }

    /// Time passes: both hands move.
    pub fn advance_ms(&self, ms: i64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    /// Somebody sets the wall clock.
    pub fn step_wall_ms(&self, ms: i64) {
        self.stepped_ms.fetch_add(ms, Ordering::SeqCst);
    }

    pub fn set(&self, moment: Moment) {
        self.now.store(moment.0, Ordering::SeqCst);
    }

    /// Never back.
    pub fn raise_to(&self, moment: Moment) {
        self.now.fetch_max(moment.0, Ordering::SeqCst);
    }
}

impl Default for FixtureClock {
    fn default() -> Self {
        FixtureClock::at(START)
    }
}

impl Clock for FixtureClock {
    fn now(&self) -> Moment {
        Moment(self.now.load(Ordering::SeqCst))
    }

    fn wall(&self) -> Moment {
        self.now().plus_ms(self.shift_ms())
    }

    fn shift_ms(&self) -> i64 {
        self.stepped_ms.load(Ordering::SeqCst)
    }
}

/// Another clock plus what the test added: to both hands, and to the wall hand alone.
pub struct ShiftedClock<C> {
    pub base: C,
    pub added_ms: Arc<AtomicI64>,
    pub stepped_ms: Arc<AtomicI64>,
}

impl<C: Clock> Clock for ShiftedClock<C> {
    fn now(&self) -> Moment {
        self.base.now().plus_ms(self.added_ms.load(Ordering::SeqCst))
    }

    fn wall(&self) -> Moment {
        let stepped_ms = self.stepped_ms.load(Ordering::SeqCst);
        self.base.wall().plus_ms(self.added_ms.load(Ordering::SeqCst)).plus_ms(stepped_ms)
    }

    fn shift_ms(&self) -> i64 {
        self.base.shift_ms() + self.stepped_ms.load(Ordering::SeqCst)
    }
}
