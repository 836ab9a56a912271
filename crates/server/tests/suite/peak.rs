//! More people than the server can serve (FAULTS E1 to E3, I9): it serves as many as it can, quickly, tells
//! the others when to come again, does not work for those who have left, and recovers by itself.

mod bounded;
mod people;
mod plateau;
mod recovery;
mod refusals;
mod sold_out;

use std::sync::Arc;
use std::time::Duration;

use stores::conformance::bent::Bent;
use testing::server::TestServer;
use tokio::sync::Semaphore;

/// 300 people ask, the ledger stalls, 200 of them leave. Only the others get seats.
#[tokio::test(flavor = "multi_thread")]
async fn requests_of_clients_that_left_are_not_started() {
    let gate = Arc::new(Semaphore::new(1));
    let held = gate.clone();
    let stand = TestServer::bent(&[("FCFS_SEATS", "1000")], |good| {
        Arc::new(Bent::new(good, move |good, batch| {
            let (good, gate) = (good.clone(), held.clone());
            Box::pin(async move {
                let _pass = gate.acquire().await;
                good.commit(batch).await
            })
        }))
    });
    let stand = Arc::new(stand.await);
    assert_eq!(stand.client().reserve(1, "first").await.status, 200);
    let stall = gate.acquire().await.unwrap();
    let ask = |i: usize| {
        let stand = stand.clone();
        tokio::spawn(async move { stand.client().reserve(1, &format!("p{i}")).await.status })
    };
    // The first is in the batch that stalls; the ledger has it.
    let first = ask(0);
    while stand.app.lanes.deciding() == 0 {
        tokio::task::yield_now().await;
    }
    let all: Vec<_> = (1..300).map(ask).collect();
    while stand.app.lanes.depth() < 300 {
        tokio::task::yield_now().await;
    }
    let (stay, leave) = all.into_iter().enumerate().partition::<Vec<_>, _>(|(i, _)| i % 3 == 0);
    for (_, one) in leave {
        one.abort();
        assert!(one.await.is_err());
    }
    // The kernel has told the server.
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(stall);
    assert_eq!(first.await.unwrap(), 200);
    let mut served = 2;
    for (_, one) in stay {
        // On a busy machine some have waited too long by now.
        let status = one.await.unwrap();
        assert!(matches!(status, 200 | 503), "{status}");
        served += u64::from(status == 200);
    }
    while stand.app.lanes.depth() > 0 {
        tokio::task::yield_now().await;
    }
    let event = stand.client().get("/api/v1/events/1").await.json();
    let sold = 1_000 - event["event"]["remainingSeats"].as_u64().unwrap();
    // In the end so few wait that nobody looks.
    assert!((served..=served + 32).contains(&sold), "{sold} sold, {served} served");
}
