//! Stands for the conformance suite: a ledger and a door of each kind that we ship, and time that
//! the test moves for both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rules::arrive::Budget;
use rules::time::{Clock, Moment};
use stores::conformance::Stand;
use stores::door::local::LocalDoor;
use stores::door::redis::{RedisConfig, RedisDoor, STEP};
use stores::ledger::LedgerName;
use stores::ledger::postgres::{PlantedBug, PostgresLedger};
use stores::ledger::sqlite::{LOG_PAGES, SqliteConfig, SqliteLedger, database_in};

use crate::clock::{FixtureClock, START};
use crate::database::{self, Database};
use crate::folder::TestFolder;

/// SQLite with the door in the process.
pub struct SqliteStand {
    pub stand: Stand,
    folder: TestFolder,
}

impl SqliteStand {
    pub fn fresh() -> SqliteStand {
        let folder = TestFolder::new("sqlite");
        let clock = Arc::new(FixtureClock::default());
        let ledger = Arc::new(open_sqlite(&folder.path().join("data"), &clock));
        let door = Arc::new(LocalDoor::new(clock.clone(), Budget::default()));
        let wall = clock.clone();
        let advance = Arc::new(move |ms| clock.advance_ms(ms));
        let stand = Stand::new(ledger, door, advance).with_wall(move |ms| wall.step_wall_ms(ms));
        SqliteStand { stand, folder }
    }

    /// The ledger's data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        database_in(&self.data())
    }
}

/// Panics if the folder cannot be opened or the disk fails.
pub fn open_sqlite(folder: &Path, clock: &Arc<FixtureClock>) -> SqliteLedger {
    let clock = clock.clone();
    let surroundings = SqliteConfig {
        clock: move |newest: Moment| {
            clock.raise_to(Moment(newest.0.max(START.0)));
            clock as Arc<dyn Clock>
        },
        on_fatal: Box::new(|why| panic!("the disk failed: {why}")),
        key_ttl_ms: 86_400_000,
        log_pages: LOG_PAGES,
    };
    SqliteLedger::open(folder, surroundings).expect("a fresh folder opens")
}

/// PostgreSQL with the door in the process.
pub struct PostgresStand {
    pub stand: Stand,
    pub database: Database,
}

impl PostgresStand {
    pub async fn fresh() -> PostgresStand {
        let database = Database::fresh().await;
        let stand = postgres_stand(&database).await;
        PostgresStand { stand, database }
    }
}

/// A server of its own on this database.
pub async fn postgres_stand(database: &Database) -> Stand {
    let ledger = Arc::new(prepared(&database.url, PlantedBug::default()).await);
    let clock = Arc::new(FixtureClock::default());
    let door = Arc::new(LocalDoor::new(clock.clone(), Budget::default()));
    let move_ledger = ledger_mover(&ledger);
    let step_wall = move_ledger.clone();
    let advance = Arc::new(move |ms| {
        clock.advance_ms(ms);
        move_ledger(ms);
    });
    Stand::new(ledger, door, advance).with_wall(step_wall)
}

/// Moves the database's clock, by this much more with every call. It has no other clock than the wall clock.
fn ledger_mover(ledger: &Arc<PostgresLedger>) -> impl Fn(i64) + Clone + Send + Sync + 'static {
    let (moved, total) = (ledger.clone(), Arc::new(AtomicI64::new(0)));
    move |ms| moved.move_clock(total.fetch_add(ms, Ordering::SeqCst) + ms)
}

/// A ledger that is ready, with a bug or without.
pub async fn prepared(url: &str, bug: PlantedBug) -> PostgresLedger {
    let ledger = database::ledger(url, bug);
    ledger.prepare().await.unwrap_or_else(|e| panic!("{url}: {e}"));
    ledger
}

/// A database of its own, and Redis at this address.
pub async fn redis_stand(url: &str, cluster: bool) -> Stand {
    let database = Database::fresh().await;
    let ledger = Arc::new(prepared(&database.url, PlantedBug::default()).await);
    let place =
        RedisConfig { url: url.to_owned(), cluster, budget: Budget::default(), ledger: ledger.named(), step: STEP };
    let door = Arc::new(RedisDoor::new(place).expect("a sound address"));
    let (move_ledger, moved_door, total) = (ledger_mover(&ledger), door.clone(), AtomicI64::new(0));
    let step_wall = move_ledger.clone();
    let advance = Arc::new(move |ms| {
        move_ledger(ms);
        moved_door.move_clock(total.fetch_add(ms, Ordering::SeqCst) + ms);
    });
    Stand::new(ledger, door, advance).with_wall(step_wall)
}

/// More patient than a server's: tests compare its answers, however busy the machine is.
pub fn redis_door(url: &str, cluster: bool, ledger: &str, budget: Budget) -> RedisDoor {
    let ledger = LedgerName::from(ledger);
    let step = Duration::from_secs(5);
    RedisDoor::new(RedisConfig { url: url.to_owned(), cluster, budget, ledger, step }).expect("a sound address")
}
