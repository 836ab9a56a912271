//! Ids. The id of a reservation contains its event, so any id names its subject.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(pub i64);

/// The event of the short paths.
pub const FIRST_EVENT: EventId = EventId(1);

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A seat of an event, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seat(pub u32);

/// The user who makes a request. At most 128 printable characters, validated when it is received.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User(Arc<str>);

pub const USER_CHARS: usize = 128;

impl User {
    /// `None` unless 1 to 128 printable characters that neither begin nor end with a space.
    pub fn new(text: &str) -> Option<User> {
        printable(text, USER_CHARS).then(|| User(text.into()))
    }

    /// A user read from the ledger, validated when it was received.
    pub fn stored(text: &str) -> User {
        User(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// 1 to `most` characters, none of them a control character, no space at either end.
pub fn printable(text: &str, most: usize) -> bool {
    // The byte length bounds the character count, so a short text needs no counting.
    !text.is_empty()
        && (text.len() <= most || text.chars().count() <= most)
        && text.trim().len() == text.len()
        && !text.chars().any(unprintable)
}

/// Control characters, line and paragraph separators, and marks that reorder the text around them.
fn unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// The order of arrival: `generation * 1,000,000,000 + counter`. A new generation begins whenever the counter may have
/// been lost, so a number is never assigned twice and never decreases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number(pub u64);

pub const NUMBERS_PER_GENERATION: u64 = 1_000_000_000;

/// Drawn places have numbers from here on. Lower numbers are arrival numbers, including those of users who joined the
/// line before a draw was announced.
pub const DRAWN_FROM: u64 = 1_000_000_000_000_000;

/// The offset of a user who joins an event with a draw without taking part in the draw: it is added to their arrival
/// number. All numbers stay below 2^53, so that a sorted set in Redis and JavaScript represent them exactly.
pub const BEHIND_THE_DRAWN: u64 = 6_000_000_000_000_000;

/// The number of possible drawn places is 2^52.
pub const DRAW_BITS: u32 = 52;
const _: () = assert!(DRAWN_FROM + (1 << DRAW_BITS) <= BEHIND_THE_DRAWN);

impl Number {
    pub fn is_drawn(self) -> bool {
        (DRAWN_FROM..BEHIND_THE_DRAWN).contains(&self.0)
    }

    /// The place for the drawn value.
    pub fn drawn(draw: u64) -> Number {
        Number(DRAWN_FROM + (draw & ((1 << DRAW_BITS) - 1)))
    }
}

/// Names one request in flight, so that only this request can remove its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestName(pub u128);

impl RequestName {
    /// 32 hexadecimal digits. Every request formats one, and `{:032x}` takes a thousand instructions.
    pub fn hex(self) -> [u8; 32] {
        let mut digits = [b'0'; 32];
        // Cannot fail: there are two digits for each of the sixteen bytes.
        let _ = hex::encode_to_slice(self.0.to_be_bytes(), &mut digits);
        digits
    }
}

/// The address whose budget a request uses: IPv4 whole, IPv6 by /64, because one household has a whole /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientAddress {
    V4([u8; 4]),
    V6([u8; 8]),
}

impl From<IpAddr> for ClientAddress {
    fn from(ip: IpAddr) -> ClientAddress {
        match ip.to_canonical() {
            IpAddr::V4(v4) => ClientAddress::V4(v4.octets()),
            IpAddr::V6(v6) => {
                let o = v6.octets();
                ClientAddress::V6([o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7]])
            }
        }
    }
}

/// Names a reservation by its event and the history number of its sale: `e1-42`. It is found by two key lookups,
/// without an index of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReservationId {
    pub event: EventId,
    pub n: u64,
}

impl fmt::Display for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{}-{}", self.event, self.n)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct NotAnId;

impl FromStr for ReservationId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (event, n) = text.strip_prefix('e').and_then(|t| t.split_once('-')).ok_or(NotAnId)?;
        let event = whole(event).and_then(|e| i64::try_from(e).ok()).ok_or(NotAnId)?;
        let n = whole(n).filter(|n| i64::try_from(*n).is_ok()).ok_or(NotAnId)?;
        Ok(ReservationId { event: EventId(event), n })
    }
}

/// A whole number in canonical form: digits only, no sign, no leading zero.
pub fn whole(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// The same, for the id of a row.
pub fn whole_id(text: &str) -> Option<i64> {
    whole(text).and_then(|id| i64::try_from(id).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_names_are_lower_case_hex() {
        for name in [0, 1, 0xfedc_ba98_7654_3210_0123_4567_89ab_cdef, u128::MAX] {
            assert_eq!(RequestName(name).hex(), *format!("{name:032x}").as_bytes());
        }
    }

    #[test]
    fn reservation_ids_have_one_spelling() {
        let id = ReservationId { event: EventId(7), n: 42 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in
            ["", "e", "e7", "e7-", "e-1", "e07-1", "e7-042", "e7-+1", "7-42", "e7-42 ", "e99999999999999999999-1"]
        {
            assert_eq!(bad.parse::<ReservationId>(), Err(NotAnId), "{bad}");
        }
    }

    #[test]
    fn users_are_printable() {
        assert!(User::new("user-123").is_some());
        assert!(User::new("김철수").is_some());
        assert!(User::new(&"가".repeat(128)).is_some());
        let long = "x".repeat(129);
        for bad in ["", " a", "a ", "a\nb", "a\u{0}", "a\u{202e}b", long.as_str()] {
            assert!(User::new(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn ipv6_counts_by_64() {
        let a: IpAddr = "2001:db8::1".parse().unwrap();
        let b: IpAddr = "2001:db8::ffff:2".parse().unwrap();
        let c: IpAddr = "2001:db8:0:1::1".parse().unwrap();
        assert_eq!(ClientAddress::from(a), ClientAddress::from(b));
        assert_ne!(ClientAddress::from(a), ClientAddress::from(c));
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
        assert_eq!(ClientAddress::from(mapped), ClientAddress::V4([10, 0, 0, 1]));
    }
}
