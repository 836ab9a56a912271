//! Live streams: a hall is sold while thousands watch, a tenth of whom do not read. What the watchers cost the
//! sale beside one that nobody watches, how late they see a change, and whether the server's memory stays flat.

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

/// As many seats as a stadium has: a part lasts for several rounds of messages.
const PART: usize = 60_000;
const BUYERS: usize = 128;
/// Of so many seats one is timed.
const TIMED_OF: usize = 16;
/// A server that uses less than this of a core, over so long, is at rest. A watched event is looked at ten times a
/// second.
const IDLE: f64 = 0.1;
const SETTLED: Duration = Duration::from_millis(300);

/// What the sale of a part of a hall took.
#[derive(Clone, Copy, Debug)]
struct SaleFigures {
    per_second: f64,
    /// Processor time of the server per sale, in microseconds.
    processor_us: f64,
    grown_mib: f64,
}

pub struct WatcherFigures {
    /// Sales per second with watchers, of those of another hall just before and just after.
    of_quiet: Spread,
    /// Sales per second of a hall that nobody watches while they watch another, of those while nobody is connected.
    idle: Spread,
    /// Processor time of the server per sale, in microseconds.
    processor_us: Spread,
    quiet_processor_us: Spread,
    /// Processor time of the server that the watchers add, per message written, in microseconds.
    message_us: Spread,
    p99_ms: f64,
    watching: usize,
    /// In the first watched part of a hall, and in all parts behind it.
    first_mib: f64,
    later_mib: f64,
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
    /// Every buyer is somebody else.
    people: AtomicUsize,
}

