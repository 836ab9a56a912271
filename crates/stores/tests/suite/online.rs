//! Migrations under load: what docs/upgrades.md says is run as it stands there, while others write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use testing::database::{self, Database};
use tokio_postgres::Client;

use crate::old_formats::database_as_of;

const ROWS: i32 = 300_000;
/// The most that a migration may delay a write.
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

/// An older server: it sells one seat after another, and names only columns that it knows. Returns the longest
/// time of one write, and how many there were.
async fn older_server(client: Client, stop: Arc<AtomicBool>) -> (Duration, i32) {
    let insert = "INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number)
                  SELECT 7, $1, 2000000, 'sold', 'u' || $1, 1, 1, $1 + 1, 1, $1";
    let insert = client.prepare_typed(insert, &[tokio_postgres::types::Type::INT4]).await.unwrap();
    let (mut longest, mut seat) = (Duration::ZERO, ROWS);
    while !stop.load(Ordering::Relaxed) {
        seat += 1;
        let began = Instant::now();
        client.execute(&insert, &[&seat]).await.unwrap();
        longest = longest.max(began.elapsed());
    }
    (longest, seat - ROWS)
}

/// A long transaction keeps the lock of a reader: statements that need the table for themselves wait for it, and
/// must not make others wait.
async fn with_retries(client: &Client, sql: &str) {
    for _ in 0..600 {
        match client.batch_execute(sql).await {
            Ok(()) => return,
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
async fn heavy_table_is_changed_under_load() {
    let database = Database::fresh().await;
    let client = database.connect().await;
    many_seats(&client).await;
    // Which sold seats may be changed is said by a trigger; the example's exception to it.
    let exception = "DROP TRIGGER taken_one_owner ON taken;
        CREATE TRIGGER taken_one_owner BEFORE UPDATE OF kind, owner, unit, n, number ON taken
        FOR EACH ROW WHEN (OLD.kind = 'sold' AND NEW.kind = 'sold') EXECUTE FUNCTION refuse('this seat is taken')";
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(older_server(database.connect().await, stop.clone()));
    // A report that reads for a second at a time.
    let reading = tokio::spawn({
        let (client, stop) = (database.connect().await, stop.clone());
        async move {
            while !stop.load(Ordering::Relaxed) {
                client.batch_execute("BEGIN; SELECT count(*) FROM taken; SELECT pg_sleep(0.5); COMMIT").await.unwrap();
            }
        }
    });
    client.batch_execute("SET lock_timeout = '100ms'").await.unwrap();
    let transaction = |sql: &str| format!("BEGIN; {sql}; COMMIT");
    let [expand, fill, constrain, validate, index, contract] = &blocks()[..] else { panic!("six blocks of SQL") };
    with_retries(&client, &transaction(exception)).await;
    with_retries(&client, &transaction(expand)).await;
    let fill = client.prepare(fill).await.unwrap();
    let mut last = (i64::MIN, i32::MIN);
    while let Some(row) = client.query_opt(&fill, &[&last.0, &last.1]).await.unwrap() {
        last = (row.get(0), row.get(1));
    }
    with_retries(&client, &transaction(constrain)).await;
    with_retries(&client, validate).await;
    client.batch_execute("SET lock_timeout = '60s'").await.unwrap();
    client.batch_execute(index).await.unwrap();
    client.batch_execute("SET lock_timeout = '100ms'").await.unwrap();
    // The new version writes the column itself, and the older servers are gone.
    stop.store(true, Ordering::Relaxed);
    let (longest, written) = writing.await.unwrap();
    reading.await.unwrap();
    with_retries(&client, &transaction(contract)).await;
    let missing = "SELECT count(*) FROM taken WHERE hall_size IS NULL";
    assert_eq!(client.query_one(missing, &[]).await.unwrap().get::<_, i64>(0), 0);
    assert!(written > 500, "{written} writes");
    println!("{written} writes during the migration of {ROWS} rows, the longest {longest:?}");
    assert!(longest < MOST, "a write waited for {longest:?}");
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
