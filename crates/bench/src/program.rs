//! All of `make bench`: every contender, every goal, one report.

use std::path::Path;
use std::time::Duration;

use client::HttpRequest;

use crate::hashes;
use crate::line;
use crate::machine::Machine;
use crate::measure::{Bench, Contender, MANY_SEATS, MILLION};
use crate::overload::{self, OverloadPace};
use crate::product::ServerData;
use crate::rounds::{Series, Spread, alternate};
use crate::table::{Goal, Report};
use crate::{metrics, watchers, webhooks};

/// Who watches a sale.
pub const WATCHERS: usize = 10_000;
/// Halls that are watched, and the parts of each, which are sold between two parts of another hall. About a minute and
/// a half.
const WATCHED_HALLS: usize = 2;
const WATCHED_PAIRS: usize = 5;

pub struct Pace {
    pub mode: &'static str,
    pub rounds: usize,
    pub time: Duration,
}

pub const QUICK: Pace = Pace { mode: "quick mode", rounds: 3, time: Duration::from_millis(1_000) };
pub const FULL: Pace = Pace { mode: "full mode", rounds: 5, time: Duration::from_secs(4) };

pub fn run(pace: &Pace, under: &Path) -> Report {
    let machine = Machine::look(under);
    let bench = Bench::new(under, pace.time);
    let few = series(&bench, pace, 128, &[Contender::Embedded, Contender::Scaled(1)]);
    let embedded =
        series(&bench, pace, 512, &[Contender::Append, Contender::Embedded, Contender::Thousand, Contender::Million]);
    let scaled = series(
        &bench,
        pace,
        512,
        &[Contender::Seed, Contender::SkipLocked, Contender::Scaled(1), Contender::Scaled(2), Contender::Gateway],
    );
    let refusals = refusals(&bench, pace);
    let (hot, spread) = holds(&bench, pace);
    let [_, append, fresh, thousand, million] = &embedded[..] else { unreachable!("a series for each") };
    let [_, seed, _, one, two, gateway] = &scaled[..] else { unreachable!("a series for each") };
    let mut goals = vec![
        Goal::at_least("embedded, of the ceiling, 128 connections", 0.5, few[1].ratio()),
        Goal::at_least("embedded, of the ceiling, 512 connections", 0.58, fresh.ratio()),
        Goal::at_least("embedded, of the append handler", 0.8, against(fresh, append)),
        Goal::at_least("1,000,000 seats half sold, of halls of 1,000", 0.9, against(million, thousand)),
        Goal::shown("1,000,000 seats half sold, of a new hall", &against(million, fresh)),
        Goal::at_least("Redis + PostgreSQL, of the ceiling, 128 connections", 0.3, few[2].ratio()),
        Goal::at_least("Redis + PostgreSQL, of the ceiling, 512 connections", 0.4, one.ratio()),
        Goal::at_least("Redis + PostgreSQL, of the literal seed design", 4.0, against(one, seed)),
        Goal::at_least("two servers, of one", 1.5, against(two, one)),
        Goal::at_least("two servers behind the gateway, of two servers", 0.75, against(gateway, two)),
        Goal::at_least("sold-out refusals at the gateway, of nginx answering a constant", 0.85, refusals[1].ratio()),
        Goal::at_least("holds on one hot room type, of a transaction with row locks per hold", 5.0, hot[1].ratio()),
        Goal::at_least("the same, embedded", 5.0, hot[2].ratio()),
        Goal::at_least("holds over 200 room types, of a transaction with row locks per hold", 3.0, spread[1].ratio()),
        Goal::at_least("the same, embedded, over 200 room types", 3.0, spread[2].ratio()),
        latency(&bench, pace, &machine, Contender::Embedded, fresh.rate() / 2.0),
        latency(&bench, pace, &machine, Contender::Scaled(1), one.rate() / 2.0),
    ];
    let overload = overload::run(&bench, &OverloadPace::of(pace));
    goals.extend(overload.goals);
    goals.extend(metrics::goals(&bench, 2 * pace.rounds));
    goals.extend(starts(&bench, pace));
    goals.extend(memory(&bench));
    goals.push(Goal::shown(
        "the hashes of a batch of 512 sales, of its commit, embedded",
        &hashes::measure(pace.rounds).share,
    ));
    goals.extend(waiting(&bench, pace));
    goals.extend(watched(&bench));
    goals.extend(told(&bench, pace));
    let named = |name: &str| std::env::var(name).unwrap_or_else(|_| "unknown".into());
    let mode = format!("{}: {} rounds of {} s", pace.mode, pace.rounds, pace.time.as_secs_f64());
    let series = few.into_iter().chain(embedded).chain(scaled).chain(refusals).chain(hot).chain(spread).collect();
    let overload = overload::markdown(&overload.rows);
    Report { machine, mode, date: named("BENCH_DATE"), commit: named("BENCH_COMMIT"), series, overload, goals }
}

