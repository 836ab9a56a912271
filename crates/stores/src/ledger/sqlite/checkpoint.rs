//! Checkpoints: a separate thread copies the write-ahead log into the database file. The log of a few seconds is tens
//! of megabytes. If the writer itself copied and flushed it, every later sale would wait that long.
//!
//! A log starts over only when all of it is copied and no reader uses it. Overlapping slow reads leave no such moment.
//! So at twice the limit, readers are blocked until the writer has emptied the log. The same happens when something in
//! it was erased, because old pages stay in a log that starts over until new ones overwrite them.

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use rules::time::Moment;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, Result};

use super::flusher::Fatal;
use super::readers::{HeldReaders, ReaderGate};
use super::trouble;
use crate::limited;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const NEARLY_DONE: u8 = 2;
const READERS_HELD: u8 = 3;

/// The first pass copies what was in the log when it began, the second pass what was added meanwhile. The rest is left
/// to the writer: only a completely copied log starts over.
const PASSES: usize = 2;

/// Readers are blocked for erased text at most this often.
const WIPE_EVERY_MS: i64 = 5_000;

#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Copy,
    /// Copy, and block the readers so that the log can be emptied.
    Empty,
}

/// The writer's next action on the log.
pub enum LogStep {
    /// Copy the rest of it, which is short.
    Finish,
    /// Empty it while readers are blocked. Dropping this unblocks them.
    Empty(HeldReaders),
}

/// The writer's side.
pub struct CheckpointRequests {
    state: Arc<AtomicU8>,
    held: Arc<Mutex<Option<HeldReaders>>>,
    wanted: Sender<Wanted>,
    /// A checkpoint is due at this many pages.
    limit: usize,
    /// The log must be emptied at this many pages.
    empty_at: usize,
    /// The log contains erased text, and must be emptied however short it is.
    wipes: bool,
    /// The time of the last attempt to do so.
    wiped: Option<Moment>,
}

/// The checkpointer, on its own connection and thread.
pub struct Checkpointer {
    conn: Connection,
    state: Arc<AtomicU8>,
    held: Arc<Mutex<Option<HeldReaders>>>,
    wanted: Receiver<Wanted>,
    gate: ReaderGate,
    fatal: Arc<Fatal>,
}

pub fn open(
    database: &Path,
    limit: usize,
    gate: ReaderGate,
    fatal: Arc<Fatal>,
) -> Result<(CheckpointRequests, Checkpointer)> {
    let conn = Connection::open(database)?;
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    let (sender, wanted) = mpsc::channel();
    let (state, held) = (Arc::new(AtomicU8::new(IDLE)), Arc::default());
    let requests = CheckpointRequests {
        state: state.clone(),
        held: Arc::clone(&held),
        wanted: sender,
        limit,
        empty_at: 2 * limit,
        wipes: false,
        wiped: None,
    };
    Ok((requests, Checkpointer { conn, state, held, wanted, gate, fatal }))
}

/// Counts the pages of this connection's log. Small transactions write more pages than rows.
pub fn count_log_pages(conn: &mut Connection) -> Result<Arc<AtomicUsize>> {
    let pages = Arc::new(AtomicUsize::new(0));
    let newest = pages.clone();
    conn.wal_hook(Some(move |_: &mut Wal, pages: i32| {
        newest.store(pages.unsigned_abs() as usize, Ordering::Relaxed);
        Ok(())
    }))?;
    Ok(pages)
}

impl CheckpointRequests {
    /// Requests what a log of this length needs, unless that is in progress. Returns Some when the checkpointer has
    /// done its part and the rest is up to the writer.
    pub fn next_step(&mut self, pages: usize, now: Moment) -> Option<LogStep> {
        match self.state.load(Ordering::Acquire) {
            NEARLY_DONE => {
                self.state.store(IDLE, Ordering::Release);
                Some(LogStep::Finish)
            }
            READERS_HELD => {
                self.state.store(IDLE, Ordering::Release);
                self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take().map(LogStep::Empty)
            }
            IDLE if pages >= self.limit || self.wipe_is_due(now) => {
                self.state.store(RUNNING, Ordering::Release);
                let wipe = self.wipe_is_due(now);
                if wipe {
                    self.wiped = Some(now);
                }
                let wanted = if wipe || pages >= self.empty_at { Wanted::Empty } else { Wanted::Copy };
                if pages >= self.empty_at {
                    // If this fails because another process reads, our readers are not blocked all the time.
                    self.empty_at = pages + self.limit;
                }
                // The checkpointer has ended, so the writer does it.
                self.wanted.send(wanted).is_err().then_some(LogStep::Finish)
            }
            IDLE => {
                self.empty_at = 2 * self.limit;
                None
            }
            _ => None,
        }
    }

    /// The log contains erased text, and will be emptied soon.
    pub fn wipe(&mut self) {
        self.wipes = true;
    }

    fn wipe_is_due(&self, now: Moment) -> bool {
        self.wipes && self.wiped.is_none_or(|tried| tried.ms_until(now) >= WIPE_EVERY_MS)
    }

    /// The log is empty.
    pub fn emptied(&mut self) {
        self.wipes = false;
    }

    /// Readers may be waiting for the writer.
    pub fn under_way(&self) -> bool {
        self.state.load(Ordering::Acquire) != IDLE
    }
}

impl Checkpointer {
    pub fn run(self) {
        while let Ok(wanted) = self.wanted.recv() {
            // A log that must be emptied was copied again and again while it grew.
            let passes = if wanted == Wanted::Empty { 1 } else { PASSES };
            if !self.copy(passes) {
                return;
            }
            let mut next = NEARLY_DONE;
            if wanted == Wanted::Empty {
                match self.gate.hold() {
                    Some(readers) => {
                        // The part of the log that the readers needed until now.
                        if !self.copy(1) {
                            return;
                        }
                        *self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(readers);
                        next = READERS_HELD;
                    }
                    None => limited!(warn, "a read takes so long that the log cannot be emptied"),
                }
            }
            self.state.store(next, Ordering::Release);
        }
    }

    /// Returns false if the disk failed.
    fn copy(&self, passes: usize) -> bool {
        for _ in 0..passes {
            if self.fatal.dead() {
                return false;
            }
            match checkpoint(&self.conn) {
                Ok(_) => {}
                Err(error) if trouble::fatal(&error) => self.fatal.die(&error),
                Err(error) => limited!(warn, %error, "the checkpoint failed"),
            }
        }
        true
    }
}

/// Copies as much as readers allow, without waiting. Returns true if the whole log is copied.
pub fn checkpoint(conn: &Connection) -> Result<bool> {
    conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        let (busy, logged, copied): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(!busy && logged == copied)
    })
}

/// Copies the whole log and truncates it. Returns false if a reader still uses it.
pub fn empty(conn: &Connection) -> Result<bool> {
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0).map(|busy: bool| !busy))
}
