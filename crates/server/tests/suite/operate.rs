//! What an operator and a supervisor use: `doctor`, `healthcheck`, the notifications of systemd, SIGHUP.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::database::Database;
use testing::folder::TestFolder;
use testing::postgres::OwnPostgres;
use testing::process::{ServerProcess, binary};
use testing::redis::OwnRedis;

fn run(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text)
}

fn finding<'a>(found: &'a Value, check: &str) -> &'a Value {
    let all = found["findings"].as_array().unwrap();
    all.iter().find(|one| one["check"] == check).unwrap_or_else(|| panic!("{check}: {found:#}"))
}

#[test]
fn doctor_reckons_a_sale_on_the_embedded_ledger() {
    let folder = TestFolder::new("doctor");
    let data = folder.path().join("data");
    let (code, text) = run(binary().args(["doctor", "--json", "--sale", "50000/500"]).env("DATA_DIR", &data));
    let found: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    for check in ["open files", "room", "file system", "flush", "speed", "sale", "connections of the sale"] {
        finding(&found, check);
    }
    assert!(finding(&found, "sale")["found"].as_str().unwrap().contains("50000 people"), "{text}");
    assert!(!data.exists() && std::fs::read_dir(folder.path()).unwrap().count() == 0, "it left something behind");
    let expected = match found["worst"].as_str().unwrap() {
        "ok" | "advice" => 0,
        "warning" => 1,
        _ => 3,
    };
    assert_eq!(code, expected, "{text}");
    let (code, text) = run(binary().args(["doctor", "--sale", "many"]).env("DATA_DIR", &data));
    assert!(code == 2 && text.contains("50000/500"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_what_is_wrong_with_postgresql_and_redis() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let doctor = |url: &str| {
        let mut command = binary();
        command.args(["doctor", "--json"]).env("DATABASE_URL", url).env("REDIS_URL", redis.url());
        command.env("ADMIN_TOKEN", "0123456789abcdef");
        let (code, text) = run(&mut command);
        (code, serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
    };
    let (_, found) = doctor(&database.url);
    for check in ["PostgreSQL", "Redis", "maxmemory-policy", "clock of PostgreSQL", "clock of Redis", "call to Redis"] {
        assert_eq!(finding(&found, check)["severity"], "ok", "{found:#}");
    }
    assert_eq!(finding(&found, "standby")["severity"], "advice");
    // The tests' own PostgreSQL does not flush.
    assert_eq!(finding(&found, "fsync")["severity"], "critical", "{found:#}");
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let (code, found) = doctor(&database.url);
    let policy = finding(&found, "maxmemory-policy");
    assert!(policy["severity"] == "critical" && policy["change"].as_str().unwrap().contains("noeviction"));
    assert_eq!(code, 3);
    let (code, found) = doctor("postgres://nobody@127.0.0.1:1/none?sslmode=disable");
    assert!(code == 3 && finding(&found, "PostgreSQL")["severity"] == "critical", "{found:#}");
}

/// Everything that `doctor` should list of PostgreSQL, Redis and the machine, with a real standby.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_doctor_lists_a_standby_and_its_lag() {
    let (primary, redis) = (OwnPostgres::start().await, OwnRedis::start());
    let standby = primary.standby().await;
    let client = primary.connect().await;
    let began = Instant::now();
    let streams = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    while client.query_one(streams, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "the standby does not follow");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let doctor = |url: &str| {
        let mut command = binary();
        command.args(["doctor", "--json", "--sale", "50000/500"]).env("DATABASE_URL", url);
        let (_, text) = run(command.env("REDIS_URL", redis.url()).env("ADMIN_TOKEN", "0123456789abcdef"));
        serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    };
    let found = doctor(&primary.url());
    for check in [
        "open files",
        "clock",
        "connections that wait to be accepted",
        "PostgreSQL",
        "synchronous_commit",
        "fsync",
        "standby",
        "replication lag",
        "connections",
        "clock of PostgreSQL",
        "commit in PostgreSQL",
        "Redis",
        "maxmemory-policy",
        "persistence of Redis",
        "clock of Redis",
        "call to Redis",
        "sale",
    ] {
        finding(&found, check);
    }
    let standby_of = |found: &Value| finding(found, "standby").clone();
    assert!(standby_of(&found)["change"].as_str().unwrap().contains("synchronous_standby_names"), "{found:#}");
    assert_eq!(finding(&found, "replication lag")["severity"], "ok");

    client.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'").await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    while client.query_one(synchronous, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "the standby is not synchronous");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(standby_of(&doctor(&primary.url()))["severity"], "ok");
    // A role as the manual asks for: it may not look at standbys, and is not told that there is none.
    client.batch_execute("CREATE ROLE seller LOGIN").await.unwrap();
    let seller = primary.url().replace("postgres@", "seller@");
    let seen = standby_of(&doctor(&seller));
    assert!(seen["severity"] == "advice" && seen["change"].as_str().unwrap().contains("pg_monitor"), "{seen}");
    // The wrong address.
    assert_eq!(doctor(&standby.url())["worst"], "critical");
}

#[tokio::test(flavor = "multi_thread")]
async fn healthcheck_follows_readyz() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("ADMIN_LISTEN", "127.0.0.1:0")]).await;
    let url = format!("http://{}", process.address);
    for arguments in [&["healthcheck", "--url", &url][..], &["healthcheck", "--live", "--url", &url]] {
        let (code, text) = run(binary().args(arguments));
        assert_eq!(code, 0, "{text}");
    }
    let port = process.address.port().to_string();
    assert_eq!(run(binary().arg("healthcheck").env("APP_PORT", &port).env("APP_HOST", "0.0.0.0")).0, 0);
    process.signal("TERM");
    let began = Instant::now();
    loop {
        let (code, text) = run(binary().args(["healthcheck", "--url", &url]));
        if code == 1 {
            assert!(!text.is_empty());
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{text}");
    }
}

