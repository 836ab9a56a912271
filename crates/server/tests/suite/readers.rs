//! Readers of the list do not slow a sale down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::http::{TestClient, TestResponse};
use testing::process::ServerProcess;

const SEATS: &str = "100000";
/// Rounds without and with readers take turns.
const ROUND: u64 = 2_000;
const PAIRS: u64 = 9;
const BUYERS: u64 = 64;
const READERS: usize = 4;
/// Between two reads of one reader. Each new list is read by all, and hundreds of times more it is the same.
const PAUSE: Duration = Duration::from_millis(4);

/// Sells a round and gives the seconds that it took.
async fn sell(process: &ServerProcess, round: u64) -> f64 {
    let next = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let mut buyers = Vec::new();
    for _ in 0..BUYERS {
        let (mut client, next) = (process.client(), next.clone());
        buyers.push(tokio::spawn(async move {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= ROUND {
                    return;
                }
                let answer = client.reserve(1, &format!("r{round}-{i}")).await;
                assert!(answer.seat().is_some(), "{}", answer.text());
            }
        }));
    }
    for buyer in buyers {
        buyer.await.unwrap();
    }
    began.elapsed().as_secs_f64()
}

/// Reads as a browser does: what it has is named, what is new comes compressed.
async fn read(client: &mut TestClient, etag: &mut String) -> TestResponse {
    let headers = [("Accept-Encoding", "gzip"), ("If-None-Match", etag.as_str())];
    let answer = client.send("GET", "/api/v1/seats", &headers, "").await;
    *etag = answer.header("etag").unwrap_or_default().to_owned();
    answer
}

/// The median over pairs of rounds in one run, so that one disturbance does not decide. This process plays buyers and
/// readers on the cores of the server, so readers that never pause would measure their own share of the processor.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_list_readers_do_not_slow_sales() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("FCFS_SEATS", SEATS)]).await;
    let mut first = String::new();
    read(&mut process.client(), &mut first).await;
    let (mut without, mut with, mut ratios) = (0f64, 0f64, Vec::new());
    let (mut reads, mut lists, mut bytes) = (0u64, 0u64, 0u64);
    for pair in 0..PAIRS {
        let alone = sell(&process, pair * 2).await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut readers = Vec::new();
        for _ in 0..READERS {
            let (mut client, stop, mut etag) = (process.client(), stop.clone(), String::new());
            readers.push(tokio::spawn(async move {
                let (mut reads, mut lists, mut bytes) = (0u64, 0u64, 0u64);
                while !stop.load(Ordering::Relaxed) {
                    let answer = read(&mut client, &mut etag).await;
                    assert!(answer.status == 200 || answer.status == 304, "{}", answer.status);
                    reads += 1;
                    lists += u64::from(answer.status == 200);
                    bytes += answer.body.len() as u64;
                    tokio::time::sleep(PAUSE).await;
                }
                (reads, lists, bytes)
            }));
        }
        let together = sell(&process, pair * 2 + 1).await;
        (without, with) = (without + alone, with + together);
        ratios.push(alone / together);
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            let read = reader.await.unwrap();
            (reads, lists, bytes) = (reads + read.0, lists + read.1, bytes + read.2);
        }
    }
    let sold = (ROUND * PAIRS) as f64;
    let (without, with) = (sold / without, sold / with);
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];
    println!(
        "seats sold per second: {without:.0} without readers, {with:.0} with {READERS} readers; ratio {ratio:.2}; \
         {reads} reads, {lists} whole lists, {} MiB",
        bytes >> 20
    );
    assert!(lists > 10, "the readers read: {lists}");
    assert!(ratio >= 0.8, "the sale ran at {ratio:.2} of its speed without readers");
}

/// Resident memory of the process, in MiB.
fn resident(process: &ServerProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// A million seats in both writings, packed and in pages, all of them kept, after changes too.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_lists_of_a_million_seats_fit_in_200_mib() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("FCFS_SEATS", "1000000")]).await;
    let mut client = process.client();
    let before = resident(&process);
    let mut sizes = Vec::new();
    for round in 0..5 {
        for version in ["1.1", "1.0"] {
            for (path, encoding) in [("/api/v1/seats?from=500000", "identity"), ("/api/v1/seats", "gzip")] {
                let headers = [("Api-Version", version), ("Accept-Encoding", encoding)];
                let answer = client.send("GET", path, &headers, "").await;
                assert_eq!(answer.status, 200);
                if round == 0 {
                    sizes.push(answer.body.len() >> 10);
                }
            }
        }
        assert!(client.reserve(1, &format!("u{round}")).await.seat().is_some());
    }
    let after = resident(&process);
    println!("a million seats: {before} MiB before, {after} MiB with every list; KiB per list {sizes:?}");
    assert!(after - before < 200, "{before} to {after} MiB");
}
