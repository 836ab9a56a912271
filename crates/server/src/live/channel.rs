//! What a hub sends and to whom: one log of rounds that all its watchers read.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use salvo::hyper::body::Bytes;

use super::fan_out::{Audience, FanOut};
use super::message::{HEARTBEAT, Messages, chunk};
use super::round_log::{RoundLog, RoundReader};

const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// A hub without watchers continues for this long, for those that reconnect.
const UNWATCHED: Duration = Duration::from_secs(10);

/// A message that watchers read.
#[derive(Clone, Debug)]
pub struct Round {
    pub text: Bytes,
    /// The same as an HTTP chunk, for a socket that is written directly.
    pub chunk: Bytes,
    pub messages: usize,
    /// It holds the whole state: a reader may skip all rounds before it.
    pub whole: bool,
    /// The number of turns in which it is sent: each turn reaches a part of the watchers. The next round comes before
    /// the next turn.
    pub turns: usize,
    /// No round follows.
    pub last: bool,
}

impl Round {
    pub fn of(messages: Messages, last: bool) -> Round {
        let count = messages.count;
        Round::written(messages.written(), count, last)
    }

    fn written(text: Bytes, messages: usize, last: bool) -> Round {
        Round { chunk: chunk(&text), text, messages, whole: false, turns: 1, last }
    }
}

/// A new watcher's first messages, and what it reads from then on.
pub struct Subscribed {
    pub first: Vec<Bytes>,
    pub messages: usize,
    pub rounds: RoundReader,
    pub audience: Arc<Audience>,
}

pub struct HubChannel {
    rounds: Arc<RoundLog>,
    audience: Arc<Audience>,
    fan_out: FanOut,
    times: Mutex<HubTimes>,
}

struct HubTimes {
    heartbeat: Instant,
    unwatched_since: Option<Instant>,
}

impl HubChannel {
    pub fn new(fan_out: FanOut) -> HubChannel {
        let times = Mutex::new(HubTimes { heartbeat: Instant::now(), unwatched_since: None });
        HubChannel { rounds: Arc::default(), audience: Arc::default(), fan_out, times }
    }

    pub fn subscribe(&self, first: Vec<Bytes>) -> Subscribed {
        Subscribed { first, messages: 1, rounds: self.rounds.reader(), audience: self.audience.clone() }
    }

    pub fn say(&self, round: Round) {
        let turns = round.turns;
        self.rounds.say(round);
        self.fan_out.call(&self.audience, turns);
    }

    pub fn watchers(&self) -> usize {
        self.rounds.readers()
    }

    /// Sends heartbeats. Returns true if there were no watchers for a while. Called under the lock for subscribing to
    /// the hub.
    pub fn keep(&self, now: Instant) -> bool {
        let mut times = self.times();
        if now.duration_since(times.heartbeat) >= HEARTBEAT_EVERY {
            times.heartbeat = now;
            self.say(Round::written(Bytes::from_static(HEARTBEAT.as_bytes()), 0, false));
        }
        if self.watchers() > 0 {
            times.unwatched_since = None;
            return false;
        }
        let since = *times.unwatched_since.get_or_insert(now);
        now.duration_since(since) >= UNWATCHED
    }

    fn times(&self) -> MutexGuard<'_, HubTimes> {
        self.times.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for HubChannel {
    /// Disconnects the watchers.
    fn drop(&mut self) {
        let (text, chunk) = (Bytes::new(), Bytes::new());
        self.say(Round { text, chunk, messages: 0, whole: false, turns: 1, last: true });
    }
}

#[cfg(test)]
mod tests {
    use super::super::round_log::NextRound;
    use super::*;

    #[test]
    fn watchers_hear_a_heartbeat_every_fifteen_seconds_and_hold_the_hub() {
        let channel = HubChannel::new(FanOut::default());
        let began = channel.times().heartbeat;
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut watcher = channel.subscribe(Vec::new());
        let mut heard = |seconds| {
            assert!(!channel.keep(at(seconds)), "somebody watches");
            match watcher.rounds.next() {
                NextRound::Said(round) => Some((round.text.to_vec(), round.messages)),
                NextRound::None | NextRound::Lagged => None,
            }
        };
        let beat = Some((HEARTBEAT.as_bytes().to_vec(), 0));
        let told = [14, 15, 29, 30, 44].map(&mut heard);
        assert_eq!(told, [None, beat.clone(), None, beat, None]);
        drop(watcher);
        assert_eq!([45, 54, 55].map(|seconds| channel.keep(at(seconds))), [false, false, true]);
    }
}
