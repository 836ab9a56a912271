//! Decides which share of new connections to admit under overload. The kernel drops the others, which costs the
//! server nothing, and keeps dropping them: the admitted are served soon, instead of all waiting for seconds in turn.
//! The length of the backlog shows when to filter, and how many arrive.

use std::collections::VecDeque;
use std::time::Duration;

use super::backlog::BacklogLength;
use crate::gate::BacklogWait;

/// The share that admits all.
pub const ALL: u32 = 65_536;
/// The smallest share: a ledger that stalls for a second must not lock clients out for many.
const LEAST: u32 = ALL / 16;
/// No connection is refused while the backlog can be served within this time.
const SHORT_WAIT: f64 = 0.2;
/// When serving the backlog takes longer than this, the share is cut.
const LONG_WAIT: f64 = 0.3;
/// When it takes longer than this, many are refused.
const MOST_WAIT: f64 = 0.45;
/// One in this many places of the backlog may always be used: a crowd that arrives all at once is not an overload.
const ALWAYS: u64 = 8;
/// Filtering starts when arrivals exceed this multiple of the capacity.
const MORE_THAN_SERVED: f64 = 1.1;
/// The share is cut further only when arrivals exceed this multiple of the capacity: refusals shorten the backlog.
const MORE_THAN_REFUSED: f64 = 1.5;
/// The service rate is measured for this long before it is used.
const KNOWN_AFTER: Duration = Duration::from_millis(60);
/// It is measured for this long before it is remembered: batches end in bursts.
const SURE_AFTER: Duration = Duration::from_millis(250);
/// Only current arrivals lead to a cut: a crowd that arrived all at once is over. Their rate is measured over this
/// many arrivals, for a time between these two.
const COMING_COUNT: u64 = 1_000;
const COMING_LEAST: Duration = Duration::from_millis(40);
const COMING_NOW: Duration = Duration::from_millis(200);
/// Each of the newest beats within this time must have more arrivals than can be served.
const COMING_STILL: Duration = Duration::from_millis(30);
/// For this long after filtering starts the short window decides. Afterwards only the longer one leads to a cut:
/// clients refused at first return in bursts, and refusals shorten the backlog meanwhile.
const FIRST_CUTS: Duration = Duration::from_millis(300);
const COMING_LONG: Duration = Duration::from_millis(700);
/// The time over which arrivals and served connections are kept.
const COMING_LATELY: Duration = Duration::from_millis(800);
const SERVED_LATELY: Duration = Duration::from_secs(1);
/// Half-life of the remembered capacity, in seconds.
const FORGOTTEN_AFTER: f64 = 10.0;
/// This multiple of the capacity is admitted. The excess is refused, which costs a sixth of a sale. A server that
/// becomes a quarter faster still has work. Too small a share is worse: each increase also admits attempts that were
/// dropped before, and an increase by 1% makes more than 1% of the served late.
const AIM: f64 = 1.4;
/// The smallest cut of the share. More is refused once there is one.
const SLIGHTLY_FEWER: f64 = 0.98;
/// After this long without a backlog and without a refusal, all are admitted if arrivals and drops together are less
/// than this multiple of the capacity. Retransmitted attempts are counted each time, and admitted once.
const CALM: Duration = Duration::from_millis(400);
const KNOCKING: f64 = 1.4;
/// Otherwise arrivals are raised to the capacity, but only from below this part of it. When the whole crowd hardly
/// exceeds the capacity, the rest of it is admitted sooner, late as it is.
const IDLE: f64 = 0.8;
const HARDLY_MORE: f64 = 1.2;
const FILLED: f64 = 1.05;
/// After this long the share is raised slightly in any case, because the capacity is unknown while all are served.
const LONG_CALM: Duration = Duration::from_secs(5);
const SLIGHTLY_MORE: f64 = 1.03;

