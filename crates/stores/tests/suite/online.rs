//! Migrations under load: what docs/upgrades.md says is run as it stands there, while others write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rules::ids::EventId;
use stores::conformance::{Stand, expect_sale};
use testing::database::{self, Database};
use testing::stands::postgres_stand;
use tokio_postgres::Client;

use crate::old_formats::database_as_of;

const ROWS: i32 = 1_000_000;
/// The most that a migration may keep a table for itself.
const MOST: Duration = Duration::from_millis(200);

/// The statements of docs/upgrades.md, block by block.
fn blocks() -> Vec<String> {
    let page = include_str!("../../../../docs/upgrades.md");
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.collect()
}

async fn many_seats(client: &Client) {
    let rows = format!(
        "INSERT INTO event (id, name, seat_count, max_per_user, state, created_at, changed_at, n)
         VALUES (7, 'Large', 2000000, 1, 'open', 1, 1, 1);
         INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number)
         SELECT 7, i, 2000000, 'sold', 'u' || i, 1, 1, i + 1, 1, i FROM generate_series(1, {ROWS}) i;
         ANALYZE taken"
    );
    client.batch_execute(&rows).await.unwrap();
}

/// The longest time of one write, and how many there were.
#[derive(Clone, Copy, Debug, Default)]
struct Writes {
    longest: Duration,
    count: u32,
}

impl Writes {
    async fn of(&mut self, writing: impl Future<Output = ()>) {
        let began = Instant::now();
        writing.await;
        self.longest = self.longest.max(began.elapsed());
        self.count += 1;
    }
}

/// An older server, which is this version: it sells one seat after another, and knows nothing of the new column.
async fn older_server(stand: Stand, event: EventId, stop: Arc<AtomicBool>) -> Writes {
    let mut writes = Writes::default();
    while !stop.load(Ordering::Relaxed) {
        let user = format!("old-{}-{}", writes.count, stand.next());
        let selling = async {
            expect_sale(&stand.one(event, stand.reserve(&user)).await.unwrap()).unwrap();
        };
        writes.of(selling).await;
    }
    writes
}

/// A newer server writes the column itself.
async fn newer_server(client: Client, stop: Arc<AtomicBool>) -> Writes {
    let insert = "INSERT INTO taken (event, seat, hall_seats, hall_size, kind, owner, unit, unit_limit, n, at, number)
                  SELECT 7, $1, 2000000, 2000000, 'sold', 'u' || $1, 1, 1, $1 + 1, 1, $1";
    let insert = client.prepare_typed(insert, &[tokio_postgres::types::Type::INT4]).await.unwrap();
    let mut writes = Writes::default();
    while !stop.load(Ordering::Relaxed) {
        let seat = ROWS + 1 + writes.count as i32;
        let writing = async {
            client.execute(&insert, &[&seat]).await.unwrap();
        };
        writes.of(writing).await;
    }
    writes
}

