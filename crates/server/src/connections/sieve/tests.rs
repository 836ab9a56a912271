use std::collections::BTreeMap;

use testing::rng::SeededRng;

use super::*;

const BEAT: Duration = Duration::from_millis(20);
const LIMIT: u64 = 4_096;
/// Served per second.
const SERVES: u64 = 3_000;

/// A listener whose people come and are served at steady rates. Attempts that are dropped are repeated after 1, 3 and
/// 7 s, as kernels do.
#[derive(Default)]
struct Simulated {
    sieve: Sieve,
    share: Option<u32>,
    now: Duration,
    backlog: VecDeque<Attempt>,
    /// By when they are repeated.
    repeated: BTreeMap<Duration, Vec<Attempt>>,
    dropped: u32,
    served: u64,
    /// Of the served, those who had to repeat their attempt.
    served_late: u64,
    refused: u64,
    longest: u64,
    people: u64,
    /// Parts of people, carried over from beat to beat.
    coming: f64,
    /// None: steady.
    weather: Option<Weather>,
}

/// How a server's speed changes: it drifts by a tenth, and now and then nothing is served for some beats.
struct Weather {
    random: SeededRng,
    drift: f64,
    stall: u64,
}

impl Weather {
    fn of(seed: u64) -> Weather {
        Weather { random: SeededRng::new(seed), drift: 0.0, stall: 0 }
    }

    /// The speed in the next beat, of the usual one.
    fn next(&mut self) -> f64 {
        self.drift = 0.99 * self.drift + (self.random.below(1_000) as f64 / 1_000.0 - 0.5) * 0.05;
        if self.stall == 0 && self.random.below(125) == 0 {
            self.stall = 2 + self.random.below(11);
        }
        self.stall = self.stall.saturating_sub(1);
        if self.stall > 0 { 0.0 } else { 1.0 + self.drift }
    }
}

struct Attempt {
    came: Duration,
    /// What the filter compares with the share.
    spread: u32,
}

impl Simulated {
    fn share(&self) -> u32 {
        self.share.unwrap_or(ALL)
    }

    fn run(&mut self, comes: f64, time: Duration) {
        self.run_serving(SERVES, comes, time);
    }

    fn run_serving(&mut self, serves: u64, comes: f64, time: Duration) {
        for _ in 0..time.as_millis() / BEAT.as_millis() {
            self.now += BEAT;
            let dropped = self.dropped;
            self.come(comes);
            let speed = self.weather.as_mut().map_or(1.0, Weather::next);
            let per_beat = (serves as f64 / 50.0 * speed) as u64;
            let refusals = match self.sieve.wait(self.length()) {
                BacklogWait::TooLong => per_beat,
                BacklogWait::Long => per_beat / 10,
                _ => 0,
            };
            let refused = self.backlog.len().min(refusals as usize);
            self.backlog.drain(..refused);
            let served = self.backlog.len().min(per_beat as usize);
            let late = |attempt: &Attempt| self.now - attempt.came >= Duration::from_millis(900);
            self.served_late += self.backlog.drain(..served).filter(late).count() as u64;
            let (served, refused) = (served as u64, refused as u64);
            let (dropped, backlog) = ((self.dropped - dropped).into(), self.length());
            let excess = refused > 0;
            let beat = ListenerBeat { elapsed: BEAT, accepted: served, served, refused, dropped, excess, backlog };
            self.share = self.sieve.beat(beat).or(self.share);
            (self.served, self.refused) = (self.served + served, self.refused + refused);
            self.longest = self.longest.max(self.waiting());
        }
    }

    fn come(&mut self, comes: f64) {
        let later = self.repeated.split_off(&(self.now + Duration::from_nanos(1)));
        let mut attempts: Vec<Attempt> = std::mem::replace(&mut self.repeated, later).into_values().flatten().collect();
        self.coming += comes * BEAT.as_secs_f64();
        while self.coming >= 1.0 {
            self.coming -= 1.0;
            self.people += 1;
            let spread = (self.people as u32).wrapping_mul(0x9E37_79B1) >> 16;
            attempts.push(Attempt { came: self.now, spread });
        }
        for attempt in attempts {
            if attempt.spread < self.share() && self.waiting() < LIMIT {
                self.backlog.push_back(attempt);
                continue;
            }
            self.dropped += 1;
            let again = [1, 3, 7].map(|seconds| attempt.came + Duration::from_secs(seconds));
            if let Some(again) = again.into_iter().find(|again| *again > self.now) {
                self.repeated.entry(again).or_default().push(attempt);
            }
        }
    }

    fn waiting(&self) -> u64 {
        self.backlog.len() as u64
    }

    fn length(&self) -> BacklogLength {
        BacklogLength { waiting: self.waiting(), limit: LIMIT, dropped: self.dropped }
    }
}

#[test]
fn everybody_is_let_in_as_long_as_all_are_served() {
    let mut listener = Simulated::default();
    listener.run(0.95 * SERVES as f64, Duration::from_secs(10));
    assert_eq!((listener.share(), listener.refused), (ALL, 0));
}

