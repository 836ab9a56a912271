//! A crowd that comes after the last seat is gone is refused from memory: without the door and the ledger, and
//! never when a seat may be free.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use stores::conformance::bent::Bent;
use testing::backing::{Backing, TestStores};
use testing::server::TestServer;
use tokio::task::JoinSet;

/// More than wait without being refused from memory: `QUEUE_DEPTH` 1024 allows 64.
const CROWD: usize = 150;

#[derive(Default)]
struct Told {
    /// Refused with an arrival number, so by the ledger.
    by_ledger: AtomicU64,
    from_memory: AtomicU64,
    seats: AtomicU64,
    stop: AtomicBool,
}

/// People who ask for the event, one after the other, until told to stop.
fn crowd(stand: &Arc<TestServer>, event: u64, told: &Arc<Told>) -> JoinSet<()> {
    let mut all = JoinSet::new();
    for c in 0..CROWD {
        let (stand, told) = (stand.clone(), told.clone());
        all.spawn(async move {
            let mut client = stand.client();
            for i in 0.. {
                let answer = client.reserve(event, &format!("late{c}-{i}")).await;
                match (answer.status, answer.reason().as_str()) {
                    (200, _) => told.seats.fetch_add(1, SeqCst),
                    (409, "sold_out") if answer.sequence().is_none() => told.from_memory.fetch_add(1, SeqCst),
                    (409, "sold_out") => told.by_ledger.fetch_add(1, SeqCst),
                    (503, "service_unavailable") => 0,
                    other => panic!("{other:?}: {}", answer.text()),
                };
                if told.stop.load(SeqCst) {
                    return;
                }
            }
        });
    }
    all
}

async fn wait_for(what: &str, count: impl Fn() -> bool) {
    let began = Instant::now();
    while !count() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn crowd_after_the_last_seat_is_refused_from_memory() {
    let settings = [("FCFS_SEATS", "3"), ("QUEUE_DEPTH", "1024")];
    let stand = TestServer::bent(&settings, |good| {
        Arc::new(Bent::new(good, move |good, batch| {
            let good = good.clone();
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                good.commit(batch).await
            })
        }))
    });
    let stand = Arc::new(stand.await);
    let mut ids = Vec::new();
    for user in ["a", "b", "c"] {
        ids.push(stand.client().reserve(1, user).await.json()["reservationId"].as_str().unwrap().to_owned());
    }
    let told = Arc::new(Told::default());
    let people = crowd(&stand, 1, &told);
    wait_for("refusals from memory", || told.from_memory.load(SeqCst) > 200).await;

    // A buyer who asks again is told which seat is theirs.
    let again = stand.client().reserve(1, "b").await;
    if again.status != 503 {
        assert_eq!(
            (again.reason().as_str(), &again.json()["seat"]["id"]),
            ("duplicate", &2.into()),
            "{}",
            again.text()
        );
    }
    // A seat that comes back is sold at once, to one of the crowd.
    for (i, (user, id)) in ["a", "b", "c"].iter().zip(&ids).enumerate() {
        let memory = told.from_memory.load(SeqCst);
        wait_for("it goes on", || told.from_memory.load(SeqCst) > memory + 50).await;
        let cancelled = stand.client().cancel(user, id).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.text());
        wait_for("somebody gets the seat", || told.seats.load(SeqCst) > i as u64).await;
    }
    told.stop.store(true, SeqCst);
    people.join_all().await;
    let (memory, ledger) = (told.from_memory.load(SeqCst), told.by_ledger.load(SeqCst));
    println!("{memory} refused from memory, {ledger} by the ledger");
    assert_eq!(told.seats.load(SeqCst), 3, "each seat that came back was sold once");
    // Where few wait, everybody gets a number.
    assert!(stand.client().reserve(1, "alone").await.sequence().is_some());
}

/// A seat that comes back at another server is sold soon.
#[tokio::test(flavor = "multi_thread")]
async fn seat_freed_at_another_server_is_sold_in_time() {
    let stores = Arc::new(TestStores::new(Backing::Redis).await);
    let settings = [("QUEUE_DEPTH", "1024")];
    let one = Arc::new(TestServer::at(stores.clone(), &settings).await);
    let other = TestServer::at(stores, &settings).await;
    let event = one.event(1, 1).await;
    let sold = other.client().reserve(event, "owner").await;
    let id = sold.json()["reservationId"].as_str().unwrap().to_owned();
    let told = Arc::new(Told::default());
    let people = crowd(&one, event, &told);
    wait_for("refusals from memory", || told.from_memory.load(SeqCst) > 50).await;
    let cancelled = other.client().cancel("owner", &id).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    let began = Instant::now();
    wait_for("somebody gets the seat", || told.seats.load(SeqCst) == 1).await;
    println!("sold again after {:?}, {} from memory", began.elapsed(), told.from_memory.load(SeqCst));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    told.stop.store(true, SeqCst);
    people.join_all().await;
}
