//! How often a hub may send: at most 8 messages in any second, so that with a watcher's private messages it is at
//! most 10. With many watchers, less often: sending to all of them costs the sale, and a change has to be seen within
//! 500 ms.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);
const MESSAGES_MOST: usize = 8;
/// The minimum time between two rounds, per watcher of the server.
const PAUSE_PER_WATCHER: Duration = Duration::from_micros(30);
const PAUSE_MOST: Duration = Duration::from_millis(300);

/// In a burst this many watchers are sent to in one turn, and the others in the next: the work is even, and each gets
/// the newest state at its turn.
const WATCHERS_IN_TURN: usize = 2_500;
const TURNS_MOST: usize = 4;
/// A hub with fewer watchers of its own sends to all at once.
const TURNS_FROM: usize = 1_000;

/// The minimum time between two rounds.
pub fn pause(watchers: usize) -> Duration {
    PAUSE_PER_WATCHER.saturating_mul(u32::try_from(watchers).unwrap_or(u32::MAX)).min(PAUSE_MOST)
}

/// How often a hub sends now.
#[derive(Clone, Copy, Debug)]
pub struct HubPace {
    /// Between two rounds.
    pub pause: Duration,
    /// The number of turns per round in a burst; 1: all at once.
    pub turns: usize,
}

impl HubPace {
    /// For a server with this many watchers, and a hub with `own` of them.
    pub fn of(watchers: usize, own: usize) -> HubPace {
        let turns = if own < TURNS_FROM { 1 } else { (watchers / WATCHERS_IN_TURN).clamp(1, TURNS_MOST) };
        HubPace { pause: pause(watchers), turns }
    }
}

#[derive(Debug)]
pub struct MessagePace {
    most: usize,
    /// In fractions of a message: as many as there are turns at most.
    sent: VecDeque<(Instant, usize)>,
    parts: usize,
}

impl Default for MessagePace {
    fn default() -> Self {
        MessagePace::of(MESSAGES_MOST)
    }
}

impl MessagePace {
    pub fn of(most: usize) -> MessagePace {
        MessagePace { most, sent: VecDeque::new(), parts: 0 }
    }

    /// Counts this many messages if they may be sent now, at least `pause` after those before.
    pub fn allows(&mut self, count: usize, now: Instant, pause: Duration) -> bool {
        let allowed = self.would_allow(count, now, pause);
        if allowed {
            self.sent(count, 1, now);
        }
        allowed
    }

    /// Counts messages that are sent in turns. A watcher gets the newest of them at its turn, so of any number of
    /// rounds it gets at most one more than its share.
    pub fn sent(&mut self, count: usize, turns: usize, now: Instant) {
        let parts = count * TURNS_MOST.div_ceil(turns.max(1));
        self.parts += parts;
        self.sent.push_back((now, parts));
    }

    /// Whether nothing was sent for this long.
    pub fn rested(&self, now: Instant, time: Duration) -> bool {
        self.sent.back().is_none_or(|(at, _)| now.duration_since(*at) >= time)
    }

    /// Whether this many messages may be sent to all watchers now.
    pub fn would_allow(&mut self, count: usize, now: Instant, pause: Duration) -> bool {
        if !self.rested(now, pause) {
            return false;
        }
        while let Some((at, earlier)) = self.sent.front().copied()
            && now.duration_since(at) >= WINDOW
        {
            self.parts -= earlier;
            self.sent.pop_front();
        }
        self.parts + count * TURNS_MOST <= self.most * TURNS_MOST
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
    fn watcher_of_rounds_in_turns_gets_at_most_ten_messages_a_second() {
        for turns in 2..=TURNS_MOST {
            let (mut pace, began) = (MessagePace::default(), Instant::now());
            let mut sent: Vec<(u64, usize)> = Vec::new();
            for step in 0..2_000usize {
                let at = step as u64 * 100;
                // For a while in turns, of which this watcher has one, then to everybody.
                let (in_turns, count) = (step % 50 < 30, 1 + step % 2);
                if pace.would_allow(count, began + Duration::from_millis(at), Duration::ZERO) {
                    pace.sent(count, if in_turns { turns } else { 1 }, began + Duration::from_millis(at));
                    if !in_turns || step % turns == 0 {
                        sent.push((at, count));
                    }
                }
            }
            for (from, _) in &sent {
                let within = sent.iter().filter(|(at, _)| (*from..from + 1_000).contains(at));
                let count: usize = within.map(|(_, count)| count).sum();
                assert!(count <= 10, "{count} from {from}, {turns} turns");
            }
        }
    }

    #[test]
    fn many_watchers_are_told_a_burst_in_turns() {
        let turns = |watchers, own| HubPace::of(watchers, own).turns;
        assert_eq!([0, 2_500, 5_000, 9_999, 10_000, 100_000].map(|all| turns(all, all)), [1, 1, 2, 3, 4, 4]);
        assert_eq!(turns(10_000, 999), 1, "few of them are here");
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