#[test]
fn share_settles_where_nobody_waits_for_long_and_the_server_is_busy() {
    for multiple in [1.5, 2.0, 4.0, 10.0] {
        let (mut listener, comes) = (Simulated::default(), multiple * SERVES as f64);
        listener.run(comes, Duration::from_secs(1));
        assert!(listener.longest < SERVES * 9 / 10, "{multiple}: {} waited", listener.longest);
        (listener.served, listener.longest) = (0, 0);
        listener.run(comes, Duration::from_secs(10));
        assert!(listener.longest < SERVES / 2, "{multiple}: {} waited", listener.longest);
        assert!(listener.served > SERVES * 95 / 10, "{multiple}: {} served in 10 s", listener.served);
        let let_in = comes * f64::from(listener.share()) / f64::from(ALL) / SERVES as f64;
        assert!((0.9..1.6).contains(&let_in), "{multiple}: {let_in} of what can be served");
    }
}

#[test]
fn everybody_is_let_in_again_soon_after_the_crowd() {
    let mut listener = Simulated::default();
    listener.run(10.0 * SERVES as f64, Duration::from_secs(5));
    assert!(listener.share() < ALL / 6);
    // Those who were dropped have left.
    listener.repeated.clear();
    listener.run(0.5 * SERVES as f64, Duration::from_secs(1));
    assert_eq!(listener.share(), ALL);
}

#[test]
fn crowd_that_comes_all_at_once_is_let_in() {
    let mut listener = Simulated::default();
    listener.run(100.0, Duration::from_secs(1));
    listener.run(2_000.0 * 50.0, BEAT);
    listener.run(100.0, Duration::from_secs(2));
    assert_eq!((listener.share(), listener.waiting()), (ALL, 0));
}

#[test]
fn ledger_that_stands_still_shuts_nobody_out_for_long() {
    let mut listener = Simulated::default();
    listener.run(2.0 * SERVES as f64, Duration::from_secs(1));
    let share = listener.share();
    listener.run_serving(0, 2.0 * SERVES as f64, Duration::from_secs(1));
    assert!(listener.share() > share / 2, "{} of {share}", listener.share());
}

#[test]
fn stall_at_the_peak_shuts_few_out() {
    let mut listener = Simulated::default();
    listener.run(0.95 * SERVES as f64, Duration::from_secs(2));
    listener.run_serving(0, 0.95 * SERVES as f64, Duration::from_millis(400));
    listener.run(0.95 * SERVES as f64, Duration::from_secs(2));
    assert!(listener.longest > LIMIT / ALWAYS && listener.share() > ALL / 10 * 9, "{}", listener.share());
}

#[test]
fn few_of_the_served_came_in_with_a_repeated_attempt() {
    for before in [0.0, 0.9] {
        for multiple in [1.5, 2.0, 4.0, 10.0] {
            let mut listener = Simulated::default();
            listener.run(before * SERVES as f64, Duration::from_secs(1));
            (listener.served, listener.served_late) = (0, 0);
            for seconds in [4, 10, 30] {
                let already = listener.now.as_secs() - 1;
                listener.run(multiple * SERVES as f64, Duration::from_secs(seconds - already));
                let Simulated { served, served_late, .. } = listener;
                let late = served_late as f64 / served as f64;
                assert!(late < 0.01, "{multiple} times for {seconds} s: {served_late} of {served} late");
                assert!(served > seconds * SERVES * 9 / 10, "{multiple} times for {seconds} s: {served} served");
            }
        }
    }
}

/// The crowd becomes smaller, and people who were dropped still knock: more are let in, and all of them in the end.
#[test]
fn share_follows_a_crowd_that_becomes_smaller() {
    let mut listener = Simulated::default();
    listener.run(10.0 * SERVES as f64, Duration::from_secs(5));
    listener.served = 0;
    listener.run(1.5 * SERVES as f64, Duration::from_secs(5));
    assert!(listener.served > SERVES * 5 * 8 / 10, "{} served", listener.served);
    listener.refused = 0;
    listener.run(0.8 * SERVES as f64, Duration::from_secs(13));
    assert_eq!((listener.share(), listener.refused), (ALL, 0));
}

/// With a law that lets in only as many as can be served, 130 of these 160 sales serve more than a hundredth late: the
/// server is a little faster than it was, has no work, and lets people in who were dropped before.
#[test]
fn server_whose_speed_changes_serves_few_late() {
    let (mut sales, mut late_sales) = (0, Vec::new());
    for seed in 1..=40 {
        for multiple in [1.5, 2.0, 4.0, 10.0] {
            let mut listener = Simulated { weather: Some(Weather::of(seed)), ..Simulated::default() };
            listener.run(0.9 * SERVES as f64, Duration::from_secs(1));
            (listener.served, listener.served_late) = (0, 0);
            listener.run(multiple * SERVES as f64, Duration::from_secs(10));
            let late = listener.served_late as f64 / listener.served as f64;
            sales += 1;
            if late >= 0.01 {
                late_sales.push((seed, multiple, late));
            }
            let served = listener.served as f64 / (10 * SERVES) as f64;
            assert!(served > 0.7, "{multiple} times, seed {seed}: {served} of what can be served at best");
        }
    }
    assert!(late_sales.len() * 10 <= sales, "of {sales} sales: {late_sales:?}");
}
