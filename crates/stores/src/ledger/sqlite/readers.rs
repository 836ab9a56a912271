//! Read-only connections. A reader sees one snapshot of the ledger and blocks nobody. Only when the log has grown too
//! long, new reads are blocked for a moment.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::flusher::Durable;
use super::trouble;
use crate::ledger::{Answered, LedgerFault};
use crate::limited;

const READERS_MOST: usize = 4;

/// New reads wait at most this long for older ones while the log must be emptied.
const READ_MOST: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Readers {
    database: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
    durable: Durable,
}

impl Readers {
    pub fn new(database: PathBuf, durable: Durable) -> Readers {
        Readers { database, idle: Arc::default(), places: Arc::new(Semaphore::new(READERS_MOST)), durable }
    }

    pub fn database(&self) -> &std::path::Path {
        &self.database
    }

    /// The handle that can block these readers.
    pub fn gate(&self) -> ReaderGate {
        ReaderGate { places: self.places.clone() }
    }

    pub fn read<T: Send + 'static>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send + 'static) -> Answered<T> {
        let readers = self.clone();
        let mut durable = self.durable.clone();
        Box::pin(async move {
            let Ok(place) = readers.places.clone().acquire_owned().await else {
                return Err(LedgerFault::Unreachable("the ledger is closed".into()));
            };
            let done = tokio::task::spawn_blocking(move || {
                let _place = place;
                readers.once(work)
            });
            let done = done.await;
            durable.wait().await;
            match done {
                Ok(result) => result.map_err(|error| {
                    limited!(error, %error, "a read failed");
                    trouble::fault(&error)
                }),
                Err(_) => Err(LedgerFault::Broken("a read panicked".into())),
            }
        })
    }

    fn once<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => open(&self.database)?,
        };
        let result = work(&conn)?;
        self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(conn);
        Ok(result)
    }
}

pub fn open(database: &std::path::Path) -> Result<Connection> {
    let conn =
        Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(Duration::from_secs(1))?;
    conn.set_prepared_statement_cache_capacity(32);
    Ok(conn)
}

/// Lets a thread wait until no reads are in progress.
pub struct ReaderGate {
    places: Arc<Semaphore>,
}

/// New reads are blocked until this is dropped.
pub struct HeldReaders {
    _places: OwnedSemaphorePermit,
}

impl ReaderGate {
    /// Blocks new reads, and waits until those in progress have ended. None: they take too long.
    pub fn hold(&self) -> Option<HeldReaders> {
        let all = self.places.clone().acquire_many_owned(READERS_MOST as u32);
        // Called rarely, on a thread without an async runtime.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().ok()?;
        let held = runtime.block_on(async { tokio::time::timeout(READ_MOST, all).await });
        Some(HeldReaders { _places: held.ok()?.ok()? })
    }
}