fn series(bench: &Bench, pace: &Pace, connections: usize, who: &[Contender]) -> Vec<Series> {
    let names: Vec<String> = who.iter().map(|who| who.name()).collect();
    alternate(&names, connections, pace.rounds, |i| {
        bench.measure(i.map_or(Contender::Ceiling, |i| who[i]), connections, None)
    })
}

/// The refusals on their own, run by hand during development.
pub fn refusals_alone(under: &Path) {
    let all = refusals(&Bench::new(under, QUICK.time), &QUICK);
    println!("{:.2} of the constant", all[1].ratio().median);
}

/// The cost of metrics on its own, run by hand during development.
pub fn metrics_alone(under: &Path) {
    for goal in metrics::goals(&Bench::new(under, QUICK.time), 4 * QUICK.rounds) {
        println!("{}: {}", goal.what, goal.measured);
    }
}

/// Two servers behind the gateway against two servers, run by hand during development.
pub fn gateway_alone(under: &Path) {
    let bench = Bench::new(under, QUICK.time);
    let all = alternate(&[Contender::Gateway.name()], 512, QUICK.rounds, |i| {
        bench.measure(if i.is_none() { Contender::Scaled(2) } else { Contender::Gateway }, 512, None)
    });
    println!("{:.2} of two servers without it, {} refused", all[1].ratio().median, all[1].refused);
}

/// The holds on their own, run by hand during development.
pub fn holds_alone(under: &Path) {
    let (hot, spread) = holds(&Bench::new(under, QUICK.time), &QUICK);
    for series in hot.iter().chain(&spread) {
        println!("{:>8.0}/s  {:>6.2}  {}", series.rate(), series.ratio().median, series.name);
    }
}

/// Holds per second, in one hot room type and over 200, against one transaction with row locks per hold.
fn holds(bench: &Bench, pace: &Pace) -> (Vec<Series>, Vec<Series>) {
    let beside = |types: u64, who: &[Contender]| {
        let names: Vec<String> = who.iter().map(|who| who.name()).collect();
        let mut all = alternate(&names, 256, pace.rounds, |i| {
            bench.measure(i.map_or(Contender::RowLocks(types), |i| who[i]), 256, None)
        });
        all[0].name = Contender::RowLocks(types).name();
        all
    };
    let hot = [
        Contender::Holds(1),
        Contender::HoldsEmbedded(1),
        Contender::Confirms,
        Contender::Cancels,
        Contender::Availability,
    ];
    (beside(1, &hot), beside(200, &[Contender::Holds(200), Contender::HoldsEmbedded(200)]))
}

/// Refusals per second of a sold out event. The constant answer takes the place of the ceiling.
fn refusals(bench: &Bench, pace: &Pace) -> Vec<Series> {
    let mut all = alternate(&[Contender::SoldOut.name()], 256, pace.rounds, |i| {
        bench.measure(if i.is_none() { Contender::Constant } else { Contender::SoldOut }, 256, None)
    });
    all[0].name = Contender::Constant.name();
    all
}

/// Compares round by round, each as a ratio to its own ceiling.
fn against(one: &Series, other: &Series) -> Spread {
    Spread::of(&one.ratios.iter().zip(&other.ratios).map(|(a, b)| a / b).collect::<Vec<_>>())
}

/// The p99 in an open loop, at half of its own peak.
fn latency(bench: &Bench, pace: &Pace, machine: &Machine, who: Contender, rate: f64) -> Goal {
    let (mut ceiling, mut product, mut refused) = (Vec::new(), Vec::new(), 0);
    for _ in 0..pace.rounds {
        ceiling.push(bench.measure(Contender::Ceiling, 512, Some(rate)).p99_us as f64 / 1000.0);
        let figures = bench.measure(who, 512, Some(rate));
        product.push(figures.p99_us as f64 / 1000.0);
        refused += figures.other;
    }
    let flushes = 3.0 * machine.flush.p50_us as f64 / 1000.0;
    let (ceiling, product) = (Spread::of(&ceiling), Spread::of(&product));
    // The ceiling's best round: noise in the ceiling must not make the goal easier, ten times over.
    let most = 10.0 * ceiling.min + flushes;
    let what = format!("p99 at {rate:.0}/s, half of its peak: {}", who.name());
    let mut goal = Goal::at_most(&what, most, "ms", product.median);
    goal.goal = format!("<= {most:.1} ms (10 x {:.2} + {flushes:.2})", ceiling.min);
    goal.measured = format!("{:.1} ms ({:.1} to {:.1})", product.median, product.min, product.max);
    if refused > 0 {
        // Quick refusals must not count as low latency.
        goal.measured.push_str(&format!(", {refused} refused"));
        goal.holds = Some(false);
    }
    goal
}

