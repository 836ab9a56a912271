//! The only thread that writes. All jobs that wait when it is free, of all subjects, become one transaction (group
//! commit); the flusher makes it durable while the next one is decided.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rules::time::{Clock, Reading};
use rusqlite::{Connection, Result};

use super::checkpoint::{self, CheckpointRequests, LogStep};
use super::flusher::{Durable, Fatal, Written};
use super::health::WriteHealth;
use super::job::{Care, Job, Transaction};
use super::{queries, trouble};
use crate::ledger::LedgerFault;
use crate::ledger::halls::HallCache;
use crate::limited;

const GROUP_MOST: usize = 64;
/// A checkpoint is due when the log has this many pages (96 MiB), or when the ledger is idle.
pub const LOG_PAGES: usize = 24_576;
/// During a checkpoint, an idle writer checks this often whether it has to do its part.
const CHECKPOINT_STEP: Duration = Duration::from_millis(10);
/// How long the writer tries to get the database lock before late requests may be withdrawn.
pub const LOCK_TRY: Duration = Duration::from_millis(100);
const IDLE: Duration = Duration::from_secs(1);

pub struct SqliteWriter {
    pub conn: Connection,
    pub halls: Arc<HallCache>,
    pub clock: Arc<dyn Clock>,
    pub fatal: Arc<Fatal>,
    pub health: Arc<WriteHealth>,
    pub durable: Durable,
    pub written: Sender<Written>,
    pub checkpoints: CheckpointRequests,
    /// The length of the log, as of the newest commit.
    pub log_pages: Arc<AtomicUsize>,
    /// Part of the log is not in the database file yet.
    pub log_pending: bool,
    /// A job erased something.
    pub erases: Cell<bool>,
    /// Jobs that wait because another process has locked the database, in order.
    pub behind_lock: VecDeque<Box<dyn Job>>,
}

