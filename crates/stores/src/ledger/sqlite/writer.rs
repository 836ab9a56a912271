//! The one thread that writes. What waits when it comes round, of all events, is one transaction
//! (group commit); the flusher makes it durable while the next one is decided.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rules::event::{Event, NewEvent};
use rules::ids::EventId;
use rules::stays::{NewRoomType, RoomType};
use rules::time::{Clock, Moment};
use rusqlite::{Connection, OptionalExtension, Result};
use tokio::sync::oneshot;

use super::flusher::{Durable, Fatal, Written};
use super::folding::Folding;
use super::rows::Halls;
use super::{apply, engine, entries, folding, queries, rooms, trouble};
use crate::ledger::{Batch, Committed, LedgerFault, LineBegun, TicketKey};

type Reply<T> = oneshot::Sender<std::result::Result<T, LedgerFault>>;

pub enum Job {
    Commit(Batch<Event>, Reply<Committed<Event>>),
    Create(NewEvent, Option<EventId>, Reply<Event>),
    Raise(EventId, Reply<u64>),
    BeginLine(EventId, Reply<LineBegun>),
    MakeTicketKey([u8; 32], Reply<TicketKey>),
    Rooms(Batch<RoomType>, Reply<Committed<RoomType>>),
    CreateRooms(NewRoomType, Reply<RoomType>),
    /// Fold the log into the database and empty it.
    Close(Reply<()>),
}

/// What a job came to inside the transaction; told once that is durable.
pub enum Finished {
    Commit(Option<Committed<Event>>),
    Create(Option<Event>),
    Raise(Option<u64>),
    BeginLine(Option<LineBegun>),
    MakeTicketKey(Option<TicketKey>),
    Rooms(Option<Committed<RoomType>>),
    CreateRooms(Option<RoomType>),
    Close,
}

impl Job {
    pub fn tell(self, finished: Finished) {
        fn send<T>(reply: Reply<T>, found: Option<T>) {
            let _ = reply.send(found.ok_or(LedgerFault::NoSuchSubject));
        }
        match (self, finished) {
            (Job::Commit(_, reply), Finished::Commit(found)) => send(reply, found),
            (Job::Create(_, _, reply), Finished::Create(found)) => send(reply, found),
            (Job::Raise(_, reply), Finished::Raise(found)) => send(reply, found),
            (Job::BeginLine(_, reply), Finished::BeginLine(found)) => send(reply, found),
            (Job::MakeTicketKey(_, reply), Finished::MakeTicketKey(found)) => send(reply, found),
            (Job::Rooms(_, reply), Finished::Rooms(found)) => send(reply, found),
            (Job::CreateRooms(_, reply), Finished::CreateRooms(found)) => send(reply, found),
            (Job::Close(reply), Finished::Close) => send(reply, Some(())),
            (job, _) => job.refuse(LedgerFault::Broken("a job was answered as another".into())),
        }
    }

    pub fn refuse(self, fault: LedgerFault) {
        match self {
            Job::Commit(_, reply) => drop(reply.send(Err(fault))),
            Job::Create(_, _, reply) => drop(reply.send(Err(fault))),
            Job::Raise(_, reply) => drop(reply.send(Err(fault))),
            Job::BeginLine(_, reply) => drop(reply.send(Err(fault))),
            Job::MakeTicketKey(_, reply) => drop(reply.send(Err(fault))),
            Job::Rooms(_, reply) => drop(reply.send(Err(fault))),
            Job::CreateRooms(_, reply) => drop(reply.send(Err(fault))),
            Job::Close(reply) => drop(reply.send(Err(fault))),
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
/// The log is folded into the database at so many pages (96 MiB), or when nobody asks.
const LOG_PAGES: usize = 24_576;
const IDLE: Duration = Duration::from_secs(1);

pub struct Writer {
    pub conn: Connection,
    pub halls: Arc<Halls>,
    pub clock: Arc<dyn Clock>,
    /// How old a kept answer may be before it is tidied away.
    pub key_ttl_ms: i64,
    pub fatal: Arc<Fatal>,
    pub durable: Durable,
    pub written: Sender<Written>,
    pub folding: Folding,
    /// How long the log is, as of the newest commit.
    pub log_pages: Arc<AtomicUsize>,
    /// Something of the log is not in the database yet.
    pub unfolded: bool,
}

impl Writer {
    pub fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            match jobs.recv_timeout(IDLE) {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(jobs.try_iter().take(GROUP_MOST - 1));
                    if group.iter().any(|job| matches!(job, Job::Close(_))) {
                        self.fold_wholly();
                    }
                    self.group(group);
                    if self.log_pages.load(Ordering::Relaxed) >= LOG_PAGES && self.folding.nearly() {
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
        if self.fatal.dead() {
            jobs.into_iter().for_each(|job| job.refuse(Fatal::fault()));
            return;
        }
        let number = self.durable.announce();
        let before = self.conn.total_changes();
        let result = match self.transaction(&jobs, Care::None) {
            Err(error) if trouble::lasting(&error) => {
                tracing::warn!(%error, "a transaction was refused; its batches run one by one");
                self.transaction(&jobs, Care::EachAlone)
            }
            result => result,
        };
        let told = match result {
            Ok(finished) => jobs.into_iter().zip(finished).collect(),
            Err(error) => {
                self.failed(&error, jobs);
                Vec::new()
            }
        };
        let changed = before != self.conn.total_changes();
        // Also if nothing was done: readers wait for the number.
        if let Err(unsent) = self.written.send(Written { number, changed, told }) {
            unsent.0.told.into_iter().for_each(|(job, _)| job.refuse(Fatal::fault()));
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
        self.unfolded |= self.conn.total_changes() != before;
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
                Care::None => engine::together(conn, halls, batch, now)?,
                Care::EachAlone => engine::with_savepoint(conn, halls, batch, now)?,
            }),
            Job::Rooms(batch, _) => Finished::Rooms(match care {
                Care::None => engine::together(conn, halls, batch, now)?,
                Care::EachAlone => engine::with_savepoint(conn, halls, batch, now)?,
            }),
            Job::CreateRooms(new, _) => Finished::CreateRooms(rooms::create(conn, new, now)?),
            Job::Create(new, id, _) => Finished::Create(apply::create_event(conn, halls, new, *id, now)?),
            Job::Raise(event, _) => Finished::Raise(self.raise(*event)?),
            Job::BeginLine(event, _) => Finished::BeginLine(entries::begin_line(conn, *event, now)?),
            Job::MakeTicketKey(secret, _) => {
                Finished::MakeTicketKey(Some(entries::make_ticket_key(conn, secret, now)?))
            }
            Job::Close(_) => Finished::Close,
        })
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
            self.fatal.die(error);
        } else {
            tracing::error!(%error, "the transaction failed; nothing of it was done");
        }
        jobs.into_iter().for_each(|job| job.refuse(fault.clone()));
    }

    /// Nothing of it has to be there for the sales to be safe: it only makes one file of two.
    fn fold_wholly(&mut self) {
        if let Err(error) = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the log could not be folded");
        }
    }

    /// Folds what is left of the log into the database file. Readers may stop it half way; it goes
    /// on next time.
    fn fold(&mut self) {
        if !self.unfolded || self.fatal.dead() {
            return;
        }
        match folding::fold(&self.conn) {
            Ok(wholly) => self.unfolded = !wholly,
            Err(error) if trouble::fatal(&error) => self.fatal.die(&error),
            Err(error) => tracing::warn!(%error, "the log could not be folded"),
        }
    }
}
