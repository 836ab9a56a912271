//! A ledger that is slowed down to a known peak, and people who come faster than it serves them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use server::gate::planted::OverloadBug;
use stores::conformance::bent::Bent;
use testing::http::TestResponse;
use testing::server::TestServer;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// What the ledger commits per second at most.
pub const PEAK: u32 = 180;

/// A server whose ledger takes some 6 ms for each command.
pub async fn slowed(bug: OverloadBug) -> Arc<TestServer> {
    let turn = Arc::new(Mutex::new(()));
    let settings = [("FCFS_SEATS", "1000000"), ("QUEUE_DEPTH", "1024")];
    let stand = TestServer::planted(&settings, bug, |good| {
        Arc::new(Bent::new(good, move |good, batch| {
            let (good, turn) = (good.clone(), turn.clone());
            Box::pin(async move {
                let _turn = turn.lock().await;
                tokio::time::sleep(Duration::from_secs(1) / PEAK * batch.commands.len() as u32).await;
                good.commit(batch).await
            })
        }))
    });
    Arc::new(stand.await)
}

/// How one person fared.
pub struct Fared {
    pub requests: u32,
    /// When it was served, and how long that request took.
    pub served: Option<(Instant, Duration)>,
    /// How long each refusal took.
    pub refusals: Vec<Duration>,
}

/// Asks, and comes again when told to, unless that is after `until`.
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
        fared.refusals.push(began.elapsed());
        let again = Instant::now() + Duration::from_secs(told(&answer));
        if again > until {
            return fared;
        }
        tokio::time::sleep_until(again.into()).await;
    }
}

/// When a refused person should come again, in seconds.
pub fn told(answer: &TestResponse) -> u64 {
    assert_eq!((answer.status, answer.reason().as_str()), (503, "service_unavailable"), "{}", answer.text());
    let wait: u64 = answer.header("retry-after").expect("it says when to come again").parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    assert_eq!(answer.json()["retryAfter"], wait);
    wait
}

/// People come at this rate for this long, whether or not others were served, and stay until `patience` is over.
pub async fn come(stand: &Arc<TestServer>, per_second: u32, rush: Duration, patience: Duration) -> Vec<Fared> {
    let began = Instant::now();
    let people = per_second * rush.as_millis() as u32 / 1_000;
    let mut all = JoinSet::new();
    for i in 0..people {
        tokio::time::sleep_until((began + rush * i / people).into()).await;
        all.spawn(person(stand.clone(), format!("p{i}"), began + patience));
    }
    all.join_all().await
}

/// So many ask one after the other for this long. Gives how many were served per second.
pub async fn in_turn(stand: &Arc<TestServer>, clients: u32, time: Duration, word: &str) -> f64 {
    let began = Instant::now();
    let mut all = JoinSet::new();
    for c in 0..clients {
        let (stand, word) = (stand.clone(), word.to_owned());
        all.spawn(async move {
            let (mut client, mut served) = (stand.client(), 0);
            for i in 0.. {
                let answer = client.reserve(1, &format!("{word}{c}-{i}")).await;
                if began.elapsed() >= time {
                    break;
                }
                served += u32::from(answer.status == 200);
                if answer.status != 200 {
                    told(&answer);
                    // A refusal in this test is rare, or means that the server has not recovered.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
            served
        });
    }
    let served: u32 = all.join_all().await.into_iter().sum();
    f64::from(served) / time.as_secs_f64()
}

pub fn p99(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all.get(all.len() * 99 / 100).copied().unwrap_or_default()
}

/// Resident memory of this process, which is the server and the people.
pub fn memory_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}
