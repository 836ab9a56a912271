//! Checkpoints: the write-ahead log is copied into the database file beside the writer. A log of some
//! seconds is tens of megabytes: written and flushed by the writer itself, every sale behind it would
//! wait as long.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use rusqlite::hooks::Wal;
use rusqlite::{Connection, Result};

use super::flusher::Fatal;
use super::trouble;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const NEARLY_DONE: u8 = 2;

/// The first pass copies what was in the log when it began, the second what came meanwhile. What comes
/// during the second is left to the writer: only a log that is copied completely starts over.
const PASSES: usize = 2;

/// The writer's side.
pub struct CheckpointRequests {
    state: Arc<AtomicU8>,
    wanted: Sender<()>,
}

/// The side that does it, on a connection and thread of its own.
pub struct Checkpointer {
    conn: Connection,
    state: Arc<AtomicU8>,
    wanted: Receiver<()>,
    fatal: Arc<Fatal>,
}

pub fn open(database: &Path, fatal: Arc<Fatal>) -> Result<(CheckpointRequests, Checkpointer)> {
    let conn = Connection::open(database)?;
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    let (sender, wanted) = mpsc::channel();
    let state = Arc::new(AtomicU8::new(IDLE));
    Ok((CheckpointRequests { state: state.clone(), wanted: sender }, Checkpointer { conn, state, wanted, fatal }))
}

/// Keeps count of the pages of this connection's log: small transactions write more of them than rows.
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
    /// Asks for a checkpoint, unless one is running. True: all but the newest of the log is in the
    /// database, and the rest is quickly done.
    pub fn nearly_done(&self) -> bool {
        match self.state.load(Ordering::Acquire) {
            NEARLY_DONE => {
                self.state.store(IDLE, Ordering::Release);
                true
            }
            IDLE => {
                self.state.store(RUNNING, Ordering::Release);
                // The checkpointer has ended: then the writer does it.
                self.wanted.send(()).is_err()
            }
            _ => false,
        }
    }
}

impl Checkpointer {
    pub fn run(self) {
        while let Ok(()) = self.wanted.recv() {
            for _ in 0..PASSES {
                if self.fatal.dead() {
                    return;
                }
                match checkpoint(&self.conn) {
                    Ok(_) => {}
                    Err(error) if trouble::fatal(&error) => self.fatal.die(&error),
                    Err(error) => tracing::warn!(%error, "the checkpoint failed"),
                }
            }
            self.state.store(NEARLY_DONE, Ordering::Release);
        }
    }
}

/// Copies as much as readers allow, without waiting. True: the whole log is copied.
pub fn checkpoint(conn: &Connection) -> Result<bool> {
    conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        let (busy, logged, copied): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(!busy && logged == copied)
    })
}
