//! Another server may change or delete a lane's subject. This server's copy is at most a second old: batches refresh
//! it, and otherwise it is read again. A lane whose subject is gone is forgotten at once.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Lane, Served};

/// From this age on it is refreshed in the background.
const RENEWED: Duration = Duration::from_millis(500);
/// An older copy is not used, unless the ledger does not answer in time.
const OLDEST: Duration = Duration::from_secs(1);
const WAIT: Duration = Duration::from_millis(250);

pub(super) struct Fresh {
    seen: Mutex<Instant>,
    /// Held by the one task that reads.
    looking: Arc<tokio::sync::Mutex<()>>,
    gone: AtomicBool,
}

impl Fresh {
    pub fn now() -> Fresh {
        Fresh { seen: Mutex::new(Instant::now()), looking: Arc::default(), gone: AtomicBool::new(false) }
    }

    fn age(&self) -> Duration {
        self.seen.lock().unwrap_or_else(|p| p.into_inner()).elapsed()
    }

    fn seen_at(&self, at: Instant) {
        *self.seen.lock().unwrap_or_else(|p| p.into_inner()) = at;
    }
}

impl<S: Served> Lane<S> {
    /// The subject no longer exists: the lane is not found again.
    pub(super) fn gone(&self) {
        self.fresh.gone.store(true, Ordering::Release);
    }

    /// A batch or a read that began at `asked` found this state of the subject.
    pub(super) fn saw(&self, found: &S, asked: Instant) {
        S::learn(&self.facts, found, asked);
        self.fresh.seen_at(Instant::now());
        if found.deleted() {
            self.gone();
        }
    }

    /// Whether the subject still exists, as far as this server must know.
    pub(super) async fn exists(self: &Arc<Self>) -> bool {
        // A ledger without a name belongs to this server alone, which knows what it changed.
        if self.shared.ledger.name().is_some() && self.fresh.age() >= RENEWED {
            let looking = self.clone().look();
            if self.fresh.age() >= OLDEST {
                // In its own task, so that it continues for the others if this client disconnects.
                let _ = tokio::time::timeout(WAIT, tokio::spawn(looking)).await;
            } else if self.fresh.looking.try_lock().is_ok() {
                tokio::spawn(looking);
            }
        }
        !self.fresh.gone.load(Ordering::Acquire)
    }

    async fn look(self: Arc<Self>) {
        let _one = self.fresh.looking.clone().lock_owned().await;
        if self.fresh.age() < RENEWED {
            return;
        }
        let asked = Instant::now();
        match S::find(&*self.shared.ledger, self.id).await {
            Ok(Some(found)) => self.saw(&found, asked),
            Ok(None) => self.gone(),
            Err(fault) => {
                tracing::debug!(subject = %self.subject(), %fault, "a subject could not be looked up again");
                // Not for every request: the ledger may be overloaded.
                self.fresh.seen_at(Instant::now() - RENEWED);
            }
        }
    }
}
