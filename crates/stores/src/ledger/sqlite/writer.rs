//! The one thread that writes. What waits when it comes round, of all events, is one transaction
//! and one flush (group commit); each batch stands in a savepoint of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rules::event::{Event, NewEvent};
use rules::ids::EventId;
use rules::stays::{NewRoomType, RoomType};
use rules::time::{Clock, Moment};
use rusqlite::{Connection, OptionalExtension, Result};
use tokio::sync::oneshot;

use super::rows::Halls;
use super::{apply, queries, rooms, trouble};
use crate::ledger::rooms::{RoomBatch, RoomsCommitted};
use crate::ledger::{Batch, Committed, Fault};

type Reply<T> = oneshot::Sender<std::result::Result<T, Fault>>;

pub enum Job {
    Commit(Batch, Reply<Committed>),
    Create(NewEvent, Option<EventId>, Reply<Event>),
    Raise(EventId, Reply<u64>),
    Rooms(RoomBatch, Reply<RoomsCommitted>),
    CreateRooms(NewRoomType, Reply<RoomType>),
}

/// What a job came to inside the transaction; told once that is durable.
enum Finished {
    Commit(Option<Committed>),
    Create(Option<Event>),
    Raise(Option<u64>),
    Rooms(Option<RoomsCommitted>),
    CreateRooms(Option<RoomType>),
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
            (Job::Rooms(_, reply), Finished::Rooms(found)) => send(reply, found),
            (Job::CreateRooms(_, reply), Finished::CreateRooms(found)) => send(reply, found),
            (job, _) => job.refuse(Fault::Broken("a job was answered as another".into())),
        }
    }

    fn refuse(self, fault: Fault) {
        match self {
            Job::Commit(_, reply) => drop(reply.send(Err(fault))),
            Job::Create(_, _, reply) => drop(reply.send(Err(fault))),
            Job::Raise(_, reply) => drop(reply.send(Err(fault))),
            Job::Rooms(_, reply) => drop(reply.send(Err(fault))),
            Job::CreateRooms(_, reply) => drop(reply.send(Err(fault))),
        }
    }
}

/// How the batches of a transaction are run.
#[derive(Clone, Copy)]
enum Care {
    None,
    /// Each in a savepoint, and a guilty one command by command.
    EachAlone,
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
        match self.transaction(&jobs, Care::None) {
            Err(error) if trouble::lasting(&error) => {
                tracing::warn!(%error, "a transaction was refused; its batches run one by one");
                let alone = self.transaction(&jobs, Care::EachAlone);
                self.tell(jobs, alone);
            }
            result => self.tell(jobs, result),
        }
    }

    fn transaction(&mut self, jobs: &[Job], care: Care) -> Result<Vec<Finished>> {
        let now = self.clock.now();
        let before = self.conn.total_changes();
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let result = self.inside(jobs, care, now, before);
        if result.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        self.unfolded_rows += self.conn.total_changes() - before;
        result
    }

    fn inside(&self, jobs: &[Job], care: Care, now: Moment, before: u64) -> Result<Vec<Finished>> {
        let mut finished = Vec::with_capacity(jobs.len());
        for job in jobs {
            finished.push(self.perform(job, now, care)?);
        }
        if before != self.conn.total_changes() {
            self.tidy(now)?;
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(finished)
    }

    fn perform(&self, job: &Job, now: Moment, care: Care) -> Result<Finished> {
        let (conn, halls) = (&self.conn, &*self.halls);
        Ok(match job {
            Job::Commit(batch, _) => Finished::Commit(match care {
                Care::None => apply::together(conn, halls, batch, now)?,
                Care::EachAlone => apply::batch(conn, halls, batch, now)?,
            }),
            Job::Rooms(batch, _) => Finished::Rooms(match care {
                Care::None => rooms::together(conn, batch, now)?,
                Care::EachAlone => rooms::batch(conn, batch, now)?,
            }),
            Job::CreateRooms(new, _) => Finished::CreateRooms(rooms::create(conn, new, now)?),
            Job::Create(new, id, _) => Finished::Create(apply::create_event(conn, halls, new, *id, now)?),
            Job::Raise(event, _) => Finished::Raise(self.raise(*event)?),
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
