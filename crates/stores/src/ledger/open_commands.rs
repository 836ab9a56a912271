//! The commands of a batch while the ledger waits for its lock. A batch that waits keeps its place in the queue. It
//! cannot be resubmitted without the late requests, so they are withdrawn from it instead.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::command::Command;
use rules::subject::Subject;

/// Shared by the ledger and the caller of `commit`. Empty unless the ledger waits for the lock: a ledger that never
/// opens it decides every command.
pub struct OpenCommands<S: Subject>(Arc<Mutex<Option<Vec<Command<S>>>>>);

impl<S: Subject> OpenCommands<S> {
    /// The ledger's side: nothing was done yet, and commands may be withdrawn from now on.
    pub fn open(&self, commands: &[Command<S>]) {
        self.lock().get_or_insert_with(|| commands.to_vec());
    }

    /// The ledger's side: decide the remaining commands now. None: it was not open.
    pub fn close(&self) -> Option<Vec<Command<S>>> {
        self.lock().take()
    }

    /// The ledger's side: every command was withdrawn.
    pub fn nothing_left(&self) -> bool {
        self.lock().as_ref().is_some_and(Vec::is_empty)
    }

    /// The caller's side: withdraws commands by their index among the remaining ones. False: the ledger is not waiting
    /// for the lock, and nothing was withdrawn.
    pub fn withdraw(&self, is_late: impl Fn(usize) -> bool) -> bool {
        let mut open = self.lock();
        let Some(commands) = open.as_mut() else { return false };
        let mut places = 0..;
        commands.retain(|_| places.next().is_some_and(|place| !is_late(place)));
        true
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Command<S>>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<S: Subject> Default for OpenCommands<S> {
    fn default() -> Self {
        OpenCommands(Arc::default())
    }
}

impl<S: Subject> Clone for OpenCommands<S> {
    fn clone(&self) -> Self {
        OpenCommands(self.0.clone())
    }
}

impl<S: Subject> fmt::Debug for OpenCommands<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenCommands")
    }
}
