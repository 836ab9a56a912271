//! One refusal of every kind, in order of precedence: what documents and snapshots are made from.

use super::{FieldError, Forbidden, Problem, Refusal};
use crate::holds::{Hold, HoldState, On};
use crate::ids::{Seat, User};
use crate::nights::{Dates, Night};
use crate::subject::{HoldId, RoomTypeId, SubjectId};
use crate::time::Moment;

impl Refusal {
    /// One of each kind, and of kinds that are worded in several ways, one of each way.
    pub fn samples() -> Vec<Refusal> {
        let opening = Moment(1_798_135_200_000);
        vec![
            Refusal::NoSuchPath,
            Refusal::WrongMethod { allow: "GET" },
            Refusal::TooLarge { limit_bytes: 16_384 },
            Refusal::NotJsonType,
            Refusal::TooSlow,
            FieldError::refused("phone", Problem::NotAPhone),
            Refusal::MissingUser,
            Refusal::Unauthorized,
            Refusal::Forbidden(Forbidden::Anothers),
            Refusal::Forbidden(Forbidden::AnothersHold),
            Refusal::Forbidden(Forbidden::Ticket),
            Refusal::Forbidden(Forbidden::UnknownProxy),
            Refusal::NotFound,
            Refusal::HoldNotFound,
            Refusal::NotQueued,
            Refusal::NoWaitingRoom,
            Refusal::RateLimited { retry_after: 2 },
            Refusal::AddressSpent { retry_after: 4 },
            Refusal::AlreadyAsking { retry_after: 1 },
            Refusal::KeyMismatch,
            Refusal::NotOpen { opens_at: Some(opening), retry_after: Some(60) },
            Refusal::NotOpen { opens_at: None, retry_after: Some(5) },
            Refusal::Closed,
            Refusal::HoldExpired,
            Refusal::HoldProcessed { confirmed: Some(Box::new(confirmed(opening))) },
            Refusal::HoldProcessed { confirmed: None },
            Refusal::HoldKeyConflict,
            Refusal::Duplicate { seat: Seat(3), user_ttl_s: Some(870) },
            Refusal::Duplicate { seat: Seat(3), user_ttl_s: None },
            Refusal::AlreadyReserved { seat: Seat(3) },
            Refusal::LimitReached { seats: vec![Seat(2), Seat(3)] },
            Refusal::EntryRequired,
            Refusal::NotReady { retry_after: 3 },
            Refusal::SeatTaken,
            Refusal::SoldOut,
            Refusal::HeldOut { retry_after: 42 },
            Refusal::NotAvailable { nights: vec![Night(20_811)], seats: vec![] },
            Refusal::NotAvailable { nights: vec![], seats: vec![Seat(4)] },
            Refusal::InUse,
            Refusal::RoomsInUse { least: 3 },
            Refusal::Contention,
            Refusal::LockTimeout,
            Refusal::Overloaded,
            Refusal::LedgerUnreachable,
            Refusal::DoorUnreachable,
            Refusal::ServerUnreachable,
            Refusal::DoorFailed,
            Refusal::NoNumber,
            Refusal::Internal,
        ]
    }
}

/// Two nights that somebody paid for.
fn confirmed(at: Moment) -> Hold {
    Hold {
        id: HoldId { subject: SubjectId::RoomType(RoomTypeId(7)), n: 12 },
        owner: User::stored("alice"),
        key: "01ARZ3NDEKTSV4RRFFQ69G5FAV".into(),
        on: On::Nights(Dates { check_in: Night(20_811), check_out: Night(20_813) }),
        first_at: at,
        at,
        ends_at: at.plus_ms(600_000),
        state: HoldState::Confirmed,
        ended_at: Some(at.plus_ms(60_000)),
        reserved: vec![13],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variants as the enum's own text lists them: a new one without a sample fails here.
    #[test]
    fn every_kind_has_a_sample() {
        let text = include_str!("../outcome.rs");
        let body = text.split("pub enum Refusal {").nth(1).and_then(|t| t.split("\n}").next()).unwrap();
        let named = body.lines().filter_map(|line| line.strip_prefix("    "));
        let kinds: Vec<&str> = named
            .filter(|line| line.starts_with(char::is_uppercase))
            .map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default())
            .collect();
        let mut sampled: Vec<String> = Refusal::samples().iter().map(|r| format!("{r:?}")).collect();
        sampled.iter_mut().for_each(|name| name.truncate(name.find([' ', '(']).unwrap_or(name.len())));
        sampled.dedup();
        assert_eq!(sampled, kinds, "one sample per kind, in the order of the enum");
    }
}
