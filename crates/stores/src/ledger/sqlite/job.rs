//! Jobs: what the writer does inside a transaction, and how it is answered once that is durable.

use rules::time::Moment;
use rusqlite::{Connection, Result};
use tokio::sync::oneshot;

use crate::ledger::LedgerFault;
use crate::ledger::halls::HallCache;

/// An open transaction.
pub struct Transaction<'a> {
    pub conn: &'a Connection,
    pub halls: &'a HallCache,
    pub now: Moment,
    pub care: Care,
}

/// How the batches of a transaction are run.
#[derive(Clone, Copy)]
pub enum Care {
    None,
    /// Each in a savepoint, and a guilty one command by command.
    EachAlone,
}

pub trait Job: Send {
    /// Does its part of the transaction. Called again if the transaction runs again.
    fn perform(&mut self, transaction: &Transaction<'_>) -> Result<()>;

    /// What it did is durable.
    fn tell(self: Box<Self>);

    fn refuse(self: Box<Self>, fault: LedgerFault);

    /// It wants the log to be empty first.
    fn empties_log(&self) -> bool {
        false
    }
}

pub type JobReply<T> = oneshot::Sender<std::result::Result<T, LedgerFault>>;

/// A job made of a closure. None: its subject does not exist.
pub struct Task<T, W> {
    work: W,
    done: Option<T>,
    reply: JobReply<T>,
}

impl<T, W> Task<T, W>
where
    T: Send,
    W: FnMut(&Transaction<'_>) -> Result<Option<T>> + Send,
{
    pub fn new(work: W, reply: JobReply<T>) -> Task<T, W> {
        Task { work, done: None, reply }
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
