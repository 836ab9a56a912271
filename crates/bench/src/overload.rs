//! More people than can be served: goodput at multiples of the peak that was measured in the same run, health
//! checks meanwhile, recovery after a burst, and memory. The server and its services run on one core, the
//! generator on another.

mod place;
mod probe;
mod report;

use std::path::Path;
use std::time::{Duration, Instant};

use self::place::{OverloadPlace, OverloadStand};
pub use self::report::{OverloadRow, markdown};
use crate::crowd::{Coming, CrowdFigures, Manners};
use crate::measure::Bench;
use crate::program::Pace;
use crate::rounds::Spread;
use crate::table::Goal;

/// The peak is what so many people at a time get, whichever number gets most.
const AT_A_TIME: [usize; 2] = [128, 512];
const MULTIPLES: [f64; 5] = [1.0, 1.5, 2.0, 4.0, 10.0];
/// Of the peak, at each multiple.
const GOALS: [f64; 5] = [0.9, 0.9, 0.85, 0.7, 0.5];
const GATEWAY_GOALS: [f64; 5] = [0.95, 0.95, 0.9, 0.85, 0.75];
/// People who ask again at once, in the burst before the recovery.
const IMPATIENT: usize = 4_000;
const RECOVERED_WITHIN: Duration = Duration::from_secs(10);
/// As many as a limit of 20,000 files has room for, on both sides.
const CONNECTIONS: usize = 18_600;

pub struct OverloadPace {
    pub rounds: usize,
    pub time: Duration,
    pub burst: Duration,
}

impl OverloadPace {
    pub fn of(pace: &Pace) -> OverloadPace {
        if pace.mode.starts_with("quick") {
            OverloadPace { rounds: 1, time: Duration::from_secs(4), burst: Duration::from_secs(10) }
        } else {
            OverloadPace { rounds: 3, time: Duration::from_secs(10), burst: Duration::from_secs(60) }
        }
    }
}

pub struct Overload {
    pub rows: Vec<OverloadRow>,
    pub goals: Vec<Goal>,
}

/// All of it, on every kind of deployment.
pub fn run(bench: &Bench, pace: &OverloadPace) -> Overload {
    let mut all = Overload { rows: Vec::new(), goals: Vec::new() };
    for place in [OverloadPlace::Embedded, OverloadPlace::Part, OverloadPlace::Scaled, OverloadPlace::Gateway] {
        let Overload { rows, goals } = one_place(bench, pace, place);
        all.rows.extend(rows);
        all.goals.extend(goals);
    }
    all.goals.push(connections(bench));
    all
}

/// By hand, while working on it. `multiples`: these rows alone, in this order, and no recovery; or `recovery` alone.
pub fn alone(under: &Path, pace: &Pace, place: &str, multiples: &[&str]) {
    let bench = Bench::new(under, pace.time);
    let recovers = multiples == ["recovery"];
    let multiples = if recovers { &[] } else { multiples };
    let multiples: Vec<f64> = multiples.iter().map(|multiple| multiple.parse().expect("a multiple")).collect();
    let one = |place| match &multiples[..] {
        [] if recovers => Overload { rows: Vec::new(), goals: recovery(&bench, &OverloadPace::of(pace), place) },
        [] => one_place(&bench, &OverloadPace::of(pace), place),
        these => rows(&bench, &OverloadPace::of(pace), place, these),
    };
    let all = match place {
        "embedded" => one(OverloadPlace::Embedded),
        "part" => one(OverloadPlace::Part),
        "scaled" => one(OverloadPlace::Scaled),
        "gateway" => one(OverloadPlace::Gateway),
        "connections" => Overload { rows: Vec::new(), goals: vec![connections(&bench)] },
        _ => run(&bench, &OverloadPace::of(pace)),
    };
    println!("{}", markdown(&all.rows));
    for Goal { what, goal, measured, holds } in &all.goals {
        println!("{what}: {measured}, goal {goal}{}", if *holds == Some(false) { ": NO" } else { "" });
    }
}

