//! The ledger in PostgreSQL, for any number of servers. One row lock per subject puts batches in order; constraints are
//! the final check.
//!
//! Everything that opens a transaction runs in its own task: a caller that goes away neither stops the transaction nor
//! leaves it open.

mod address;
mod admin_tokens;
mod answers;
mod claim;
mod clock;
mod engine;
mod event;
mod facts;
mod failed_write;
mod holds;
mod identity;
mod link_columns;
mod personal;
mod planted;
mod prepare;
mod queries;
mod records;
mod room_type;
mod session;
mod tidy;
mod trouble;
mod verify;
mod webhooks;

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use rules::ids::Seat;
use rules::room_type::RoomType;
use rules::time::Clock;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::address::PostgresAddress;
use self::clock::DatabaseClock;
use self::engine::gather::Gathering;
use self::event::EventHints;
pub use self::facts::{PostgresFacts, PostgresProbe, ReplicaFacts};
use self::failed_write::FailedWrite;
use self::identity::Identity;
pub use self::planted::PlantedBug;
pub use self::prepare::{NotPrepared, format};
#[cfg(feature = "conformance")]
pub use self::session::SETTINGS;
use self::session::{Sessions, within};
use self::trouble::Trouble;
pub use self::verify::{insiders, verify, verify_with};
use super::halls::HallCache;
use super::{Answered, LedgerFault, LedgerName};

/// A statement parameter that can be sent to another task.
type Value = Box<dyn ToSql + Sync + Send>;
type Values = Vec<Value>;

macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$(Box::new($value) as $crate::ledger::postgres::Value),*] };
}
use values;

/// How often the ledger's identity is checked.
const LOOK: Duration = Duration::from_secs(1);

pub struct PostgresLedger(Arc<Inner>);

struct Inner {
    address: PostgresAddress,
    sessions: Sessions,
    halls: Arc<HallCache>,
    clock: DatabaseClock,
    /// Known after the database was reached and its tables have this version.
    identity: Arc<Identity>,
    event_hints: Arc<EventHints>,
    /// Batches of room types that wait for a shared transaction.
    room_types: Gathering<RoomType>,
    key_ttl_ms: i64,
    planted: PlantedBug,
    /// The claim is lost: another server may be selling with a door of its own.
    claim: claim::Claim,
    failed_write: FailedWrite,
    /// Why the last attempt to prepare failed.
    unreached: Mutex<Option<String>>,
}

/// The configuration of the ledger.
#[derive(Clone)]
pub struct PostgresConfig {
    pub url: String,
    /// The maximum number of connections.
    pub pool: usize,
    pub key_ttl_ms: i64,
    /// A monotonic clock, to tell how long ago the database reported its own.
    pub clock: Arc<dyn Clock>,
    pub planted: PlantedBug,
}

impl PostgresLedger {
    /// Does not connect yet: the database may start later than this process.
    pub fn new(place: &PostgresConfig) -> Result<PostgresLedger, String> {
        let address = PostgresAddress::read(&place.url)?;
        let (halls, event_hints) = (Arc::<HallCache>::default(), Arc::<EventHints>::default());
        let remembered = (halls.clone(), event_hints.clone());
        let identity = Arc::new(Identity::new(move || {
            remembered.0.forget_all();
            remembered.1.forget_all();
        }));
        Ok(PostgresLedger(Arc::new(Inner {
            sessions: Sessions::new(&address, place.pool, identity.clone())?,
            address,
            halls,
            clock: DatabaseClock::new(place.clock.clone()),
            identity,
            event_hints,
            room_types: Gathering::new(queries::LOCK_ROOM_TYPES),
            key_ttl_ms: place.key_ttl_ms,
            planted: place.planted,
            claim: claim::Claim::default(),
            failed_write: FailedWrite::default(),
            unreached: Mutex::default(),
        })))
    }

    /// Creates the tables, or migrates them to this version. Call it until it succeeds.
    pub async fn prepare(&self) -> Result<(), NotPrepared> {
        let known = self.0.identity.name.get().is_some();
        let prepared = prepare::prepare(&self.0.address, &self.0.identity).await;
        if let Err(NotPrepared::Unreachable(why)) = &prepared {
            *self.0.unreached() = Some(why.clone());
        }
        prepared?;
        if !known {
            tokio::spawn(watch(Arc::downgrade(&self.0)));
        }
        Ok(())
    }

    /// Claims this database for this server alone: with a door in the process, a second server would assign the same
    /// numbers. `on_change` is called with true when a lost claim was taken again, and with false when another server
    /// has it.
    pub async fn claim(&self, on_change: impl Fn(bool) + Send + Sync + 'static) -> Result<(), NotPrepared> {
        self.0.claim.take(&self.0.address, Box::new(on_change)).await
    }

