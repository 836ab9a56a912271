//! What a hub says, and who listens: one ring of rounds that all its watchers read.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use salvo::hyper::body::Bytes;
use tokio::sync::broadcast;

use super::message::HEARTBEAT;

/// Rounds that a watcher may be behind. Whoever is further behind is dropped: 8 s at the quickest pace.
const ROUNDS_BEHIND: usize = 64;
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// A hub that nobody watches follows on for this long, for those who reconnect.
const UNWATCHED: Duration = Duration::from_secs(10);

/// What a watcher reads.
#[derive(Clone, Debug)]
pub struct Round {
    pub text: Bytes,
    pub messages: usize,
    /// Nothing comes after it.
    pub last: bool,
}

/// A new watcher's first words, and what it reads from then on.
pub struct Subscribed {
    pub first: Vec<Bytes>,
    pub messages: usize,
    pub rounds: broadcast::Receiver<Round>,
}

pub struct HubChannel {
    rounds: broadcast::Sender<Round>,
    times: Mutex<HubTimes>,
}

struct HubTimes {
    heartbeat: Instant,
    unwatched_since: Option<Instant>,
}

impl Default for HubChannel {
    fn default() -> Self {
        let times = HubTimes { heartbeat: Instant::now(), unwatched_since: None };
        HubChannel { rounds: broadcast::Sender::new(ROUNDS_BEHIND), times: Mutex::new(times) }
    }
}

impl HubChannel {
    pub fn subscribe(&self) -> broadcast::Receiver<Round> {
        self.rounds.subscribe()
    }

    pub fn say(&self, round: Round) {
        let _ = self.rounds.send(round);
    }

    /// Heartbeats. True: nobody has listened for a while. Called under the lock under which the hub is subscribed to.
    pub fn keep(&self, now: Instant) -> bool {
        let mut times = self.times();
        if now.duration_since(times.heartbeat) >= HEARTBEAT_EVERY {
            times.heartbeat = now;
            self.say(Round { text: Bytes::from_static(HEARTBEAT.as_bytes()), messages: 0, last: false });
        }
        if self.rounds.receiver_count() > 0 {
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