fn one_place(bench: &Bench, pace: &OverloadPace, place: OverloadPlace) -> Overload {
    let mut all = rows(bench, pace, place, &MULTIPLES);
    all.goals.extend(recovery(bench, pace, place));
    all
}

fn rows(bench: &Bench, pace: &OverloadPace, place: OverloadPlace, multiples: &[f64]) -> Overload {
    let mut rows = Vec::new();
    for _ in 0..pace.rounds {
        let (people, mut before) = peak(bench, pace, place);
        for &multiple in multiples {
            let mut row = at(bench, pace, place, before, multiple);
            let after = peak_of(bench, pace, place, people);
            // The speed of a machine changes within a minute, so a row is compared with what surrounds it.
            row.peak = (before + after) / 2.0;
            before = after;
            eprintln!("{:<12}{multiple:>5} x: {:.2} of the peak", place.name(), row.ratio());
            rows.push(row);
        }
    }
    let mut goals = Vec::new();
    for (multiple, goal) in MULTIPLES.into_iter().zip(place.goals()).filter(|(one, _)| multiples.contains(one)) {
        let these = || rows.iter().filter(|row| row.multiple == multiple);
        let ratios: Vec<f64> = these().map(OverloadRow::ratio).collect();
        let what = format!("goodput at {multiple} times the peak, of the peak: {}", place.name());
        let mut goodput = Goal::at_least(&what, goal, Spread::of(&ratios));
        if these().any(OverloadRow::generator_is_full) {
            goodput.measured.push_str("; the generator's core was full");
        }
        goals.push(goodput);
        let slowest = these().map(|row| row.figures.served.p99_us() as f64 / 1_000.0).fold(0.0, f64::max);
        goals.push(Goal::at_most(
            &format!("p99 of the served at {multiple} times: {}", place.name()),
            1_000.0,
            "ms",
            slowest,
        ));
    }
    let health = rows.iter().map(|row| row.health_ms).fold(0.0, f64::max);
    goals.push(Goal::at_most(&format!("/livez, /readyz, admin, slowest: {}", place.name()), 100.0, "ms", health));
    Overload { rows, goals }
}

/// How many people at a time get most, and how much per second.
fn peak(bench: &Bench, pace: &OverloadPace, place: OverloadPlace) -> (usize, f64) {
    let peaks = AT_A_TIME.map(|people| (people, peak_of(bench, pace, place, people)));
    peaks.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).expect("two of them")
}

/// Per second, on a new server.
fn peak_of(bench: &Bench, pace: &OverloadPace, place: OverloadPlace, people: usize) -> f64 {
    let stand = OverloadStand::start(bench, place);
    stand.crowd(Coming::InTurn(people), Duration::from_secs(1), Manners::AsTold);
    // For as long as a row.
    let figures = stand.crowd(Coming::InTurn(people), pace.time, Manners::AsTold);
    eprintln!("{:<12}{people:>5} at a time: {}", place.name(), said(&figures));
    stand.end();
    figures.goodput()
}

/// Processor time of a sale, as the first row of a round has it, says what refusals cost in the others.
fn at(bench: &Bench, pace: &OverloadPace, place: OverloadPlace, peak: f64, multiple: f64) -> OverloadRow {
    let stand = OverloadStand::start(bench, place);
    stand.crowd(Coming::InTurn(128), Duration::from_secs(1), Manners::AsTold);
    let before = stand.processor_seconds();
    let probing = stand.probe();
    let figures = stand.crowd(Coming::PerSecond(peak * multiple), pace.time, Manners::AsTold);
    let health_ms = probing.slowest_ms();
    let row = OverloadRow {
        place: place.name(),
        multiple,
        peak,
        health_ms,
        server_seconds: stand.processor_seconds() - before,
        memory_mib: stand.memory_mib().1,
        figures,
    };
    eprintln!("{:<12}{multiple:>5} x {peak:.0}/s: {}", place.name(), said(&row.figures));
    eprintln!(
        "{:>19} health {health_ms:.0} ms, {:.0} MiB, server {:.2} s, {:.0} us each",
        "",
        row.memory_mib,
        row.server_seconds,
        row.server_seconds / row.figures.requests.max(1) as f64 * 1e6
    );
    stand.end();
    row
}

