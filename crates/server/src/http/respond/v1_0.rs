//! Dialect 1.0 (seed 002): a reservation that could not be made is still 200, in words. Where it
//! has no body of its own: `{"success":false,"reason":"<code with spaces>"}`.

use rules::ids::Seat;
use rules::outcome::{Refusal, Reserved};
use salvo::http::StatusCode;
use serde_json::{Value, json};

use super::Refused;
use super::status::status;

pub fn reserved(reserved: &Reserved) -> Value {
    json!({ "success": true, "seat": reserved.seat.0 })
}

pub fn refused(refused: &Refused) -> (StatusCode, Value) {
    let refusal = &refused.refusal;
    // Only who asked for a seat gets these as an answer; elsewhere they are refusals like others.
    let answer = if refused.caller.is_some() { StatusCode::OK } else { status(refusal) };
    match refusal {
        Refusal::SoldOut => (answer, words("sold out")),
        Refusal::HeldOut { .. } | Refusal::Contention => (answer, words("no seat available")),
        Refusal::Duplicate { seat, .. } | Refusal::AlreadyReserved { seat } => (answer, already(Some(*seat))),
        Refusal::LimitReached { seats } => (answer, already(seats.last().copied())),
        Refusal::AddressSpent { .. } | Refusal::AlreadyAsking { .. } => (status(refusal), words("duplicate request")),
        Refusal::Invalid(_) | Refusal::MissingUser => (status(refusal), error("bad request")),
        Refusal::Internal => (status(refusal), error("internal error")),
        Refusal::NoSuchPath
        | Refusal::WrongMethod { .. }
        | Refusal::TooLarge { .. }
        | Refusal::NotJsonType
        | Refusal::TooSlow
        | Refusal::Unauthorized
        | Refusal::Forbidden(_)
        | Refusal::NotFound
        | Refusal::HoldNotFound
        | Refusal::NotQueued
        | Refusal::NoWaitingRoom
        | Refusal::RateLimited { .. }
        | Refusal::KeyMismatch
        | Refusal::NotOpen { .. }
        | Refusal::Closed
        | Refusal::HoldExpired
        | Refusal::HoldProcessed { .. }
        | Refusal::HoldKeyConflict
        | Refusal::EntryRequired
        | Refusal::NotReady { .. }
        | Refusal::SeatTaken
        | Refusal::NotAvailable { .. }
        | Refusal::InUse
        | Refusal::RoomsInUse { .. }
        | Refusal::LockTimeout
        | Refusal::Overloaded
        | Refusal::LedgerUnreachable
        | Refusal::DoorUnreachable
        | Refusal::ServerUnreachable
        | Refusal::DoorFailed
        | Refusal::NoNumber => (status(refusal), words(&refusal.code().replace('_', " "))),
    }
}

fn words(reason: &str) -> Value {
    json!({ "success": false, "reason": reason })
}

fn error(error: &str) -> Value {
    json!({ "success": false, "error": error })
}

fn already(seat: Option<Seat>) -> Value {
    match seat {
        Some(seat) => json!({ "success": false, "reason": "already reserved", "seat": seat.0 }),
        None => words("already reserved"),
    }
}