/// A container's output is collected whole: with LOG_FORMAT=json also what a terminal is greeted with, and why a server
/// does not start.
#[tokio::test(flavor = "multi_thread")]
async fn everything_is_json_that_a_server_prints() {
    let folder = TestFolder::new("server");
    let output = folder.path().join("output");
    let file = std::fs::File::create(&output).unwrap();
    let serve = |data: &Path| {
        let mut command = binary();
        command.arg("serve").env("LOG_FORMAT", "json").env("APP_PORT", "0").env("DATA_DIR", data);
        command.stdout(file.try_clone().unwrap()).stderr(file.try_clone().unwrap());
        command.spawn().unwrap()
    };
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&output).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
    };
    let says = |words: &str| lines().iter().any(|line| line["fields"].to_string().contains(words));
    let mut child = serve(&folder.path().join("data"));
    let began = Instant::now();
    while !says("Tickettock listens on http://127.0.0.1:") {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", lines());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(lines()[0]["fields"]["version"], env!("CARGO_PKG_VERSION"));
    for (signal, heard) in [("-HUP", "settings read again"), ("-TERM", "shutting down")] {
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        while !says(heard) {
            assert!(began.elapsed() < Duration::from_secs(60), "{heard}: {:?}", lines());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert!(child.wait().unwrap().success());
    // A file is no folder.
    assert_eq!(serve(&output).wait().unwrap().code(), Some(2));
    let last = lines().pop().unwrap();
    assert_eq!((&last["level"], &last["fields"]["message"]), (&"ERROR".into(), &"the server ends".into()), "{last}");
}

/// As systemd with `Type=notify-reload` and `WatchdogSec` sees it.
#[tokio::test(flavor = "multi_thread")]
async fn supervisor_is_told() {
    let folder = TestFolder::new("server");
    let name = folder.path().join("notify");
    let socket = UnixDatagram::bind(&name).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let settings = [("NOTIFY_SOCKET", name.to_str().unwrap()), ("WATCHDOG_USEC", "300000")];
    let process = ServerProcess::start(&folder.path().join("data"), &settings).await;
    let heard = |word: &str| {
        let mut bytes = [0; 1_024];
        loop {
            let length = socket.recv(&mut bytes).unwrap_or_else(|e| panic!("{word}: {e}"));
            let said = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if said.contains(word) {
                return said;
            }
        }
    };
    assert!(heard("READY=1").contains("STATUS=Listens on 127.0.0.1"));
    heard("WATCHDOG=1");
    heard("WATCHDOG=1");
    process.signal("HUP");
    assert!(heard("RELOADING=1").contains("MONOTONIC_USEC="));
    heard("READY=1");
    process.signal("TERM");
    heard("STOPPING=1");
}

#[tokio::test(flavor = "multi_thread")]
async fn hangup_reloads_the_settings_file() {
    let folder = TestFolder::new("server");
    let (file, kept) = (folder.path().join("t.toml"), folder.path().join("backups"));
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    write("");
    let mut process =
        ServerProcess::spawn(&folder.path().join("data"), &[], |command| command.arg("--config").arg(&file)).await;
    write(&format!("backup_dir = {:?}\nqueue_depth = 9\n", kept.display().to_string()));
    process.signal("HUP");
    let began = Instant::now();
    while std::fs::read_dir(&kept).map_or(0, Iterator::count) == 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "no backup after the reload");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    write("queue_depth = many\n");
    process.signal("HUP");
    assert_eq!(process.ended_within(Duration::from_millis(500)).await, None, "an invalid file does not end it");
    assert_eq!(process.client().get("/readyz").await.status, 200);
}
