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
use super::{apply, entries, queries, trouble};
use crate::ledger::{Batch, Committed, Fault, LineBegun, TicketKey};

type Reply<T> = oneshot::Sender<std::result::Result<T, Fault>>;

pub enum Job {
    Commit(Batch, Reply<Committed>),
    Create(NewEvent, Option<EventId>, Reply<Event>),
    Raise(EventId, Reply<u64>),
    BeginLine(EventId, Reply<LineBegun>),
    MakeTicketKey([u8; 32], Reply<TicketKey>),
}

/// What a job came to inside the transaction; told once that is durable.
enum Finished {
    Commit(Option<Committed>),
    Create(Option<Event>),
    Raise(Option<u64>),
    BeginLine(Option<LineBegun>),
    MakeTicketKey(Option<TicketKey>),
}

impl Job {
    fn tell(self, finished: Finished) {
        fn send<T>(reply: Reply<T>, found: Option<T>) {
            let _ = reply.send(found.ok_or(Fault::NoSuchEvent));
        }
        match (self, finished) {
            (Job::Commit(_, reply), Finished::Commit(found)) => send(reply, found),
            (Job::Create(_, _, reply), Finished::Create(found)) => send(reply, found),
            (Job::Raise(_, reply), Finished::Raise(found)) => send(reply, found),
            (Job::BeginLine(_, reply), Finished::BeginLine(found)) => send(reply, found),
            (Job::MakeTicketKey(_, reply), Finished::MakeTicketKey(found)) => send(reply, found),
            (job, _) => job.refuse(Fault::Broken("a job was answered as another".into())),
        }
    }

    fn refuse(self, fault: Fault) {
        match self {
            Job::Commit(_, reply) => drop(reply.send(Err(fault))),
            Job::Create(_, _, reply) => drop(reply.send(Err(fault))),
            Job::Raise(_, reply) => drop(reply.send(Err(fault))),
            Job::BeginLine(_, reply) => drop(reply.send(Err(fault))),
            Job::MakeTicketKey(_, reply) => drop(reply.send(Err(fault))),
        }
    }
}

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

    /// All that waits, in one transaction. First without savepoints, because SQLite copies every
    /// page it changes inside one; if a batch is refused for a reason that lasts, once more with a
    /// savepoint each, so that only the guilty request fails. Nobody was told anything in between.
    fn group(&mut self, jobs: Vec<Job>) {
        if self.dead.load(Ordering::Acquire) {
            let fault = Fault::Unreachable("a flush failed earlier".into());
            jobs.into_iter().for_each(|job| job.refuse(fault.clone()));
            return;
        }
        match self.transaction(&jobs, apply::together) {
            Err(error) if trouble::lasting(&error) => {
                tracing::warn!(%error, "a transaction was refused; its batches run one by one");
                let alone = self.transaction(&jobs, apply::batch);
                self.tell(jobs, alone);
            }
            result => self.tell(jobs, result),
        }
    }

    fn transaction(&mut self, jobs: &[Job], run: apply::Run) -> Result<Vec<Finished>> {
        let now = self.clock.now();
        let before = self.conn.total_changes();
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let result = self.inside(jobs, run, now, before);
        if result.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        self.unfolded_rows += self.conn.total_changes() - before;
        result
    }

    fn inside(&self, jobs: &[Job], run: apply::Run, now: Moment, before: u64) -> Result<Vec<Finished>> {
        let mut finished = Vec::with_capacity(jobs.len());
        for job in jobs {
            finished.push(self.perform(job, now, run)?);
        }
        if before != self.conn.total_changes() {
            self.tidy(now)?;
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(finished)
    }

    fn perform(&self, job: &Job, now: Moment, run: apply::Run) -> Result<Finished> {
        let (conn, halls) = (&self.conn, &*self.halls);
        Ok(match job {
            Job::Commit(batch, _) => Finished::Commit(run(conn, halls, batch, now)?),
            Job::Create(new, id, _) => Finished::Create(apply::create_event(conn, halls, new, *id, now)?),
            Job::Raise(event, _) => Finished::Raise(self.raise(*event)?),
            Job::BeginLine(event, _) => Finished::BeginLine(entries::begin_line(conn, *event, now)?),
            Job::MakeTicketKey(secret, _) => {
                Finished::MakeTicketKey(Some(entries::make_ticket_key(conn, secret, now)?))
            }
        })
    }

    fn tell(&mut self, jobs: Vec<Job>, result: Result<Vec<Finished>>) {
        match result {
            Ok(finished) => jobs.into_iter().zip(finished).for_each(|(job, finished)| job.tell(finished)),
            Err(error) => self.failed(&error, jobs),
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

    fn failed(&mut self, error: &rusqlite::Error, jobs: Vec<Job>) {
        let fault = trouble::fault(error);
        if trouble::fatal(error) {
            self.die(error);
        } else {
            tracing::error!(%error, "the transaction failed; nothing of it was done");
        }
        jobs.into_iter().for_each(|job| job.refuse(fault.clone()));
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
