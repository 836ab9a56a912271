//! The ledger in one SQLite file: nothing to install, durable before anyone is told.
//!
//! One thread writes, one flushes, one folds the log, a few connections read. Write-ahead log, `synchronous=NORMAL`:
//! SQLite keeps the file whole, and the flusher makes every transaction durable before anyone is
//! told of it. Anybody may open the file with `sqlite3` to look.

mod apply;
mod engine;
mod entries;
mod flusher;
mod folder;
mod folding;
mod many;
mod queries;
mod readers;
mod rooms;
mod rows;
mod seat_holds;
mod trouble;
mod verify;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use rules::entries::Entry as Entered;
use rules::event::{Event, NewEvent};
use rules::history::EventRecord;
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::seats::Sale;
use rules::time::{Clock, Moment};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::oneshot;

use self::flusher::{Fatal, Flusher};
pub use self::folder::database_in;
use self::folder::{Folder, NotOurs};
use self::readers::Readers;
use self::rows::Halls;
pub use self::verify::verify;
use self::writer::{Job, Writer};
use super::{Answered, Batch, Commit, Committed, Ledger, LedgerFault, LineBegun, Reservation, Snapshot, TicketKey};

mod migrations {
    refinery::embed_migrations!("src/ledger/sqlite/migrations");
}

pub struct SqliteLedger {
    jobs: Sender<Job>,
    readers: Readers,
    halls: Arc<Halls>,
    clock: Arc<dyn Clock>,
    fatal: Arc<Fatal>,
    /// Last, so that the folder is let go of after everything else.
    _folder: Arc<Folder>,
}

/// Why a ledger could not be opened, in words for the operator.
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

/// What the ledger is given from outside.
pub struct Surroundings<C> {
    /// Makes the clock, given the newest moment that the ledger knows: time never goes back.
    pub clock: C,
    /// Called when the disk can no longer be trusted; expected to end the process.
    pub on_fatal: Box<dyn Fn(&str) + Send + Sync>,
    pub key_ttl_ms: i64,
}

impl SqliteLedger {
    pub fn open<C>(folder: &Path, surroundings: Surroundings<C>) -> Result<SqliteLedger, NotOpened>
    where
        C: FnOnce(Moment) -> Arc<dyn Clock>,
    {
        let claimed = Folder::claim(folder).map_err(|not_ours| match not_ours {
            NotOurs::InUse(path) => {
                NotOpened(format!("another tickettock is using the data folder {}", path.display()))
            }
            NotOurs::Io(path, error) => {
                NotOpened(format!("the data folder {} cannot be used: {error}", path.display()))
            }
        })?;
        let database = claimed.database();
        let mut conn = Connection::open(&database)?;
        configure(&conn)?;
        migrate(&mut conn)?;
        let newest: Option<i64> = conn.query_row(
            "SELECT max(changed_at) FROM (SELECT changed_at FROM event UNION ALL SELECT changed_at FROM room_type)",
            [],
            |row| row.get(0),
        )?;
        let clock = (surroundings.clock)(Moment(newest.unwrap_or(i64::MIN)));
        let (jobs, waiting) = mpsc::channel();
        let halls = Arc::new(Halls::default());
        let fatal = Arc::new(Fatal::new(surroundings.on_fatal));
        let (flusher, durable) = Flusher::open(&database, fatal.clone())
            .map_err(|e| NotOpened(format!("the database's log cannot be opened: {e}")))?;
        let (folding, folder) = folding::open(&database, fatal.clone())?;
        let log_pages = folding::measured(&mut conn)?;
        let (written, flushing) = mpsc::channel();
        let writer = Writer {
            conn,
            halls: halls.clone(),
            clock: clock.clone(),
            key_ttl_ms: surroundings.key_ttl_ms,
            fatal: fatal.clone(),
            durable: durable.clone(),
            written,
            folding,
            log_pages,
            unfolded: true,
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
        spawn("folder", move || {
            folder.run();
            drop(held.2);
        })?;
        Ok(SqliteLedger { jobs, readers: Readers::new(database, durable), halls, clock, fatal, _folder: claimed })
    }

    fn ask<T: Send + 'static>(&self, job: impl FnOnce(oneshot::Sender<Result<T, LedgerFault>>) -> Job) -> Answered<T> {
        let (reply, answer) = oneshot::channel();
        let sent = self.jobs.send(job(reply));
        Box::pin(async move {
            let gone = || LedgerFault::Unreachable("the ledger's thread has ended".into());
            sent.map_err(|_| gone())?;
            answer.await.unwrap_or_else(|_| Err(gone()))
        })
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), NotOpened> {
    let started = std::thread::Builder::new().name(name.into()).spawn(work);
    started.map(drop).map_err(|e| NotOpened(format!("no thread for the ledger: {e}")))
}

fn configure(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "journal_mode", "WAL")?;
    // Flushes before and after folding the log, not at every commit: that is the flusher's.
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    // The log is folded beside the writer, with its errors seen.
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    // KiB. With less, an event of a million seats probes its owners on the disk; a server that sells
    // for long grows by this much, and no more.
    conn.pragma_update(None, "cache_size", -65_536)?;
    // Without this, binding a value that a partial index might care about prepares the statement anew.
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

impl Commit<Event> for SqliteLedger {
    fn commit(&self, batch: Batch<Event>) -> Answered<Committed<Event>> {
        self.ask(|reply| Job::Commit(batch, reply))
    }
}

impl Ledger for SqliteLedger {
    /// One is decided while the other is flushed.
    fn overlap(&self) -> usize {
        2
    }

