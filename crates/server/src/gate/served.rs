//! How many requests were served lately.

use std::collections::VecDeque;
use std::time::Duration;

/// The window of the rate, over time with requests in progress. The rate is known after a tenth of it.
const KNOWN_FOR: Duration = Duration::from_secs(1);
const KNOWN_LEAST: Duration = Duration::from_millis(100);

/// What was served in the last second of work. Batches end in bursts, so a shorter time says little.
#[derive(Debug, Default)]
pub struct ServedLately {
    beats: VecDeque<(Duration, u64)>,
    time: Duration,
    count: u64,
}

impl ServedLately {
    /// Per second; none while too little is known.
    pub fn rate(&mut self, working: bool, finished: u64, elapsed: Duration) -> Option<u64> {
        if working {
            self.beats.push_back((elapsed, finished));
            (self.time, self.count) = (self.time + elapsed, self.count + finished);
        }
        while self.time > KNOWN_FOR
            && let Some((time, count)) = self.beats.pop_front()
        {
            (self.time, self.count) = (self.time - time, self.count - count);
        }
        let known = self.time >= KNOWN_LEAST;
        known.then(|| (self.count as f64 / self.time.as_secs_f64()) as u64)
    }
}
