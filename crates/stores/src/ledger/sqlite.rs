//! The ledger in one SQLite file: nothing to install, durable before any response.
//!
//! One thread writes, one flushes, one makes checkpoints, and a few connections read. With the write-ahead log and
//! `synchronous=NORMAL`, SQLite keeps the file consistent, and the flusher makes every transaction durable before it is
//! acknowledged. The file may be opened with `sqlite3` for reading.

mod admin_tokens;
mod answers;
mod backup;
mod changes;
mod checkpoint;
mod data_dir;
mod engine;
mod event;
mod flusher;
mod generations;
mod health;
mod holds;
mod job;
mod many;
mod personal;
mod queries;
mod readers;
mod records;
mod restore;
mod room_type;
mod tidy;
mod trouble;
mod verify;
mod webhooks;
mod writer;

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use rules::time::{Clock, Moment};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::oneshot;

pub use self::backup::{BackupMade, BackupPace, CopyFault, backup};
pub use self::changes::{LedgerChanges, LedgerState};
pub use self::data_dir::database_in;
use self::data_dir::{DataDir, NotClaimed};
use self::flusher::{Fatal, Flusher};
use self::generations::GenerationsFile;
use self::health::WriteHealth;
use self::job::{Job, JobReply, Task, Transaction};
use self::readers::Readers;
pub use self::restore::{Restored, restore};
pub use self::verify::{verify, verify_file, verify_with};
pub use self::writer::LOG_PAGES;
use self::writer::SqliteWriter;
use super::halls::HallCache;
use super::{Answered, LedgerFault};

mod migrations {
    refinery::embed_migrations!("src/ledger/sqlite/migrations");
}

pub struct SqliteLedger {
    jobs: Sender<Box<dyn Job>>,
    readers: Readers,
    halls: Arc<HallCache>,
    clock: Arc<dyn Clock>,
    /// For how long the rules replay a stored answer.
    key_ttl_ms: i64,
    fatal: Arc<Fatal>,
    health: Arc<WriteHealth>,
    generations: Arc<GenerationsFile>,
    /// Last, so that the directory is released after everything else.
    _data_dir: Arc<DataDir>,
}

/// Why a ledger could not be opened, as a message for the operator.
#[derive(Debug)]
pub struct NotOpened(String);

impl fmt::Display for NotOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotOpened {}

impl From<rusqlite::Error> for NotOpened {
    fn from(error: rusqlite::Error) -> Self {
        NotOpened(format!("the database cannot be opened: {error}"))
    }
}

impl From<NotClaimed> for NotOpened {
    fn from(not_claimed: NotClaimed) -> Self {
        NotOpened(match not_claimed {
            NotClaimed::InUse(path) => format!("another tickettock is using the data folder {}", path.display()),
            NotClaimed::Io(path, error) => format!("the data folder {} cannot be used: {error}", path.display()),
        })
    }
}

/// The configuration of the ledger.
pub struct SqliteConfig<C> {
    /// Creates the clock from the newest stored timestamp: time never goes back.
    pub clock: C,
    /// Called when the disk can no longer be trusted. It is expected to end the process.
    pub on_fatal: Box<dyn Fn(&str) + Send + Sync>,
    pub key_ttl_ms: i64,
    /// A checkpoint is due when the log has this many pages.
    pub log_pages: usize,
}

