//! What the follower reports to a hub: the ledger's history number, and when to read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// Without a beat, a hub checks at this interval whether the server is still running.
const LOOK: Duration = Duration::from_secs(1);

pub struct HubPulse {
    /// The history number that the ledger has reached.
    reached: AtomicU64,
    wake: Notify,
}

impl HubPulse {
    pub fn new(reached: u64) -> HubPulse {
        HubPulse { reached: AtomicU64::new(reached), wake: Notify::new() }
    }

    pub fn reached(&self) -> u64 {
        self.reached.load(Ordering::Acquire)
    }

    /// The hub has read beyond the number of the last beat.
    pub fn read_up_to(&self, n: u64) {
        self.reached.fetch_max(n, Ordering::AcqRel);
    }

    /// None: the ledger could not be asked.
    pub fn beat(&self, reached: Option<u64>) {
        if let Some(n) = reached {
            self.reached.store(n, Ordering::Release);
        }
        self.look();
    }

    pub fn look(&self) {
        self.wake.notify_one();
    }

    pub async fn next(&self) {
        let _ = tokio::time::timeout(LOOK, self.wake.notified()).await;
    }
}
