//! The product: the binary next to this one, run as a user would run it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use client::HttpRequest;
use serde_json::Value;
use server::settings::SETTINGS;

use crate::processor::pinned;
use crate::running::Running;

pub const ADMIN_TOKEN: &str = "only-for-this-bench-0123456789abcdef";

/// The calendar that is booked: nights from a month after the day this was written, in this many room
/// types.
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

/// Where a server keeps its data.
#[derive(Clone, Debug)]
pub struct ServerData {
    /// A scaled server has one too, but keeps nothing in it.
    pub data: PathBuf,
    /// `DATABASE_URL`, `REDIS_URL`.
    pub services: Vec<(&'static str, String)>,
}

impl ServerData {
    pub fn embedded(data: &Path) -> ServerData {
        ServerData { data: data.to_owned(), services: Vec::new() }
    }

    fn on(&self, mut command: Command) -> Command {
        command
            .env("DATA_DIR", &self.data)
            .env("ADMIN_TOKEN", ADMIN_TOKEN)
            .envs(self.services.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A ready server, and how long it took to start.
    pub fn serve(&self, seats: u32) -> (Running, Duration) {
        self.serve_on(None, seats)
    }

    /// The same, on this core only.
    pub fn serve_on(&self, core: Option<usize>, seats: u32) -> (Running, Duration) {
        self.serve_with(&[], core, seats)
    }

    /// The same, with these flags.
    pub fn serve_with(&self, flags: &[&str], core: Option<usize>, seats: u32) -> (Running, Duration) {
        let mut command = self.on(binary());
        command.arg("serve").args(flags).env("APP_PORT", "0").env("FCFS_SEATS", seats.to_string());
        command.env("RUST_LOG", std::env::var("BENCH_LOG").as_deref().unwrap_or("warn"));
        if let Some(core) = core {
            command = pinned(core, &command);
        }
        let began = Instant::now();
        let running = Running::start(&mut command);
        while !running.ask(HttpRequest::get("/readyz")).is_ok_and(|answer| answer.status == 200) {
            assert!(began.elapsed() < Duration::from_secs(60), "not ready after a minute");
            std::thread::sleep(Duration::from_millis(1));
        }
        (running, began.elapsed())
    }

    /// Ends the bench unless `tickettock verify` finds that every invariant holds: a fast wrong ledger is
    /// not a result.
    pub fn verify(&self) {
        let output = self.on(binary()).arg("verify").output().expect("verify runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "verify: {said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Creates an event or a room type. Returns the server's answer.
pub fn create(server: &Running, what: &str, body: &str) -> Value {
    let request = HttpRequest::post(&format!("/api/v1/admin/{what}"));
    let request = request.header("Authorization", format!("Bearer {ADMIN_TOKEN}")).json(body.to_owned());
    let answer = server.ask(request).expect("an answer");
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json().expect("JSON")
}

/// Creates `count` room types with more rooms than any run holds. Returns the id of the first.
pub fn make_room_types(server: &Running, count: u64) -> i64 {
    let body = r#"{"name":"Bench","totalQuantity":1000000}"#;
    let ids = (0..count).map(|_| create(server, "room-types", body)["roomType"]["id"].as_i64().expect("an id"));
    ids.collect::<Vec<i64>>()[0]
}

/// Creates `count` more events of `seats` seats. Returns the id of the first.
pub fn make_events(server: &Running, count: u64, seats: u64) -> i64 {
    let body = format!(r#"{{"name":"Bench","seats":{seats}}}"#);
    let ids = (0..count).map(|_| create(server, "events", &body)["event"]["id"].as_i64().expect("an id"));
    let ids: Vec<i64> = ids.collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "ids in a row");
    ids[0]
}
