//! The one thread that writes. Everything that waits when it is free, of all subjects, becomes one
//! transaction (group commit); the flusher makes it durable while the next one is decided.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rules::time::{Clock, Moment};
use rusqlite::{Connection, Result};

use super::checkpoint::{CheckpointRequests, checkpoint};
use super::flusher::{Durable, Fatal, Written};
use super::job::{Care, Job, Transaction};
use super::{queries, trouble};
use crate::ledger::halls::HallCache;

const GROUP_MOST: usize = 64;
/// A checkpoint is due at this many pages of the log (96 MiB), or when the ledger is idle.
const LOG_PAGES: usize = 24_576;
const IDLE: Duration = Duration::from_secs(1);

pub struct SqliteWriter {
    pub conn: Connection,
    pub halls: Arc<HallCache>,
    pub clock: Arc<dyn Clock>,
    /// How old a kept answer may be before it is tidied away.
    pub key_ttl_ms: i64,
    pub fatal: Arc<Fatal>,
    pub durable: Durable,
    pub written: Sender<Written>,
    pub checkpoints: CheckpointRequests,
    /// How long the log is, as of the newest commit.
    pub log_pages: Arc<AtomicUsize>,
    /// Something of the log is not in the database file yet.
    pub log_pending: bool,
}

impl SqliteWriter {
    pub fn run(mut self, jobs: &Receiver<Box<dyn Job>>) {
        loop {
            match jobs.recv_timeout(IDLE) {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(jobs.try_iter().take(GROUP_MOST - 1));
                    if group.iter().any(|job| job.empties_log()) {
                        self.empty_log();
                    }
                    self.group(group);
                    if self.log_pages.load(Ordering::Relaxed) >= LOG_PAGES && self.checkpoints.nearly_done() {
                        self.checkpoint();
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.checkpoint(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Runs all waiting jobs in one transaction. First without savepoints, because SQLite copies every page
    /// it changes inside one. If a batch is refused for a reason that lasts, the transaction runs again
    /// with a savepoint each, so that only the guilty request fails. Nothing is answered in between.
    fn group(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if self.fatal.dead() {
            jobs.into_iter().for_each(|job| job.refuse(Fatal::fault()));
            return;
        }
        let number = self.durable.announce();
        let before = self.conn.total_changes();
        let result = match self.transaction(&mut jobs, Care::None) {
            Err(error) if trouble::lasting(&error) => {
                tracing::warn!(%error, "a transaction was refused; its batches run one by one");
                self.transaction(&mut jobs, Care::EachAlone)
            }
            result => result,
        };
        let told = match result {
            Ok(()) => jobs,
            Err(error) => {
                self.failed(&error, jobs);
                Vec::new()
            }
        };
        let changed = before != self.conn.total_changes();
        // Even if nothing was done: readers wait for the number.
        if let Err(unsent) = self.written.send(Written { number, changed, told }) {
            unsent.0.told.into_iter().for_each(|job| job.refuse(Fatal::fault()));
        }
    }

    fn transaction(&mut self, jobs: &mut [Box<dyn Job>], care: Care) -> Result<()> {
        let now = self.clock.now();
        let before = self.conn.total_changes();
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let result = self.inside(jobs, care, now, before);
        if result.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        self.log_pending |= self.conn.total_changes() != before;
        result
    }

    fn inside(&self, jobs: &mut [Box<dyn Job>], care: Care, now: Moment, before: u64) -> Result<()> {
        let transaction = Transaction { conn: &self.conn, halls: &self.halls, now, care };
        jobs.iter_mut().try_for_each(|job| job.perform(&transaction))?;
        if before != self.conn.total_changes() {
            self.tidy(now)?;
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn tidy(&self, now: Moment) -> Result<()> {
        self.conn.prepare_cached(queries::FORGET_ANSWERS)?.execute([now.0 - self.key_ttl_ms])?;
        Ok(())
    }

    fn failed(&mut self, error: &rusqlite::Error, jobs: Vec<Box<dyn Job>>) {
        let fault = trouble::fault(error);
        if trouble::fatal(error) {
            self.fatal.die(error);
        } else {
            tracing::error!(%error, "the transaction failed; nothing of it was done");
        }
        jobs.into_iter().for_each(|job| job.refuse(fault.clone()));
    }

    /// Sales are safe without it: it only merges the log into the database file.
    fn empty_log(&mut self) {
        if let Err(error) = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the log could not be emptied");
        }
    }

    /// Copies the rest of the log into the database file. Readers may stop it half way; it continues next
    /// time.
    fn checkpoint(&mut self) {
        if !self.log_pending || self.fatal.dead() {
            return;
        }
        match checkpoint(&self.conn) {
            Ok(wholly) => self.log_pending = !wholly,
            Err(error) if trouble::fatal(&error) => self.fatal.die(&error),
            Err(error) => tracing::warn!(%error, "the checkpoint failed"),
        }
    }
}