/// A burst of people who ask again at once, and how long it takes until the server is at its peak again.
fn recovery(bench: &Bench, pace: &OverloadPace, place: OverloadPlace) -> Vec<Goal> {
    let stand = OverloadStand::start(bench, place);
    // Seconds are compared with seconds: each begins with everybody's first request.
    let second = || stand.crowd(Coming::InTurn(AT_A_TIME[0]), Duration::from_secs(1), Manners::AsTold).goodput();
    second();
    let peak = Spread::of(&(0..pace.time.as_secs().max(4)).map(|_| second()).collect::<Vec<_>>()).median;
    let before_mib = stand.memory_mib().0;
    let burst = stand.crowd(Coming::InTurn(IMPATIENT), pace.burst, Manners::AtOnce);
    let (ended, mut best, mut seconds) = (Instant::now(), 0f64, Vec::new());
    while best < 0.95 * peak && ended.elapsed() < 2 * RECOVERED_WITHIN {
        seconds.push(second().round());
        best = best.max(seconds.last().copied().unwrap_or(0.0));
    }
    let took = ended.elapsed();
    std::thread::sleep(RECOVERED_WITHIN.saturating_sub(took));
    let (now_mib, most_mib) = stand.memory_mib();
    eprintln!("{:<12}recovery: burst {}; {seconds:?} of {peak:.0}/s, {took:?}", place.name(), said(&burst));
    stand.end();
    let what = format!(
        "95% of the peak again after {:.0} s of {IMPATIENT} people who ask again at once, {:.1} times the peak: {}",
        pace.burst.as_secs_f64(),
        burst.sent() / peak,
        place.name()
    );
    let mut back = Goal::at_most(&what, RECOVERED_WITHIN.as_secs_f64(), "s", took.as_secs_f64());
    if best < 0.95 * peak {
        (back.holds, back.measured) = (Some(false), format!("{:.2} of the peak after {took:?}", best / peak));
    }
    let what = format!("memory {:?} after that burst: {}", RECOVERED_WITHIN, place.name());
    let mut memory = Goal::at_most(&what, before_mib + 128.0, "MiB", now_mib);
    memory.measured.push_str(&format!(", {before_mib:.0} before, {most_mib:.0} at its highest"));
    vec![back, memory]
}

/// What so many open connections cost, each of which has asked once.
fn connections(bench: &Bench) -> Goal {
    let stand = OverloadStand::start(bench, OverloadPlace::Embedded);
    let before_mib = stand.memory_mib().0;
    let figures = stand.crowd(Coming::Stay(CONNECTIONS), Duration::from_secs(20), Manners::AsTold);
    let most_mib = stand.memory_mib().1;
    stand.end();
    let what = format!("memory at its highest with {} connections", figures.people);
    let mut goal = Goal::at_most(&what, 700.0, "MiB", most_mib);
    goal.measured.push_str(&format!(", {before_mib:.0} before"));
    goal
}

fn said(figures: &CrowdFigures) -> String {
    let CrowdFigures { served, refused, unanswered, late, generator, .. } = figures;
    format!(
        "{:.0} sold/s, {:.0} sent/s, {:.2} per person, served p99 {:.0} ms, {:.1}% connected late, {} refused p99 \
         {:.0} ms, {unanswered} unanswered, {} still wait, generator {:.0}% late {:.0} ms",
        figures.goodput(),
        figures.sent(),
        figures.amplification(),
        served.p99_us() as f64 / 1e3,
        figures.late_share() * 100.0,
        refused.count(),
        refused.p99_us() as f64 / 1e3,
        figures.still_wait(),
        generator * 100.0,
        late.p99_us() as f64 / 1e3
    )
}
