//! The load generator: the same for every contender, in its own process and thread.

mod closed;
mod open;

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use client::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use rules::nights::Night;

use crate::figures::LoadFigures;
use crate::product::{FIRST_DAY, LAST_DAY};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Load {
    /// Connections are spread over these.
    pub targets: Vec<SocketAddr>,
    pub connections: usize,
    /// Warm-up, not counted.
    pub warm: Duration,
    pub time: Duration,
    /// Arrivals per second, independent of answers. None: each connection asks again when answered.
    pub rate: Option<f64>,
    /// The status that counts.
    pub good: u16,
    /// Another seed means other users.
    pub seed: u32,
    pub traffic: Traffic,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Traffic {
    Path(String),
    /// Events of `seats` seats, one after the other. Each gets as many requests as it has seats.
    Events {
        first: i64,
        seats: u64,
    },
    /// Holds of one to four nights in `types` room types.
    Holds {
        first: i64,
        types: u64,
    },
    /// The same, each followed by `then`: only that request counts.
    HoldsThen {
        first: i64,
        types: u64,
        then: Then,
    },
    Get(String),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Then {
    Confirm,
    Cancel,
}

impl Load {
    /// Runs the load until the time is over. Loopback only.
    pub fn run(&self) -> LoadFigures {
        assert!(self.targets.iter().all(|t| t.ip().is_loopback()), "load goes to loopback only");
        assert!(self.warm + self.time <= Duration::from_secs(120), "load is bounded in time");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let local = tokio::task::LocalSet::new();
        match self.rate {
            None => local.block_on(&runtime, closed::run(self)),
            Some(rate) => local.block_on(&runtime, open::run(self, rate)),
        }
    }
}

/// Makes one request after another, each for another user.
struct Requests<'a> {
    load: &'a Load,
    made: Cell<u64>,
}

impl<'a> Requests<'a> {
    fn new(load: &'a Load) -> Requests<'a> {
        Requests { load, made: Cell::new(0) }
    }

    fn next(&self) -> HttpRequest {
        const BODY: &str = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;
        let i = self.made.replace(self.made.get() + 1);
        let user = user(self.load.seed, i);
        let reserve = |path: &str| HttpRequest::post(path).header("x-user-id", format!("user-{user:016x}")).json(BODY);
        match &self.load.traffic {
            Traffic::Holds { first, types } | Traffic::HoldsThen { first, types, .. } => {
                hold(user, first + (user % types) as i64)
            }
            Traffic::Get(path) => HttpRequest::get(path),
            Traffic::Path(path) => reserve(path),
            Traffic::Events { first, seats } => {
                reserve(&format!("/api/v1/events/{}/seats/reservation/fcfs", first + (i / seats) as i64))
            }
        }
    }

    /// The request that follows this answer, if any.
    fn then(&self, answer: &HttpResponse) -> Option<HttpRequest> {
        let Traffic::HoldsThen { then, .. } = &self.load.traffic else { return None };
        let body = answer.json().ok().filter(|_| answer.status == 201)?;
        let (id, user) = (body["hold"]["holdId"].as_str()?, body["hold"]["userId"].as_str()?);
        let request = match then {
            Then::Confirm => HttpRequest::post(&format!("/v1/holds/{id}/confirm")),
            Then::Cancel => HttpRequest::new("DELETE", &format!("/v1/holds/{id}")),
        };
        Some(request.header("x-user-id", user))
    }
}

/// One to four nights somewhere in the calendar.
fn hold(user: u64, room_type: i64) -> HttpRequest {
    let from = FIRST_DAY + ((user >> 8) % (LAST_DAY - FIRST_DAY - 4) as u64) as i32;
    let (check_in, check_out) = (Night(from), Night(from + 1 + (user >> 40) as i32 % 4));
    let key = format!("{:08x}-{:04x}-4000-8000-{:012x}", user >> 32, user >> 16 & 0xffff, user & 0xffff_ffff_ffff);
    let body = format!(
        r#"{{"roomTypeId":{room_type},"checkIn":"{check_in}","checkOut":"{check_out}","clientHoldKey":"{key}"}}"#
    );
    HttpRequest::post("/v1/holds").header("x-user-id", format!("user-{user:016x}")).json(body)
}

/// Real users do not arrive in the order of their names, and filling a table in order would look too fast.
/// The mapping is one to one, so no user comes twice.
fn user(seed: u32, i: u64) -> u64 {
    let mut x = (u64::from(seed) << 34) ^ i;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::user;

    #[test]
    fn users_are_distinct_and_unordered() {
        let all: Vec<u64> = (1..5).flat_map(|seed| (0..50_000).map(move |i| user(seed, i))).collect();
        let distinct: std::collections::HashSet<&u64> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        let rising = all.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((90_000..110_000).contains(&rising), "{rising} of {}", all.len());
    }
}
