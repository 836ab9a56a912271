//! Live streams: a hall is sold while thousands watch, a tenth of whom do not read. What the watchers cost the
//! sale, how late they see a change, and whether the server's memory stays flat.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{Connection, EventStream, HttpRequest};
use hdrhistogram::Histogram;
use server::connections::files::room_for_connections;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::product::{ServerData, create};
use crate::rounds::Spread;
use crate::running::Running;
use crate::table::Goal;

/// As many seats as a large hall has.
const SEATS: usize = 10_000;
const BUYERS: usize = 128;
/// Watchers whose messages are understood; the others only read, as a browser's network process does.
const SAMPLED: usize = 100;
/// Of ten watchers so many do not read.
const SILENT_OF_TEN: usize = 1;

pub struct WatcherFigures {
    /// Sales per second with watchers, of those without.
    of_quiet: Spread,
    p99_ms: f64,
    watching: usize,
    grown_mib: f64,
    per_watcher_kib: f64,
}

/// The sale that the watchers see.
pub struct WatchedSale {
    began: Instant,
    /// When the buyer of each seat had the answer, in microseconds; 0: not yet.
    sold_at: Vec<AtomicU64>,
    delays: Mutex<Histogram<u64>>,
    connected: AtomicUsize,
    over: AtomicBool,
}

impl WatchedSale {
    pub fn new(seats: usize) -> Arc<WatchedSale> {
        Arc::new(WatchedSale {
            began: Instant::now(),
            sold_at: (0..=seats).map(|_| AtomicU64::new(0)).collect(),
            delays: Mutex::new(Histogram::new(3).expect("a histogram")),
            connected: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        })
    }

    fn seats(&self) -> usize {
        self.sold_at.len() - 1
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_micros() as u64 + 1
    }

