//! The size of the next batch. Usually it takes all requests that wait: larger batches cost less per request. When
//! batches take so long that those behind would wait too long, smaller ones are tried, and kept if they are faster. A
//! ledger that is slow at any size gets full batches.

use std::time::{Duration, Instant};

use stores::ledger::BATCH_MOST;

/// A longer batch is too slow.
const LONG: Duration = Duration::from_millis(250);
/// The minimum size of a batch.
const LEAST: usize = 16;
/// When smaller batches were not faster, they are tried again after this many.
const REST: u32 = 16;

#[derive(Debug)]
pub struct BatchPace {
    most: usize,
    /// When the last batch ended: the next one may have waited for it.
    ended: Option<Instant>,
    /// The size and duration of the batch before the trial; the next one is smaller.
    trying: Option<(usize, Duration)>,
    rest: u32,
}

impl Default for BatchPace {
    fn default() -> Self {
        BatchPace { most: BATCH_MOST, ended: None, trying: None, rest: 0 }
    }
}

impl BatchPace {
    /// The size limit of the next batch.
    pub fn most(&self) -> usize {
        self.most
    }

    /// A batch of `size` was handed over at `began` and has ended.
    pub fn ended(&mut self, size: usize, began: Instant, now: Instant) {
        let alone_since = self.ended.map_or(began, |ended| ended.max(began));
        self.ended = Some(now);
        self.took(size, now.saturating_duration_since(alone_since));
    }

    fn took(&mut self, size: usize, time: Duration) {
        match self.trying {
            // It was taken before the trial began, or its size does not compare.
            Some((larger, _)) if size > larger / 2 || size < larger / 4 => return,
            Some((_, before)) => {
                self.trying = None;
                if time > before * 3 / 4 {
                    (self.most, self.rest) = (BATCH_MOST, REST);
                    return;
                }
            }
            None => {}
        }
        self.rest = self.rest.saturating_sub(1);
        if time > LONG && size > LEAST && self.rest == 0 {
            self.most = (size / 2).max(LEAST);
            self.trying = Some((size.max(2 * LEAST), time));
        } else if time < LONG / 2 {
            self.most = (self.most + self.most / 4).min(BATCH_MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Batches of all that may be taken, with the time that each takes.
    fn run(pace: &mut BatchPace, batches: usize, time: impl Fn(usize) -> Duration) -> Vec<usize> {
        let sizes = (0..batches).map(|_| {
            let size = pace.most();
            pace.took(size, time(size));
            size
        });
        sizes.collect()
    }

    #[test]
    fn slow_commands_get_small_batches_until_they_are_quick_again() {
        let mut pace = BatchPace::default();
        let sizes = run(&mut pace, 100, |size| 10 * MS * size as u32);
        assert!(sizes[6..].iter().all(|size| (16..=25).contains(size)), "{sizes:?}");
        let sizes = run(&mut pace, 30, |_| 10 * MS);
        assert_eq!(sizes.last(), Some(&BATCH_MOST));
    }

    #[test]
    fn slow_ledger_gets_full_batches() {
        let mut pace = BatchPace::default();
        let sizes = run(&mut pace, 200, |size| 500 * MS + MS / 100 * size as u32);
        let full = sizes.iter().filter(|size| **size == BATCH_MOST).count();
        assert!(full >= 180, "{sizes:?}");
    }

    #[test]
    fn waiting_for_the_batch_before_is_not_counted() {
        let (mut pace, start) = (BatchPace::default(), Instant::now());
        for i in 1..20 {
            // Two at a time: handed over 400 ms before they end, 200 ms each.
            let ended = start + 200 * MS * i;
            pace.ended(BATCH_MOST, ended - (400 * MS).min(200 * MS * i), ended);
        }
        assert_eq!(pace.most(), BATCH_MOST);
    }
}
