//! Order across retries: requests that wait for a lock, or whose batch is tried again, are served by their
//! arrival numbers. Each test holds the lock for longer than one try.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use stores::ledger::sqlite::database_in;
use testing::backing::Backing;
use testing::http::{TestClient, TestResponse};
use testing::server::TestServer;
use tokio::task::JoinHandle;

use crate::holds::{hold, nights, room_type, seats};

const ROUNDS: u64 = 5;

/// Requests that arrive one after another, a moment apart, while the lock is held.
async fn crowd(stand: &TestServer, event: u64, round: u64, size: u64) -> Vec<JoinHandle<TestResponse>> {
    let mut asking = Vec::new();
    for i in 0..size {
        let mut client = TestClient::new(stand.address);
        asking.push(tokio::spawn(async move { client.reserve(event, &format!("r{round}-{i}")).await }));
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    asking
}

/// All were served, and a higher number has a higher seat.
async fn served_in_order(asking: Vec<JoinHandle<TestResponse>>, round: u64) {
    let mut served = Vec::new();
    for one in asking {
        let answer = one.await.unwrap();
        let seat = answer.seat().unwrap_or_else(|| panic!("round {round}: {}", answer.text()));
        served.push((answer.sequence().unwrap(), seat));
    }
    served.sort_unstable();
    assert!(served.is_sorted_by_key(|(_, seat)| *seat), "round {round}: numbers and seats {served:?}");
}

/// An event whose door is open: the first arrival raises the generation in the ledger.
async fn begun(stand: &TestServer) -> u64 {
    let event = stand.event(10_000, 2).await;
    assert_eq!(stand.client().reserve(event, "first").await.seat(), Some(1));
    event
}

fn outside_writer(stand: &TestServer) -> Connection {
    Connection::open(database_in(stand.stores.folder())).unwrap()
}

/// An outside process locks the SQLite file for more than a second, while batches overlap.
#[tokio::test(flavor = "multi_thread")]
async fn order_is_kept_while_another_process_locks_sqlite() {
    let stand = TestServer::embedded(&[]).await;
    let (event, other) = (begun(&stand).await, outside_writer(&stand));
    for round in 0..ROUNDS {
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let began = Instant::now();
        let asking = crowd(&stand, event, round, 50).await;
        // A different moment of the second in every round.
        let held = Duration::from_millis(1_300 + 90 * round);
        tokio::time::sleep(held.saturating_sub(began.elapsed())).await;
        other.execute_batch("COMMIT").unwrap();
        served_in_order(asking, round).await;
    }
}

/// Another process writes all the time, in long transactions. Nobody is served out of turn.
#[tokio::test(flavor = "multi_thread")]
async fn order_is_kept_between_transactions_of_another_process() {
    let stand = TestServer::embedded(&[]).await;
    let (event, other) = (begun(&stand).await, outside_writer(&stand));
    let busy = std::thread::spawn(move || {
        for _ in 0..12 {
            if other.execute_batch("BEGIN IMMEDIATE").is_ok() {
                std::thread::sleep(Duration::from_millis(450));
                other.execute_batch("COMMIT").unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let asking = crowd(&stand, event, 0, 120).await;
    let mut served = Vec::new();
    for one in asking {
        let answer = one.await.unwrap();
        match answer.seat() {
            Some(seat) => served.push((answer.sequence().unwrap(), seat)),
            None => assert_eq!(answer.reason(), "contention", "{}", answer.text()),
        }
    }
    busy.join().unwrap();
    served.sort_unstable();
    assert!(served.len() > 20 && served.is_sorted_by_key(|(_, seat)| *seat), "{served:?}");
}

/// While another process has locked the file, every request gets its refusal at its deadline, and nothing
/// is done for it afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_time_out_on_locked_sqlite_get_contention() {
    let stand = TestServer::embedded(&[]).await;
    let (event, room) = (begun(&stand).await, room_type(&stand, 5).await);
    let other = outside_writer(&stand);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let mut early = TestClient::new(stand.address);
    let early = tokio::spawn(async move { early.reserve(event, "early").await });
    let (mut one, mut two) = (stand.client(), stand.client());
    let (stay, cart) = (nights(room, 6, 1, 2), seats(event, &[2, 3], 3));
    let (a, b) = tokio::join!(hold(&mut one, "bob", &stay), hold(&mut two, "carol", &cart));
    for answer in [&a, &b] {
        assert_eq!((answer.status, answer.reason().as_str()), (409, "LOCK_TIMEOUT"), "{}", answer.text());
    }
    assert!(began.elapsed() < Duration::from_millis(1_800), "{:?}", began.elapsed());
    // Reads wait for nobody.
    let read = Instant::now();
    assert_eq!(stand.client().get(&format!("/api/v1/events/{event}")).await.status, 200);
    assert!(read.elapsed() < Duration::from_millis(500), "{:?}", read.elapsed());
    // In the same batch as nobody; its deadline is behind the first one's.
    tokio::time::sleep(Duration::from_millis(2_000).saturating_sub(began.elapsed())).await;
    let mut late = TestClient::new(stand.address);
    let late = tokio::spawn(async move { late.reserve(event, "late").await });
    let early = early.await.unwrap();
    assert_eq!((early.status, early.reason().as_str()), (409, "contention"), "{}", early.text());
    let waited = began.elapsed();
    assert!((2_900..3_800).contains(&waited.as_millis()), "{waited:?}");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(late.await.unwrap().seat(), Some(2), "nothing was done for the others");
    let mut again = stand.client();
    assert_eq!(again.reserve(event, "early").await.seat(), Some(3));
    assert_eq!(hold(&mut again, "bob", &stay).await.status, 201);
}

/// The event's row is locked for longer than a lock timeout, transactions fail and connections break.
#[tokio::test(flavor = "multi_thread")]
async fn order_is_kept_across_retries_on_postgres() {
    let stand = TestServer::on(Backing::Postgres, &[]).await;
    let event = begun(&stand).await;
    let other = stand.stores.database().connect().await;
    for round in 0..ROUNDS {
        let lock = format!("BEGIN; SELECT FROM event WHERE id = {event} FOR UPDATE");
        other.batch_execute(&lock).await.unwrap();
        let began = Instant::now();
        let asking = crowd(&stand, event, round, 50).await;
        let held = Duration::from_millis(1_300 + 90 * round);
        tokio::time::sleep(held.saturating_sub(began.elapsed())).await;
        if round % 2 == 1 {
            // The waiting connection breaks, and the batch is tried again on another one.
            let break_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                             WHERE datname = current_database() AND wait_event_type = 'Lock'";
            other.query(break_all, &[]).await.unwrap();
        }
        other.batch_execute("COMMIT").await.unwrap();
        served_in_order(asking, round).await;
    }
}
