//! D2: the wall clock is set back and forward, while the server runs and between two starts.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

use super::holds::made;
use crate::holds::{available, hold, hold_id, nights, on_hold};

const TTL: Duration = Duration::from_secs(4);

struct Machine {
    folder: TestFolder,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { folder: TestFolder::new("server") };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/faults/wall_clock.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(machine.path("wall_clock.so")).arg(source).arg("-ldl");
        assert!(compiler.status().expect("a C compiler").success());
        machine.set(0);
        machine
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn set(&self, seconds: i64) {
        let new = self.path("new");
        std::fs::write(&new, seconds.to_string()).unwrap();
        std::fs::rename(new, self.path("off")).unwrap();
    }

    async fn start(&self) -> ServerProcess {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.path("log")).unwrap();
        let ttl = TTL.as_secs().to_string();
        ServerProcess::spawn(&self.path("data"), &[("HOLD_TTL", ttl.as_str())], |command| {
            let shifted = command.env("LD_PRELOAD", self.path("wall_clock.so")).env("WALL_CLOCK_OFF", self.path("off"));
            shifted.stderr(log)
        })
        .await
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap()
    }
}

async fn held(process: &ServerProcess, room: u64) -> Value {
    available(&mut process.client(), room, 5, 1).await.json()["nights"][0]["held"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_setting_the_wall_clock_moves_no_hold() {
    let machine = Machine::new();
    let mut process = machine.start().await;
    let token = process.admin_token();
    let room = made(&process, &token, 9).await;
    let mut n = 0;
    for seconds in [-3_600, 3_600, 600, 0] {
        let began = Instant::now();
        let answer = hold(&mut process.client(), "alice", &nights(room, 5, 1, n)).await;
        let told = Instant::now();
        assert_eq!(answer.status, 201, "{}", answer.text());
        machine.set(seconds);
        let extended = hold(&mut process.client(), "bob", &nights(room, 5, 1, n + 1)).await;
        assert_eq!(extended.status, 201, "{}", extended.text());
        let sure = on_hold(&mut process.client(), "bob", &hold_id(&extended), "confirm").await;
        assert_eq!(sure.status, 200, "set by {seconds} s: {}", sure.text());
        // Alive to its end by a clock that nobody set, and dead within a second of it.
        while began.elapsed() < TTL - Duration::from_millis(100) {
            assert_eq!(held(&process, room).await, json!(1), "set by {seconds} s: it died after {:?}", began.elapsed());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        while held(&process, room).await != json!(0) {
            assert!(told.elapsed() < TTL + Duration::from_secs(1), "set by {seconds} s: it lives on");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        n += 2;
    }
    let said = machine.log().matches("the wall clock jumped").count();
    assert!(said >= 4, "{said} times: {}", machine.log());
    // Back by an hour between two starts: time goes on from where the ledger is.
    let live = hold(&mut process.client(), "alice", &nights(room, 5, 1, n)).await;
    process.kill();
    machine.set(-3_600);
    process = machine.start().await;
    let late = on_hold(&mut process.client(), "alice", &hold_id(&live), "confirm").await;
    assert_eq!(late.status, 200, "it was live: {}", late.text());
    process.kill();
    let verified = binary().arg("verify").env("DATA_DIR", machine.path("data")).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
    let ledger = rusqlite::Connection::open(machine.path("data").join("tickettock.db")).unwrap();
    let back = "SELECT count(*) FROM (SELECT at - lag(at) OVER (PARTITION BY event ORDER BY n) AS step FROM history)
                WHERE step < 0";
    assert_eq!(ledger.query_row(back, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "history goes back in time");
}
