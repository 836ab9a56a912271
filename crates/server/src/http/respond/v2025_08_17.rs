//! Dialect 2025-08-17 (seed 000): four fields that are always there for a reservation; every other
//! refusal is `{"error":{"code","message","trace_id","meta"}}`.

use rules::ids::Seat;
use rules::outcome::{Refusal, Reserved};
use salvo::http::StatusCode;
use serde_json::{Map, Value, json};

use super::status::status;
use super::{Caller, Refused, message, v1_1};

pub fn reserved(reserved: &Reserved, caller: &Caller) -> Value {
    four(true, Some(reserved.seat), caller, None)
}

pub fn refused(refused: &Refused, trace: &str) -> (StatusCode, Value) {
    let refusal = &refused.refusal;
    let nobody = Caller(None);
    let answered = |seat, caller, reason| (StatusCode::OK, four(false, seat, caller, Some(reason)));
    match (refusal, &refused.caller) {
        (Refusal::SoldOut, Some(_)) => answered(None, &nobody, "sold_out"),
        (Refusal::HeldOut { .. } | Refusal::Contention, Some(caller)) => answered(None, caller, "contention"),
        (Refusal::Duplicate { seat, .. } | Refusal::AlreadyReserved { seat }, Some(caller)) => {
            answered(Some(*seat), caller, "already_reserved")
        }
        (Refusal::LimitReached { seats }, Some(caller)) => answered(seats.last().copied(), caller, "already_reserved"),
        _ => (status(refusal), envelope(refused, code(refusal), trace)),
    }
}

/// The code in the error envelope.
fn code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Invalid(_) | Refusal::MissingUser => "validation_failed",
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
        | Refusal::AddressSpent { .. }
        | Refusal::AlreadyAsking { .. }
        | Refusal::KeyMismatch
        | Refusal::NotOpen { .. }
        | Refusal::Closed
        | Refusal::HoldExpired
        | Refusal::HoldProcessed { .. }
        | Refusal::HoldKeyConflict
        | Refusal::Duplicate { .. }
        | Refusal::AlreadyReserved { .. }
        | Refusal::LimitReached { .. }
        | Refusal::EntryRequired
        | Refusal::NotReady { .. }
        | Refusal::SeatTaken
        | Refusal::SoldOut
        | Refusal::HeldOut { .. }
        | Refusal::NotAvailable { .. }
        | Refusal::InUse
        | Refusal::RoomsInUse { .. }
        | Refusal::LockTimeout
        | Refusal::Contention
        | Refusal::Overloaded
        | Refusal::LedgerUnreachable
        | Refusal::DoorUnreachable
        | Refusal::ServerUnreachable
        | Refusal::DoorFailed
        | Refusal::NoNumber
        | Refusal::Internal => refusal.code(),
    }
}

fn four(success: bool, seat: Option<Seat>, caller: &Caller, reason: Option<&str>) -> Value {
    json!({ "success": success, "seat_id": seat.map(|seat| seat.0), "reserved_by": caller.0, "reason": reason })
}

fn envelope(refused: &Refused, code: &str, trace: &str) -> Value {
    let mut meta = Map::new();
    v1_1::facts(refused, &mut meta);
    json!({
        "error": { "code": code, "message": message(&refused.refusal), "trace_id": trace, "meta": meta }
    })
}