/// What happened at a listener since the last beat.
#[derive(Clone, Copy, Debug)]
pub struct ListenerBeat {
    pub elapsed: Duration,
    /// Connections accepted to be served.
    pub accepted: u64,
    /// Accepted connections whose service ended: more are accepted at first than can be served.
    pub served: u64,
    /// Connections accepted to be refused.
    pub refused: u64,
    /// Attempts dropped by the filter, or because the backlog was full; retransmissions too.
    pub dropped: u64,
    /// A request was refused, or waits unread.
    pub excess: bool,
    pub backlog: BacklogLength,
}

#[derive(Debug)]
pub struct Sieve {
    share: u32,
    waiting: u64,
    /// Arrivals since the share was last changed.
    came: Lately,
    /// Arrivals and drops.
    knocked: Lately,
    served: Lately,
    /// The same, only while the backlog was never empty.
    served_of_many: Lately,
    /// The capacity per second, known while others wait.
    can_serve: Option<f64>,
    /// The highest rate served over a while. It decays slowly, because a stall or many refusals do not make the
    /// server slower.
    served_most: f64,
    calm: Duration,
    /// Time since filtering started.
    sifting: Duration,
}

impl Default for Sieve {
    fn default() -> Self {
        let [served, served_of_many] = [SERVED_LATELY; 2].map(Lately::over);
        let [came, knocked] = [COMING_LATELY; 2].map(Lately::over);
        let (calm, sifting) = (Duration::ZERO, Duration::ZERO);
        let (can_serve, served_most) = (None, 0.0);
        Sieve { share: ALL, waiting: 0, came, knocked, served, served_of_many, can_serve, served_most, calm, sifting }
    }
}

impl Sieve {
    pub fn lets_all_in(&self) -> bool {
        self.share == ALL
    }

    /// Returns the new share when it changes.
    pub fn beat(&mut self, beat: ListenerBeat) -> Option<u32> {
        let BacklogLength { waiting, limit, .. } = beat.backlog;
        let came = (beat.accepted + beat.refused + waiting).saturating_sub(self.waiting);
        let knocked = came + beat.dropped;
        // Without a filter, the drops came from a full backlog and count as arrivals.
        self.came.push(beat.elapsed, if self.lets_all_in() { knocked } else { came });
        self.knocked.push(beat.elapsed, knocked);
        self.served.push(beat.elapsed, beat.served);
        if self.waiting > 0 && waiting > 0 {
            self.served_of_many.push(beat.elapsed, beat.served);
            let kept = (-beat.elapsed.as_secs_f64() / FORGOTTEN_AFTER).exp2();
            self.served_most *= kept;
            for served in [&self.served, &self.served_of_many] {
                let known = served.rate_over(SERVED_LATELY).filter(|_| served.time >= SURE_AFTER);
                self.served_most = self.served_most.max(known.unwrap_or(0.0));
            }
            self.can_serve = self.served_of_many.rate_over(SERVED_LATELY).map(|now| now.max(self.served_most));
        }
        self.waiting = waiting;
        self.calm = if waiting > limit / 64 || beat.excess { Duration::ZERO } else { self.calm + beat.elapsed };
        self.sifting = if self.lets_all_in() { Duration::ZERO } else { self.sifting + beat.elapsed };
        let share = self.wanted(beat.backlog)?;
        self.came.clear();
        self.calm = Duration::ZERO;
        self.share = share;
        Some(share)
    }

    pub fn wait(&self, backlog: BacklogLength) -> BacklogWait {
        let Some(served) = self.can_serve else { return BacklogWait::Unknown };
        let waiting = backlog.waiting as f64;
        if self.share < ALL && waiting > self.most(MOST_WAIT, backlog.limit) {
            BacklogWait::TooLong
        } else if waiting > served * SHORT_WAIT {
            BacklogWait::Long
        } else {
            BacklogWait::Short
        }
    }

    /// How many may wait if the backlog is to be served within this many seconds.
    fn most(&self, seconds: f64, limit: u64) -> f64 {
        let served = self.can_serve.unwrap_or(f64::MAX);
        (served * seconds).max((limit / ALWAYS) as f64).min((limit / 2) as f64)
    }

