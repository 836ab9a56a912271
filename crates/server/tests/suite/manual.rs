//! The binary explains itself: settings, API, events through the running server; and the fuzzer
//! that holds the server to its own document.

use std::process::Command;

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};
use testing::server::TestServer;

fn run(command: &mut Command) -> (bool, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn repository(file: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

#[test]
fn config_prints_the_committed_manual() {
    let (good, text, _) = run(binary().args(["config", "--markdown"]));
    assert!(good);
    assert_eq!(text, std::fs::read_to_string(repository("docs/configuration.md")).unwrap());
    let (good, text, complaint) =
        run(binary().args(["config", "--markdown", "--port", "x"]).env("GATEWAY_KEY", testing::gateway::KEY));
    assert!(!good && complaint.contains("APP_PORT (flag)"), "{complaint}");
    assert!(text.contains("- value: `x` (flag)") && text.contains("(hidden) (environment)"));
    let folder = TestFolder::new("server");
    let file = folder.path().join("t.toml");
    std::fs::write(&file, "fcfs_seats = 12\n").unwrap();
    let (_, text, _) = run(binary().args(["config", "--markdown", "--config"]).arg(&file));
    assert!(text.contains("- default: `9`\n- value: `12` (file)"), "{text}");
}

#[test]
fn openapi_prints_the_committed_document() {
    let (good, text, _) = run(binary().arg("openapi"));
    assert!(good && text == std::fs::read_to_string(repository("openapi/tickettock.yaml")).unwrap());
    let (good, text, _) = run(binary().args(["openapi", "--dialect", "1.0"]));
    assert!(good && text == std::fs::read_to_string(repository("openapi/1.0.yaml")).unwrap());
    assert!(!run(binary().args(["openapi", "--dialect", "2"])).0);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_path_answers() {
    let stand = TestServer::on(Backing::Embedded, &[]).await;
    let mut client = stand.client();
    let canonical = client.get("/openapi.json").await;
    assert_eq!(canonical.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(client.get("/openapi/1.1.json").await.text(), canonical.text());
    assert_eq!(client.get("/openapi/2.json").await.status, 404);
    let mut paths = serde_json::Map::new();
    for name in ["1.1", "1.0", "2025-08-17", "v1"] {
        let document = client.get(&format!("/openapi/{name}.json")).await.json();
        assert_eq!(document["openapi"], "3.1.0");
        paths.extend(document["paths"].as_object().unwrap().clone());
    }
    assert!(paths.len() > 40);
    for (path, item) in &paths {
        let path = path.replace("{eventId}", "1").replace("{seatId}", "1").replace("{reservationId}", "e1-9");
        let path = path.replace("{roomTypeId}", "1").replace("{holdId}", "hr1-2").replace("{tokenName}", "ops");
        let path = path.replace("{userId}", "alice");
        let path = path.replace("{webhookId}", "1");
        let file = if path.starts_with("/openapi/") { "1.1.json" } else { "swagger-ui.css" };
        let path = path.replace("{file}", file);
        let wrong = client.send("PUT", &path, &[], "").await;
        assert_eq!(wrong.status, 405, "{path}");
        let allowed = wrong.header("allow").unwrap().to_ascii_lowercase();
        let documented: Vec<&str> = item.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(allowed.split(", ").collect::<Vec<_>>(), documented, "{path}");
    }
    for path in ["/docs", "/try", "/", "/events/1", "/rooms", "/me", "/admin"] {
        let page = client.get(path).await;
        let policy = page.header("content-security-policy").unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("http"), "{policy}");
        for policy in [policy, client.get("/").await.header("content-security-policy").unwrap().to_owned()] {
            assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
            let scripts = policy.split(';').find(|rule| rule.trim().starts_with("script-src")).unwrap();
            assert_eq!(scripts.trim(), "script-src 'self'", "no inline script");
        }
        let page = page.text();
        for file in page.split(['"']).filter(|part| part.starts_with('/')) {
            assert_eq!(client.get(file).await.status, 200, "{file}");
        }
        assert!(!page.contains("://"), "nothing from elsewhere");
        assert!(!page.contains("<script>") && !page.contains("<style") && !page.contains(" style="), "nothing inline");
        assert!(page.contains("/assets/favicon.svg") && (path == "/docs" || page.contains("href=\"/docs\"")));
    }
    let style = client.get("/assets/page.css").await;
    let known = [("If-None-Match", style.header("etag").unwrap())];
    assert_eq!(client.send("GET", "/assets/page.css", &known, "").await.status, 304);
    assert_eq!(client.get("/assets/page.rs").await.status, 404);
    assert_eq!(client.get("/docs/oauth2-redirect.html").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn event_commands_use_the_running_server() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let url = format!("http://{}", process.address);
    let event = |arguments: &[&str]| {
        run(binary().arg("event").args(arguments).args(["--url", &url]).env("DATA_DIR", folder.path()))
    };
    let (good, text, complaint) = event(&["create", "--name", "Gala", "--seats", "500", "--max-per-user", "4"]);
    assert!(good && text.contains("Gala") && text.contains("500"), "{text}{complaint}");
    let hall = folder.path().join("hall.json");
    std::fs::write(&hall, r#"{"sections":[{"name":"1층","rows":[{"name":"A","seats":20}]}]}"#).unwrap();
    let opens = ["--opens-at", "2099-01-01T00:00:00Z"];
    let hall = hall.to_str().unwrap();
    let (good, text, complaint) = event(&["create", "--name", "Hall", "--hall", hall, opens[0], opens[1], "--json"]);
    assert!(good, "{complaint}");
    let made: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&made["event"]["seatCount"], &made["event"]["state"]), (&json!(20), &json!("scheduled")));
    let (good, text, _) = event(&["list"]);
    assert!(good && ["Event 1", "Gala", "Hall"].iter().all(|name| text.contains(name)), "{text}");
    let (good, text, _) = event(&["show", "3"]);
    assert!(good && text.contains("1층: 1 rows, 20 seats") && text.contains("opens at 2099"), "{text}");

    let room = folder.path().join("room.json");
    std::fs::write(&room, r#"{"maxConcurrent":7,"idleTimeout":20}"#).unwrap();
    let room = ["--waiting-room-file", room.to_str().unwrap(), "--hold-ttl", "90", "--json"];
    let (good, text, complaint) = event(&[&["create", "--name", "Line", "--seats", "5"], &room[..]].concat());
    assert!(good, "{complaint}");
    let made: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&made["event"]["waitingRoom"]["idleTimeout"], &made["event"]["holdTtl"]), (&json!(20), &json!(90)));
    for (turn, state) in [("pause", "paused"), ("resume", "open"), ("close", "closed"), ("open", "open")] {
        let (good, text, complaint) = event(&[turn, "4"]);
        assert!(good && text.contains(state), "{turn}: {text}{complaint}");
    }
    let (good, _, complaint) = event(&["resume", "4"]);
    assert!(!good && complaint.contains("paused event"), "{complaint}");
    assert!(event(&["delete", "4"]).0 && !event(&["show", "4"]).0);

    let (good, _, complaint) = event(&["show", "99"]);
    assert!(!good && complaint.contains("event 99 does not exist"), "{complaint}");
    let (good, _, complaint) = run(binary().args(["rush", &url, "--event", "99", "--buyers", "1"]));
    assert!(!good && complaint.contains("event 99 does not exist"), "{complaint}");
    let (good, _, complaint) = event(&["create", "--name", "x", "--seats", "99999999"]);
    assert!(!good && complaint.contains("seats must be from 0"), "{complaint}");
    let stranger = run(binary().args(["event", "create", "--name", "x", "--seats", "1", "--url", &url]));
    assert!(!stranger.0 && stranger.2.contains("ADMIN_TOKEN"), "{}", stranger.2);
    let (good, _, complaint) = run(binary().args(["event", "list", "--url", "http://127.0.0.1:1"]));
    assert!(!good && complaint.contains("no server answers"), "{complaint}");
}

#[test]
fn examples_match_their_schemas() {
    let (good, text, complaint) = run(Command::new(repository("scripts/schemathesis.sh")).arg("examples"));
    assert!(good, "{text}{complaint}");
    println!("{}", text.trim());
}

#[tokio::test(flavor = "multi_thread")]
async fn room_type_commands_use_the_running_server() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[]).await;
    let url = format!("http://{}", process.address);
    let rooms = |arguments: &[&str]| {
        run(binary().arg("room-type").args(arguments).args(["--url", &url]).env("DATA_DIR", folder.path()))
    };
    let (good, text, complaint) =
        rooms(&["create", "--name", "Double", "--rooms", "5", "--time-zone", "Asia/Seoul", "--price", "129000"]);
    assert!(good && text.contains("Double") && text.contains("Asia/Seoul"), "{text}{complaint}");
    let (good, text, _) = rooms(&["change", "1", "--rooms", "6", "--json"]);
    let changed: Value = serde_json::from_str(&text).unwrap();
    assert!(good && changed["roomType"]["totalQuantity"] == 6 && changed["roomType"]["name"] == "Double", "{text}");
    let (good, text, _) = rooms(&["list"]);
    assert!(good && text.contains("Double"), "{text}");
    let month = &crate::holds::day(40)[..7];
    let (good, text, complaint) = rooms(&["calendar", "1", "--month", month]);
    assert!(good && text.lines().count() >= 29 && text.contains("       6"), "{text}{complaint}");
    let (good, _, complaint) = rooms(&["show", "9"]);
    assert!(!good && complaint.contains("room type 9 does not exist"), "{complaint}");
    let (good, _, complaint) = rooms(&["create", "--name", "x", "--rooms", "1", "--time-zone", "Mars"]);
    assert!(!good && complaint.contains("timeZone"), "{complaint}");
}

