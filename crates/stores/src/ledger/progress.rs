//! How far the ledger is with a batch. The caller of `commit` takes the times: no store reads a clock.

use std::fmt;
use std::sync::Arc;

/// What the ledger has done with a batch before it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerStep {
    /// It has the subject's lock, and has read what the commands need: stock, limits, entries of a waiting room.
    Admitted,
    /// The rules have answered every command.
    Decided,
}

/// Called from the ledger's own thread or task, so it must be quick. A batch that is decided again reaches its steps
/// again; the last time counts.
pub trait BatchWatcher: Send + Sync {
    fn reached(&self, step: LedgerStep);
}

/// Whom a ledger tells of a batch, if anybody.
#[derive(Clone, Default)]
pub struct BatchProgress(Option<Arc<dyn BatchWatcher>>);

impl BatchProgress {
    pub fn told_to(watcher: Arc<dyn BatchWatcher>) -> BatchProgress {
        BatchProgress(Some(watcher))
    }

    pub fn reached(&self, step: LedgerStep) {
        if let Some(watcher) = &self.0 {
            watcher.reached(step);
        }
    }
}

impl fmt::Debug for BatchProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BatchProgress")
    }
}