fn starts(bench: &Bench, pace: &Pace) -> Vec<Goal> {
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let empty: Vec<f64> = (0..2 * pace.rounds)
        .map(|_| {
            let folder = bench.empty();
            ms(ServerData::embedded(folder.path()).serve(9).1)
        })
        .collect();
    let million: Vec<f64> = (0..pace.rounds)
        .map(|_| {
            let folder = bench.with_half_sold();
            let place = ServerData::embedded(folder.path());
            bench.sell_and_kill(&place);
            let (server, ready) = place.serve(MILLION);
            drop(server);
            place.verify();
            ms(ready)
        })
        .collect();
    vec![
        Goal::at_most("start to ready, empty folder, slowest", 300.0, "ms", Spread::of(&empty).max),
        Goal::at_most(
            "start to ready after kill -9, 1,000,000 seats half sold, slowest",
            5_000.0,
            "ms",
            Spread::of(&million).max,
        ),
    ]
}

fn memory(bench: &Bench) -> Vec<Goal> {
    let folder = bench.empty();
    let (idle, _) = ServerData::embedded(folder.path()).serve(MANY_SEATS);
    std::thread::sleep(Duration::from_secs(1));
    let idle_mib = idle.memory_mib().0;
    drop(idle);
    let folder = bench.with_half_sold();
    let (server, _) = ServerData::embedded(folder.path()).serve(MILLION);
    let page = HttpRequest::get("/api/v1/events/1/seats?from=500000&limit=1000");
    let packed = HttpRequest::get("/api/v1/events/1/seats").header("Accept-Encoding", "gzip");
    for request in [page, packed] {
        let list = server.ask(request).expect("a list");
        assert!(list.status == 200 && list.body.len() > 60_000, "{}, {} bytes", list.status, list.body.len());
    }
    let highest_mib = server.memory_mib().1;
    vec![
        Goal::at_most("memory, idle", 40.0, "MiB", idle_mib),
        Goal::at_most("memory at its highest, 1,000,000 seats, the list read packed", 400.0, "MiB", highest_mib),
    ]
}

/// The same by hand, while working on it.
pub fn line_alone(under: &Path) {
    for goal in waiting(&Bench::new(under, QUICK.time), &QUICK) {
        println!("{}: {}, goal {}", goal.what, goal.measured, goal.goal);
    }
}

/// Live streams, run by hand during development.
pub fn watchers_alone(under: &Path, count: usize) {
    std::fs::create_dir_all(under).expect("a folder");
    let folder = tempfile::tempdir_in(under).expect("a folder");
    for goal in
        watchers::goals(&watchers::measure(&ServerData::embedded(folder.path()), count, WATCHED_HALLS, WATCHED_PAIRS))
    {
        println!("{}: {}, goal {}", goal.what, goal.measured, goal.goal);
    }
}

/// Live streams: what watchers cost, and how soon they see a change.
fn watched(bench: &Bench) -> Vec<Goal> {
    let folder = bench.empty();
    watchers::goals(&watchers::measure(&ServerData::embedded(folder.path()), WATCHERS, WATCHED_HALLS, WATCHED_PAIRS))
}

/// Webhooks, run by hand during development.
pub fn webhooks_alone(under: &Path) {
    for goal in told(&Bench::new(under, QUICK.time), &FULL) {
        println!("{}: {}, goal {}", goal.what, goal.measured, goal.goal);
    }
}

/// Webhooks: what telling of every sale costs the sale.
fn told(bench: &Bench, pace: &Pace) -> Vec<Goal> {
    let folder = bench.empty();
    let embedded = ServerData::embedded(folder.path());
    let (scaled, _folder) = bench.scaled();
    webhooks::goals(&[("embedded", &embedded), ("Redis + PostgreSQL", &scaled)], pace.rounds)
}

/// The waiting room: what a long line costs.
fn waiting(bench: &Bench, pace: &Pace) -> Vec<Goal> {
    let folder = bench.empty();
    let here = line::ratio(&ServerData::embedded(folder.path()), None, pace.rounds, pace.time);
    let (place, _folder) = bench.scaled();
    let there = line::ratio(&place, Some(&bench.redis_url()), pace.rounds, pace.time);
    let what = "join + poll with 1,000,000 waiting, of 1,000";
    vec![
        Goal::at_least(&format!("{what}: embedded"), 0.9, here),
        Goal::at_least(&format!("{what}: Redis + PostgreSQL"), 0.9, there),
        Goal::at_most("one who waits, in the process", 300.0, "bytes", bench.line_bytes()),
    ]
}