/// More than a page, each row once, in both formats; a file appears only when it is whole.
#[tokio::test(flavor = "multi_thread")]
async fn export_has_every_sale_once() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("FCFS_SEATS", "2100")]).await;
    let url = format!("http://{}", process.address);
    let rush = run(binary().args(["rush", &url, "--event", "1", "--buyers", "2100", "--rate", "4000"]));
    assert!(rush.0, "{}{}", rush.1, rush.2);
    assert!(rush.1.contains("event 1 with 2,100 free seats") && rush.1.contains("/api/v1/events/1"), "{}", rush.1);
    let event = |arguments: &[&str]| {
        run(binary().arg("event").args(arguments).args(["--url", &url]).env("DATA_DIR", folder.path()))
    };
    let (good, csv, complaint) = event(&["export", "1"]);
    assert!(good, "{complaint}");
    let mut seats: Vec<u64> = csv.lines().skip(1).map(|row| row.split(',').nth(2).unwrap().parse().unwrap()).collect();
    seats.sort_unstable();
    assert_eq!(seats, (1..=2100).collect::<Vec<u64>>());
    let file = folder.path().join("sold.jsonl");
    assert!(event(&["export", "1", "--json", "--output", file.to_str().unwrap()]).0);
    let lines = std::fs::read_to_string(&file).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.len() == 2100 && rows[0]["phone"].is_string(), "{}", rows.len());
    let other = folder.path().join("other.csv");
    let (good, _, complaint) = event(&["export", "99", "--output", other.to_str().unwrap()]);
    assert!(!good && !complaint.is_empty() && !other.exists());
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let (good, text, _) = run(binary().args(["completions", shell]));
        assert!(good && text.contains("room-type") && text.contains("fcfs-seats"), "{shell}");
    }
    let folder = TestFolder::new("man");
    assert!(run(binary().arg("man").arg(folder.path())).0);
    let page = std::fs::read_to_string(folder.path().join("tickettock-event-create.1")).unwrap();
    assert!(page.starts_with(".ie") && page.contains("waiting\\-room"), "{page}");
    assert!(folder.path().join("tickettock.1").exists() && folder.path().join("tickettock-serve.1").exists());
}