    /// Known after `prepare` succeeded.
    pub fn named(&self) -> LedgerName {
        self.0.identity.name.clone()
    }

    /// Moves this ledger's clock, for tests.
    pub fn move_clock(&self, offset_ms: i64) {
        self.0.sessions.move_clock(offset_ms);
    }

    /// Open connections, in use or idle.
    pub fn connections(&self) -> usize {
        self.0.sessions.open()
    }

    /// Runs to completion even if the caller no longer waits.
    fn run<T, W>(&self, work: impl FnOnce(Arc<Inner>) -> W) -> Answered<T>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, LedgerFault>> + Send + 'static,
    {
        let work = work(self.0.clone());
        let prepared = self.0.prepared();
        let task = tokio::spawn(async move {
            prepared?;
            work.await
        });
        Box::pin(async move {
            task.await.unwrap_or_else(|_| Err(LedgerFault::Broken("the ledger's task has ended".into())))
        })
    }

    fn read<T: Send + 'static>(
        &self,
        query: &'static str,
        row: Values,
        understand: impl Fn(&Inner, Vec<Row>) -> Result<T, Trouble> + Send + 'static,
    ) -> Answered<T> {
        self.run(|inner| async move {
            let rows = inner.rows(query, &row).await.map_err(Trouble::fault)?;
            understand(&inner, rows).map_err(Trouble::fault)
        })
    }
}

impl Inner {
    fn unreached(&self) -> MutexGuard<'_, Option<String>> {
        self.unreached.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn prepared(&self) -> Result<(), LedgerFault> {
        if self.identity.name.get().is_none() {
            let why = self.unreached().as_ref().map_or_else(String::new, |why| format!(": {why}"));
            return Err(LedgerFault::Unreachable(format!("PostgreSQL has not been reached yet{why}")));
        }
        if self.claim.lost() {
            return Err(LedgerFault::Unreachable("the claim to be the only server is being renewed".into()));
        }
        Ok(())
    }

    /// One statement, one snapshot. If the connection turns out to be dead, the read is retried once on a new one,
    /// because reading twice does no harm.
    async fn rows(&self, query: &str, row: &[Value]) -> Result<Vec<Row>, Trouble> {
        match self.rows_once(query, row).await {
            Err(Trouble::Lost(_) | Trouble::Passing(_)) => self.rows_once(query, row).await,
            other => other,
        }
    }

    async fn rows_once(&self, query: &str, row: &[Value]) -> Result<Vec<Row>, Trouble> {
        let mut session = self.sessions.get().await?;
        let statement = session.prepared(query).await?;
        let row: Vec<&(dyn ToSql + Sync)> = row.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        session.dirty();
        let rows = within(session.query(&statement, &row)).await??;
        session.clean();
        Ok(rows)
    }

    /// Checks the identity of the ledger.
    async fn look(&self) -> Result<(), Trouble> {
        let mut session = self.sessions.get().await?;
        session.dirty();
        within(self.identity.look(&session)).await??;
        session.clean();
        Ok(())
    }

    async fn takes_writes(&self) -> Result<(), LedgerFault> {
        let rows = self.rows(queries::READY, &[]).await.map_err(Trouble::fault)?;
        let read_only: bool = rows.first().is_none_or(|row| row.try_get(0).unwrap_or(true));
        if read_only {
            return Err(LedgerFault::Unreachable("PostgreSQL does not take writes here".into()));
        }
        self.writes_again().await.map_err(Trouble::fault)
    }
}

/// Detects a restore that breaks no connection. It ends with the ledger.
async fn watch(ledger: Weak<Inner>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(ledger) = ledger.upgrade() else { return };
        if let Err(trouble) = ledger.look().await {
            tracing::debug!(fault = %trouble.fault(), "the ledger's identity could not be looked up");
        }
    }
}

/// A seat number in a request may exceed the column's type. It is then mapped to one beyond every existing seat.
fn seat_column(seat: Seat) -> i32 {
    i32::try_from(seat.0).unwrap_or(i32::MAX)
}

fn first<T>(rows: &[Row], understand: impl Fn(&Row) -> Result<T, Trouble>) -> Result<Option<T>, Trouble> {
    rows.first().map(understand).transpose()
}

fn all<T>(rows: &[Row], understand: impl Fn(&Row) -> Result<T, Trouble>) -> Result<Vec<T>, Trouble> {
    rows.iter().map(understand).collect()
}
