//! Jobs: what the writer runs in a transaction, and how each is answered once the transaction is durable.

use std::cell::Cell;
use std::time::Duration;

use rules::time::Reading;
use rusqlite::{Connection, Result};
use tokio::sync::oneshot;

use super::writer::LOCK_TRY;
use crate::ledger::LedgerFault;
use crate::ledger::halls::HallCache;

/// An open transaction.
pub struct Transaction<'a> {
    pub conn: &'a Connection,
    /// Set by a job that erases: the erased data must not stay in the log either.
    pub erases: &'a Cell<bool>,
    pub halls: &'a HallCache,
    pub read: Reading,
    pub care: Care,
}

/// How the batches of a transaction are run.
#[derive(Clone, Copy)]
pub enum Care {
    None,
    /// Each batch in a savepoint, and a failing batch command by command.
    EachAlone,
}

pub trait Job: Send {
    /// Runs the job's part of the transaction. Called again if the transaction runs again.
    fn perform(&mut self, transaction: &Transaction<'_>) -> Result<()>;

    /// The job's changes are durable.
    fn tell(self: Box<Self>);

    fn refuse(self: Box<Self>, fault: LedgerFault);

    /// Another process has locked the database, and nothing was done. Returns false if the job stops waiting.
    fn keeps_waiting(&mut self) -> bool;

    /// Whether the job requires an empty log.
    fn empties_log(&self) -> bool {
        false
    }
}

/// How often a job found the database locked.
#[derive(Default)]
pub struct LockTries(u32);

impl LockTries {
    /// Counts one more. Returns false when the time limit has passed.
    pub fn again(&mut self, most: Duration) -> bool {
        self.0 += 1;
        LOCK_TRY * self.0 < most
    }
}

/// Jobs that are not batches wait this long for the database lock.
const TASK_WAITS: Duration = Duration::from_secs(1);

pub type JobReply<T> = oneshot::Sender<std::result::Result<T, LedgerFault>>;

/// A job made of a closure. None: its subject does not exist.
pub struct Task<T, W> {
    work: W,
    done: Option<T>,
    reply: JobReply<T>,
    tries: LockTries,
}

impl<T, W> Task<T, W>
where
    T: Send,
    W: FnMut(&Transaction<'_>) -> Result<Option<T>> + Send,
{
    pub fn new(work: W, reply: JobReply<T>) -> Task<T, W> {
        Task { work, done: None, reply, tries: LockTries::default() }
    }
}

impl<T, W> Job for Task<T, W>
where
    T: Send,
    W: FnMut(&Transaction<'_>) -> Result<Option<T>> + Send,
{
    fn perform(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        self.done = (self.work)(transaction)?;
        Ok(())
    }

    fn keeps_waiting(&mut self) -> bool {
        self.tries.again(TASK_WAITS)
    }

    fn tell(self: Box<Self>) {
        let _ = self.reply.send(self.done.ok_or(LedgerFault::NoSuchSubject));
    }

    fn refuse(self: Box<Self>, fault: LedgerFault) {
        let _ = self.reply.send(Err(fault));
    }
}

/// The last job: copies the whole log into the database file.
pub struct Close(pub JobReply<()>);

impl Job for Close {
    fn perform(&mut self, _: &Transaction<'_>) -> Result<()> {
        Ok(())
    }

    fn keeps_waiting(&mut self) -> bool {
        false
    }

    fn tell(self: Box<Self>) {
        let _ = self.0.send(Ok(()));
    }

    fn refuse(self: Box<Self>, fault: LedgerFault) {
        let _ = self.0.send(Err(fault));
    }

    fn empties_log(&self) -> bool {
        true
    }
}
