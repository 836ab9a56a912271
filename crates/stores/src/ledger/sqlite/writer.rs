//! The one thread that writes. What waits when it comes round, of all events, is one transaction
//! and one flush (group commit); each batch stands in a savepoint of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rules::event::{Event, NewEvent};
use rules::ids::EventId;
use rules::time::{Clock, Moment};
use rusqlite::{Connection, OptionalExtension, Result};
use tokio::sync::oneshot;

use super::rows::Halls;
use super::{apply, queries, trouble};
use crate::ledger::{Batch, Committed, Fault};

type Reply<T> = oneshot::Sender<std::result::Result<T, Fault>>;

pub enum Job {
    Commit(Batch, Reply<Committed>),
    Create(NewEvent, Option<EventId>, Reply<Event>),
    Raise(EventId, Reply<u64>),
}

/// Tells the one who waits: its own result if the transaction is durable, else what went wrong.
type Tell = Box<dyn FnOnce(Option<Fault>)>;

const GROUP_MOST: usize = 64;
/// The log is folded into the database after so many changed rows, or when nobody asks.
const CHECKPOINT_ROWS: u64 = 65_536;
const IDLE: Duration = Duration::from_secs(1);

pub struct Writer {
    pub conn: Connection,
    pub halls: Arc<Halls>,
    pub clock: Arc<dyn Clock>,
    /// How old a kept answer may be before it is tidied away.
    pub key_ttl_ms: i64,
    pub dead: Arc<AtomicBool>,
    /// Called once when the disk can no longer be trusted. Expected to end the process.
    pub on_fatal: Box<dyn Fn(&str) + Send>,
    pub unfolded_rows: u64,
}

impl Writer {
    pub fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            match jobs.recv_timeout(IDLE) {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(jobs.try_iter().take(GROUP_MOST - 1));
                    self.group(group);
                    if self.unfolded_rows >= CHECKPOINT_ROWS {
                        self.fold();
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.fold(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn group(&mut self, jobs: Vec<Job>) {
        if self.dead.load(Ordering::Acquire) {
            let fault = Fault::Unreachable("a flush failed earlier".into());
            jobs.into_iter().for_each(|job| refuse(job, fault.clone()));
            return;
        }
        let now = self.clock.now();
        let before = self.conn.total_changes();
        if let Err(error) = self.conn.execute_batch("BEGIN IMMEDIATE") {
            return self.failed(&error, jobs.into_iter().map(refusing).collect());
        }
        let mut tells: Vec<Tell> = Vec::with_capacity(jobs.len());
        for job in jobs {
            match self.perform(job, now) {
                Ok(tell) => tells.push(tell),
                Err((error, tell)) => {
                    tells.push(tell);
                    // The rest of this group is refused with it: nothing of it was begun.
                    if self.conn.is_autocommit() || trouble::fatal(&error) {
                        return self.failed(&error, tells);
                    }
                }
            }
        }
        if before != self.conn.total_changes()
            && let Err(error) = self.tidy(now)
        {
            return self.failed(&error, tells);
        }
        match self.conn.execute_batch("COMMIT") {
            Ok(()) => {
                self.unfolded_rows += self.conn.total_changes() - before;
                tells.into_iter().for_each(|tell| tell(None));
            }
            Err(error) => self.failed(&error, tells),
        }
    }

    /// Does one job inside the open transaction. An error that ended the transaction is passed up.
    fn perform(&self, job: Job, now: Moment) -> std::result::Result<Tell, (rusqlite::Error, Tell)> {
        match job {
            Job::Commit(batch, reply) => finished(apply::batch(&self.conn, &self.halls, &batch, now), reply),
            Job::Create(new, id, reply) => {
                let work = || apply::create_event(&self.conn, &self.halls, &new, id, now);
                finished(apply::within_savepoint(&self.conn, work), reply)
            }
            Job::Raise(event, reply) => finished(self.raise(event), reply),
        }
    }

    fn raise(&self, event: EventId) -> Result<Option<u64>> {
        self.conn
            .prepare_cached(queries::RAISE_GENERATION)?
            .query_row([event.0], |row| row.get::<_, i64>(0).map(|g| g as u64))
            .optional()
    }

    fn tidy(&self, now: Moment) -> Result<()> {
        self.conn.prepare_cached(queries::FORGET_ANSWERS)?.execute([now.0 - self.key_ttl_ms])?;
        Ok(())
    }

    fn failed(&mut self, error: &rusqlite::Error, tells: Vec<Tell>) {
        if !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        let fault = trouble::fault(error);
        if trouble::fatal(error) {
            self.die(error);
        } else {
            tracing::error!(%error, "the transaction failed; nothing of it was done");
        }
        tells.into_iter().for_each(|tell| tell(Some(fault.clone())));
    }

    fn die(&self, error: &rusqlite::Error) {
        if !self.dead.swap(true, Ordering::AcqRel) {
            tracing::error!(%error, "the disk failed; nothing more is acknowledged");
            (self.on_fatal)(&error.to_string());
        }
    }

    /// Folds the log into the database file. Readers may stop it half way; it goes on next time.
    fn fold(&mut self) {
        if self.unfolded_rows == 0 || self.dead.load(Ordering::Acquire) {
            return;
        }
        let folded = self
            .conn
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
        match folded {
            Ok((logged, folded)) if logged == folded => self.unfolded_rows = 0,
            Ok(_) => {}
            Err(error) if trouble::fatal(&error) => self.die(&error),
            Err(error) => tracing::warn!(%error, "the log could not be folded"),
        }
    }
}

fn finished<T: 'static>(
    result: Result<Option<T>>,
    reply: Reply<T>,
) -> std::result::Result<Tell, (rusqlite::Error, Tell)> {
    match result {
        Ok(found) => Ok(Box::new(move |fault| {
            let _ = reply.send(match fault {
                Some(fault) => Err(fault),
                None => found.ok_or(Fault::NoSuchEvent),
            });
        })),
        Err(error) => {
            let own = trouble::fault(&error);
            let tell: Tell = Box::new(move |_| {
                let _ = reply.send(Err(own));
            });
            Err((error, tell))
        }
    }
}

fn refuse(job: Job, fault: Fault) {
    refusing(job)(Some(fault));
}

fn refusing(job: Job) -> Tell {
    fn tell<T: 'static>(reply: Reply<T>) -> Tell {
        Box::new(move |fault| {
            let _ = reply.send(Err(fault.unwrap_or(Fault::Locked)));
        })
    }
    match job {
        Job::Commit(_, reply) => tell(reply),
        Job::Create(_, _, reply) => tell(reply),
        Job::Raise(_, reply) => tell(reply),
    }
}
