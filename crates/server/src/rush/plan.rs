//! The plan of a rush: which buyers arrive, how many, and when.

use std::time::Duration;

use client::Target;

#[derive(Clone, Debug)]
pub struct RushPlan {
    pub target: Target,
    pub sale: EventChoice,
    pub buyers: u64,
    /// Arrivals per second once the ramp is over.
    pub rate: f64,
    /// The rate rises evenly for this long.
    pub ramp: Duration,
    /// A soak: buyers arrive for this long, not up to a number.
    pub duration: Option<Duration>,
    /// Shares of the buyers, 0 to 1.
    pub double_click: f64,
    pub lost_answers: f64,
    pub cancel: f64,
    pub admin_token: Option<String>,
}

/// The event that the buyers want seats of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventChoice {
    /// The rush creates its own event.
    Make {
        seats: u32,
        /// With a waiting room of this many places.
        places: Option<u32>,
    },
    Event(i64),
}

/// How one buyer misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    Plain,
    /// Sends the same request twice at once.
    DoubleClick,
    /// Hangs up before the answer, and asks again with the same key.
    LosesAnswers,
}

impl RushPlan {
    /// How many buyers arrive in all.
    pub fn arrivals(&self) -> u64 {
        match self.duration {
            None => self.buyers,
            Some(time) => self.arrived_after(time),
        }
    }

    /// When buyer `i` arrives, from the start: during a ramp the gaps shrink until the rate is reached.
    pub fn due(&self, i: u64) -> Duration {
        let ramp = self.ramp.as_secs_f64();
        let in_ramp = self.rate * ramp / 2.0;
        let i = i as f64;
        let seconds = if i < in_ramp { (2.0 * i * ramp / self.rate).sqrt() } else { ramp + (i - in_ramp) / self.rate };
        Duration::from_secs_f64(seconds)
    }

    fn arrived_after(&self, time: Duration) -> u64 {
        let (time, ramp) = (time.as_secs_f64(), self.ramp.as_secs_f64());
        let arrived =
            if time < ramp { self.rate * time * time / (2.0 * ramp) } else { self.rate * (time - ramp / 2.0) };
        arrived.max(1.0) as u64
    }

    pub fn habit(&self, i: u64) -> Habit {
        let uniform = uniform(i, 1);
        if uniform < self.double_click {
            Habit::DoubleClick
        } else if uniform < self.double_click + self.lost_answers {
            Habit::LosesAnswers
        } else {
            Habit::Plain
        }
    }

    pub fn cancels(&self, i: u64) -> bool {
        uniform(i, 2) < self.cancel
    }
}

/// From 0 up to 1, the same for the same buyer in every run.
pub fn uniform(i: u64, salt: u64) -> f64 {
    let mut x = i.wrapping_add(salt.wrapping_mul(0xD134_2543_DE82_EF95)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 32;
    x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^= x >> 32;
    (x >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rate: f64, ramp: u64) -> RushPlan {
        RushPlan {
            target: Target::resolve("http://127.0.0.1:1").unwrap(),
            sale: EventChoice::Event(1),
            buyers: 1000,
            rate,
            ramp: Duration::from_secs(ramp),
            duration: None,
            double_click: 0.1,
            lost_answers: 0.05,
            cancel: 0.5,
            admin_token: None,
        }
    }

    #[test]
    fn arrivals_follow_the_rate() {
        let steady = plan(100.0, 0);
        assert_eq!(steady.due(0), Duration::ZERO);
        assert_eq!(steady.due(250), Duration::from_millis(2500));
        let ramped = plan(100.0, 2);
        assert!((ramped.due(100).as_secs_f64() - 2.0).abs() < 1e-9, "half of 2 s at 100/s come in the ramp");
        assert!(ramped.due(1) > Duration::from_millis(100), "slow at first");
        let soak = RushPlan { duration: Some(Duration::from_secs(10)), ..plan(100.0, 2) };
        assert_eq!(soak.arrivals(), 900);
    }

    #[test]
    fn habits_follow_their_shares() {
        let plan = plan(1.0, 0);
        let count = |habit| (0..20_000).filter(|i| plan.habit(*i) == habit).count();
        assert!((1_800..2_200).contains(&count(Habit::DoubleClick)));
        assert!((850..1_150).contains(&count(Habit::LosesAnswers)));
        let cancels = (0..20_000).filter(|i| plan.cancels(*i)).count();
        assert!((9_500..10_500).contains(&cancels));
    }
}
