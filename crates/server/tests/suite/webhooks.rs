//! Webhooks: everything arrives, in order per subject, signed, whatever the receiver does and whenever the server dies.

mod admin;
mod command;
mod crowded;
mod killed;
mod messages;
pub mod receiver;
mod silent;
mod targets;
mod trouble;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::server::TestServer;

use self::receiver::Received;

const ALLOWED: &[(&str, &str)] = &[("WEBHOOK_PRIVATE", "1"), ("FCFS_SEATS", "5")];

/// Runs a test on both ledgers.
macro_rules! on_both_ledgers {
    ($($test:ident)+) => {
        testing::on_every_backing!(@one embedded Embedded $($test)+);
        testing::on_every_backing!(@one postgres Postgres $($test)+);
    };
}
use on_both_ledgers;

/// Makes an endpoint: its number and its secret.
async fn endpoint(stand: &TestServer, url: &str, types: &Value) -> (u64, String) {
    let made = stand.admin("POST", "webhooks", &json!({ "url": url, "types": types })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    (made["webhook"]["id"].as_u64().unwrap(), made["secret"].as_str().unwrap().to_owned())
}

async fn shown(stand: &TestServer, id: u64) -> Value {
    stand.admin("GET", &format!("webhooks/{id}"), &Value::Null).await.json()
}

/// Waits until the metrics say so.
async fn metrics_say(stand: &TestServer, wanted: impl Fn(&str) -> bool) {
    let began = Instant::now();
    loop {
        let text = stand.client().get("/metrics").await.text();
        if wanted(&text) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn reserve(stand: &TestServer, event: u64, user: &str) -> String {
    let told = stand.client().reserve(event, user).await;
    assert_eq!(told.status, 200, "{}", told.text());
    told.json()["reservationId"].as_str().unwrap().to_owned()
}

fn kinds(received: &[Received]) -> Vec<String> {
    received.iter().map(Received::kind).collect()
}

fn numbers(received: &[Received]) -> Vec<u64> {
    received.iter().map(|one| one.json()["number"].as_u64().unwrap()).collect()
}

/// Without repeats, which are allowed, each message in the order in which it came first.
fn first_of_each(received: &[Received]) -> Vec<Received> {
    let mut seen = HashSet::new();
    received.iter().filter(|one| seen.insert(one.id.clone())).cloned().collect()
}
