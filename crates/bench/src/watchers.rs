//! Live streams: a hall is sold while thousands watch, a tenth of whom do not read. What the watchers cost the
//! sale, how late they see a change, and whether the server's memory stays flat.

mod readers;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{Connection, HttpRequest};
use hdrhistogram::Histogram;
use server::connections::files::room_for_connections;

use crate::processor;
use crate::product::{ServerData, create};
use crate::rounds::Spread;
use crate::running::Running;
use crate::table::Goal;

/// As many seats as a stadium has: the sale lasts for several rounds of messages.
const STADIUM: usize = 60_000;
const BUYERS: usize = 128;
/// Of so many seats one is timed.
const TIMED_OF: usize = 16;

pub struct WatcherFigures {
    /// Sales per second with watchers, of those without.
    of_quiet: Spread,
    /// Processor time of the server per sale, of that without watchers.
    processor: Spread,
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

    fn is_watched(&self) {
        self.connected.fetch_add(1, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn saw(&self, seats: impl Iterator<Item = usize>) {
        let now = self.now();
        let mut delays = self.delays.lock().expect("no panic");
        for seat in seats {
            // Seen before its buyer had the answer: no delay.
            let sold = match self.sold_at[seat].load(Ordering::Relaxed) {
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
    let began = Instant::now();
    let mut buying = Vec::new();
    for _ in 0..BUYERS {
        let (next, people, sale) = (next.clone(), people.clone(), sale.clone());
        buying.push(tokio::spawn(async move {
            let mut wire = Connection::open(&address.into()).await.expect("a connection");
            let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
            while next.fetch_add(1, Ordering::Relaxed) < sale.seats() {
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
    sale.seats() as f64 / began.elapsed().as_secs_f64()
}

/// Rounds without and with watchers take turns on one server.
pub fn measure(place: &ServerData, count: usize, rounds: usize) -> WatcherFigures {
    let count = count.min(room_for_connections() - 2 * BUYERS);
    let (server, _) = place.serve(9);
    let buyers = runtime();
    let (mut ratios, mut times) = (Vec::new(), Vec::new());
    let mut delays = Histogram::<u64>::new(3).expect("a histogram");
    let (mut grown_mib, mut per_watcher_kib) = (0f64, 0f64);
    // Sales per second, and seconds of the server's processor time.
    let sold = |event: u64, sale: Arc<WatchedSale>| {
        let before = processor::seconds(server.id());
        let rate = buyers.block_on(sell(server.address, event, sale));
        (rate, processor::seconds(server.id()) - before)
    };
    for _ in 0..rounds {
        let (event, begun_mib) = (make_event(&server, STADIUM), server.memory_mib().0);
        let quiet = sold(event, WatchedSale::new(STADIUM));
        // What a sale takes without watchers is not theirs.
        let own_mib = server.memory_mib().0 - begun_mib;
        let (event, sale) = (make_event(&server, STADIUM), WatchedSale::new(STADIUM));
        let alone_mib = server.memory_mib().0;
        let watchers = readers::watch(server.address, event, count, &sale);
        let began = Instant::now();
        while sale.connected.load(Ordering::Relaxed) < count {
            assert!(began.elapsed() < Duration::from_secs(120), "the watchers do not all get in");
            std::thread::sleep(Duration::from_millis(20));
        }
        let before_mib = server.memory_mib().0;
        per_watcher_kib = per_watcher_kib.max((before_mib - alone_mib) * 1024.0 / count as f64);
        let watched = sold(event, sale.clone());
        // The last messages arrive.
        std::thread::sleep(Duration::from_secs(2));
        grown_mib = grown_mib.max(server.memory_mib().0 - before_mib - own_mib.max(0.0));
        sale.over.store(true, Ordering::Relaxed);
        watchers.into_iter().for_each(|thread| thread.join().expect("the watchers"));
        let seen = sale.delays.lock().expect("no panic");
        let _ = delays.add(&*seen);
        ratios.push(watched.0 / quiet.0);
        times.push(watched.1 / quiet.1);
        eprintln!(
            "{count} watchers: {:.0}/s beside {:.0}/s, {:.2} s of processor time beside {:.2}, a change seen in {} ms \
             (median) and {} ms (p99), {before_mib:.0} MiB with them",
            watched.0,
            quiet.0,
            watched.1,
            quiet.1,
            seen.value_at_quantile(0.5) / 1_000,
            seen.value_at_quantile(0.99) / 1_000,
        );
    }
    drop(server);
    place.verify();
    let p99_ms = delays.value_at_quantile(0.99) as f64 / 1_000.0;
    let (of_quiet, processor) = (Spread::of(&ratios), Spread::of(&times));
    WatcherFigures { of_quiet, processor, p99_ms, watching: count, grown_mib, per_watcher_kib }
}

pub fn goals(figures: &WatcherFigures) -> Vec<Goal> {
    let who = format!("{} watchers, a tenth not reading", figures.watching);
    let beside = "server, buyers and readers share all cores";
    vec![
        Goal::at_least(&format!("sales with {who}, of sales without ({beside})"), 0.9, figures.of_quiet),
        Goal::shown(&format!("the server's processor time per sale with {who}, of that without"), &figures.processor),
        Goal::at_most(&format!("a change is seen, p99, {who} ({beside})"), 500.0, "ms", figures.p99_ms),
        Goal::at_most(
            &format!("memory grown beyond what the sale takes without, {who}"),
            32.0,
            "MiB",
            figures.grown_mib,
        ),
        Goal::at_most("one watcher, in the server", 32.0, "KiB", figures.per_watcher_kib),
    ]
}
