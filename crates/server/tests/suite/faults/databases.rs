//! What happens to PostgreSQL: C5, C6, C7.

use std::sync::Arc;
use std::time::{Duration, Instant};

use testing::backing::TestStores;
use testing::database::Database;
use testing::http::TestClient;
use testing::postgres::OwnPostgres;
use testing::proxy::{Cut, Proxy};
use testing::redis::OwnRedis;
use testing::server::TestServer;

use super::history::{Bought, Load, core_ok, count, sold, unknown};

/// C5: killed and restarted under load, twenty times, by kill -9 and by an immediate stop in turn.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_postgres_killed_twenty_times() {
    let (mut postgres, redis) = (OwnPostgres::start().await, OwnRedis::start());
    let stand = TestServer::at(Arc::new(TestStores::at(&postgres.url(), &redis.url())), &[]).await;
    let event = stand.event(1_000_000, 1).await;
    let load = Load::start(&[stand.address], event, 16, 1_000_000);
    let mut longest = Duration::ZERO;
    for round in 0..20 {
        load.after(30, Duration::from_secs(10)).await;
        if round % 2 == 0 {
            postgres.kill()
        } else {
            postgres.stop_immediately()
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        postgres.begin().await;
        let back = Instant::now();
        load.after(20, Duration::from_secs(5)).await;
        longest = longest.max(back.elapsed());
    }
    let all = load.stop().await;
    let stood = core_ok(&postgres.url(), event, &all).await.unwrap();
    assert_eq!((stood, unknown(&all)), (sold(&all), 0));
    assert!(count(&all, 503, "service_unavailable") >= 20, "nobody noticed that PostgreSQL was away");
    no_hang(&all);
    println!("{stood} sold over 20 kills; back after at most {longest:?}");
}

fn no_hang(all: &[Bought]) {
    let longest = all.iter().flat_map(|b| &b.answers).map(|(_, _, took)| *took).max().unwrap_or_default();
    assert!(longest <= Duration::from_millis(5_200), "an answer took {longest:?}");
}

/// C6: the connection is cut at COMMIT, which arrives at once, late, or never.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_unknown_commit_outcome_is_resolved() {
    for forwarded_after in [Some(Duration::ZERO), Some(Duration::from_millis(300)), None] {
        let (database, redis) = (Database::fresh().await, OwnRedis::start());
        let port = database.url.split(':').nth(2).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
        let wire = Proxy::to(port).await;
        let through = database.url.replace(&port.to_string(), &wire.port().to_string());
        let stand = TestServer::at(Arc::new(TestStores::at(&through, &redis.url())), &[]).await;
        let event = stand.event(100_000, 1).await;
        wire.cut(Some(Cut { word: b"COMMIT\0", every: 20, forwarded_after }));
        let load = Load::start(&[stand.address], event, 6, 1_200);
        let all = load.finish().await;
        wire.cut(None);
        let stood = core_ok(&database.url, event, &all).await.unwrap_or_else(|w| panic!("{forwarded_after:?}: {w}"));
        assert_eq!((stood, unknown(&all)), (1_200, 0), "{forwarded_after:?}");
        assert!(wire.fired() >= 10, "{forwarded_after:?}: only {} commits were cut", wire.fired());
    }
}

/// A trigger that fails the first so many inserts of an event's history with this state. A sequence
/// counts, because it is not undone with the transaction.
async fn failing(database: &Database, event: u64, state: &str, times: i64) {
    let client = database.connect().await;
    let make = format!(
        "DROP TRIGGER IF EXISTS failing ON history;
         CREATE OR REPLACE FUNCTION failing() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF NEW.event = {event} AND nextval('tries') <= {times} THEN
                 RAISE EXCEPTION 'injected' USING ERRCODE = '{state}';
             END IF;
             RETURN NEW;
         END $$;
         DROP SEQUENCE IF EXISTS tries;
         CREATE SEQUENCE tries;
         CREATE TRIGGER failing BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION failing()"
    );
    client.batch_execute(&make).await.unwrap();
}

