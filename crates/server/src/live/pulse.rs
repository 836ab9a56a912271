//! What the follower tells a hub: how far the ledger has come, and when to look.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// Without a beat a hub looks whether the server is still there.
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

    /// The hub has read further than the last beat said.
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
