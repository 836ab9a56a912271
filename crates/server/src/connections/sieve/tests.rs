use super::*;

const BEAT: Duration = Duration::from_millis(20);
const LIMIT: u64 = 4_096;
/// Served per second.
const SERVES: u64 = 3_000;

/// A listener whose people come and are served at steady rates.
#[derive(Default)]
struct Simulated {
    sieve: Sieve,
    share: Option<u32>,
    waiting: u64,
    served: u64,
    refused: u64,
    longest: u64,
    /// Parts of people, carried over from beat to beat.
    coming: f64,
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
            self.coming += comes * BEAT.as_secs_f64() * f64::from(self.share()) / f64::from(ALL);
            let came = self.coming as u64;
            self.coming -= came as f64;
            self.waiting = (self.waiting + came).min(LIMIT);
            let per_beat = serves / 50;
            let served = self.waiting.min(per_beat);
            self.waiting -= served;
            let refusals = match self.sieve.wait(self.backlog()) {
                BacklogWait::TooLong => per_beat,
                BacklogWait::Long => per_beat / 10,
                _ => 0,
            };
            let refused = self.waiting.min(refusals);
            self.waiting -= refused;
            let backlog = self.backlog();
            let beat = ListenerBeat { elapsed: BEAT, served, refused, excess: refused > 0, backlog };
            self.share = self.sieve.beat(beat).or(self.share);
            (self.served, self.refused) = (self.served + served, self.refused + refused);
            self.longest = self.longest.max(self.waiting);
        }
    }

    fn backlog(&self) -> BacklogLength {
        BacklogLength { waiting: self.waiting, limit: LIMIT }
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
        assert!((0.9..1.3).contains(&let_in), "{multiple}: {let_in} of what can be served");
    }
}

#[test]
fn everybody_is_let_in_again_soon_after_the_crowd() {
    let mut listener = Simulated::default();
    listener.run(10.0 * SERVES as f64, Duration::from_secs(5));
    assert!(listener.share() < ALL / 8);
    listener.run(0.5 * SERVES as f64, Duration::from_secs(4));
    assert_eq!(listener.share(), ALL);
}

#[test]
fn crowd_that_comes_all_at_once_is_let_in() {
    let mut listener = Simulated::default();
    listener.run(100.0, Duration::from_secs(1));
    listener.run(2_000.0 * 50.0, BEAT);
    listener.run(100.0, Duration::from_secs(2));
    assert_eq!((listener.share(), listener.waiting), (ALL, 0));
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
