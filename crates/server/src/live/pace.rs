//! How often a hub may speak: at most 8 messages in any second, so that with a watcher's own messages it is at most 10.
//! With many watchers, less often: telling them all costs the sale, and a change has to be seen within 500 ms.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);
const MESSAGES_MOST: usize = 8;
/// Between two rounds there is at least this much time per watcher of the server.
const PAUSE_PER_WATCHER: Duration = Duration::from_micros(30);
const PAUSE_MOST: Duration = Duration::from_millis(300);

/// The least time between two rounds.
pub fn pause(watchers: usize) -> Duration {
    PAUSE_PER_WATCHER.saturating_mul(u32::try_from(watchers).unwrap_or(u32::MAX)).min(PAUSE_MOST)
}

#[derive(Debug)]
pub struct MessagePace {
    most: usize,
    sent: VecDeque<(Instant, usize)>,
    count: usize,
}

impl Default for MessagePace {
    fn default() -> Self {
        MessagePace::of(MESSAGES_MOST)
    }
}

impl MessagePace {
    pub fn of(most: usize) -> MessagePace {
        MessagePace { most, sent: VecDeque::new(), count: 0 }
    }

    /// Counts so many messages if they may be sent now, at least `pause` after those before.
    pub fn allows(&mut self, count: usize, now: Instant, pause: Duration) -> bool {
        if self.sent.back().is_some_and(|(at, _)| now.duration_since(*at) < pause) {
            return false;
        }
        while let Some((at, earlier)) = self.sent.front().copied()
            && now.duration_since(at) >= WINDOW
        {
            self.count -= earlier;
            self.sent.pop_front();
        }
        let allowed = self.count + count <= self.most;
        if allowed {
            self.count += count;
            self.sent.push_back((now, count));
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_second_has_at_most_eight_messages() {
        let (mut pace, began) = (MessagePace::default(), Instant::now());
        let mut sent = Vec::new();
        for step in 0..1_000u64 {
            let (at, count) = (step * 10, 1 + step as usize % 4);
            if pace.allows(count, began + Duration::from_millis(at), Duration::ZERO) {
                sent.push((at, count));
            }
        }
        assert!(sent.len() > 20);
        for (from, _) in &sent {
            let within = sent.iter().filter(|(at, _)| (*from..from + 1_000).contains(at));
            let count: usize = within.map(|(_, count)| count).sum();
            assert!(count <= MESSAGES_MOST, "{count} from {from}");
        }
    }

    #[test]
    fn rounds_are_rarer_when_more_watch() {
        assert_eq!((pause(0), pause(100)), (Duration::ZERO, Duration::from_millis(3)));
        assert_eq!((pause(10_000), pause(usize::MAX)), (PAUSE_MOST, PAUSE_MOST));
        let (mut pace, began) = (MessagePace::default(), Instant::now());
        let at = |ms| began + Duration::from_millis(ms);
        let allowed = [0, 299, 300, 599, 610].map(|ms| pace.allows(1, at(ms), PAUSE_MOST));
        assert_eq!(allowed, [true, false, true, false, true]);
    }
}
