//! A crowd that may be larger than the server can serve: everybody has a connection of their own for each request,
//! and those who are refused come again, when they were told to or at once. Lean, so that it can send several
//! times what a server serves: one thread, requests written as bytes, answers read no further than needed.

mod wire;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::spawn_local;

use self::wire::{CrowdAnswer, ask, exchange, open};
use crate::figures::histogram;
use crate::processor;

/// Nobody waits longer for an answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
/// So many requests are in flight at most. Without a bound a generator that is late opens one connection after the
/// other and reads no answers.
const IN_FLIGHT: usize = 8_192;
/// So many of one of several processes: it may open no more files. Attempts that the server's kernel drops wait for
/// long, and who comes meanwhile must not wait for them, so a large crowd at a slow server takes several.
const IN_FLIGHT_OF_PART: usize = 18_000;
const MOST_PROCESSES: usize = 8;
/// New people in a step of a millisecond: beyond that the generator would only start, and answer nobody.
const NEW_AT_ONCE: u64 = 256;
/// Who needed this long to connect came in with a repeated attempt: the first was dropped.
const CONNECTED_LATE: Duration = Duration::from_millis(900);
/// After no answer at all people wait this long, more or less.
const UNANSWERED: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CrowdLoad {
    pub target: SocketAddr,
    pub come: Coming,
    /// People come for this long.
    pub time: Duration,
    pub manners: Manners,
    /// Another seed means other users.
    pub seed: u32,
    /// A part of a crowd that comes from several processes.
    pub part: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Coming {
    /// So many new people per second, whether or not others were served.
    PerSecond(f64),
    /// So many people at a time: the next one comes when one was served.
    InTurn(usize),
    /// So many connections, each of which asks once and stays open.
    Stay(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Manners {
    /// Refused people come again when they were told to.
    AsTold,
    /// They come again at once.
    AtOnce,
}

/// Passed between processes as one line of JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CrowdFigures {
    pub people: u64,
    pub requests: u64,
    /// Connections that were refused or cut, and answers that did not come in time.
    pub unanswered: u64,
    pub seconds: f64,
    pub served: CrowdTimes,
    /// Of the served, those whose first attempt to connect was dropped.
    pub connected_late: u64,
    pub refused: CrowdTimes,
    /// How late people came, because the generator was busy.
    pub late: CrowdTimes,
    /// The share of its core that the generator used.
    pub generator: f64,
}

impl CrowdFigures {
    pub fn goodput(&self) -> f64 {
        self.served.count() as f64 / self.seconds
    }

    pub fn sent(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    pub fn amplification(&self) -> f64 {
        self.requests as f64 / self.people.max(1) as f64
    }

    /// The share of the served whose first attempt to connect was dropped.
    pub fn late_share(&self) -> f64 {
        self.connected_late as f64 / self.served.count().max(1) as f64
    }

    /// Requests without an answer when the time was over.
    pub fn still_wait(&self) -> u64 {
        self.requests - self.served.count() - self.refused.count() - self.unanswered
    }

    /// Of a crowd that came from several processes at the same time.
    pub fn together(all: Vec<CrowdFigures>) -> CrowdFigures {
        all.into_iter().fold(CrowdFigures::default(), |sum, one| CrowdFigures {
            people: sum.people + one.people,
            requests: sum.requests + one.requests,
            unanswered: sum.unanswered + one.unanswered,
            seconds: sum.seconds.max(one.seconds),
            served: sum.served.and(one.served),
            connected_late: sum.connected_late + one.connected_late,
            refused: sum.refused.and(one.refused),
            late: sum.late.and(one.late),
            generator: sum.generator + one.generator,
        })
    }
}

/// How often something took so many microseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CrowdTimes(Vec<(u64, u64)>);

impl CrowdTimes {
    fn of(times: &Histogram<u64>) -> CrowdTimes {
        CrowdTimes(times.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect())
    }

    fn and(mut self, others: CrowdTimes) -> CrowdTimes {
        self.0.extend(others.0);
        self.0.sort_unstable();
        self
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    pub fn p99_us(&self) -> u64 {
        let rank = (self.count() as f64 * 0.99).ceil() as u64;
        let mut so_far = 0;
        let reached = |(_, count): &&(u64, u64)| {
            so_far += count;
            so_far >= rank
        };
        self.0.iter().find(reached).map_or(0, |(us, _)| *us)
    }
}

struct Seen {
    people: u64,
    requests: u64,
    unanswered: u64,
    served: Histogram<u64>,
    connected_late: u64,
    refused: Histogram<u64>,
    late: Histogram<u64>,
}

impl CrowdLoad {
    /// The same crowd as that of several processes, none of which needs too many open files.
    pub fn parts(&self, mut seed: impl FnMut() -> u32) -> Vec<CrowdLoad> {
        let Coming::PerSecond(rate) = self.come else { return vec![self.clone()] };
        let waiting = rate * self.time.min(ANSWERED_WITHIN).as_secs_f64();
        let processes = (waiting / IN_FLIGHT_OF_PART as f64).ceil().clamp(1.0, MOST_PROCESSES as f64);
        let come = Coming::PerSecond(rate / processes);
        let part = || CrowdLoad { come, seed: seed(), part: true, ..self.clone() };
        std::iter::repeat_with(part).take(processes as usize).collect()
    }

    /// Runs the crowd until the time is over. Loopback only.
    pub fn run(&self) -> CrowdFigures {
        assert!(self.target.ip().is_loopback(), "load goes to loopback only");
        assert!(self.time <= Duration::from_secs(120), "load is bounded in time");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        tokio::task::LocalSet::new().block_on(&runtime, self.come())
    }

    async fn come(&self) -> CrowdFigures {
        let seen = Seen {
            people: 0,
            requests: 0,
            unanswered: 0,
            served: histogram(),
            connected_late: 0,
            refused: histogram(),
            late: histogram(),
        };
        let began = Instant::now();
        let crowd = Rc::new(Crowd {
            load: self.clone(),
            end: began + self.time,
            seen: RefCell::new(seen),
            flight: Semaphore::new(if self.part { IN_FLIGHT_OF_PART } else { IN_FLIGHT }),
        });
        let before = processor::own_seconds();
        match self.come {
            Coming::PerSecond(rate) => crowd.clone().at_a_rate(rate, began).await,
            Coming::InTurn(places) => crowd.clone().in_turn(places).await,
            Coming::Stay(count) => crowd.stay(count).await,
        }
        tokio::time::sleep_until(crowd.end.into()).await;
        let seconds = began.elapsed().as_secs_f64();
        let seen = crowd.seen.borrow();
        CrowdFigures {
            people: seen.people,
            requests: seen.requests,
            unanswered: seen.unanswered,
            seconds,
            served: CrowdTimes::of(&seen.served),
            connected_late: seen.connected_late,
            refused: CrowdTimes::of(&seen.refused),
            late: CrowdTimes::of(&seen.late),
            generator: (processor::own_seconds() - before) / seconds,
        }
    }
}

struct Crowd {
    load: CrowdLoad,
    end: Instant,
    seen: RefCell<Seen>,
    /// The newest is used first, so that few are used where few suffice.
    flight: Semaphore,
}

impl Crowd {
    async fn at_a_rate(self: Rc<Self>, rate: f64, began: Instant) {
        let mut made = 0u64;
        while Instant::now() < self.end {
            let wanted = ((began.elapsed().as_secs_f64() * rate) as u64).min(made + NEW_AT_ONCE);
            while made < wanted {
                let due = began + Duration::from_secs_f64(made as f64 / rate);
                made += 1;
                spawn_local(self.clone().person(made, Some(due)));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn in_turn(self: Rc<Self>, places: usize) {
        for place in 0..places as u64 {
            let crowd = self.clone();
            spawn_local(async move {
                for i in 0.. {
                    if Instant::now() >= crowd.end {
                        return;
                    }
                    crowd.clone().person(place << 32 | i, None).await;
                }
            });
        }
    }

    /// Asks until served, or until the time is over.
    async fn person(self: Rc<Self>, i: u64, due: Option<Instant>) {
        let request = wire::request(wire::user(self.load.seed, i));
        let mut new = true;
        loop {
            let Ok(flight) = self.flight.acquire().await else { return };
            let sent = Instant::now();
            if sent >= self.end {
                return;
            }
            self.sending(std::mem::take(&mut new), due, sent);
            let answer = tokio::time::timeout(ANSWERED_WITHIN, ask(self.load.target, &request)).await;
            drop(flight);
            if Instant::now() >= self.end {
                return;
            }
            let took = sent.elapsed().as_micros() as u64;
            let wait = {
                let mut seen = self.seen.borrow_mut();
                match answer {
                    Ok(Ok(CrowdAnswer { status: 200, connecting, .. })) => {
                        seen.served.saturating_record(took);
                        seen.connected_late += u64::from(connecting >= CONNECTED_LATE);
                        return;
                    }
                    Ok(Ok(CrowdAnswer { retry_after: Some(wait), .. })) => {
                        seen.refused.saturating_record(took);
                        wait
                    }
                    Ok(Ok(CrowdAnswer { status, .. })) => panic!("{status} was not expected"),
                    _ => {
                        seen.unanswered += 1;
                        UNANSWERED
                            .mul_f64(0.5 + (wire::user(!self.load.seed, i + seen.requests) % 1_000) as f64 / 1_000.0)
                    }
                }
            };
            if self.load.manners == Manners::AsTold {
                tokio::time::sleep_until((Instant::now() + wait).into()).await;
            } else {
                tokio::task::yield_now().await;
            }
            if Instant::now() >= self.end {
                return;
            }
        }
    }

    /// Counts a request; with that, a `new` person, and how late they come.
    fn sending(&self, new: bool, due: Option<Instant>, now: Instant) {
        let mut seen = self.seen.borrow_mut();
        seen.requests += 1;
        seen.people += u64::from(new);
        if let Some(due) = due.filter(|_| new) {
            seen.late.saturating_record(now.saturating_duration_since(due).as_micros() as u64);
        }
    }

    /// Opens connections one after the other, asks once on each, and keeps all of them until the end.
    async fn stay(&self, count: usize) {
        let mut kept = Vec::with_capacity(count);
        for i in 0..count as u64 {
            let Ok(mut stream) = open(self.load.target).await else { break };
            let request = wire::request(wire::user(self.load.seed, i));
            {
                let mut seen = self.seen.borrow_mut();
                (seen.people, seen.requests) = (seen.people + 1, seen.requests + 1);
            }
            let sent = Instant::now();
            if let Ok(CrowdAnswer { status: 200, .. }) = exchange(&mut stream, &request).await {
                self.seen.borrow_mut().served.saturating_record(sent.elapsed().as_micros() as u64);
            }
            kept.push(stream);
        }
        tokio::time::sleep_until(self.end.into()).await;
    }
}
