//! Webhooks: a hall is sold while a receiver beside it is told of every sale, against the same sale without. Every
//! message has to arrive, in order.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::HttpRequest;
use serde_json::{Value, json};

use crate::processor::seconds;
use crate::product::{ADMIN_TOKEN, ServerData, create};
use crate::rounds::Spread;
use crate::running::Running;
use crate::table::Goal;
use crate::watchers::{WatchedSale, make_event, runtime, sell};

/// A sale of some seconds.
const SEATS: usize = 40_000;

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
pub struct WebhookFigures {
    rate: Spread,
    /// Of the server during the sale, which busy neighbours hardly change.
    processor: Spread,
    /// The same until the last message arrived, in microseconds per message.
    message_us: Spread,
}

/// One sold hall.
#[derive(Clone, Copy)]
struct SoldHall {
    per_second: f64,
    processor_us: f64,
}

impl SoldHall {
    fn sell(server: &Running, buyers: &tokio::runtime::Runtime) -> SoldHall {
        let event = make_event(server, SEATS);
        let before = seconds(server.id());
        let per_second = buyers.block_on(sell(server.address, event, &WatchedSale::new(SEATS), SEATS));
        let processor_us = (seconds(server.id()) - before) * 1e6 / SEATS as f64;
        SoldHall { per_second, processor_us }
    }

    fn mean(self, other: SoldHall) -> SoldHall {
        SoldHall {
            per_second: (self.per_second + other.per_second) / 2.0,
            processor_us: (self.processor_us + other.processor_us) / 2.0,
        }
    }
}

pub fn measure(place: &ServerData, rounds: usize) -> WebhookFigures {
    let mut place = place.clone();
    place.services.push(("WEBHOOK_PRIVATE", "1".to_owned()));
    let (server, _) = place.serve(9);
    let buyers = runtime();
    let told: Told = Arc::default();
    let receiver = receiver(told.clone());
    let arrived = || told.lock().expect("no panic").len();
    let (mut rates, mut processor, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    // The first sale of a server is slower.
    SoldHall::sell(&server, &buyers);
    let mut before = SoldHall::sell(&server, &buyers);
    for _ in 0..rounds {
        told.lock().expect("no panic").clear();
        let webhook = BenchWebhook::to(&server, receiver);
        // It is looked for twice a second.
        std::thread::sleep(Duration::from_secs(1));
        let with = SoldHall::sell(&server, &buyers);
        let (late, meanwhile, used) = (Instant::now(), arrived(), seconds(server.id()));
        while arrived() < SEATS {
            assert!(late.elapsed() < Duration::from_secs(120), "not everything arrived");
            std::thread::sleep(Duration::from_millis(20));
        }
        let (late, used) = (late.elapsed(), seconds(server.id()) - used);
        assert!(told.lock().expect("no panic").is_sorted_by(|a, b| a < b), "in order, each once");
        drop(webhook);
        let after = SoldHall::sell(&server, &buyers);
        let without = before.mean(after);
        eprintln!(
            "a webhook: {:.0}/s beside {:.0}/s and {:.0}/s, {:.0} us of the processor per sale beside {:.0}; \
             {meanwhile} messages during the sale, the last one {late:.1?} later",
            with.per_second, before.per_second, after.per_second, with.processor_us, without.processor_us,
        );
        rates.push(with.per_second / without.per_second);
        processor.push(with.processor_us / without.processor_us);
        messages.push(used * 1e6 / (SEATS - meanwhile).max(1) as f64);
        before = after;
    }
    drop(server);
    place.verify();
    WebhookFigures { rate: Spread::of(&rates), processor: Spread::of(&processor), message_us: Spread::of(&messages) }
}

pub fn goals(places: &[(&str, &ServerData)], rounds: usize) -> Vec<Goal> {
    let goals = |(name, place): &(&str, &ServerData)| {
        let WebhookFigures { rate, processor, message_us } = measure(place, rounds);
        [
            Goal::at_least(&format!("sales with a webhook, of sales without: {name}"), 0.95, rate),
            Goal::shown(&format!("the server's processor time of such a sale, of one without: {name}"), &processor),
            Goal::shown(&format!("the server's processor time of a message afterwards, in us: {name}"), &message_us),
        ]
    };
    places.iter().flat_map(goals).collect()
}
