//! Too many, too slow, shutting down: always an answer, and quickly.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use stores::conformance::bent::Bent;
use testing::raw_tcp;
use testing::server::TestServer;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// A ledger that commits only when the test lets it, on events that have had their first number.
async fn stalled(settings: &[(&str, &str)]) -> (Arc<TestServer>, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(1_000));
    let held = gate.clone();
    let stand = TestServer::bent(settings, |good| {
        Arc::new(Bent::new(good, move |good, batch| {
            let (good, gate) = (good.clone(), held.clone());
            Box::pin(async move {
                let _pass = gate.acquire().await;
                good.commit(batch).await
            })
        }))
    });
    let stand = stand.await;
    // From now on arriving takes no time, so that the first in a queue is at once in a batch.
    let warm = stand.client().reserve(1, "warm").await;
    stand.client().cancel("warm", warm.json()["reservationId"].as_str().unwrap()).await;
    gate.forget_permits(1_000);
    (Arc::new(stand), gate)
}

/// Waits until a batch is with the ledger.
async fn in_a_batch(stand: &TestServer) {
    waiting(stand, 1).await;
    while stand.app.lanes.deciding() == 0 {
        tokio::task::yield_now().await;
    }
}

async fn waiting(stand: &TestServer, count: usize) {
    while stand.app.lanes.depth() < count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn full_queue_refuses_within_milliseconds() {
    let (stand, gate) = stalled(&[("QUEUE_DEPTH", "20"), ("FCFS_SEATS", "100")]).await;
    let mut accepted = Vec::new();
    for i in 0..20 {
        let stand = stand.clone();
        accepted.push(tokio::spawn(async move { stand.client().reserve(1, &format!("in{i}")).await }));
    }
    waiting(&stand, 20).await;
    let mut client = stand.client();
    client.get("/livez").await;
    for i in 0..50 {
        let began = Instant::now();
        let answer = client.reserve(1, &format!("out{i}")).await;
        assert_eq!((answer.status, answer.reason().as_str()), (503, "service_unavailable"));
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert!(began.elapsed() < Duration::from_millis(50), "{:?}", began.elapsed());
    }
    gate.add_permits(1_000);
    for task in accepted {
        assert_eq!(task.await.unwrap().status, 200, "who was accepted is served");
    }
    assert_eq!(client.reserve(1, "out0").await.status, 200, "and the refused may come again");
}

#[tokio::test(flavor = "multi_thread")]
async fn second_concurrent_request_of_a_user_is_a_duplicate() {
    let (stand, gate) = stalled(&[]).await;
    let event = stand.event(9, 4).await;
    let first = tokio::spawn({
        let stand = stand.clone();
        async move { stand.client().reserve(event, "alice").await }
    });
    waiting(&stand, 1).await;
    let second = stand.client().reserve(event, "alice").await;
    assert_eq!((second.status, second.reason().as_str()), (409, "duplicate"));
    let body = second.json();
    assert_eq!((body["scope"].as_str(), body["retryAfter"].as_u64()), (Some("user"), Some(1)));
    assert!(body["sequence"].is_null(), "it got no number");
    gate.add_permits(1_000);
    assert_eq!(first.await.unwrap().seat(), Some(1));
    assert_eq!(stand.client().reserve(event, "alice").await.seat(), Some(2));
}

/// The ledger stalls for longer than the deadline: waiting requests are answered 503.
#[tokio::test(flavor = "multi_thread")]
async fn requests_behind_a_stalled_ledger_get_503() {
    let (stand, gate) = stalled(&[]).await;
    let first = tokio::spawn({
        let stand = stand.clone();
        async move { stand.client().reserve(1, "first").await }
    });
    in_a_batch(&stand).await;
    let second = tokio::spawn({
        let stand = stand.clone();
        async move { stand.client().reserve(1, "second").await }
    });
    let first = first.await.unwrap();
    assert_eq!((first.status, first.reason().as_str()), (503, "service_unavailable"));
    gate.add_permits(1_000);
    let second = second.await.unwrap();
    assert_eq!(second.status, 503, "it left the queue at its deadline: {}", second.text());
    while stand.app.lanes.depth() > 0 {
        tokio::task::yield_now().await;
    }
    let event = stand.client().get("/api/v1/events/1").await.json();
    assert_eq!(event["event"]["remainingSeats"], 8, "the first was in a batch and is done, the second was not begun");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_body_gets_408() {
    let stand = TestServer::embedded(&[]).await;
    let head = "POST /fcfs/join HTTP/1.1\r\nHost: localhost\r\nX-User-Id: slow\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let mut stream = raw_tcp::send(stand.address, head.as_bytes()).await;
    let mut answer = [0; 1024];
    let read = tokio::time::timeout(Duration::from_secs(8), stream.read(&mut answer)).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&answer[..read]);
    assert!(text.starts_with("HTTP/1.1 408") && text.contains("\"reason\":\"validation\""), "{text}");
}

/// FAULTS C13: accepted requests are answered, and `/readyz` fails first.
#[tokio::test(flavor = "multi_thread")]
async fn shutdown_answers_accepted_requests() {
    let (stand, gate) = stalled(&[]).await;
    let mut accepted = Vec::new();
    for i in 0..9 {
        let stand = stand.clone();
        accepted.push(tokio::spawn(async move { stand.client().reserve(1, &format!("u{i}")).await }));
    }
    waiting(&stand, 9).await;
    let mut kept = stand.client();
    assert_eq!(kept.get("/livez").await.header("connection"), None);
    stand.app.drain();
    assert_eq!(kept.get("/livez").await.header("connection"), Some("close"), "a kept connection ends");
    let ready = stand.client().get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.text().contains("shutting down"), "{}", ready.text());
    stand.ask_to_stop();
    tokio::time::sleep(Duration::from_millis(700)).await;
    gate.add_permits(1_000);
    for task in accepted {
        assert_eq!(task.await.unwrap().status, 200);
    }
    let began = Instant::now();
    stand.stopped().await;
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    assert!(TcpStream::connect(stand.address).await.is_err(), "nobody listens any more");
}

/// A panic on the path gets 500, and the next request is served.
#[tokio::test(flavor = "multi_thread")]
async fn panic_gets_500_and_the_lane_continues() {
    let first = AtomicBool::new(true);
    let stand = TestServer::bent(&[], |good| {
        Arc::new(Bent::new(good, move |good, batch| {
            assert!(!first.swap(false, SeqCst), "planted");
            good.commit(batch)
        }))
    })
    .await;
    let mut client = stand.client();
    let answer = client.reserve(1, "alice").await;
    assert_eq!((answer.status, answer.reason().as_str()), (500, "internal_error"));
    assert!(answer.json()["traceId"].is_string());
    assert_eq!(client.reserve(1, "bob").await.seat(), Some(1));
    assert_eq!(stand.app.lanes.depth(), 0);
}
