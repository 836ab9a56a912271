//! Webhooks: a hall is sold while a receiver beside it is told of every sale, against the same sale without. Every
//! message has to arrive, in order.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::HttpRequest;
use serde_json::{Value, json};

use crate::product::{ADMIN_TOKEN, ServerData, create};
use crate::rounds::Spread;
use crate::running::Running;
use crate::table::Goal;
use crate::watchers::{SEATS, WatchedSale, make_event, runtime, sell};

/// What the receiver was told: the numbers of the history rows of one event.
type Told = Arc<Mutex<Vec<u64>>>;

fn receiver(told: Told) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let told = told.clone();
            std::thread::spawn(move || take(stream.expect("a connection"), &told));
        }
    });
    address
}

/// Takes one message after another, until the connection ends.
fn take(mut stream: TcpStream, told: &Mutex<Vec<u64>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line).ok()? > 2 {
            if let Some((_, value)) =
                line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            {
                length = value.trim().parse().ok()?;
            }
            line.clear();
        }
        if line.is_empty() {
            return None;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let message: Value = serde_json::from_slice(&body).ok()?;
        told.lock().expect("no panic").push(message["number"].as_u64()?);
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").ok()?;
    }
}

/// A webhook, as long as it lives.
struct BenchWebhook<'a> {
    server: &'a Running,
    id: u64,
}

impl BenchWebhook<'_> {
    fn to(server: &Running, receiver: SocketAddr) -> BenchWebhook<'_> {
        let body = json!({ "url": format!("http://{receiver}/"), "types": ["reservation.confirmed"] });
        let made = create(server, "webhooks", &body.to_string());
        BenchWebhook { server, id: made["webhook"]["id"].as_u64().expect("an id") }
    }
}

impl Drop for BenchWebhook<'_> {
    fn drop(&mut self) {
        let request = HttpRequest::new("DELETE", &format!("/api/v1/admin/webhooks/{}", self.id));
        let answer = self.server.ask(request.header("Authorization", format!("Bearer {ADMIN_TOKEN}")));
        assert!(answer.is_ok_and(|answer| answer.status == 200), "the webhook stays");
    }
}

/// Sales with a webhook, of those without just before and just after.
pub fn measure(place: &ServerData, rounds: usize) -> Spread {
    let mut place = place.clone();
    place.services.push(("WEBHOOK_PRIVATE", "1".to_owned()));
    let (server, _) = place.serve(9);
    let buyers = runtime();
    let sold = |event: u64| buyers.block_on(sell(server.address, event, WatchedSale::new()));
    let told: Told = Arc::default();
    let receiver = receiver(told.clone());
    let mut ratios = Vec::new();
    let mut before = sold(make_event(&server));
    for _ in 0..rounds {
        told.lock().expect("no panic").clear();
        let webhook = BenchWebhook::to(&server, receiver);
        // It is looked for twice a second.
        std::thread::sleep(Duration::from_secs(1));
        let with = sold(make_event(&server));
        let late = Instant::now();
        while told.lock().expect("no panic").len() < SEATS {
            assert!(late.elapsed() < Duration::from_secs(120), "not everything arrived");
            std::thread::sleep(Duration::from_millis(20));
        }
        let late = late.elapsed();
        assert!(told.lock().expect("no panic").is_sorted_by(|a, b| a < b), "in order, each once");
        drop(webhook);
        let after = sold(make_event(&server));
        eprintln!("a webhook: {with:.0}/s beside {before:.0}/s and {after:.0}/s, the last message {late:.1?} later");
        ratios.push(with / ((before + after) / 2.0));
        before = after;
    }
    drop(server);
    place.verify();
    Spread::of(&ratios)
}

pub fn goals(places: &[(&str, &ServerData)], rounds: usize) -> Vec<Goal> {
    let goal = |(name, place): &(&str, &ServerData)| {
        Goal::at_least(&format!("sales with a webhook, of sales without: {name}"), 0.95, measure(place, rounds))
    };
    places.iter().map(goal).collect()
}
