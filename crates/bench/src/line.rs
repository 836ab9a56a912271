//! The waiting room: joins and polls per second over HTTP, with a thousand and with a million waiting; and
//! the memory that each waiting user takes in the process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::{Connection, HttpRequest};
use rules::arrive::Budget;
use rules::entries::WaitingRoom;
use rules::event::State;
use rules::ids::{EventId, User};
use rules::queue::{Asking, What};
use rules::time::Moment;
use server::clock::EmbeddedClock;
use stores::door::local::LocalDoor;
use stores::door::{Door, Remaining};
use stores::ledger::LineBegun;

use crate::product::{ServerData, create};
use crate::rounds::Spread;
use crate::running::Running;

const SHORT: u64 = 1_000;
const LONG: u64 = 1_000_000;
const CONNECTIONS: u64 = 128;

/// As long as a UUID, and spread like one.
fn user(i: u64) -> String {
    let spread = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!("{spread:016x}-{i:08x}-{:010x}", spread & 0xff_ffff_ffff)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// An event whose idle timeout is longer than a run.
fn make_room(server: &Running) -> u64 {
    let body =
        r#"{"name":"Bench","seats":9,"waitingRoom":{"maxConcurrent":800,"idleTimeout":3600,"queueMost":10000000}}"#;
    create(server, "events", body)["event"]["id"].as_u64().expect("an id")
}

#[derive(Clone)]
struct Line {
    address: SocketAddr,
    event: u64,
    waiting: u64,
    next: Arc<AtomicU64>,
}

impl Line {
    async fn ask(&self, wire: &mut Connection, method: &str, i: u64) {
        let (event, user) = (self.event, user(i));
        let path = format!("/api/v1/events/{event}/queue");
        // A 503 is retried: it costs time, and the request counts only once.
        loop {
            let answer = wire.ask(HttpRequest::new(method, &path).header("x-user-id", &user)).await.expect("an answer");
            match answer.status {
                200 => return,
                503 => tokio::time::sleep(Duration::from_millis(50)).await,
                _ => panic!("{}", answer.text()),
            }
        }
    }

    async fn wire(&self) -> Connection {
        Connection::open(&self.address.into()).await.expect("a connection")
    }

    /// `waiting` users join and stay.
    async fn fill(&self) {
        let mut running = Vec::new();
        for lane in 0..CONNECTIONS {
            let line = self.clone();
            running.push(tokio::spawn(async move {
                let mut wire = line.wire().await;
                for i in (lane..line.waiting).step_by(CONNECTIONS as usize) {
                    line.ask(&mut wire, "POST", i).await;
                }
            }));
        }
        for task in running {
            task.await.expect("a line");
        }
    }

    /// A new user joins, a waiting user polls, and the new one leaves again, so that the line keeps its
    /// length. Returns how often per second.
    async fn pairs(&self, time: Duration) -> f64 {
        let (began, done) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let mut running = Vec::new();
        for _ in 0..CONNECTIONS {
            let (line, done) = (self.clone(), done.clone());
            running.push(tokio::spawn(async move {
                let mut wire = line.wire().await;
                while began.elapsed() < time {
                    let i = line.next.fetch_add(1, Ordering::Relaxed);
                    line.ask(&mut wire, "POST", i).await;
                    line.ask(&mut wire, "GET", i.wrapping_mul(7_919) % line.waiting).await;
                    line.ask(&mut wire, "DELETE", i).await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        for task in running {
            task.await.expect("a line");
        }
        done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
    }
}

/// The rate with a million waiting as a part of the rate with a thousand, on one server. With Redis the
/// long line is written directly, as its scripts would write it, so that a million users need no million
/// calls.
pub fn ratio(place: &ServerData, redis: Option<&str>, rounds: usize, time: Duration) -> Spread {
    let server = place.serve(9).0;
    let line = |waiting| Line {
        address: server.address,
        event: make_room(&server),
        waiting,
        next: Arc::new(AtomicU64::new(10 * LONG)),
    };
    let (short, long) = (line(SHORT), line(LONG));
    runtime().block_on(async {
        short.fill().await;
        match redis {
            None => long.fill().await,
            Some(url) => write(url, &long).await,
        }
        let mut ratios = Vec::new();
        for _ in 0..rounds {
            let (of_short, of_long) = (short.pairs(time).await, long.pairs(time).await);
            eprintln!("waiting room: {of_short:.0} joins and polls a second, with a million waiting {of_long:.0}");
            ratios.push(of_long / of_short);
        }
        Spread::of(&ratios)
    })
}

async fn write(url: &str, line: &Line) {
    // The first user joins over HTTP: that begins the line.
    line.ask(&mut line.wire().await, "POST", 0).await;
    let client = redis::Client::open(url).expect("a sound address");
    let mut wire = client.get_multiplexed_async_connection().await.expect("Redis");
    let (seconds, _): (i64, i64) = redis::cmd("TIME").query_async(&mut wire).await.expect("TIME");
    let key = |name: &str| format!("{name}:{{e:{}}}", line.event);
    for from in (1..line.waiting).step_by(5_000) {
        let (mut by_number, mut seen) = (redis::cmd("ZADD"), redis::cmd("ZADD"));
        by_number.arg(key("queue"));
        seen.arg(key("queue:seen"));
        for i in from..line.waiting.min(from + 5_000) {
            by_number.arg(i + 1).arg(user(i));
            seen.arg(seconds * 1_000).arg(user(i));
        }
        redis::pipe().add_command(by_number).add_command(seen).exec_async(&mut wire).await.expect("ZADD");
    }
    redis::cmd("SET").arg(key("queue:seq")).arg(line.waiting).exec_async(&mut wire).await.expect("SET");
}

/// `bench line-bytes`: the memory per user in this process, with a million waiting.
pub fn bytes() -> f64 {
    const EVENT: EventId = EventId(1);
    let room = WaitingRoom { idle_ms: 3_600_000, ..WaitingRoom::default() };
    let before = resident();
    let door = LocalDoor::new(Arc::new(EmbeddedClock::starting(Moment(0))), Budget::default());
    runtime().block_on(async {
        door.open(EVENT, 0).await.expect("a door");
        let begun = LineBegun { used: false, n: 1, at: Moment(0), inside: Vec::new() };
        door.begin_line(EVENT, room, begun).await.expect("a line");
        for i in 0..LONG {
            if i % 10_000 == 0 {
                let left = Remaining { n: 1, free: 9, held: 0, first_end: None, state: State::Open };
                door.settle(EVENT, Some(left), Vec::new()).await.expect("a door");
            }
            let asking = Asking { user: User::stored(&user(i)), what: What::Join, claim: None };
            door.ask(EVENT, room, asking).await.expect("a door");
        }
    });
    (resident() - before) / LONG as f64
}

/// Resident memory in bytes.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: f64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4096.0
}