impl WatchedSale {
    pub fn new(seats: usize) -> Arc<WatchedSale> {
        Arc::new(WatchedSale {
            began: Instant::now(),
            sold_at: (0..=seats).map(|_| AtomicU64::new(0)).collect(),
            delays: Mutex::new(Histogram::new(3).expect("a histogram")),
            connected: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            people: AtomicUsize::new(0),
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

/// Sells so many seats. Gives sales per second.
pub async fn sell(address: SocketAddr, event: u64, sale: &Arc<WatchedSale>, seats: usize) -> f64 {
    const BODY: &str = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut buying = Vec::new();
    for _ in 0..BUYERS {
        let (next, sale) = (next.clone(), sale.clone());
        buying.push(tokio::spawn(async move {
            let mut wire = Connection::open(&address.into()).await.expect("a connection");
            let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
            while next.fetch_add(1, Ordering::Relaxed) < seats {
                let user = format!("user-{event}-{}", sale.people.fetch_add(1, Ordering::Relaxed));
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

/// A hall that is sold part by part.
struct PartedHall {
    event: u64,
    sale: Arc<WatchedSale>,
}

impl PartedHall {
    fn new(server: &Running, parts: usize) -> PartedHall {
        PartedHall { event: make_event(server, parts * PART), sale: WatchedSale::new(parts * PART) }
    }

    /// Sells the next part. Before it begins, whatever was left to do is done.
    fn sell(&self, server: &Running) -> SaleFigures {
        settle(server);
        let (before, before_mib) = (processor::seconds(server.id()), server.memory_mib().0);
        let per_second = runtime().block_on(sell(server.address, self.event, &self.sale, PART));
        let processor_us = (processor::seconds(server.id()) - before) * 1e6 / PART as f64;
        SaleFigures { per_second, processor_us, grown_mib: server.memory_mib().0 - before_mib }
    }
}

/// Waits until the server does nothing: thousands of connections that open or close cost the sale next to them.
fn settle(server: &Running) {
    let (mut used, began) = (processor::seconds(server.id()), Instant::now());
    loop {
        std::thread::sleep(SETTLED);
        let now = processor::seconds(server.id());
        if now - used < SETTLED.as_secs_f64() * IDLE {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "the server does not come to rest");
        used = now;
    }
}

/// Messages that were written to watchers so far, by the server's own count.
fn messages(server: &Running) -> u64 {
    let text = server.ask(HttpRequest::get("/metrics")).expect("metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix("tickettock_stream_messages_total "));
    line.and_then(|count| count.trim().parse().ok()).expect("a count of messages")
}

/// What the parts of all halls came to.
struct Parts {
    ratios: Vec<f64>,
    idle: Vec<f64>,
    with_us: Vec<f64>,
    without_us: Vec<f64>,
    message_us: Vec<f64>,
    delays: Histogram<u64>,
    first_mib: f64,
    later_mib: f64,
    per_watcher_kib: f64,
}

impl Parts {
    /// All watch one hall. Its parts and those of another that nobody watches are sold in turn.
    fn sell(&mut self, server: &Running, count: usize, pairs: usize) {
        let quiet_hall = PartedHall::new(server, pairs + 2);
        let alone = quiet_hall.sell(server);
        let hall = PartedHall::new(server, pairs);
        let alone_mib = server.memory_mib().0;
        let watchers = readers::watch(server.address, hall.event, count, &hall.sale);
        let began = Instant::now();
        while hall.sale.connected.load(Ordering::Relaxed) < count {
            assert!(began.elapsed() < Duration::from_secs(120), "the watchers do not all get in");
            std::thread::sleep(Duration::from_millis(20));
        }
        settle(server);
        let with_mib = server.memory_mib().0;
        self.per_watcher_kib = self.per_watcher_kib.max((with_mib - alone_mib) * 1024.0 / count as f64);
        let mut before = quiet_hall.sell(server);
        let (mut grown_mib, mut idle) = (Vec::new(), vec![before.per_second]);
        for _ in 0..pairs {
            let said = messages(server);
            let watched = hall.sell(server);
            // What is still on its way belongs to this part.
            settle(server);
            let said = messages(server) - said;
            let quiet = quiet_hall.sell(server);
            self.pair(&watched, &before, &quiet, said);
            grown_mib.push(watched.grown_mib - quiet.grown_mib);
            idle.push(quiet.per_second);
            before = quiet;
        }
        let (first, later) = grown_mib.split_at(1.min(grown_mib.len()));
        self.first_mib = self.first_mib.max(first.iter().sum());
        self.later_mib = self.later_mib.max(later.iter().sum());
        self.idle.push(Spread::of(&idle).median / alone.per_second);
        hall.sale.over.store(true, Ordering::Relaxed);
        watchers.into_iter().for_each(|thread| thread.join().expect("the watchers"));
        let delays = hall.sale.delays.lock().expect("no panic");
        // Everybody who understands what it reads has seen each timed seat sold, once.
        assert_eq!(delays.len() as usize, readers::sampled(count) * (hall.sale.seats() / TIMED_OF), "seen sold");
        let _ = self.delays.add(&*delays);
    }

    /// A watched part is compared with those just before and just after it: the machine's speed changes all the time.
    fn pair(&mut self, watched: &SaleFigures, before: &SaleFigures, after: &SaleFigures, messages: u64) {
        let rate = f64::midpoint(before.per_second, after.per_second);
        let quiet_us = f64::midpoint(before.processor_us, after.processor_us);
        let ratio = watched.per_second / rate;
        self.ratios.push(ratio);
        self.with_us.push(watched.processor_us);
        self.without_us.push(after.processor_us);
        self.message_us.push((watched.processor_us - quiet_us) * PART as f64 / messages as f64);
        eprintln!(
            "watched: {ratio:.2} of the sales without, {:.0}/s beside {rate:.0}/s; {:.1} us of processor time per sale \
             beside {quiet_us:.1}, {messages} messages; memory grew by {:.1} MiB beside {:.1}",
            watched.per_second, watched.processor_us, watched.grown_mib, after.grown_mib
        );
    }
}

/// Sells several pairs of halls, each with new watchers.
pub fn measure(place: &ServerData, count: usize, halls: usize, pairs: usize) -> WatcherFigures {
    let count = count.min(room_for_connections() - 2 * BUYERS);
    let (server, _) = place.serve(9);
    // The first sale is slower: caches and files are cold.
    PartedHall::new(&server, 1).sell(&server);
    let mut parts = Parts {
        ratios: Vec::new(),
        idle: Vec::new(),
        with_us: Vec::new(),
        without_us: Vec::new(),
        message_us: Vec::new(),
        delays: Histogram::new(3).expect("a histogram"),
        first_mib: 0.0,
        later_mib: 0.0,
        per_watcher_kib: 0.0,
    };
    (0..halls).for_each(|_| parts.sell(&server, count, pairs));
    drop(server);
    place.verify();
    WatcherFigures {
        of_quiet: Spread::of(&parts.ratios),
        idle: Spread::of(&parts.idle),
        processor_us: Spread::of(&parts.with_us),
        quiet_processor_us: Spread::of(&parts.without_us),
        message_us: Spread::of(&parts.message_us),
        p99_ms: parts.delays.value_at_quantile(0.99) as f64 / 1_000.0,
        watching: count,
        first_mib: parts.first_mib,
        later_mib: parts.later_mib,
        per_watcher_kib: parts.per_watcher_kib,
    }
}

pub fn goals(figures: &WatcherFigures) -> Vec<Goal> {
    let who = format!("{} watchers, a tenth not reading", figures.watching);
    let beside = "server, buyers and readers share all cores";
    vec![
        Goal::at_least(&format!("sales with {who}, of sales without ({beside})"), 0.9, figures.of_quiet),
        Goal::shown("sales of another hall meanwhile, of sales while nobody is connected", &figures.idle),
        Goal::shown(&format!("us of the server's processor time per sale with {who}"), &figures.processor_us),
        Goal::shown("the same without watchers", &figures.quiet_processor_us),
        Goal::shown("us of it that a message to one watcher adds", &figures.message_us),
        Goal::at_most(&format!("a change is seen, p99, {who} ({beside})"), 500.0, "ms", figures.p99_ms),
        Goal::at_most(
            &format!("memory grown in the first sale beyond what one takes without, {who}"),
            32.0,
            "MiB",
            figures.first_mib,
        ),
        Goal::at_most("memory grown in all sales behind it, likewise", 32.0, "MiB", figures.later_mib),
        Goal::at_most("one watcher, in the server", 32.0, "KiB", figures.per_watcher_kib),
    ]
}