    /// The rate of arrivals per second, if it exceeds `least` and will continue.
    fn comes_now(&self, least: f64) -> Option<f64> {
        if self.sifting >= FIRST_CUTS && self.came.time < COMING_LONG {
            return None;
        }
        let longest = if self.sifting < FIRST_CUTS { COMING_NOW } else { COMING_LONG };
        self.came.rate_now(least, longest)
    }

    /// The target rate of arrivals, if `lately` is too low.
    fn wider(&self, lately: f64, served: f64) -> Option<f64> {
        let crowd = lately * f64::from(ALL) / f64::from(self.share);
        let (least, aim) = if crowd < HARDLY_MORE * served { (FILLED, FILLED) } else { (IDLE, 1.0) };
        (lately < least * served).then_some(aim * served)
    }

    /// The factor for the share that raises arrivals from `lately` to `aim`. A larger share also admits clients that
    /// were dropped and retry: the attempts dropped now, less those that stay dropped.
    fn widened(&self, aim: f64, lately: f64, knocking: f64) -> f64 {
        let (share, dropped) = (f64::from(self.share), (knocking - lately).max(1.0));
        1.0 + (f64::from(ALL) - share) / share * (aim - lately) / dropped
    }

    fn wanted(&self, backlog: BacklogLength) -> Option<u32> {
        let served = self.can_serve?;
        let (lately, knocking) = (self.came.rate_over(CALM), self.knocked.rate_over(CALM));
        let most = if self.lets_all_in() { MORE_THAN_SERVED } else { MORE_THAN_REFUSED };
        let times = if self.calm >= CALM && knocking.is_some_and(|knocking| knocking < KNOCKING * served) {
            f64::from(ALL)
        } else if self.calm >= CALM
            && let Some((lately, knocking)) = lately.zip(knocking)
            && let Some(aim) = self.wider(lately, served)
        {
            self.widened(aim, lately, knocking)
        } else if self.calm >= LONG_CALM {
            SLIGHTLY_MORE
        } else if backlog.waiting as f64 > self.most(LONG_WAIT, backlog.limit)
            && let Some(now) = self.comes_now(most * served)
        {
            (AIM * served / now).min(SLIGHTLY_FEWER)
        } else {
            return None;
        };
        let share = ((f64::from(self.share) * times) as u32).clamp(LEAST, ALL);
        (share != self.share).then_some(share)
    }
}

/// A count over the last beats.
#[derive(Debug)]
struct Lately {
    most: Duration,
    beats: VecDeque<(Duration, u64)>,
    time: Duration,
}

impl Lately {
    fn over(most: Duration) -> Lately {
        Lately { most, beats: VecDeque::new(), time: Duration::ZERO }
    }

    fn push(&mut self, elapsed: Duration, count: u64) {
        self.beats.push_back((elapsed, count));
        self.time += elapsed;
        while let Some((oldest, _)) = self.beats.front()
            && self.time - *oldest >= self.most
        {
            self.time -= *oldest;
            self.beats.pop_front();
        }
    }

    fn clear(&mut self) {
        self.beats.clear();
        self.time = Duration::ZERO;
    }

    /// Per second, if each of the newest beats exceeds `least`, and all of them together do too.
    fn rate_now(&self, least: f64, longest: Duration) -> Option<f64> {
        let (mut time, mut count) = (Duration::ZERO, 0);
        for (one, counted) in self.beats.iter().rev() {
            if time >= longest || longest == COMING_NOW && time >= COMING_LEAST && count >= COMING_COUNT {
                break;
            }
            if time < COMING_STILL && (*counted as f64) < least * one.as_secs_f64() {
                return None;
            }
            (time, count) = (time + *one, count + counted);
        }
        let rate = count as f64 / time.as_secs_f64();
        (time >= COMING_LEAST && rate > least).then_some(rate)
    }

    /// Per second over the newest beats; None while the time is too short.
    fn rate_over(&self, most: Duration) -> Option<f64> {
        let (mut time, mut count) = (Duration::ZERO, 0);
        for (one, counted) in self.beats.iter().rev() {
            if time >= most {
                break;
            }
            (time, count) = (time + *one, count + counted);
        }
        (time >= KNOWN_AFTER).then(|| count as f64 / time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests;
