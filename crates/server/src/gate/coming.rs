//! Connections accepted to be served whose first request has not arrived yet. They hold a place for a few beats only:
//! a client that sends nothing must not keep others out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Beats for which a place is kept.
const KEPT: usize = 4;

#[derive(Debug, Default)]
pub struct ComingRequests(Arc<Beats>);

#[derive(Debug, Default)]
struct Beats {
    counts: [AtomicUsize; KEPT],
    now: AtomicU64,
}

/// Held until the request arrives or the connection ends.
#[derive(Debug)]
pub struct ExpectedRequest {
    beats: Arc<Beats>,
    since: u64,
}

impl ComingRequests {
    pub fn expect(&self) -> ExpectedRequest {
        let since = self.0.now.load(Ordering::Relaxed);
        self.0.counts[slot(since)].fetch_add(1, Ordering::Relaxed);
        ExpectedRequest { beats: self.0.clone(), since }
    }

    pub fn count(&self) -> usize {
        self.0.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Expires the places of the oldest beat.
    pub fn beat(&self) {
        let next = self.0.now.load(Ordering::Relaxed) + 1;
        self.0.counts[slot(next)].store(0, Ordering::Relaxed);
        self.0.now.store(next, Ordering::Relaxed);
    }
}

fn slot(beat: u64) -> usize {
    (beat % KEPT as u64) as usize
}

impl Drop for ExpectedRequest {
    fn drop(&mut self) {
        if self.beats.now.load(Ordering::Relaxed) < self.since + KEPT as u64 {
            let count = &self.beats.counts[slot(self.since)];
            // The beat may end at this moment: then the place has expired already.
            let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back_and_do_not_last() {
        let all = ComingRequests::default();
        let mut expected: Vec<ExpectedRequest> = (0..3).map(|_| all.expect()).collect();
        assert_eq!(all.count(), 3);
        drop(expected.pop());
        assert_eq!(all.count(), 2);
        for _ in 1..KEPT {
            all.beat();
            assert_eq!(all.count(), 2);
        }
        all.beat();
        assert_eq!(all.count(), 0, "they sent nothing");
        let later = all.expect();
        drop(expected);
        assert_eq!(all.count(), 1, "those who were forgotten take nobody's place with them");
        drop(later);
        assert_eq!(all.count(), 0);
    }
}