impl SqliteLedger {
    pub fn open<C>(folder: &Path, surroundings: SqliteConfig<C>) -> Result<SqliteLedger, NotOpened>
    where
        C: FnOnce(Moment) -> Arc<dyn Clock>,
    {
        let claimed = DataDir::claim(folder)?;
        let database = claimed.database();
        let mut conn = Connection::open(&database)?;
        configure(&conn)?;
        migrate(&mut conn)?;
        conn.busy_timeout(writer::LOCK_TRY)?;
        // SQLite truncates a log beyond this size when it starts over.
        conn.pragma_update(None, "journal_size_limit", 2 * PAGE * surroundings.log_pages as i64)?;
        let generations = Arc::new(GenerationsFile::open(folder, &conn)?);
        let newest: Option<i64> = conn.query_row(
            "SELECT max(changed_at) FROM (SELECT changed_at FROM event UNION ALL SELECT changed_at FROM room_type)",
            [],
            |row| row.get(0),
        )?;
        let clock = (surroundings.clock)(Moment(newest.unwrap_or(i64::MIN)));
        let (jobs, waiting) = mpsc::channel();
        let halls = Arc::new(HallCache::default());
        let fatal = Arc::new(Fatal::new(surroundings.on_fatal));
        let (flusher, durable) = Flusher::open(&database, fatal.clone())
            .map_err(|e| NotOpened(format!("the database's log cannot be opened: {e}")))?;
        let readers = Readers::new(database.clone(), durable.clone());
        let limit = surroundings.log_pages;
        let (checkpoints, checkpointer) = checkpoint::open(&database, limit, readers.gate(), fatal.clone())?;
        let health = Arc::new(WriteHealth::new(&database));
        let log_pages = checkpoint::count_log_pages(&mut conn)?;
        let (written, flushing) = mpsc::channel();
        let writer = SqliteWriter {
            conn,
            halls: halls.clone(),
            clock: clock.clone(),
            fatal: fatal.clone(),
            health: health.clone(),
            durable,
            written,
            checkpoints,
            log_pages,
            log_pending: true,
            erases: Cell::new(false),
            behind_lock: VecDeque::new(),
        };
        let claimed = Arc::new(claimed);
        let held = (claimed.clone(), claimed.clone(), claimed.clone());
        spawn("ledger", move || {
            writer.run(&waiting);
            drop(held.0);
        })?;
        spawn("flusher", move || {
            flusher.run(&flushing);
            drop(held.1);
        })?;
        spawn("checkpointer", move || {
            checkpointer.run();
            drop(held.2);
        })?;
        Ok(SqliteLedger {
            jobs,
            readers,
            halls,
            clock,
            key_ttl_ms: surroundings.key_ttl_ms,
            fatal,
            health,
            generations,
            _data_dir: claimed,
        })
    }

    /// Runs a job in the writer's next transaction. None: its subject does not exist.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Transaction<'_>) -> rusqlite::Result<Option<T>> + Send + 'static,
    ) -> Answered<T> {
        self.ask(|reply| Box::new(Task::new(work, reply)))
    }

    fn ask<T: Send + 'static>(&self, job: impl FnOnce(JobReply<T>) -> Box<dyn Job>) -> Answered<T> {
        ask(&self.jobs, job)
    }
}

fn ask<T: Send + 'static>(jobs: &Sender<Box<dyn Job>>, job: impl FnOnce(JobReply<T>) -> Box<dyn Job>) -> Answered<T> {
    let (reply, answer) = oneshot::channel();
    let sent = jobs.send(job(reply));
    Box::pin(async move {
        let gone = || LedgerFault::Unreachable("the ledger's thread has ended".into());
        sent.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    })
}

/// The page size of the database, the default of SQLite.
const PAGE: i64 = 4_096;

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), NotOpened> {
    let started = std::thread::Builder::new().name(name.into()).spawn(work);
    started.map(drop).map_err(|e| NotOpened(format!("no thread for the ledger: {e}")))
}

fn configure(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "journal_mode", "WAL")?;
    // With this setting SQLite flushes before and after a checkpoint, not at every commit: the flusher does that.
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    // The checkpointer makes checkpoints on its own thread and handles their errors.
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    // KiB. With less, an event of a million seats reads the index of owners from the disk. During a long sale memory
    // grows by this much at most.
    conn.pragma_update(None, "cache_size", -65_536)?;
    // Overwrites what a cancellation or an erasure removes, whole pages included: `FAST` would leave those as they are,
    // and metadata fills some.
    conn.pragma_update(None, "secure_delete", "ON")?;
    // Without this, binding a value that a partial index might depend on recompiles the statement.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.busy_timeout(Duration::from_secs(1))?;
    conn.set_prepared_statement_cache_capacity(128);
    Ok(())
}

fn migrate(conn: &mut Connection) -> Result<(), NotOpened> {
    migrations::migrations::runner().run(conn).map_err(|error| {
        NotOpened(format!("the database has a format that this version does not know, or cannot be migrated: {error}"))
    })?;
    let known: Option<String> = conn.query_row("SELECT id FROM ledger", [], |row| row.get(0)).optional()?;
    if known.is_none() {
        conn.execute("INSERT INTO ledger (only_row, id) VALUES (1, ?1)", [uuid::Uuid::new_v4().to_string()])?;
    }
    Ok(())
}
