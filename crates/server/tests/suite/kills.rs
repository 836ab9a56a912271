//! The real binary, killed: everything acknowledged is there, nothing twice, ready again soon.

use std::collections::{HashMap, HashSet};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::http::{BUYER, TestClient};
use testing::process::{ServerProcess, binary};
use testing::rng::SeededRng;

/// What the buyers remember, over all lives of the server.
#[derive(Default)]
struct Remembered {
    /// Reservation id to its user and seat.
    acknowledged: HashMap<String, (String, u64)>,
    /// Asked, and the answer never came.
    unknown: HashSet<String>,
}

/// Buyers that ask until their connection breaks.
async fn buy(address: std::net::SocketAddr, next: Arc<AtomicU64>) -> Remembered {
    let mut remembered = Remembered::default();
    let mut client = TestClient::new(address);
    let path = "/api/v1/events/1/seats/reservation/fcfs";
    loop {
        let user = format!("u{}", next.fetch_add(1, Ordering::Relaxed));
        let headers = [("X-User-Id", user.as_str()), ("Content-Type", "application/json")];
        match client.try_send("POST", path, &headers, BUYER).await {
            Ok(answer) if answer.status == 200 => {
                let (id, seat) = (answer.json()["reservationId"].as_str().unwrap().to_owned(), answer.seat().unwrap());
                remembered.acknowledged.insert(id, (user, seat));
            }
            Ok(answer) => assert!(answer.status == 503, "{}", answer.text()),
            Err(_) => {
                remembered.unknown.insert(user);
                return remembered;
            }
        }
    }
}

async fn all_reservations(process: &ServerProcess) -> HashMap<String, (String, u64)> {
    let token = format!("Bearer {}", process.admin_token());
    let mut client = process.client();
    let (mut found, mut after) = (HashMap::new(), String::new());
    loop {
        let path = format!("/api/v1/admin/events/1/reservations?limit=1000{after}");
        let page = client.send("GET", &path, &[("Authorization", &token)], "").await.json();
        for one in page["reservations"].as_array().unwrap() {
            let id = one["publicId"].as_str().unwrap().to_owned();
            found.insert(id, (one["userId"].as_str().unwrap().to_owned(), one["seat"]["id"].as_u64().unwrap()));
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return found,
        }
    }
}

/// FAULTS B1: kill -9 thirty times under load.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_thirty_kills_lose_no_acknowledged_sale() {
    let folder = TestFolder::new("server");
    let data = folder.path().join("data");
    let settings = [("FCFS_SEATS", "1000000")];
    let next = Arc::new(AtomicU64::new(0));
    let mut rng = SeededRng::new(30);
    let mut all = Remembered::default();
    for life in 0..30 {
        let process = ServerProcess::start(&data, &settings).await;
        assert!(process.ready_after < Duration::from_secs(3), "life {life}: ready after {:?}", process.ready_after);
        let buyers: Vec<_> = (0..32).map(|_| tokio::spawn(buy(process.address, next.clone()))).collect();
        tokio::time::sleep(Duration::from_millis(50 + rng.below(700))).await;
        process.kill();
        for buyer in buyers {
            let remembered = buyer.await.unwrap();
            all.acknowledged.extend(remembered.acknowledged);
            all.unknown.extend(remembered.unknown);
        }
    }
    assert!(all.acknowledged.len() > 3_000 && !all.unknown.is_empty(), "{} acknowledged", all.acknowledged.len());
    let process = ServerProcess::start(&data, &settings).await;
    let found = all_reservations(&process).await;
    for (id, told) in &all.acknowledged {
        assert_eq!(found.get(id), Some(told), "acknowledged {id} and not found so");
    }
    let users: HashSet<&String> = found.values().map(|(user, _)| user).collect();
    let seats: HashSet<u64> = found.values().map(|(_, seat)| *seat).collect();
    assert_eq!((users.len(), seats.len()), (found.len(), found.len()), "nobody and no seat twice");
    for (id, (user, _)) in &found {
        let known = all.acknowledged.contains_key(id) || all.unknown.contains(user);
        assert!(known, "{user} has a seat and was never told, nor left in doubt");
    }
    println!("{} acknowledged, {} in doubt, 30 kills, 0 lost", all.acknowledged.len(), all.unknown.len());
}

/// An fdatasync that fails: compiled on the spot and put in front of the system's.
fn failing_flush(folder: &std::path::Path) -> std::path::PathBuf {
    let (source, library) = (folder.join("flush.c"), folder.join("flush.so"));
    std::fs::write(
        &source,
        r#"#define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <stdlib.h>
        #include <unistd.h>
        static int left = -1;
        static int fails(void) {
            if (left < 0) left = atoi(getenv("FLUSHES"));
            return left-- <= 0 ? (left = 0, errno = EIO, 1) : 0;
        }
        int fdatasync(int fd) { return fails() ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd); }
        int fsync(int fd) { return fails() ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }
        "#,
    )
    .unwrap();
    let built = Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl").status();
    assert!(built.unwrap().success(), "gcc builds the shim");
    library
}

