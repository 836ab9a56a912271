//! A slow request leaves one log line with the time of each step; many leave one line a second.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::folder::TestFolder;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::process::ServerProcess;

const WORDS: &str = "a request was slow";

async fn server(folder: &Path, format: &str) -> ServerProcess {
    let log = File::create(folder.join("log")).unwrap();
    let settings = [("LOG_FORMAT", format), ("SLOW_REQUEST_MS", "300"), ("FCFS_SEATS", "100")];
    let process = ServerProcess::spawn(folder, &settings, |command| command.stderr(log)).await;
    // The first arrival opens the door, which is a change of the ledger by itself.
    assert_eq!(process.client().reserve(1, "first").await.status, 200);
    process
}

/// Asks for so many seats while another process has the ledger locked for this long.
async fn behind_lock(process: &ServerProcess, folder: &Path, requests: usize, time: Duration) -> Vec<TestResponse> {
    let other = rusqlite::Connection::open(folder.join("tickettock.db")).unwrap();
    other.execute_batch("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").unwrap();
    let address = process.address;
    let ask = move |n: usize| async move {
        let (user, id) = (format!("u{n}"), format!("{n:032x}"));
        let headers = [("X-User-Id", user.as_str()), ("X-Request-Id", &id), ("Content-Type", "application/json")];
        TestClient::new(address).send("POST", "/api/v1/events/1/seats/reservation/fcfs", &headers, BUYER).await
    };
    let asking: Vec<_> = (1..=requests).map(|n| tokio::spawn(ask(n))).collect();
    tokio::time::sleep(time).await;
    other.execute_batch("ROLLBACK").unwrap();
    let mut answers = Vec::new();
    for one in asking {
        answers.push(one.await.unwrap());
    }
    answers
}

/// The line of this request, as soon as it is there.
async fn line(folder: &Path, with: &str) -> String {
    let began = Instant::now();
    loop {
        let log = fs::read_to_string(folder.join("log")).unwrap();
        let found = log.lines().find(|line| line.contains(WORDS) && line.contains(with));
        if let Some(line) = found {
            return line.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "no line with {with}: {log}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_request_is_logged_with_its_steps() {
    for format in ["text", "json"] {
        let folder = TestFolder::new("server");
        let process = server(folder.path(), format).await;
        let answers = behind_lock(&process, folder.path(), 1, Duration::from_millis(800)).await;
        assert_eq!(answers[0].status, 200, "{}", answers[0].text());
        let id = answers[0].header("x-request-id").unwrap().to_owned();
        let line = line(folder.path(), &id).await;
        if format == "text" {
            for word in [
                "WARN",
                "operation=\"reserve\"",
                "subject=e1",
                "status=200",
                "admit_ms=",
                "decide_ms=",
                "commit_ms=",
                "read_ms=",
            ] {
                assert!(line.contains(word), "{word} is not in {line}");
            }
            assert!(!line.contains("Alice") && !line.contains("1234"), "{line}");
            continue;
        }
        let line: Value = serde_json::from_str(&line).unwrap();
        let fields = &line["fields"];
        let ms = |name: &str| fields[format!("{name}_ms")].as_f64().unwrap_or_else(|| panic!("{name} in {line}"));
        let steps = ["read", "arrive", "batch", "admit", "decide", "commit", "publish", "respond"].map(ms);
        // The lock was what it waited for.
        assert!(ms("admit") >= 300.0 && ms("total") >= ms("admit"), "{line}");
        assert!((steps.iter().sum::<f64>() - ms("total")).abs() < 1.0, "{line}");
        assert_eq!((fields["trace"].as_str(), fields["outcome"].as_str()), (Some(id.as_str()), Some("reserved")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_slow_requests_leave_one_line_a_second() {
    let folder = TestFolder::new("server");
    let process = server(folder.path(), "json").await;
    let began = Instant::now();
    let answers = behind_lock(&process, folder.path(), 40, Duration::from_millis(800)).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    let seconds = began.elapsed().as_secs() as usize + 1;
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let lines = log.lines().filter(|line| line.contains(WORDS)).count();
    assert!((1..=seconds).contains(&lines), "{lines} lines in {seconds} s: {log}");
    // The next line counts the ones that were left out.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let other = rusqlite::Connection::open(folder.path().join("tickettock.db")).unwrap();
    other.execute_batch("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").unwrap();
    let address = process.address;
    let asking = tokio::spawn(async move { TestClient::new(address).reserve(1, "last").await });
    tokio::time::sleep(Duration::from_millis(600)).await;
    other.execute_batch("ROLLBACK").unwrap();
    let id = asking.await.unwrap().header("x-request-id").unwrap().to_owned();
    let line: Value = serde_json::from_str(&line(folder.path(), &id).await).unwrap();
    assert_eq!(line["fields"]["left_out"], 40 - lines, "{line}");
}