#[test]
fn config_is_a_table_or_json() {
    let (good, text, _) = run(binary().args(["config", "--port", "81", "--host", "::1"]));
    assert!(good && text.lines().any(|line| line.starts_with("* APP_PORT") && line.ends_with("flag")), "{text}");
    let (good, text, _) = run(binary().args(["config", "--json"]).env("GATEWAY_KEY", testing::gateway::KEY));
    let settings: Value = serde_json::from_str(&text).unwrap();
    let key = settings.as_array().unwrap().iter().find(|one| one["name"] == "GATEWAY_KEY").unwrap();
    assert!(good && key["value"].is_null() && key["set"] == true && key["secret"] == true, "{key}");
}

/// schemathesis over `/openapi.json`: no 5xx, no status, type or shape that is not documented.
/// `FUZZ_SECONDS` says for how long.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_schemathesis_finds_nothing() {
    let seconds = std::env::var("FUZZ_SECONDS").unwrap_or("45".into());
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("FCFS_SEATS", "2000"), ("RUST_LOG", "error")]).await;
    let url = format!("http://{}", process.address);
    let mut fuzzer = Command::new(repository("scripts/schemathesis.sh"));
    fuzzer.args([&url, &seconds, &process.admin_token()]);
    let (good, text, complaint) = tokio::task::spawn_blocking(move || run(&mut fuzzer)).await.unwrap();
    assert!(good, "{text}\n{complaint}");
    let tested = text.lines().find(|line| line.contains(" generated,")).unwrap_or_else(|| panic!("{text}"));
    println!("{}", tested.trim());
    // Not the seats of event 1: the fuzzer has the admin token and may delete it.
    let events = process.client().get("/api/v1/events").await;
    assert_eq!(events.status, 200, "and it still answers: {}", events.text());
}
