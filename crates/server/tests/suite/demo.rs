//! `tickettock demo`: something to look at, a rush with a verdict, a plug to pull, and data that stays.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

fn demo(data: &Path, more: &[&str]) -> std::process::Command {
    let mut command = binary();
    command.args(["demo", "--port", "0", "--data-dir"]).arg(data).args(more);
    command
}

async fn start(data: &Path, more: &[&str]) -> ServerProcess {
    let (command, data) = (demo(data, more), data.to_owned());
    tokio::task::spawn_blocking(move || ServerProcess::attempt(command, &data)).await.unwrap().expect("a demo")
}

async fn admin(process: &ServerProcess, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let authorization = format!("Bearer {}", process.admin_token());
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let answer = process.client().send(method, path, &headers, &text).await;
    (answer.status, answer.json())
}

/// The server may be dark meanwhile: a client that finds nobody is a client that asks again.
async fn verdict(data: &Path, run: u64) -> Value {
    let (file, began) = (data.join("demo/state.json"), Instant::now());
    loop {
        let state: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_ne!(state["phase"], "failed", "{state}");
        if state["run"] == run && state["phase"] == "done" {
            return state;
        }
        assert!(began.elapsed() < Duration::from_secs(90), "{state}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn names(process: &ServerProcess, path: &str, list: &str) -> Vec<String> {
    let answer = process.client().get(path).await.json();
    answer[list].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

async fn stop(mut process: ServerProcess) {
    process.signal("TERM");
    assert_eq!(process.ended_within(Duration::from_secs(15)).await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_survives_a_pulled_plug_and_keeps_its_data() {
    let folder = TestFolder::new("demo");
    let data = folder.path().join("data");
    let process = start(&data, &[]).await;
    let events = names(&process, "/api/v1/events", "events").await;
    assert_eq!(events[1..], ["봄밤 콘서트 · Spring Night Concert", "팬미팅 · Fan Meeting"]);
    assert_eq!(events[0], "소극장 낭독회 · Reading on the Small Stage");
    assert_eq!(names(&process, "/api/v1/room-types", "roomTypes").await.len(), 3);
    let concert = process.client().get("/api/v1/events/2").await.json();
    assert_eq!((&concert["event"]["seatCount"], &concert["event"]["waitingRoom"]), (&json!(1_000), &json!(true)));
    assert_eq!(process.client().get("/api/v1/events/3").await.json()["event"]["state"], "scheduled");

    let crowd = json!({ "buyers": 1_500, "seats": 300, "pullThePlug": true });
    assert_eq!(admin(&process, "POST", "/api/v1/admin/demo/rush", &crowd).await.0, 200);
    let state = verdict(&data, 1).await;
    let verdict = &state["verdict"];
    assert!(state["plug"]["darkMs"].as_u64().unwrap() > 0, "{state}");
    assert!(state["plug"]["soldBefore"].as_u64().unwrap() < 300, "in the middle: {state}");
    assert_eq!((&verdict["soldByLedger"], &verdict["holds"]), (&json!(300), &json!(true)), "{verdict}");
    assert_eq!((&verdict["soldTwice"], &verdict["lost"]), (&json!(0), &json!(0)), "{verdict}");
    assert_eq!(verdict["toldSoldOut"].as_u64().unwrap() + verdict["gaveUp"].as_u64().unwrap(), 1_200, "{verdict}");
    assert!(verdict["sentence"].as_str().unwrap().starts_with("300 sold, 0 sold twice, 0 lost, "), "{verdict}");
    let (status, told) = admin(&process, "GET", "/api/v1/admin/demo", &Value::Null).await;
    assert_eq!((status, &told["demo"]["verdict"]), (200, verdict));
    stop(process).await;

    let process = start(&data, &[]).await;
    assert_eq!(names(&process, "/api/v1/events", "events").await.len(), events.len() + 1, "it keeps what it has");
    stop(process).await;
    let process = start(&data, &["--fresh"]).await;
    assert_eq!(names(&process, "/api/v1/events", "events").await, events, "it begins anew");
    stop(process).await;
}

/// What a demo prints until it is ready, and its complaints. It is stopped then.
fn greeting(data: &Path, more: &[&str]) -> (String, String) {
    let mut child = demo(data, more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        said.push_str(&line);
        said.push('\n');
        if line.contains("Ctrl-C stops it") {
            break;
        }
    }
    assert!(std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let mut complaints = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
    assert!(child.wait().unwrap().success(), "{said}{complaints}");
    (said, complaints)
}

/// A QR code for a phone only when asked, because it means a listener that others reach.
#[test]
fn lan_demo_warns_and_prints_a_code() {
    let folder = TestFolder::new("demo");
    let (said, complaints) = greeting(&folder.path().join("plain"), &[]);
    assert!(said.contains("http://127.0.0.1:") && !said.contains('█'), "{said}");
    assert!(!complaints.contains("--lan"), "{complaints}");
    let (said, complaints) = greeting(&folder.path().join("lan"), &["--lan"]);
    assert!(complaints.contains("everybody on this network can reach this server"), "{complaints}");
    let phone = said.lines().skip_while(|line| !line.starts_with("From a phone: http://")).skip(1);
    let code: Vec<&str> = phone.take_while(|line| line.contains(['█', '▀', '▄'])).collect();
    // A machine without a network has no address to print.
    let unknown = complaints.contains("address in its network is not known");
    assert!(unknown || code.len() >= 15, "{said}{complaints}");
    assert!(code.iter().all(|line| line.chars().count() == code[0].chars().count()), "{said}");
}

/// The first thing that people see has nothing to complain about.
#[test]
fn demo_keeps_its_data_to_itself() {
    let folder = TestFolder::new("demo");
    let (_, complaints) = greeting(&folder.path().join("new"), &[]);
    assert!(!complaints.contains("WARN"), "{complaints}");
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_leaves_real_data_alone() {
    let folder = TestFolder::new("demo");
    ServerProcess::start(folder.path(), &[]).await.kill();
    for more in [&[] as &[&str], &["--fresh"]] {
        let output = demo(folder.path(), more).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("no demo made"), "{output:?}");
    }
    assert!(folder.path().join("admin-token").exists());
}

/// Only the demo has the endpoints that start a rush.
#[tokio::test(flavor = "multi_thread")]
async fn servers_have_no_demo_endpoints() {
    let folder = TestFolder::new("demo");
    let process = ServerProcess::start(folder.path(), &[]).await;
    for (method, path) in [("GET", ""), ("POST", "/rush"), ("POST", "/plug")] {
        let path = format!("/api/v1/admin/demo{path}");
        assert_eq!(admin(&process, method, &path, &Value::Null).await.0, 404, "{path}");
    }
}
