//! What metrics cost: two servers, one with metrics that are read once a second, one without, sell in turn. The measure is
//! the server's processor time per sale. Neighbours on the machine change it little, and sales per second a lot. The turns
//! are one, other, other, one, so that both have sold as much when they are compared; after half of the rounds the two
//! change places, so that it does not matter whose files lie better on the disk.

use client::HttpRequest;

use crate::measure::{Bench, MANY_SEATS};
use crate::processor;
use crate::product::ServerData;
use crate::rounds::Spread;
use crate::running::Running;
use crate::scraper::Scraper;
use crate::table::Goal;

const CONNECTIONS: usize = 256;
/// For each round, until nobody is refused in it.
const TRIES: usize = 3;

pub struct MetricsCost {
    /// Processor time of a sale without metrics, of that of a sale with them: what is left of the sales where the
    /// processor is the limit.
    pub time: Spread,
    /// Sales per second with metrics, of those without.
    pub sales: Spread,
}

/// Some sales of one server.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    spent: f64,
    sold: u64,
    refused: u64,
    seconds: f64,
}

impl Slice {
    fn and(self, other: Slice) -> Slice {
        Slice {
            spent: self.spent + other.spent,
            sold: self.sold + other.sold,
            refused: self.refused + other.refused,
            seconds: self.seconds + other.seconds,
        }
    }

    fn per_sale_us(self) -> f64 {
        self.spent * 1e6 / self.sold as f64
    }

    fn rate(self) -> f64 {
        self.sold as f64 / self.seconds
    }
}

pub fn measure(bench: &Bench, rounds: usize) -> MetricsCost {
    let (mut time, mut sales) = (Vec::new(), Vec::new());
    for with_first in [true, false] {
        for (with, without) in half(bench, rounds, with_first) {
            eprintln!(
                "metrics: {:.2} us per sale, {:.2} without; {:.0}/s, {:.0}/s without",
                with.per_sale_us(),
                without.per_sale_us(),
                with.rate(),
                without.rate()
            );
            time.push(without.per_sale_us() / with.per_sale_us());
            sales.push(with.rate() / without.rate());
        }
    }
    MetricsCost { time: Spread::middle_half(&time), sales: Spread::middle_half(&sales) }
}

/// The rounds of two servers: with metrics and without.
fn half(bench: &Bench, rounds: usize, with_first: bool) -> Vec<(Slice, Slice)> {
    let folders = [bench.empty(), bench.empty()];
    let places = folders.each_ref().map(|folder| ServerData::embedded(folder.path()));
    let serve = |place: usize, on: bool| {
        let flags: &[&str] = if on { &[] } else { &["--without-metrics"] };
        places[place].serve_with(flags, None, MANY_SEATS).0
    };
    let servers = [serve(0, with_first), serve(1, !with_first)];
    let (with, without) = if with_first { (&servers[0], &servers[1]) } else { (&servers[1], &servers[0]) };
    let scraper = Scraper::start(with.address);
    let slice = |server: &Running| {
        let before = processor::seconds(server.id());
        let figures = bench.slice(server, CONNECTIONS);
        let spent = processor::seconds(server.id()) - before;
        Slice { spent, sold: figures.ok, refused: figures.other, seconds: figures.seconds }
    };
    // The first of each does not count: threads start, files grow.
    for server in &servers {
        slice(server);
    }
    let mut measured = Vec::new();
    for round in 0..TRIES * rounds {
        let (one, other) = if round % 2 == 0 { (without, with) } else { (with, without) };
        let (first, second, third, fourth) = (slice(one), slice(other), slice(other), slice(one));
        let (one, other) = (first.and(fourth), second.and(third));
        // After a stall of the disk the server refuses for a moment. A refusal costs something else than a sale.
        if one.refused + other.refused == 0 {
            measured.push(if round % 2 == 0 { (other, one) } else { (one, other) });
        }
        if measured.len() == rounds {
            break;
        }
    }
    assert!(!measured.is_empty(), "somebody was refused in every round");
    let read = with.ask(HttpRequest::get("/metrics")).expect("metrics").text();
    assert!(!read.contains("tickettock_requests_total 0\n"), "the one counts");
    let read = without.ask(HttpRequest::get("/metrics")).expect("metrics").text();
    assert!(read.contains("tickettock_requests_total 0\n"), "the other does not");
    drop((scraper, servers));
    places.iter().for_each(ServerData::verify);
    measured
}

pub fn goals(bench: &Bench, rounds: usize) -> Vec<Goal> {
    let MetricsCost { time, sales } = measure(bench, rounds);
    let what = "processor time of a sale without metrics, of one with metrics that are read once a second; middle half of the rounds";
    vec![
        Goal::at_least_exactly(what, 0.97, time),
        Goal::shown(
            "sales per second with metrics, of those without, in the same run; middle half of the rounds",
            &sales,
        ),
    ]
}