    fn saw(&self, seats: &[u64]) {
        let now = self.now();
        let mut delays = self.delays.lock().expect("no panic");
        for seat in seats {
            // Seen before its buyer had the answer: no delay.
            let sold = match self.sold_at[*seat as usize].load(Ordering::Relaxed) {
                0 => now,
                sold => sold,
            };
            let _ = delays.record(now.saturating_sub(sold));
        }
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

pub fn make_event(server: &Running, seats: usize) -> u64 {
    let body = format!(r#"{{"name":"Bench","seats":{seats}}}"#);
    create(server, "events", &body)["event"]["id"].as_u64().expect("an id")
}

/// Sells the whole hall. Gives sales per second.
pub async fn sell(address: SocketAddr, event: u64, sale: Arc<WatchedSale>) -> f64 {
    const BODY: &str = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;
    let (next, people) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (began, seats) = (Instant::now(), sale.seats());
    let mut buying = Vec::new();
    for _ in 0..BUYERS {
        let (next, people, sale) = (next.clone(), people.clone(), sale.clone());
        buying.push(tokio::spawn(async move {
            let mut wire = Connection::open(&address.into()).await.expect("a connection");
            let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
            while next.fetch_add(1, Ordering::Relaxed) < seats {
                let user = format!("user-{event}-{}", people.fetch_add(1, Ordering::Relaxed));
                let request = HttpRequest::post(&path).header("x-user-id", user).json(BODY);
                let answer = wire.ask(request).await.expect("an answer");
                match answer.status {
                    200 => {
                        let seat = answer.json().ok().and_then(|body| body["seat"]["id"].as_u64()).unwrap_or(0);
                        sale.sold_at[seat as usize].store(sale.now(), Ordering::Relaxed);
                    }
                    // It comes again: the seat is still to be sold.
                    503 => {
                        next.fetch_sub(1, Ordering::Relaxed);
                    }
                    409 => {}
                    _ => panic!("{}", answer.text()),
                }
            }
        }));
    }
    for task in buying {
        task.await.expect("a buyer");
    }
    seats as f64 / began.elapsed().as_secs_f64()
}

/// Watches and understands.
async fn watch(address: SocketAddr, event: u64, sale: Arc<WatchedSale>) {
    let connection = Connection::open(&address.into()).await.expect("a connection");
    let request = HttpRequest::get(&format!("/api/v1/events/{event}/stream"));
    let mut stream: EventStream = connection.stream(request).await.expect("a stream");
    assert_eq!(stream.head.status, 200);
    sale.connected.fetch_add(1, Ordering::Relaxed);
    while let Ok(Some(message)) = stream.next().await {
        if message.event == "seats" {
            let seats: serde_json::Value = serde_json::from_str(&message.data).expect("JSON");
            let sold = seats["sold"].as_array().into_iter().flatten();
            sale.saw(&sold.filter_map(serde_json::Value::as_u64).collect::<Vec<_>>());
        }
    }
}

/// Takes the bytes, or does not even do that.
async fn sit(address: SocketAddr, event: u64, reads: bool, sale: Arc<WatchedSale>) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!("GET /api/v1/events/{event}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("a request");
    let mut part = [0; 4096];
    // The head and the snapshot.
    let first = stream.read(&mut part).await.expect("an answer");
    assert!(part[..first].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&part[..first]));
    sale.connected.fetch_add(1, Ordering::Relaxed);
    while !sale.over.load(Ordering::Relaxed) {
        if !reads {
            tokio::time::sleep(Duration::from_millis(500)).await;
        } else if !matches!(stream.read(&mut part).await, Ok(read) if read > 0) {
            return;
        }
    }
}

/// The watchers, in a thread of their own, until the sale is over.
fn crowd(address: SocketAddr, event: u64, count: usize, sale: Arc<WatchedSale>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let runtime = runtime();
        runtime.block_on(async {
            for i in 0..count {
                let sale = sale.clone();
                match i {
                    i if i < SAMPLED.min(count / 2) => drop(tokio::spawn(watch(address, event, sale))),
                    i => drop(tokio::spawn(sit(address, event, i % 10 >= SILENT_OF_TEN, sale))),
                }
                if i % 50 == 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            while !sale.over.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
    })
}

/// Rounds without and with watchers take turns on one server.
pub fn measure(place: &ServerData, count: usize, rounds: usize) -> WatcherFigures {
    let count = count.min(room_for_connections() - 2 * BUYERS);
    let (server, _) = place.serve(9);
    let buyers = runtime();
    let (mut ratios, mut delays) = (Vec::new(), Histogram::<u64>::new(3).expect("a histogram"));
    let (mut grown_mib, mut per_watcher_kib) = (0f64, 0f64);
    for _ in 0..rounds {
        let quiet = buyers.block_on(sell(server.address, make_event(&server, SEATS), WatchedSale::new(SEATS)));
        let (event, sale) = (make_event(&server, SEATS), WatchedSale::new(SEATS));
        let alone_mib = server.memory_mib().0;
        let crowd = crowd(server.address, event, count, sale.clone());
        let began = Instant::now();
        while sale.connected.load(Ordering::Relaxed) < count {
            assert!(began.elapsed() < Duration::from_secs(120), "the watchers do not all get in");
            std::thread::sleep(Duration::from_millis(20));
        }
        let before_mib = server.memory_mib().0;
        per_watcher_kib = per_watcher_kib.max((before_mib - alone_mib) * 1024.0 / count as f64);
        let watched = buyers.block_on(sell(server.address, event, sale.clone()));
        // The last messages arrive.
        std::thread::sleep(Duration::from_secs(2));
        grown_mib = grown_mib.max(server.memory_mib().0 - before_mib);
        sale.over.store(true, Ordering::Relaxed);
        crowd.join().expect("the watchers");
        let _ = delays.add(&*sale.delays.lock().expect("no panic"));
        ratios.push(watched / quiet);
        eprintln!("{count} watchers: {watched:.0}/s beside {quiet:.0}/s, {before_mib:.0} MiB with them");
    }
    drop(server);
    place.verify();
    let p99_ms = delays.value_at_quantile(0.99) as f64 / 1_000.0;
    WatcherFigures { of_quiet: Spread::of(&ratios), p99_ms, watching: count, grown_mib, per_watcher_kib }
}

pub fn goals(figures: &WatcherFigures) -> Vec<Goal> {
    let who = format!("{} watchers, a tenth not reading", figures.watching);
    vec![
        Goal::at_least(&format!("sales with {who}, of sales without"), 0.9, figures.of_quiet),
        Goal::at_most(&format!("a change is seen, p99, {who}"), 500.0, "ms", figures.p99_ms),
        Goal::at_most(&format!("memory grown during the sale, {who}"), 32.0, "MiB", figures.grown_mib),
        Goal::at_most("one watcher, in the server", 32.0, "KiB", figures.per_watcher_kib),
    ]
}
