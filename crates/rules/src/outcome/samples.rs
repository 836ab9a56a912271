//! One refusal of every kind, in order of precedence. Documents and snapshots are made from them.

use super::{Expected, FieldError, Forbidden, Limit, Problem, Refusal, TokenProblem};
use crate::holds::{Hold, HoldState, On};
use crate::ids::{Seat, User};
use crate::nights::{Dates, Night};
use crate::subject::{HoldId, RoomTypeId, SubjectId};
use crate::time::Moment;

impl Refusal {
    /// One of each kind; where the words depend on the facts, one for each wording.
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
            Refusal::BadToken(TokenProblem::Expired),
            Refusal::BadToken(TokenProblem::Signature),
            Refusal::Forbidden(Forbidden::NotTheTokens),
            Refusal::Forbidden(Forbidden::Role),
            Refusal::Forbidden(Forbidden::Anothers),
            Refusal::Forbidden(Forbidden::AnothersHold),
            Refusal::Forbidden(Forbidden::Ticket),
            Refusal::Forbidden(Forbidden::UnknownProxy),
            Refusal::Forbidden(Forbidden::UnknownHost),
            Refusal::NotFound,
            Refusal::HoldNotFound,
            Refusal::NotQueued,
            Refusal::NoWaitingRoom,
            Refusal::RateLimited { retry_after: 2 },
            Refusal::AddressSpent { retry_after: 4 },
            Refusal::AlreadyAsking { retry_after: 1 },
            Refusal::QueueFull { retry_after: 30 },
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
            Refusal::LimitReached { seats: vec![Seat(2), Seat(3)], limit: Limit::Seats { asked: 1, has: 2, most: 2 } },
            Refusal::LimitReached { seats: vec![], limit: Limit::Seats { asked: 2, has: 0, most: 1 } },
            Refusal::LimitReached { seats: vec![], limit: Limit::Holds { has: 5, most: 5 } },
            Refusal::LimitReached { seats: vec![], limit: Limit::HoldAge },
            Refusal::EntryRequired,
            Refusal::NotReady { retry_after: 3 },
            Refusal::HeldLately { retry_after: 20 },
            Refusal::SeatTaken,
            Refusal::SoldOut,
            Refusal::HeldOut { retry_after: 42 },
            Refusal::NotAvailable { nights: vec![Night(20_811)], seats: vec![] },
            Refusal::NotAvailable { nights: vec![], seats: vec![Seat(4)] },
            Refusal::InUse,
            Refusal::StillBuying { held: 2, inside: 3 },
            Refusal::RoomsInUse { least: 3 },
            Refusal::Contention,
            Refusal::LockTimeout,
            Refusal::Overloaded,
            Refusal::LedgerUnreachable,
            Refusal::DoorUnreachable,
            Refusal::KeysUnreachable,
            Refusal::ServerUnreachable,
            Refusal::AuthModesDiffer,
            Refusal::DoorFailed,
            Refusal::NoNumber,
            Refusal::Internal,
        ]
    }
}

impl Problem {
    /// One of each kind, and one for each thing that may be expected.
    pub fn samples() -> Vec<Problem> {
        let mut samples = vec![
            Problem::Missing,
            Problem::Repeated,
            Problem::NotUtf8,
            Problem::NotJson { line: 1, column: 9 },
            Problem::Length { most: 100 },
            Problem::Count { least: 1, most: 10 },
            Problem::Size { most_bytes: 2_048 },
            Problem::Unprintable,
            Problem::OutOfRange { least: 1, most: 1_000 },
            Problem::NotAPhone,
            Problem::NotAnEmail,
            Problem::NotAMoment,
            Problem::NotADate,
            Problem::Dates { least: Night(20_811), most: Night(20_813) },
            Problem::OneOf(&["1.1", "1.0"]),
            Problem::Unknown { nearest: Some("maxPerUser") },
            Problem::Unknown { nearest: None },
        ];
        samples.extend(Expected::ALL.map(Problem::Expected));
        samples
    }
}

/// Two nights that were paid for.
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
        metadata: None,
        reason: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variants in the order in which the source lists them.
    fn variants(of: &str) -> Vec<&'static str> {
        let text = include_str!("../outcome.rs");
        let body = text.split(&format!("pub enum {of} {{")).nth(1).and_then(|t| t.split("\n}").next()).unwrap();
        let named = body.lines().filter_map(|line| line.strip_prefix("    "));
        named
            .filter(|line| line.starts_with(char::is_uppercase))
            .map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default())
            .collect()
    }

    fn kinds<T: std::fmt::Debug>(samples: &[T]) -> Vec<String> {
        let mut kinds: Vec<String> = samples.iter().map(|sample| format!("{sample:?}")).collect();
        kinds.iter_mut().for_each(|name| name.truncate(name.find([' ', '(']).unwrap_or(name.len())));
        kinds.dedup();
        kinds
    }

    #[test]
    fn every_refusal_has_a_sample_in_order_of_precedence() {
        assert_eq!(kinds(&Refusal::samples()), variants("Refusal"));
    }

    #[test]
    fn every_problem_has_a_sample() {
        assert_eq!(kinds(&Expected::ALL), variants("Expected"));
        let (mut sampled, mut all) = (kinds(&Problem::samples()), variants("Problem"));
        sampled.sort_unstable();
        all.sort_unstable();
        assert_eq!(sampled, all);
    }
}
