//! What is known beside the reason of a refusal: `seat`, `retryAfter`, `field` and so on.

use rules::ids::Seat;
use rules::outcome::{Limit, Refusal};

use super::{Dialect, Refused, Retry};
use crate::http::wire::SoldSeatBody;
use crate::http::wire::refusals::{Facts, Scope};
use crate::http::wire::stays::HoldReservations;

pub fn facts(refused: &Refused, retry: Retry, dialect: Dialect) -> Facts {
    let moment = dialect.moment();
    let known =
        Facts { retry_after: retry.seconds(), sequence: refused.number.map(|number| number.0), ..Facts::default() };
    match &refused.refusal {
        Refusal::Invalid(error) => Facts { field: Some(error.field.clone()), ..known },
        Refusal::AddressSpent { .. } => Facts { scope: Some(Scope::Ip), ..known },
        Refusal::AlreadyAsking { .. } => Facts { scope: Some(Scope::User), ..known },
        Refusal::Duplicate { seat, user_ttl_s } => {
            Facts { seat: named(refused, *seat), user_ttl_remaining: Some(*user_ttl_s), ..known }
        }
        Refusal::AlreadyReserved { seat } => Facts { seat: named(refused, *seat), ..known },
        Refusal::LimitReached { seats, limit } => {
            let (requested, current, limit) = match *limit {
                Limit::Seats { asked, has, most } => (Some(asked), Some(has), Some(most)),
                Limit::Holds { has, most } => (Some(1), Some(has), Some(most)),
                Limit::HoldAge => (None, None, None),
            };
            Facts { seat_ids: ids(seats), requested, current, limit, ..known }
        }
        Refusal::HoldProcessed { confirmed: Some(hold) } => {
            let all = HoldReservations::of(hold, refused.hall.as_deref(), refused.ids.as_deref(), dialect);
            let first = all.first().cloned();
            Facts { reservation: first, reservations: (all.len() > 1).then_some(all), ..known }
        }
        Refusal::NotAvailable { nights, seats } => {
            let nights: Vec<String> = nights.iter().map(|night| night.to_string()).collect();
            Facts { nights: (!nights.is_empty()).then_some(nights), seat_ids: ids(seats), ..known }
        }
        Refusal::RoomsInUse { least } => Facts { least_quantity: Some(*least), ..known },
        Refusal::NotOpen { opens_at, .. } => Facts { opens_at: Some(opens_at.map(moment)), ..known },
        Refusal::SoldOut | Refusal::HeldOut { .. } => Facts { remaining_seats: Some(0), ..known },
        Refusal::NoSuchPath
        | Refusal::WrongMethod { .. }
        | Refusal::TooLarge { .. }
        | Refusal::NotJsonType
        | Refusal::TooSlow
        | Refusal::MissingUser
        | Refusal::Unauthorized
        | Refusal::BadToken(_)
        | Refusal::Forbidden(_)
        | Refusal::NotFound
        | Refusal::HoldNotFound
        | Refusal::NotQueued
        | Refusal::NoWaitingRoom
        | Refusal::RateLimited { .. }
        | Refusal::QueueFull { .. }
        | Refusal::KeyMismatch
        | Refusal::Closed
        | Refusal::HoldExpired
        | Refusal::HoldProcessed { confirmed: None }
        | Refusal::HoldKeyConflict
        | Refusal::EntryRequired
        | Refusal::NotReady { .. }
        | Refusal::HeldLately { .. }
        | Refusal::SeatTaken
        | Refusal::InUse
        | Refusal::StillBuying { .. }
        | Refusal::Contention
        | Refusal::LockTimeout
        | Refusal::Overloaded
        | Refusal::LedgerUnreachable
        | Refusal::DoorUnreachable
        | Refusal::KeysUnreachable
        | Refusal::ServerUnreachable
        | Refusal::AuthModesDiffer
        | Refusal::DoorFailed
        | Refusal::NoNumber
        | Refusal::Internal => known,
    }
}

fn named(refused: &Refused, seat: Seat) -> Option<SoldSeatBody> {
    refused.hall.as_ref().map(|hall| SoldSeatBody::of(hall, seat))
}

fn ids(seats: &[Seat]) -> Option<Vec<u32>> {
    (!seats.is_empty()).then(|| seats.iter().map(|seat| seat.0).collect())
}
