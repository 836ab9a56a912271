//! Which share of new connections is let in while more come than can be served. The others are dropped by the
//! kernel, which costs the server nothing, and stay dropped: whoever is let in is served soon, instead of everybody
//! waiting for seconds in turn. The length of the backlog says when, and how many come.

use std::collections::VecDeque;
use std::time::Duration;

use super::backlog::BacklogLength;
use crate::gate::BacklogWait;

/// The share that lets everybody in.
pub const ALL: u32 = 65_536;
/// Never fewer than a sixteenth: a ledger that stands still for a second must not shut people out for many.
const LEAST: u32 = ALL / 16;
/// Nobody is refused as long as serving the backlog takes no longer than this.
const SHORT_WAIT: f64 = 0.2;
/// When serving the backlog takes longer than this, fewer are let in.
const LONG_WAIT: f64 = 0.3;
/// And when it takes longer than this, many are refused.
const MOST_WAIT: f64 = 0.45;
/// So much of the backlog may always be taken: a crowd that comes all at once is not an overload.
const ALWAYS: u64 = 8;
/// Not everybody is let in when more than this many times the served come.
const MORE_THAN_SERVED: f64 = 1.1;
/// No fewer are let in as long as not more than this many times the served come in: refusals shorten the backlog.
const MORE_THAN_REFUSED: f64 = 1.5;
/// What is served is measured for this long before anything follows from it.
const KNOWN_AFTER: Duration = Duration::from_millis(60);
/// And for this long before it is remembered: batches end in bursts.
const SURE_AFTER: Duration = Duration::from_millis(250);
/// Fewer are let in because of those who come now: a crowd that came all at once is over. How many come is measured
/// by so many people, and for a time between these two.
const COMING_COUNT: u64 = 1_000;
const COMING_LEAST: Duration = Duration::from_millis(40);
const COMING_NOW: Duration = Duration::from_millis(200);
/// In each of the newest beats of this time together, more must have come than can be served.
const COMING_STILL: Duration = Duration::from_millis(30);
/// So much is decided by what came for so short a time. Afterwards only a longer time says that the share is still too
/// large: those who were refused at first come back in bursts, and refusals shorten the backlog meanwhile.
const FIRST_CUTS: Duration = Duration::from_millis(300);
const COMING_LONG: Duration = Duration::from_millis(700);
/// More are let in because fewer have come for a while.
const COMING_LATELY: Duration = Duration::from_millis(800);
const SERVED_LATELY: Duration = Duration::from_secs(1);
/// Half of what could be served, in seconds.
const FORGOTTEN_AFTER: f64 = 10.0;
/// So many times as many are let in as can be served: what is too much is refused, which costs a sixth of a sale. A
/// server that becomes a quarter faster still has work. To let in too few is worse: each step back lets attempts in
/// that were dropped before, and a step of a hundredth makes more than a hundredth of the served late.
const AIM: f64 = 1.4;
/// At least so many are dropped when anybody is: more is refused from then on.
const SLIGHTLY_FEWER: f64 = 0.98;
/// After this long without a backlog and without a refusal, everybody is let in if what comes and what is dropped is
/// less than this many times what can be served. Repeated attempts are counted each time, and come in once.
const CALM: Duration = Duration::from_millis(400);
const KNOCKING: f64 = 1.4;
/// If not, as many as can be served are let in, but only when fewer than this part of them come. When the whole crowd
/// is hardly more than what can be served, those who are left of it are let in sooner, late as they are.
const IDLE: f64 = 0.8;
const HARDLY_MORE: f64 = 1.2;
const FILLED: f64 = 1.05;
/// After this long slightly more are let in in any case, because nobody knows what can be served while all are.
const LONG_CALM: Duration = Duration::from_secs(5);
const SLIGHTLY_MORE: f64 = 1.03;

/// What happened at a listener since the last beat.
#[derive(Clone, Copy, Debug)]
pub struct ListenerBeat {
    pub elapsed: Duration,
    /// Connections accepted to be served.
    pub accepted: u64,
    /// Those of the accepted who have been served meanwhile: more are accepted at first than can be served.
    pub served: u64,
    /// Connections accepted to be refused.
    pub refused: u64,
    /// Attempts dropped by the filter, or because the backlog was full; repeated ones too.
    pub dropped: u64,
    /// Somebody was refused, or waits unread.
    pub excess: bool,
    pub backlog: BacklogLength,
}

#[derive(Debug)]
pub struct Sieve {
    share: u32,
    waiting: u64,
    /// Those who came, since the share was last changed.
    came: Lately,
    /// Those who came or were dropped.
    knocked: Lately,
    served: Lately,
    /// The same, while others waited all the time.
    served_of_many: Lately,
    /// Per second, known while others wait.
    can_serve: Option<f64>,
    /// The most that was served over a while; forgotten slowly, because a stall or many refusals do not make the server
    /// slower.
    served_most: f64,
    calm: Duration,
    /// Since not everybody was let in.
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

    /// The new share, when it changes.
    pub fn beat(&mut self, beat: ListenerBeat) -> Option<u32> {
        let BacklogLength { waiting, limit, .. } = beat.backlog;
        let came = (beat.accepted + beat.refused + waiting).saturating_sub(self.waiting);
        let knocked = came + beat.dropped;
        // Without a filter the backlog was full, and those who were dropped came as well.
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

    /// How many may wait, if serving them may take so many seconds.
    fn most(&self, seconds: f64, limit: u64) -> f64 {
        let served = self.can_serve.unwrap_or(f64::MAX);
        (served * seconds).max((limit / ALWAYS) as f64).min((limit / 2) as f64)
    }

    /// How many come per second, if they are more than `least` and will go on coming.
    fn comes_now(&self, least: f64) -> Option<f64> {
        if self.sifting >= FIRST_CUTS && self.came.time < COMING_LONG {
            return None;
        }
        let longest = if self.sifting < FIRST_CUTS { COMING_NOW } else { COMING_LONG };
        self.came.rate_now(least, longest)
    }

    /// How many should come in per second instead of `lately`, if those are too few.
    fn wider(&self, lately: f64, served: f64) -> Option<f64> {
        let crowd = lately * f64::from(ALL) / f64::from(self.share);
        let (least, aim) = if crowd < HARDLY_MORE * served { (FILLED, FILLED) } else { (IDLE, 1.0) };
        (lately < least * served).then_some(aim * served)
    }

    /// By how much more are let in, so that `aim` come in instead of `lately`. Whoever is let in then includes those who
    /// were dropped and try again: the attempts that are dropped now, as far as they will not be.
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

/// A count of the last beats.
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

    /// Per second, if each of the newest beats had more than `least`, and all of them together too.
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

    /// Per second, in the newest beats; none while too little is known.
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
