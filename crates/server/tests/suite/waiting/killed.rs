//! The real binary, killed with people in line and inside: places and entries outlive it.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::folder::TestFolder;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::process::{ServerProcess, binary};

const PEOPLE: usize = 60;
const SEATS: usize = 30;
const LIVES: usize = 3;

/// A user who retries through kills until they have a seat or the event is sold out.
struct Patient {
    user: String,
    address: SocketAddr,
    ticket: Option<String>,
    numbers: HashSet<u64>,
}

enum Booked {
    Seat(u64),
    SoldOut,
    /// Their entry was not live.
    NotYet,
}

impl Patient {
    async fn send(&self, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> Option<TestResponse> {
        let mut headers = vec![("X-User-Id", self.user.as_str())];
        headers.extend_from_slice(more);
        let path = format!("/api/v1/events/2/{path}");
        TestClient::new(self.address).try_send(method, &path, &headers, body).await.ok()
    }

    async fn line(&mut self, method: &str, path: &str) -> Value {
        let ticket = self.ticket.clone();
        let shown: Vec<_> = ticket.iter().map(|ticket| ("X-Queue-Ticket", ticket.as_str())).collect();
        let Some(answer) = self.send(method, path, &shown, "").await else { return Value::Null };
        let body = answer.json();
        assert!(matches!(answer.status, 200 | 409 | 503), "{body}");
        self.ticket = body["ticket"].as_str().map(str::to_owned).or(self.ticket.take());
        self.numbers.extend(body["number"].as_u64());
        body
    }

    /// Their seat; none: it was sold out.
    async fn buy(mut self, sold: Arc<AtomicUsize>) -> (String, Option<u64>) {
        let began = Instant::now();
        let mut last = Value::Null;
        loop {
            assert!(began.elapsed() < Duration::from_secs(60), "{} is stuck: {last}", self.user);
            let body = self.line("POST", "queue").await;
            match body["status"].as_str() {
                Some("sold_out") => return (self.user, None),
                Some("ready" | "entered") => {
                    let entered = self.line("POST", "queue/enter").await;
                    last = entered.clone();
                    let token = entered["token"].as_str().unwrap_or_default();
                    match self.book(token).await {
                        Booked::Seat(seat) => {
                            assert!(self.numbers.len() <= 1, "{} had the places {:?}", self.user, self.numbers);
                            sold.fetch_add(1, Ordering::SeqCst);
                            return (self.user, Some(seat));
                        }
                        Booked::SoldOut => return (self.user, None),
                        Booked::NotYet => {}
                    }
                }
                _ => last = body,
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// With a key: whatever happened to the first answer, the next is the same.
    async fn book(&self, token: &str) -> Booked {
        let headers = [("X-Entry-Token", token), ("Idempotency-Key", "k"), ("Content-Type", "application/json")];
        let answer = loop {
            match self.send("POST", "seats/reservation/fcfs", &headers, BUYER).await {
                Some(answer) if answer.status != 503 => break answer,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        match (answer.status, answer.reason().as_str()) {
            (200, _) => Booked::Seat(answer.seat().unwrap()),
            (409, "sold_out") => Booked::SoldOut,
            (403, "entry_required") => Booked::NotYet,
            _ => panic!("{}", answer.text()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_kills_keep_the_line() {
    let folder = TestFolder::new("server");
    let port = testing::free_port().to_string();
    let start = || ServerProcess::spawn(folder.path(), &[], |command| command.env("APP_PORT", &port));
    let mut process = start().await;
    let token = format!("Bearer {}", process.admin_token());
    let body =
        format!(r#"{{"name":"W","seats":{SEATS},"waitingRoom":{{"maxConcurrent":3,"idleTimeout":4,"tokenTtl":6}}}}"#);
    let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
    let made = process.client().send("POST", "/api/v1/admin/events", &headers, &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let sold = Arc::new(AtomicUsize::new(0));
    let mut people = Vec::new();
    for i in 0..PEOPLE {
        let patient =
            Patient { user: format!("p{i}"), address: process.address, ticket: None, numbers: HashSet::new() };
        people.push(tokio::spawn(patient.buy(sold.clone())));
    }
    for life in 1..=LIVES {
        while sold.load(Ordering::SeqCst) < life * SEATS / (LIVES + 2) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        process.kill();
        process = start().await;
    }
    let mut seats = HashSet::new();
    for person in people {
        let (user, seat) = person.await.unwrap();
        if let Some(seat) = seat {
            assert!(seats.insert(seat), "{user} has seat {seat}, and so has another");
        }
    }
    assert_eq!(seats.len(), SEATS, "every seat was sold");
    process.kill();
    let verified = binary().arg("verify").env("DATA_DIR", folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert_eq!(verified.status.code(), Some(0), "{said}");
    assert!(said.contains("ok      never more inside than allowed"), "{said}");
}
