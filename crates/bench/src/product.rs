//! The product: the binary that lies beside this one, as anybody would run it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use server::settings::SETTINGS;

use crate::running::Running;

pub const ADMIN_TOKEN: &str = "only-for-this-bench-0123456789abcdef";

/// The calendar that is booked: nights from a month ahead of the day that this was written on, in so
/// many room types.
pub const ROOM_TYPES: u64 = 200;
pub const FIRST_DAY: i32 = 20_830;
pub const LAST_DAY: i32 = FIRST_DAY + 300;

/// `tickettock`, built with the same profile.
fn binary() -> Command {
    let beside = std::env::current_exe().expect("a path").with_file_name("tickettock");
    assert!(beside.exists(), "{} is not built", beside.display());
    let mut command = Command::new(beside);
    for setting in SETTINGS {
        command.env_remove(setting.name);
    }
    command
}

/// Where a server keeps what it knows.
#[derive(Clone, Debug)]
pub struct Backing {
    /// Also of a scaled server, which keeps nothing in it.
    pub data: PathBuf,
    /// `DATABASE_URL`, `REDIS_URL`.
    pub services: Vec<(&'static str, String)>,
}

impl Backing {
    pub fn embedded(data: &Path) -> Backing {
        Backing { data: data.to_owned(), services: Vec::new() }
    }

    fn on(&self, mut command: Command) -> Command {
        command
            .env("DATA_DIR", &self.data)
            .env("ADMIN_TOKEN", ADMIN_TOKEN)
            .envs(self.services.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A server that is ready, and how long that took from its start.
    pub fn serve(&self, seats: u32) -> (Running, Duration) {
        let mut command = self.on(binary());
        command.arg("serve").env("APP_PORT", "0").env("FCFS_SEATS", seats.to_string());
        command.env("RUST_LOG", "warn");
        let began = Instant::now();
        let running = Running::start(&mut command);
        while !matches!(running.ask("GET", "/readyz", "", ""), Ok((200, _))) {
            assert!(began.elapsed() < Duration::from_secs(60), "not ready after a minute");
            std::thread::sleep(Duration::from_millis(1));
        }
        (running, began.elapsed())
    }

    /// `tickettock verify` says that everything holds, or the bench ends: a fast wrong ledger is
    /// not a result.
    pub fn verify(&self) {
        let output = self.on(binary()).arg("verify").output().expect("verify runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "verify: {said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// So many room types with more rooms than any run holds; the id of the first.
pub fn make_room_types(server: &Running, count: u64) -> i64 {
    let headers = format!("Authorization: Bearer {ADMIN_TOKEN}\r\nContent-Type: application/json\r\n");
    let body = r#"{"name":"Bench","totalQuantity":1000000}"#;
    let ids = (0..count).map(|_| {
        let (status, answer) = server.ask("POST", "/api/v1/admin/room-types", &headers, body).expect("an answer");
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&answer));
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("JSON");
        answer["roomType"]["id"].as_i64().expect("an id")
    });
    ids.collect::<Vec<i64>>()[0]
}

/// So many more events of so many seats; the id of the first.
pub fn make_events(server: &Running, count: u64, seats: u64) -> i64 {
    let headers = format!("Authorization: Bearer {ADMIN_TOKEN}\r\nContent-Type: application/json\r\n");
    let body = format!(r#"{{"name":"Bench","seats":{seats}}}"#);
    let ids = (0..count).map(|_| {
        let (status, answer) = server.ask("POST", "/api/v1/admin/events", &headers, &body).expect("an answer");
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&answer));
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("JSON");
        answer["event"]["id"].as_i64().expect("an id")
    });
    let ids: Vec<i64> = ids.collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "ids in a row");
    ids[0]
}
