//! When refused clients should retry. Each refusal takes the next free slot after those before it, at the measured
//! rate of service, so that clients that return find room.

use std::sync::atomic::{AtomicU64, Ordering};

const MOST_S: u64 = 30;
const MOST_US: u64 = MOST_S * 1_000_000;
/// The rate that is assumed until one is measured.
const RATE_LEAST: u64 = 200;

/// Times are in microseconds since the start of the gate.
#[derive(Debug, Default)]
pub struct Appointments {
    /// The slots of refused clients are taken up to this moment.
    taken_until: AtomicU64,
    /// When this overload began; 0: there is none.
    overloaded_since: AtomicU64,
    drawn: AtomicU64,
}

impl Appointments {
    /// The server keeps up: no overload.
    pub fn calm(&self) {
        self.overloaded_since.store(0, Ordering::Relaxed);
    }

    /// Seconds until one more may retry, at `rate` served per second.
    pub fn next(&self, now: u64, rate: u64) -> u64 {
        let since = self.overloaded_since.load(Ordering::Relaxed);
        if since == 0 {
            self.overloaded_since.store(now, Ordering::Relaxed);
        }
        // An overload that has lasted this long will probably last as long again: a client that returns during it
        // takes the place of another, or none.
        let lasts = if since == 0 { 0 } else { now.saturating_sub(since) };
        let step = 1_000_000 / rate.max(RATE_LEAST);
        let advance = |taken: u64| Some((taken.max(now) + step).min(now + MOST_US));
        let taken = self.taken_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance).unwrap_or(now);
        let wait = taken.saturating_sub(now) + lasts;
        // Jitter of a quarter to either side, so that they do not return together.
        let jittered = wait / 4 * 3 + self.draw() % (wait / 2 + 1);
        jittered.div_ceil(1_000_000).clamp(1, MOST_S)
    }

    /// One to three seconds.
    pub fn soon(&self) -> u64 {
        1 + self.draw() % 3
    }

    /// Random enough to spread clients: a hashed counter.
    fn draw(&self) -> u64 {
        let mut x = self.drawn.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^ (x >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_with_the_refused_up_to_the_limit() {
        let appointments = Appointments::default();
        assert_eq!(appointments.next(1_000_000, 1_000), 1, "the first refused comes in a second");
        let waits: Vec<u64> = (0..10_000).map(|_| appointments.next(1_000_000, 1_000)).collect();
        let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len() as f64;
        // 1,000 are served per second: the 5,000th has about 5 s to wait, with jitter and rounded up.
        assert!((4.5..6.5).contains(&mean(&waits[4_900..5_100])), "{}", mean(&waits[4_900..5_100]));
        let spread: std::collections::BTreeSet<u64> = waits[9_900..].iter().copied().collect();
        assert!(spread.len() >= 4, "jitter spreads them: {spread:?}");
        for _ in 0..100_000 {
            assert!((1..=30).contains(&appointments.next(1_000_000, 1_000)));
        }
        assert_eq!(appointments.next(120_000_000, 1_000_000), 30, "an overload of two minutes");
        appointments.calm();
        assert_eq!(appointments.next(180_000_000, 1_000), 1, "the queue is empty again");
    }
}