/// FAULTS B5: after the flush that fails nothing is acknowledged, the process ends within a
/// second, and the next start has everything that was acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn failed_flush_ends_the_process() {
    let folder = TestFolder::new("server");
    let library = failing_flush(folder.path());
    for flushes in [20, 31, 44] {
        let data = folder.path().join(format!("data-{flushes}"));
        let settings = [("FCFS_SEATS", "1000")];
        let mut process = ServerProcess::spawn(&data, &settings, |command| {
            command.env("LD_PRELOAD", &library).env("FLUSHES", flushes.to_string())
        })
        .await;
        let mut client = process.client();
        let mut told = Vec::new();
        let failed = loop {
            let user = format!("u{}", told.len());
            let headers = [("X-User-Id", user.as_str()), ("Content-Type", "application/json")];
            match client.try_send("POST", "/fcfs/join", &headers, BUYER).await {
                Ok(answer) if answer.status == 200 => told.push(answer.json()["reservationId"].clone()),
                Ok(answer) => break answer,
                Err(e) => panic!("after {} answers: {e}", told.len()),
            }
            assert!(told.len() < 1_000, "the flush never failed");
        };
        let began = Instant::now();
        assert_eq!((failed.status, failed.reason().as_str()), (503, "service_unavailable"));
        if let Ok(after) = client
            .try_send("POST", "/fcfs/join", &[("X-User-Id", "late"), ("Content-Type", "application/json")], BUYER)
            .await
        {
            assert_eq!(after.status, 503, "acknowledged after the failure: {}", after.text());
        }
        assert_eq!(process.ended_within(Duration::from_secs(1)).await, Some(74), "{:?}", began.elapsed());
        assert!(!told.is_empty(), "nothing was sold before the failure");
        let again = ServerProcess::start(&data, &settings).await;
        let found = all_reservations(&again).await;
        for id in &told {
            assert!(found.contains_key(id.as_str().unwrap()), "{id} was acknowledged and is gone");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_answers_accepted_requests_and_ends() {
    let folder = TestFolder::new("server");
    let mut process = ServerProcess::start(&folder.path().join("data"), &[("FCFS_SEATS", "100000")]).await;
    let next = Arc::new(AtomicU64::new(0));
    let buyers: Vec<_> = (0..16).map(|_| tokio::spawn(buy(process.address, next.clone()))).collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    process.signal("TERM");
    assert_eq!(process.ended_within(Duration::from_secs(10)).await, Some(0));
    let mut acknowledged = 0;
    for buyer in buyers {
        acknowledged += buyer.await.unwrap().acknowledged.len();
    }
    assert!(acknowledged > 100, "{acknowledged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn second_process_on_the_folder_is_refused() {
    let folder = TestFolder::new("server");
    let _first = ServerProcess::start(folder.path(), &[]).await;
    let began = Instant::now();
    let second = binary().arg("serve").env("DATA_DIR", folder.path()).env("APP_PORT", "0").output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(second.status.code(), Some(2));
    let words = String::from_utf8_lossy(&second.stderr);
    assert!(words.contains("another tickettock is using the data folder"), "{words}");
}

#[test]
fn bad_setting_stops_the_start() {
    for (name, value) in [("APP_PORT", "99999"), ("FCFS_SEATS", "many"), ("AUTH_MODE", "none"), ("APP_HOST", "0.0.0.0")]
    {
        let output = binary().arg("serve").env(name, value).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.starts_with("tickettock: ") && words.contains(name), "{words}");
    }
    let help = binary().args(["serve", "--help"]).output().unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("--app-port"));
    let help = binary().arg("--help").output().unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("Examples:"));
}

/// 1,000,000 seats, half of them sold: ready within 5 s, and selling as fast as with 1,000.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_million_seats_half_sold() {
    let folder = TestFolder::new("server");
    let data = folder.path().join("data");
    ServerProcess::start(&data, &[("FCFS_SEATS", "1000000")]).await.kill();
    let db = rusqlite::Connection::open(data.join("tickettock.db")).unwrap();
    db.execute_batch(
        "BEGIN;
         WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 500000)
         INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number, buyer, phone)
         SELECT 1, i, 1000000, 'sold', 'early-' || i, 1, 1, i + 1, 1, i, 'Early', '+821012345678' FROM s;
         INSERT INTO history (event, n, what, seat, owner, number, at)
         SELECT 1, n, 'reserved', seat, owner, number, at FROM taken;
         UPDATE event SET sold = 500000, \"cursor\" = 500000, n = 500001 WHERE id = 1;
         COMMIT;",
    )
    .unwrap();
    drop(db);
    let process = ServerProcess::start(&data, &[]).await;
    assert!(process.ready_after < Duration::from_secs(5), "{:?}", process.ready_after);
    let small = ServerProcess::start(&folder.path().join("small"), &[("FCFS_SEATS", "100000")]).await;
    let mut ratios = Vec::new();
    for round in 0..5 {
        let thousand = sell_for(&small, round, Duration::from_millis(1_000)).await;
        let million = sell_for(&process, round, Duration::from_millis(1_000)).await;
        ratios.push(million as f64 / thousand as f64);
    }
    ratios.sort_by(f64::total_cmp);
    println!("a million seats sell at {ratios:.2?} of the speed of few");
    assert!(ratios[2] > 0.8, "{ratios:.2?}");
}

async fn sell_for(process: &ServerProcess, round: u64, time: Duration) -> u64 {
    let sold = Arc::new(AtomicU64::new(0));
    let end = Instant::now() + time;
    let buyers: Vec<_> = (0..32u64)
        .map(|buyer| {
            let (mut client, sold) = (process.client(), sold.clone());
            tokio::spawn(async move {
                for i in 0.. {
                    if Instant::now() >= end {
                        break;
                    }
                    let answer = client.reserve(1, &format!("b{buyer}-{round}-{i}")).await;
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    sold.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for buyer in buyers {
        buyer.await.unwrap();
    }
    sold.load(Ordering::Relaxed)
}