/// C7: states that pass are tried again, at most five times; the effect happens once; and when they
/// do not pass the answer is 503 or 409, never 500.
#[tokio::test(flavor = "multi_thread")]
async fn transient_sql_states_are_retried() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    let side = database.connect().await;
    for state in ["40001", "40P01", "55P03", "57014", "53300", "57P01"] {
        let event = stand.event(9, 1).await;
        failing(&database, event, state, 5).await;
        let answer = stand.client().reserve(event, "alice").await;
        assert_eq!(answer.seat(), Some(1), "{state}: {}", answer.text());
        let tries: i64 = side.query_one("SELECT last_value FROM tries", &[]).await.unwrap().get(0);
        assert_eq!(tries, 6, "{state}");
        failing(&database, event, state, 100).await;
        let began = Instant::now();
        let answer = stand.client().reserve(event, "bob").await;
        let expected = if state == "55P03" { (409, "contention") } else { (503, "service_unavailable") };
        assert_eq!((answer.status, answer.reason().as_str()), expected, "{state}: {}", answer.text());
        assert!(began.elapsed() < Duration::from_secs(4) && answer.header("retry-after").is_some());
        let tries: i64 = side.query_one("SELECT last_value FROM tries", &[]).await.unwrap().get(0);
        assert_eq!(tries, 6, "{state}: one try and five more");
        let row = side.query_one("SELECT sold, n FROM event WHERE id = $1", &[&(event as i64)]).await.unwrap();
        assert_eq!((row.get::<_, i32>(0), row.get::<_, i64>(1)), (1, 2), "{state}: effects once");
    }
}

/// PostgreSQL has no room for a write, and still answers reads: `/readyz` says so, until a write succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn full_postgres_is_not_ready() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    let (event, side) = (stand.event(9, 1).await, database.connect().await);
    failing(&database, event, "53100", 1_000_000).await;
    let no_room = "CREATE FUNCTION no_room() RETURNS event_trigger LANGUAGE plpgsql AS
                   $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;
                   CREATE EVENT TRIGGER no_room ON ddl_command_start WHEN TAG IN ('CREATE TABLE AS')
                   EXECUTE FUNCTION no_room()";
    side.batch_execute(no_room).await.unwrap();
    let mut client = stand.client();
    assert_eq!(client.get("/readyz").await.status, 200, "nobody has written yet");
    let refused = client.reserve(event, "alice").await;
    assert_eq!((refused.status, refused.reason().as_str()), (503, "service_unavailable"), "{}", refused.text());
    let ready = client.get("/readyz").await;
    assert!(ready.status == 503 && ready.text().contains("no space left"), "{}", ready.text());
    assert_eq!(client.get(&format!("/api/v1/events/{event}")).await.status, 200, "reads go on");
    side.batch_execute("DROP EVENT TRIGGER no_room; DROP TRIGGER failing ON history").await.unwrap();
    assert_eq!(client.get("/readyz").await.status, 200);
    assert_eq!(client.reserve(event, "alice").await.seat(), Some(1));
}

/// C7: a real deadlock, and backends that are terminated under load.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_deadlocks_and_terminated_backends_are_retried() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let side = database.connect().await;
    let quick = format!("ALTER DATABASE {} SET deadlock_timeout = '50ms'", database.name);
    side.batch_execute(&quick).await.unwrap();
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    let event = stand.event(50_000, 1).await;
    let mine = stand.client().reserve(event, "alice").await.json()["reservationId"].as_str().unwrap().to_owned();
    // The other side holds the seat and wants the event; the cancellation holds the event and wants the seat.
    let other = database.connect().await;
    other.batch_execute("BEGIN; SET LOCAL deadlock_timeout = '10s'; SELECT FROM taken FOR UPDATE").await.unwrap();
    let address = stand.address;
    let cancelling = tokio::spawn(async move { TestClient::new(address).cancel("alice", &mine).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let wanted = tokio::spawn(async move {
        let got = other.batch_execute("SELECT FROM event FOR UPDATE").await;
        let _ = other.batch_execute("ROLLBACK").await;
        got.is_ok()
    });
    let cancelled = cancelling.await.unwrap();
    assert!(wanted.await.unwrap(), "the deadlock was to be ours");
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let seen: i64 = side.query_one(deadlocks, &[]).await.unwrap().get(0);
    println!("deadlocks seen by PostgreSQL: {seen}");

    let load = Load::start(&[stand.address], event, 12, 50_000);
    let mut ended = 0i64;
    for _ in 0..20 {
        load.after(20, Duration::from_secs(5)).await;
        let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                         WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'tickettock'";
        ended += side.query_one(terminate, &[]).await.unwrap().get::<_, i64>(0);
    }
    let all = load.stop().await;
    // Alice bought and cancelled before.
    let stood = super::history::core_ok_after(&database.url, event, &all, 1).await.unwrap();
    assert_eq!((stood, unknown(&all)), (sold(&all), 0));
    assert!(ended >= 20, "only {ended} backends were terminated");
}
