//! How often a hub may speak: at most 8 messages in any second, so that with a watcher's own messages it is at most 10.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);
const MESSAGES_MOST: usize = 8;

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

    /// Counts so many messages if they may be sent now.
    pub fn allows(&mut self, count: usize, now: Instant) -> bool {
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
            if pace.allows(count, began + Duration::from_millis(at)) {
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
}