    fn create_event(&self, new: NewEvent, id: Option<EventId>) -> Answered<Event> {
        self.ask(|reply| Job::Create(new, id, reply))
    }

    fn raise_generation(&self, event: EventId) -> Answered<u64> {
        self.ask(|reply| Job::Raise(event, reply))
    }

    fn events(&self, after: Option<EventId>, limit: usize) -> Answered<Vec<Event>> {
        let (halls, clock) = (self.halls.clone(), self.clock.clone());
        self.readers.read(move |conn| {
            let mut events = rows::events(conn, &halls, after, limit)?;
            events.iter_mut().try_for_each(|event| seat_holds::count_lapsed(conn, event, clock.now()))?;
            Ok(events)
        })
    }

    fn event(&self, id: EventId) -> Answered<Option<Event>> {
        let (halls, clock) = (self.halls.clone(), self.clock.clone());
        self.readers.read(move |conn| {
            let mut event = rows::event(conn, &halls, id)?;
            event.iter_mut().try_for_each(|event| seat_holds::count_lapsed(conn, event, clock.now()))?;
            Ok(event)
        })
    }

    fn sale_of_seat(&self, event: EventId, seat: Seat) -> Answered<Option<Sale>> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::SALE_OF_SEAT)?.query_row((event.0, seat.0), rows::sale).optional()
        })
    }

    fn snapshot(&self, event: EventId) -> Answered<Snapshot> {
        let halls = self.halls.clone();
        let found = self.readers.read(move |conn| {
            // One transaction: the number and the seats are of the same moment.
            let moment = conn.unchecked_transaction()?;
            let Some(event) = rows::event(&moment, &halls, event)? else { return Ok(None) };
            let mut statement = moment.prepare_cached(queries::SOLD_SEATS)?;
            let sold = statement.query_map([event.id.0], |row| row.get(0).map(Seat))?.collect::<Result<_, _>>()?;
            Ok(Some(Snapshot { n: event.counts.n, seat_count: event.seat_count(), sold }))
        });
        Box::pin(async move { found.await?.ok_or(LedgerFault::NoSuchSubject) })
    }

    fn history(&self, event: EventId, after: u64, limit: usize) -> Answered<Vec<EventRecord>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::HISTORY)?;
            statement.query_map((event.0, after as i64, limit as i64), rows::entry)?.collect()
        })
    }

    fn reservation(&self, id: ReservationId) -> Answered<Option<Reservation>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::SALE)?;
            let sale = statement.query_row((id.event.0, id.n as i64), rows::sale).optional()?;
            Ok(sale.map(|sale| Reservation { event: id.event, sale }))
        })
    }

    fn reservations_of(&self, user: User, after: Option<(EventId, Seat)>, limit: usize) -> Answered<Vec<Reservation>> {
        self.readers.read(move |conn| {
            let (event, seat) = after.map_or((i64::MIN, 0), |(event, seat)| (event.0, seat.0));
            let mut statement = conn.prepare_cached(queries::RESERVATIONS_OF)?;
            statement.query_map((user.as_str(), event, seat, limit as i64), rows::reservation)?.collect()
        })
    }

    fn reservations_in(&self, event: EventId, after: Option<Seat>, limit: usize) -> Answered<Vec<Reservation>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::RESERVATIONS_IN)?;
            statement.query_map((event.0, after.map_or(0, |s| s.0), limit as i64), rows::reservation)?.collect()
        })
    }

    fn entry_of(&self, event: EventId, user: User) -> Answered<Option<Entered>> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::ENTRY_OF)?.query_row((event.0, user.as_str()), rows::inside).optional()
        })
    }

    fn number_spent(&self, event: EventId, number: Number) -> Answered<bool> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::NUMBER_SPENT)?.query_row((event.0, number.0 as i64), |row| row.get(0))
        })
    }

    fn begin_line(&self, event: EventId) -> Answered<LineBegun> {
        self.ask(|reply| Job::BeginLine(event, reply))
    }

    fn ticket_keys(&self) -> Answered<Vec<TicketKey>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::TICKET_KEYS)?;
            statement.query_map([], |row| Ok(TicketKey { id: row.get(0)?, secret: row.get(1)? }))?.collect()
        })
    }

    fn rotate_ticket_key(&self, secret: [u8; 32]) -> Answered<TicketKey> {
        self.ask(|reply| Job::MakeTicketKey(secret, reply))
    }

    fn close(&self) -> Answered<()> {
        self.ask(Job::Close)
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn ready(&self) -> Answered<()> {
        let dead = self.fatal.dead();
        Box::pin(async move { if dead { Err(Fatal::fault()) } else { Ok(()) } })
    }
}
