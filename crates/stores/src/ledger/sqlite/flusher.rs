//! Flushes the log while the next transaction is decided. A transaction is written without a flush. Its requests, and
//! reads that saw it, are answered after a flush that began later has ended.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use tokio::sync::watch;

use super::job::Job;
use crate::ledger::LedgerFault;

/// A written transaction, and the jobs to answer when it is durable.
pub struct Written {
    pub number: u64,
    /// False: it only read, so it has nothing to flush.
    pub changed: bool,
    pub told: Vec<Box<dyn Job>>,
}

/// The flusher's side of the state that readers wait for.
pub struct Flusher {
    log: File,
    flushed: watch::Sender<u64>,
    fatal: Arc<Fatal>,
}

/// The disk can no longer be trusted. Reported once, never reset.
pub struct Fatal {
    dead: AtomicBool,
    /// It is expected to end the process.
    on_fatal: Box<dyn Fn(&str) + Send + Sync>,
}

impl Fatal {
    pub fn new(on_fatal: Box<dyn Fn(&str) + Send + Sync>) -> Fatal {
        Fatal { dead: AtomicBool::new(false), on_fatal }
    }

    pub fn dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    pub fn die(&self, error: &dyn std::error::Error) {
        if !self.dead.swap(true, Ordering::AcqRel) {
            tracing::error!(%error, "the disk failed; nothing more is acknowledged");
            (self.on_fatal)(&error.to_string());
        }
    }

    pub fn fault() -> LedgerFault {
        LedgerFault::Unreachable("a flush failed".into())
    }
}

impl Flusher {
    /// For the log of this database, which must exist. The log's name in the directory is made durable here, because
    /// SQLite does that only at its first flush.
    pub fn open(database: &Path, fatal: Arc<Fatal>) -> io::Result<(Flusher, Durable)> {
        let mut name = database.as_os_str().to_owned();
        name.push("-wal");
        // Closing a handle of the database file would release SQLite's locks on it. Closing one of the log does not.
        let log = File::options().read(true).write(true).open(&name)?;
        #[cfg(unix)]
        if let Some(folder) = database.parent() {
            File::open(folder)?.sync_all()?;
        }
        let (flushed, seen) = watch::channel(0);
        Ok((Flusher { log, flushed, fatal }, Durable { written: Arc::default(), flushed: seen }))
    }

    pub fn run(self, written: &Receiver<Written>) {
        while let Ok(first) = written.recv() {
            let mut group = vec![first];
            group.extend(written.try_iter());
            if !self.fatal.dead()
                && group.iter().any(|written| written.changed)
                && let Err(error) = self.log.sync_data()
            {
                self.fatal.die(&error);
            }
            if self.fatal.dead() {
                group.into_iter().flat_map(|w| w.told).for_each(|job| job.refuse(Fatal::fault()));
                self.flushed.send_replace(u64::MAX);
                continue;
            }
            if let Some(last) = group.last() {
                self.flushed.send_replace(last.number);
            }
            group.into_iter().flat_map(|w| w.told).for_each(|job| job.tell());
        }
    }
}

/// The newest visible transaction, and the newest durable one.
#[derive(Clone)]
pub struct Durable {
    written: Arc<AtomicU64>,
    flushed: watch::Receiver<u64>,
}

impl Durable {
    /// The number of the transaction that is about to become visible.
    pub fn announce(&self) -> u64 {
        self.written.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Waits until everything that may have been seen so far is durable. No answer, not even to a read, may contain
    /// what a power loss could undo.
    pub async fn wait(&mut self) {
        let seen = self.written.load(Ordering::Acquire);
        // If the flusher has ended, so has the ledger, and no request is left to answer.
        let _ = self.flushed.wait_for(|flushed| *flushed >= seen).await;
    }
}
