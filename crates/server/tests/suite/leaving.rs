//! Clients that leave: what was begun is finished, nothing is half done, nothing leaks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use testing::backing::Backing;
use testing::http::BUYER;
use testing::raw_tcp;
use testing::rng::SeededRng;
use testing::server::TestServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// FAULTS C8: 5,000 POSTs, each closed by the client after 0 to 50 ms.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_five_thousand_clients_hang_up() {
    five_thousand_hang_up(TestServer::embedded(&[]).await).await;
}

/// The same on PostgreSQL and Redis: no transaction stays open, no connection is lost.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_five_thousand_clients_hang_up_on_postgres_and_redis() {
    let stand = five_thousand_hang_up(TestServer::on(Backing::Redis, &[]).await).await;
    let side = stand.stores.database().connect().await;
    let sessions = "SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%')
                    FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tickettock'";
    let row = side.query_one(sessions, &[]).await.unwrap();
    let (connections, open): (i64, i64) = (row.get(0), row.get(1));
    assert_eq!(open, 0, "transactions were left open");
    assert!((1..=8).contains(&connections), "{connections} connections in a pool of 8");
}

/// A connection with a reservation request in flight.
async fn asking(stand: &TestServer, event: u64, user: &str) -> TcpStream {
    let request = format!(
        "POST /api/v1/events/{event}/seats/reservation/fcfs HTTP/1.1\r\nHost: localhost\r\nX-User-Id: {user}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{BUYER}",
        BUYER.len()
    );
    raw_tcp::send(stand.address, request.as_bytes()).await
}

/// A client that shuts down its sending side still reads, so it is answered.
#[tokio::test(flavor = "multi_thread")]
async fn half_closed_connection_gets_its_answer() {
    let stand = TestServer::embedded(&[]).await;
    let event = stand.event(50, 1).await;
    for i in 0..50 {
        let mut stream = asking(&stand, event, &format!("half-{i}")).await;
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{i}: {answer:?}");
    }
}

async fn five_thousand_hang_up(stand: TestServer) -> Arc<TestServer> {
    let stand = Arc::new(stand);
    let event = stand.event(5_000, 1).await;
    let mut rng = SeededRng::new(8);
    let mut running = Vec::new();
    for lane in 0..50 {
        let stand = stand.clone();
        let pauses: Vec<u64> = (0..100).map(|_| rng.below(51)).collect();
        running.push(tokio::spawn(async move {
            for (i, pause) in pauses.into_iter().enumerate() {
                let stream = asking(&stand, event, &format!("u{lane}-{i}")).await;
                tokio::time::sleep(Duration::from_millis(pause)).await;
                drop(stream);
            }
        }));
    }
    for task in running {
        task.await.unwrap();
    }
    while stand.app.lanes.depth() > 0 {
        tokio::task::yield_now().await;
    }
    let shown = stand.client().get(&format!("/api/v1/events/{event}")).await.json();
    let sold = 5_000 - shown["event"]["remainingSeats"].as_u64().unwrap();
    assert!(sold > 500, "hardly anything was asked for: {sold}");
    let mut owners: HashMap<String, u64> = HashMap::new();
    let id = rules::ids::EventId(event as i64);
    for reservation in stand.app.ledger.reservations_in(id, None, 10_000).await.unwrap() {
        *owners.entry(reservation.sale.owner.unwrap().user.as_str().to_owned()).or_default() += 1;
    }
    assert_eq!(owners.values().sum::<u64>(), sold, "each wholly done or not at all");
    assert!(owners.values().all(|seats| *seats == 1));
    // Nothing leaks: no mark of a request in flight is left.
    let mut client = stand.client();
    for lane in 0..50 {
        let answer = client.reserve(event, &format!("u{lane}-99")).await;
        assert!(answer.json()["scope"].is_null(), "a mark was left behind: {}", answer.text());
    }
    stand
}
