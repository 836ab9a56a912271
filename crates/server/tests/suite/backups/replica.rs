//! `REPLICATE_TO`: a machine is lost in the middle of a sale, and the copy in the second place has everything that was
//! acknowledged before the moment that the server named.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use server::clock::{Hands, SystemHands};
use server::replica::Replica;
use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

use super::run;

const PATIENCE: Duration = Duration::from_secs(60);

fn copies(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|ending| ending == "db")).collect();
    all.sort();
    all
}

/// What was acknowledged before this moment is in the copy, the server says.
async fn copied_until(process: &ServerProcess) -> f64 {
    let metrics = process.client().get("/metrics").await.text();
    let line = metrics.lines().find_map(|line| line.strip_prefix("tickettock_replica_newest_timestamp_seconds"));
    line.and_then(|rest| rest.split(' ').next_back()?.parse().ok()).unwrap_or_default()
}

fn now() -> f64 {
    SystemHands.wall().0 as f64 / 1_000.0
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_replica_has_everything_before_its_moment() {
    let folder = TestFolder::new("replica");
    let (data, second) = (folder.path().join("data"), folder.path().join("second"));
    let settings = [("REPLICATE_TO", second.to_str().unwrap()), ("REPLICATE_EVERY", "1"), ("FCFS_SEATS", "100000")];
    let process = ServerProcess::start(&data, &settings).await;
    let (began, first) = (Instant::now(), copied_until(&process).await);
    let (mut bought, mut buyers, mut until) = (Vec::new(), process.client(), first);
    // Until three copies were made while people bought.
    let (mut rounds, mut user) = (0, 0);
    while rounds < 3 {
        assert!(began.elapsed() < PATIENCE, "{rounds} copies");
        for _ in 0..20 {
            let answer = buyers.reserve(1, &format!("u{user}")).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            bought.push((now(), answer.json()["reservationId"].as_str().unwrap().to_owned(), user));
            user += 1;
        }
        let newest = copied_until(&process).await;
        rounds += usize::from(newest > until);
        until = newest.max(until);
    }
    let killed = now();
    process.kill();
    std::fs::remove_dir_all(&data).unwrap();

    // The stated loss: the interval, and five times the time of a copy. Here with the time of a loaded machine.
    assert!(killed - until < 30.0, "the copy is {} s old", killed - until);
    let before = bought.iter().filter(|(at, ..)| *at < until).count();
    assert!(before > 0, "nothing was bought before the last copy");
    let copy = copies(&second);
    assert_eq!(copy.len(), 1, "{copy:?}");
    let (code, said) = run(binary().arg("restore").arg(&copy[0]).env("DATA_DIR", &data));
    assert_eq!(code, 0, "{said}");
    let (code, said) = run(binary().arg("verify").env("DATA_DIR", &data));
    assert_eq!(code, 0, "{said}");

    // The restored ledger goes on, and its copy is another file: the old one is not overwritten.
    let process = ServerProcess::start(&data, &settings).await;
    let mut client = process.client();
    for (_, reservation, user) in &bought[..before] {
        let mine = client.get_as(&format!("u{user}"), "/api/v1/reservations").await.text();
        assert!(mine.contains(reservation), "u{user} lost {reservation}: {mine}");
    }
    let began = Instant::now();
    while copies(&second).len() < 2 {
        assert!(began.elapsed() < PATIENCE, "no copy of the restored ledger");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(copy[0].exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_is_copied_after_a_change_only() {
    let folder = TestFolder::new("replica");
    let (data, second) = (folder.path().join("data"), folder.path().join("second"));
    let process = ServerProcess::start(&data, &[]).await;
    let mut replica = Replica::begin(&data, &second).unwrap();
    assert!(replica.follow(&data).unwrap());
    assert!(!replica.follow(&data).unwrap(), "nothing was sold since");
    assert_eq!(process.client().reserve(1, "alice").await.status, 200);
    // What a killed process left does not stand in the way.
    let copy = copies(&second).pop().unwrap();
    std::fs::write(copy.with_extension("new"), "half").unwrap();
    assert!(replica.follow(&data).unwrap() && !copy.with_extension("new").exists());
    let (code, said) = run(binary().arg("restore").arg(&copy).env("DATA_DIR", folder.path().join("other")));
    assert!(code == 0 && said.contains("1 reservations"), "{said}");
    let mut scaled = binary();
    scaled.args(["serve", "--replicate-to", "/tmp"]).env("DATABASE_URL", "postgres://x@127.0.0.1:1/x?sslmode=disable");
    let (code, said) = run(scaled.env("ADMIN_TOKEN", "0123456789abcdef"));
    assert!(code != 0 && said.contains("REPLICATE_TO") && said.contains("standbys"), "{said}");
}