impl SqliteWriter {
    pub fn run(mut self, jobs: &Receiver<Box<dyn Job>>) {
        loop {
            match self.behind_lock.pop_front().map_or_else(|| jobs.recv_timeout(self.patience()), Ok) {
                Ok(first) => {
                    let mut group = vec![first];
                    let again = self.behind_lock.len().min(GROUP_MOST - 1);
                    group.extend(self.behind_lock.drain(..again));
                    group.extend(jobs.try_iter().take(GROUP_MOST - group.len()));
                    if group.iter().any(|job| job.empties_log()) {
                        // The last job: readers get a second to finish.
                        self.empty_log(Duration::from_secs(1));
                    }
                    if let Some(group) = self.group(group) {
                        self.wait_for_lock(group, jobs);
                    }
                    self.tend_log();
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.tend_log();
                    if !self.checkpoints.under_way() {
                        self.checkpoint();
                        self.try_again();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// How long to wait for the next job.
    fn patience(&self) -> Duration {
        if self.checkpoints.under_way() { CHECKPOINT_STEP } else { IDLE }
    }

    /// Runs all waiting jobs in one transaction. The first attempt uses no savepoints, because SQLite copies every page
    /// that changes inside one. If a batch fails permanently, the transaction runs again with a savepoint per batch, so
    /// that only the failing request is refused. Nothing is answered in between.
    ///
    /// Returns the jobs if another process has locked the database.
    fn group(&mut self, mut jobs: Vec<Box<dyn Job>>) -> Option<Vec<Box<dyn Job>>> {
        if self.fatal.dead() {
            jobs.into_iter().for_each(|job| job.refuse(Fatal::fault()));
            return None;
        }
        match self.begin() {
            Ok(()) => {}
            Err(error) if trouble::busy(&error) => return Some(jobs),
            Err(error) => {
                self.failed(&error, jobs);
                return None;
            }
        }
        let number = self.durable.announce();
        let before = self.conn.total_changes();
        let result = match self.transaction(&mut jobs, Care::None) {
            Err(error) if trouble::lasting(&error) => {
                limited!(warn, %error, "a transaction was refused; its batches run one by one");
                self.begin().and_then(|()| self.transaction(&mut jobs, Care::EachAlone))
            }
            result => result,
        };
        let mut again = None;
        let told = match result {
            Ok(()) => jobs,
            Err(error) if trouble::busy(&error) => {
                again = Some(jobs);
                Vec::new()
            }
            Err(error) => {
                self.failed(&error, jobs);
                Vec::new()
            }
        };
        let changed = before != self.conn.total_changes();
        if changed && !told.is_empty() {
            self.health.works();
        }
        // Even if nothing was done: readers wait for the number.
        if let Err(unsent) = self.written.send(Written { number, changed, told }) {
            unsent.0.told.into_iter().for_each(|job| job.refuse(Fatal::fault()));
        }
        again
    }

    /// Waits for the database lock for at most `LOCK_TRY`.
    fn begin(&self) -> Result<()> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop)
    }

    /// Puts jobs that found the database locked before all later jobs, so that nothing is decided before them. Every
    /// waiting job is asked whether it continues to wait.
    fn wait_for_lock(&mut self, group: Vec<Box<dyn Job>>, jobs: &Receiver<Box<dyn Job>>) {
        let later = std::mem::take(&mut self.behind_lock);
        for mut job in group.into_iter().chain(later).chain(jobs.try_iter()) {
            if job.keeps_waiting() {
                self.behind_lock.push_back(job);
            } else {
                job.refuse(LedgerFault::Locked);
            }
        }
    }

    /// Runs in an open transaction. The clock is read under the lock, so what expired during the wait for the lock has
    /// expired.
    fn transaction(&mut self, jobs: &mut [Box<dyn Job>], care: Care) -> Result<()> {
        let read = self.clock.read();
        let before = self.conn.total_changes();
        let result = self.inside(jobs, care, read);
        if result.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        self.log_pending |= self.conn.total_changes() != before;
        result
    }

    fn inside(&self, jobs: &mut [Box<dyn Job>], care: Care, read: Reading) -> Result<()> {
        let transaction = Transaction { conn: &self.conn, erases: &self.erases, halls: &self.halls, read, care };
        jobs.iter_mut().try_for_each(|job| job.perform(&transaction))?;
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn failed(&mut self, error: &rusqlite::Error, jobs: Vec<Box<dyn Job>>) {
        let fault = trouble::fault(error);
        if trouble::fatal(error) {
            self.fatal.die(error);
        } else {
            limited!(error, %error, "the transaction failed; nothing of it was done");
            // A request that cannot be stored says nothing about the disk.
            if !trouble::lasting(error) {
                self.health.failed(error);
            }
        }
        jobs.into_iter().for_each(|job| job.refuse(fault.clone()));
    }

    /// The writer's part of a checkpoint, after the checkpointer has done the rest.
    fn tend_log(&mut self) {
        if self.erases.take() {
            self.checkpoints.wipe();
        }
        match self.checkpoints.next_step(self.log_pages.load(Ordering::Relaxed), self.clock.now()) {
            None => {}
            Some(LogStep::Finish) => self.checkpoint(),
            Some(LogStep::Empty(_held)) => self.empty_log(Duration::ZERO),
        }
    }

    /// Sales are safe without it: it only merges the log into the database file. Other readers get this long to finish.
    fn empty_log(&mut self, wait: Duration) {
        if self.fatal.dead() {
            return;
        }
        let _ = self.conn.busy_timeout(wait);
        match checkpoint::empty(&self.conn) {
            Ok(true) => {
                self.log_pages.store(0, Ordering::Relaxed);
                self.log_pending = false;
                self.checkpoints.emptied();
            }
            Ok(false) => {
                limited!(warn, "a read elsewhere (a shell, a backup, an audit) keeps the log from being emptied")
            }
            Err(error) if trouble::fatal(&error) => self.fatal.die(&error),
            Err(error) => limited!(warn, %error, "the log could not be emptied"),
        }
        let _ = self.conn.busy_timeout(LOCK_TRY);
    }

    /// Copies the rest of the log into the database file. Readers may stop it part way; it continues next time.
    fn checkpoint(&mut self) {
        if !self.log_pending || self.fatal.dead() {
            return;
        }
        match checkpoint::checkpoint(&self.conn) {
            Ok(wholly) => self.log_pending = !wholly,
            Err(error) if trouble::fatal(&error) => self.fatal.die(&error),
            Err(error) => limited!(warn, %error, "the checkpoint failed"),
        }
    }

    /// After a failed write without a later one: writes a page, so that `/readyz` detects when the ledger can write
    /// again.
    fn try_again(&mut self) {
        if self.health.ready().is_ok() || self.fatal.dead() || !self.health.has_room() {
            return;
        }
        match self.conn.execute_batch(queries::WRITE_A_PAGE) {
            Ok(()) => {
                self.log_pending = true;
                self.health.works();
            }
            Err(error) if trouble::fatal(&error) => self.fatal.die(&error),
            Err(error) => {
                self.health.failed(&error);
                if !self.conn.is_autocommit() {
                    let _ = self.conn.execute_batch("ROLLBACK");
                }
            }
        }
    }
}
