//! The progress of a batch in the ledger. The caller of `commit` measures the times: no store reads a clock.

use std::fmt;
use std::sync::Arc;

/// The stages of a batch before it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerStep {
    /// The ledger has the row lock, and has read what the commands need: stock, limits, entries of a waiting room.
    Admitted,
    /// The rules have answered every command.
    Decided,
}

/// Called from the ledger's own thread or task, so it must be quick. A batch that is decided again reports its stages
/// again; the last report counts.
pub trait BatchWatcher: Send + Sync {
    fn reached(&self, step: LedgerStep);
}

/// The observer of a batch, if there is one.
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
