//! What a test holds in its own hand: the time, and chance.

use std::sync::atomic::{AtomicI64, Ordering};

use rules::time::{Clock, Moment};

/// A clock that stands still until it is moved.
#[derive(Default)]
pub struct HandClock(pub AtomicI64);

impl Clock for HandClock {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::SeqCst))
    }
}

/// Random numbers that are the same for the same odd seed.
pub struct Dice(pub u64);

impl Dice {
    /// From 0 up to, not including, `below`.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}
