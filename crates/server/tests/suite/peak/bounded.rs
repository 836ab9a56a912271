//! FAULTS E3 and E4: whatever comes, every queue stays within its bound, everybody gets an answer in time, and a
//! herd at the opening does not stall the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use serde_json::json;
use testing::backing::TestStores;
use testing::database::Database;
use testing::proxy::{Proxy, WireFault};
use testing::redis::OwnRedis;
use testing::server::TestServer;
use tokio::task::JoinSet;

use super::people::{memory_mib, told};

/// What the deadline and the grace of a batch that is under way allow, and room for a busy machine.
const ANSWERED_WITHIN: Duration = Duration::from_secs(8);

/// FAULTS E3: every word to and from PostgreSQL takes 75 ms, which makes half a second a batch and more, and many
/// times more people come than it can serve.
#[tokio::test(flavor = "multi_thread")]
async fn queues_stay_bounded_on_a_slow_database() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let port = database.url.split(':').nth(2).and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
    let wire = Proxy::to(port).await;
    let through = database.url.replace(&port.to_string(), &wire.port().to_string());
    let stores = Arc::new(TestStores::at(&through, &redis.url()));
    let stand = Arc::new(TestServer::at(stores, &[("QUEUE_DEPTH", "128"), ("FCFS_SEATS", "100000")]).await);
    assert_eq!(stand.client().reserve(1, "warm").await.status, 200);
    let before_mib = memory_mib();

    wire.set(WireFault::Delay(Duration::from_millis(75)));
    let over = Arc::new(AtomicBool::new(false));
    let watching = tokio::spawn({
        let (stand, over) = (stand.clone(), over.clone());
        async move {
            let mut deepest = 0;
            while !over.load(SeqCst) {
                deepest = deepest.max(stand.app.lanes.depth());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            deepest
        }
    });
    let (began, mut people) = (Instant::now(), JoinSet::new());
    for i in 0..1_500u32 {
        tokio::time::sleep_until((began + Duration::from_secs(5) * i / 1_500).into()).await;
        let stand = stand.clone();
        people.spawn(async move {
            let sent = Instant::now();
            let answer = stand.client().reserve(1, &format!("p{i}")).await;
            if answer.status != 200 {
                told(&answer);
            }
            (answer.status, sent.elapsed())
        });
    }
    let all = people.join_all().await;
    over.store(true, SeqCst);
    let (deepest, slowest) = (watching.await.unwrap(), all.iter().map(|one| one.1).max().unwrap());
    let served = all.iter().filter(|one| one.0 == 200).count();
    println!("{served} of {} served, {deepest} in the queue at most, slowest {slowest:?}", all.len());
    assert!(served > 0 && served < all.len(), "{served} were served");
    assert!(deepest <= 128, "{deepest} in a queue of 128");
    assert!(slowest < ANSWERED_WITHIN, "{slowest:?}");
    assert!(memory_mib() < before_mib + 96.0, "{:.0} MiB, {before_mib:.0} before", memory_mib());
    wire.set(WireFault::None);
    while stand.app.lanes.depth() > 0 {
        tokio::task::yield_now().await;
    }
    let event = stand.client().get("/api/v1/events/1").await.json();
    let sold = 100_000 - event["event"]["remainingSeats"].as_u64().unwrap();
    // The first one, and some that were answered 503 while the database still had them.
    assert!(sold > served as u64, "{sold} sold, {served} told so");
}

/// FAULTS E4, smaller: all come in the same second, look at the seats and join the line.
#[tokio::test(flavor = "multi_thread")]
async fn herd_at_the_opening_is_answered() {
    const HERD: u32 = 600;
    let stand = Arc::new(TestServer::embedded(&[]).await);
    let room = json!({ "name": "Herd", "seats": 1_000, "waitingRoom": { "maxConcurrent": 50 } });
    let made = stand.admin("POST", "events", &room).await;
    let event = made.json()["event"]["id"].as_u64().unwrap_or_else(|| panic!("{}", made.text()));
    let (began, mut people) = (Instant::now(), JoinSet::new());
    for i in 0..HERD {
        tokio::time::sleep_until((began + Duration::from_secs(1) * i / HERD).into()).await;
        let stand = stand.clone();
        people.spawn(async move {
            let mut client = stand.client();
            let sent = Instant::now();
            let list = client.get(&format!("/api/v1/events/{event}/seats")).await;
            let user = format!("p{i}");
            let joined =
                client.send("POST", &format!("/api/v1/events/{event}/queue"), &[("X-User-Id", &user)], "").await;
            (list.status, list.header("etag").map(str::to_owned), joined.status, sent.elapsed())
        });
    }
    let all = people.join_all().await;
    let lists: std::collections::HashSet<&str> = all.iter().filter_map(|one| one.1.as_deref()).collect();
    let slowest = all.iter().map(|one| one.3).max().unwrap();
    let answered = all.iter().filter(|one| matches!((one.0, one.2), (200, 200 | 201))).count();
    println!("{answered} of {HERD} saw the seats and joined, {} lists, slowest {slowest:?}", lists.len());
    assert!(
        all.iter().all(|one| matches!(one.0, 200 | 503) && matches!(one.2, 200 | 201 | 503)),
        "all are answered or shed"
    );
    assert!(answered > 0, "nobody was let in");
    assert!(lists.len() <= 5, "everybody shares one list: {lists:?}");
    assert!(slowest < ANSWERED_WITHIN, "{slowest:?}");
}
