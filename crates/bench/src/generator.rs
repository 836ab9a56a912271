//! The load: the same for everybody, from a process and a thread of its own.

mod closed;
mod open;

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use rules::nights::Night;

use crate::figures::Figures;
use crate::product::{FIRST_DAY, LAST_DAY};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Load {
    /// Connections are spread over these.
    pub targets: Vec<SocketAddr>,
    pub connections: usize,
    /// Not counted.
    pub warm: Duration,
    pub time: Duration,
    /// Arrivals per second that do not wait for answers. None: everybody asks again when answered.
    pub rate: Option<f64>,
    /// The status that counts.
    pub good: u16,
    /// Another one, other users.
    pub seed: u32,
    pub sale: Sale,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Sale {
    Path(String),
    /// Events of so many seats, one after the other, each asked for as often as it has seats.
    Events {
        first: i64,
        seats: u64,
    },
    /// Holds of one to four nights in so many room types.
    Holds {
        first: i64,
        types: u64,
    },
    /// The same, each followed by this: only what follows counts.
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
    /// Loads until the time is over. Loopback only.
    pub fn run(&self) -> Figures {
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

/// Makes one request after another, each of another user.
struct Requests<'a> {
    load: &'a Load,
    made: Cell<u64>,
}

impl<'a> Requests<'a> {
    fn new(load: &'a Load) -> Requests<'a> {
        Requests { load, made: Cell::new(0) }
    }

    fn next(&self) -> Vec<u8> {
        const BODY: &str = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;
        let i = self.made.replace(self.made.get() + 1);
        let user = user(self.load.seed, i);
        match &self.load.sale {
            Sale::Holds { first, types } | Sale::HoldsThen { first, types, .. } => {
                return hold(user, first + (user % types) as i64);
            }
            Sale::Get(path) => return format!("GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n").into_bytes(),
            Sale::Path(_) | Sale::Events { .. } => {}
        }
        let rest = format!(
            "HTTP/1.1\r\nHost: bench\r\nX-User-Id: user-{user:016x}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
            BODY.len()
        );
        match &self.load.sale {
            Sale::Path(path) => format!("POST {path} {rest}"),
            Sale::Events { first, seats } => {
                format!("POST /api/v1/events/{}/seats/reservation/fcfs {rest}", first + (i / seats) as i64)
            }
            Sale::Holds { .. } | Sale::HoldsThen { .. } | Sale::Get(_) => String::new(),
        }
        .into_bytes()
    }

    /// What comes after this answer, if something does.
    fn then(&self, status: u16, body: &[u8]) -> Option<Vec<u8>> {
        let Sale::HoldsThen { then, .. } = &self.load.sale else { return None };
        let body: serde_json::Value = serde_json::from_slice(body).ok().filter(|_| status == 201)?;
        let (id, user) = (body["hold"]["holdId"].as_str()?, body["hold"]["userId"].as_str()?);
        let first = match then {
            Then::Confirm => format!("POST /v1/holds/{id}/confirm"),
            Then::Cancel => format!("DELETE /v1/holds/{id}"),
        };
        let rest = format!("HTTP/1.1\r\nHost: bench\r\nX-User-Id: {user}\r\nContent-Length: 0\r\n\r\n");
        Some(format!("{first} {rest}").into_bytes())
    }
}

/// One to four nights somewhere in the calendar.
fn hold(user: u64, room_type: i64) -> Vec<u8> {
    let from = FIRST_DAY + ((user >> 8) % (LAST_DAY - FIRST_DAY - 4) as u64) as i32;
    let (check_in, check_out) = (Night(from), Night(from + 1 + (user >> 40) as i32 % 4));
    let key = format!("{:08x}-{:04x}-4000-8000-{:012x}", user >> 32, user >> 16 & 0xffff, user & 0xffff_ffff_ffff);
    let body = format!(
        r#"{{"roomTypeId":{room_type},"checkIn":"{check_in}","checkOut":"{check_out}","clientHoldKey":"{key}"}}"#
    );
    format!(
        "POST /v1/holds HTTP/1.1\r\nHost: bench\r\nX-User-Id: user-{user:016x}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Real users do not come in the order of their names; a table that is filled in order flatters.
/// One to one, so nobody comes twice.
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
    fn users_are_different_and_in_no_order() {
        let all: Vec<u64> = (1..5).flat_map(|seed| (0..50_000).map(move |i| user(seed, i))).collect();
        let distinct: std::collections::HashSet<&u64> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        let rising = all.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((90_000..110_000).contains(&rising), "{rising} of {}", all.len());
    }
}
