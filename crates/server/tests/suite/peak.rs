//! More people than the server can serve (FAULTS E1 to E3, I9): it serves as many as it can, quickly, tells
//! the others when to come again, and does not work for those who have left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stores::conformance::bent::Bent;
use testing::server::TestServer;
use tokio::sync::{Mutex, Semaphore};

/// What the ledger commits per second.
const PEAK: u32 = 100;
const TIMES: u32 = 4;
/// People arrive for this long.
const RUSH: Duration = Duration::from_secs(3);
/// And give up after this long.
const PATIENCE: Duration = Duration::from_secs(6);

/// How one person fared: requests sent, and how long the successful one took.
struct Fared {
    requests: u32,
    served: Option<(Instant, Duration)>,
    refusals: Vec<Duration>,
}

async fn person(stand: Arc<TestServer>, name: String, until: Instant) -> Fared {
    let mut fared = Fared { requests: 0, served: None, refusals: Vec::new() };
    let mut client = stand.client();
    loop {
        let began = Instant::now();
        fared.requests += 1;
        let answer = client.reserve(1, &name).await;
        if answer.status == 200 {
            fared.served = Some((Instant::now(), began.elapsed()));
            return fared;
        }
        assert_eq!((answer.status, answer.reason().as_str()), (503, "service_unavailable"), "{}", answer.text());
        fared.refusals.push(began.elapsed());
        let wait: u64 = answer.header("retry-after").expect("it says when to come again").parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
        assert_eq!(answer.json()["retryAfter"], wait);
        let again = Instant::now() + Duration::from_secs(wait);
        if again > until {
            return fared;
        }
        tokio::time::sleep_until(again.into()).await;
    }
}

fn p99(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all.get(all.len() * 99 / 100).copied().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn four_times_the_peak_is_served_at_the_peak() {
    let seats = (PEAK * TIMES * 10).to_string();
    let turn = Arc::new(Mutex::new(()));
    let settings = [("FCFS_SEATS", seats.as_str()), ("QUEUE_DEPTH", "1024")];
    let stand = TestServer::bent(&settings, |good| {
        Arc::new(Bent::new(good, move |good, batch| {
            let (good, turn) = (good.clone(), turn.clone());
            Box::pin(async move {
                let _turn = turn.lock().await;
                tokio::time::sleep(Duration::from_secs(1) / PEAK * batch.commands.len() as u32).await;
                good.commit(batch).await
            })
        }))
    });
    let stand = Arc::new(stand.await);
    let began = Instant::now();
    let people = PEAK * TIMES * RUSH.as_secs() as u32;
    let mut all = Vec::new();
    for i in 0..people {
        tokio::time::sleep_until((began + RUSH * i / people).into()).await;
        all.push(tokio::spawn(person(stand.clone(), format!("p{i}"), began + PATIENCE)));
    }
    let mut fared = Vec::new();
    for one in all {
        fared.push(one.await.unwrap());
    }
    let requests: u32 = fared.iter().map(|one| one.requests).sum();
    let in_rush = fared.iter().filter(|one| one.served.is_some_and(|(at, _)| at <= began + RUSH)).count();
    let served = p99(fared.iter().filter_map(|one| one.served.map(|(_, took)| took)).collect());
    let refused = p99(fared.iter().flat_map(|one| one.refusals.iter().copied()).collect());
    let goodput = in_rush as f64 / RUSH.as_secs_f64() / f64::from(PEAK);
    let amplification = f64::from(requests) / f64::from(people);
    println!(
        "goodput {goodput:.2} of the peak, {amplification:.2} requests per person, p99 {served:?} served, \
         {refused:?} refused"
    );
    assert!(goodput >= 0.6, "goodput {goodput:.2} of the peak");
    assert!(served < Duration::from_secs(2), "p99 of those who were served: {served:?}");
    assert!(amplification <= 1.6, "{amplification:.2} requests per person");
}

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