/// A long transaction keeps the lock of a reader: statements that need the table for themselves wait for it, and
/// must not make others wait. Returns how long the table was theirs alone.
async fn alone(client: &Client, sql: &str) -> Duration {
    for _ in 0..600 {
        match client.batch_execute("BEGIN; LOCK TABLE taken IN ACCESS EXCLUSIVE MODE").await {
            Ok(()) => {
                let locked = Instant::now();
                client.batch_execute(sql).await.unwrap();
                client.batch_execute("COMMIT").await.unwrap();
                return locked.elapsed();
            }
            Err(error) => {
                let code = error.code().unwrap_or_else(|| panic!("{error:?}"));
                assert_eq!(code, &tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE, "{sql}: {error:?}");
                client.batch_execute("ROLLBACK").await.unwrap();
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never got the lock: {sql}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_million_rows_are_changed_under_load() {
    let database = Database::fresh().await;
    let client = database.connect().await;
    let stand = postgres_stand(&database).await;
    let sold = stand.event(1_000_000, 1).await.unwrap().id;
    many_seats(&client).await;
    // Which sold seats may be changed is said by a trigger; the example's exception to it.
    let exception = "DROP TRIGGER taken_one_owner ON taken;
        CREATE TRIGGER taken_one_owner BEFORE UPDATE OF kind, owner, unit, n, number ON taken
        FOR EACH ROW WHEN (OLD.kind = 'sold' AND NEW.kind = 'sold') EXECUTE FUNCTION refuse('this seat is taken')";
    let stop = Arc::new(AtomicBool::new(false));
    // A report that reads for a second at a time.
    let reading = tokio::spawn({
        let (client, stop) = (database.connect().await, stop.clone());
        async move {
            while !stop.load(Ordering::Relaxed) {
                client.batch_execute("BEGIN; SELECT count(*) FROM taken; SELECT pg_sleep(0.5); COMMIT").await.unwrap();
            }
        }
    });
    // What a write takes on this machine before anything is migrated.
    let before = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(older_server(stand.clone(), sold, before.clone()));
    tokio::time::sleep(Duration::from_secs(3)).await;
    before.store(true, Ordering::Relaxed);
    let usual = writing.await.unwrap();
    let old = tokio::spawn(older_server(stand, sold, stop.clone()));
    client.batch_execute("SET lock_timeout = '100ms'").await.unwrap();
    let [expand, fill, constrain, validate, index, contract] = &blocks()[..] else { panic!("six blocks of SQL") };
    let mut locks = vec![alone(&client, exception).await, alone(&client, expand).await];
    // From here on old and new servers run together.
    let new = tokio::spawn(newer_server(database.connect().await, stop.clone()));
    let fill = client.prepare(fill).await.unwrap();
    let mut last = (i64::MIN, i32::MIN);
    while let Some(row) = client.query_opt(&fill, &[&last.0, &last.1]).await.unwrap() {
        last = (row.get(0), row.get(1));
    }
    locks.push(alone(&client, constrain).await);
    // These two let reads and writes pass; they wait for each other and for transactions that began before.
    client.batch_execute("SET lock_timeout = '60s'").await.unwrap();
    client.batch_execute(validate).await.unwrap();
    client.batch_execute(index).await.unwrap();
    client.batch_execute("SET lock_timeout = '100ms'").await.unwrap();
    stop.store(true, Ordering::Relaxed);
    let (old, new) = (old.await.unwrap(), new.await.unwrap());
    reading.await.unwrap();
    // The older servers are gone.
    locks.push(alone(&client, contract).await);
    println!("{ROWS} rows; alone for {locks:?}; before: {usual:?}, old servers: {old:?}, new ones: {new:?}");
    let missing = "SELECT count(*) FROM taken WHERE hall_size IS NULL";
    assert_eq!(client.query_one(missing, &[]).await.unwrap().get::<_, i64>(0), 0);
    assert!(locks.iter().all(|held| *held < MOST), "the table was locked for {locks:?}");
    assert!(old.count > 100 && new.count > 100, "{old:?}, {new:?}");
    // On a busy machine a write takes long by itself.
    let most = MOST + 2 * usual.longest;
    assert!(old.longest < most && new.longest < most, "of {most:?}: {old:?}, {new:?}");
}

/// A migration that waits for a lock lets the others pass. Format 5 changes the table of seats.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_migration_delays_nobody() {
    let database = database_as_of(4).await;
    let client = database.connect().await;
    let holder = database.connect().await;
    holder.batch_execute("BEGIN; SELECT count(*) FROM taken").await.unwrap();
    let ledger = database::ledger(&database.url, Default::default());
    let migrating = tokio::spawn(async move { ledger.prepare().await.map_err(|e| e.to_string()) });
    let began = Instant::now();
    let mut longest = Duration::ZERO;
    while began.elapsed() < Duration::from_secs(2) {
        let one = Instant::now();
        client.query_one("SELECT count(*) FROM taken", &[]).await.unwrap();
        longest = longest.max(one.elapsed());
    }
    assert!(!migrating.is_finished(), "{:?}", migrating.await);
    assert!(longest < MOST, "a read waited for {longest:?}");
    holder.batch_execute("COMMIT").await.unwrap();
    migrating.await.unwrap().unwrap();
}
