//! Dialect 2025-08-17 (seed 000): four fields that are always there for a reservation; every other
//! refusal is `{"error":{"code","message","trace_id","meta"}}`.

use rules::ids::Seat;
use rules::outcome::Reserved;

use super::facts::facts;
use super::{Caller, Card, Dialect, Refused, Reply, Seeds};
use crate::http::wire::seeds::{Envelope, EnvelopeError, Four, FourReason};

pub fn reserved<'a>(reserved: &Reserved, caller: &'a Caller) -> Four<'a> {
    Four { success: true, seat_id: Some(reserved.seat.0), reserved_by: caller.0.as_deref(), reason: None }
}

pub fn refused(refused: &Refused, card: Card, trace: &str) -> Reply {
    match refused.caller.as_ref().and_then(|caller| without_seat(caller, card.seeds)) {
        Some(four) => Reply::ok(&four),
        None => Reply::json(card.status, &envelope(refused, card, trace)),
    }
}

/// The body of a refusal that a request for a seat gets with 200.
fn without_seat(caller: &Caller, seeds: Seeds) -> Option<Four<'_>> {
    let four = |seat: Option<Seat>, reserved_by, reason| Four {
        success: false,
        seat_id: seat.map(|seat| seat.0),
        reserved_by,
        reason: Some(reason),
    };
    let caller = caller.0.as_deref();
    match seeds {
        Seeds::SoldOut => Some(four(None, None, FourReason::SoldOut)),
        Seeds::NoSeat => Some(four(None, caller, FourReason::Contention)),
        Seeds::Already(seat) => Some(four(seat, caller, FourReason::AlreadyReserved)),
        Seeds::Code | Seeds::CodeWith(_) | Seeds::BadRequest | Seeds::InternalError | Seeds::DuplicateRequest => None,
    }
}

fn envelope<'a>(refused: &Refused, card: Card, trace: &'a str) -> Envelope<'a> {
    let meta = facts(refused, card.retry, Dialect::V2025_08_17);
    let (code, message) = match card.seeds {
        Seeds::CodeWith(message) => (card.code, message.into()),
        Seeds::BadRequest => ("validation_failed", card.message.en),
        Seeds::Code
        | Seeds::InternalError
        | Seeds::DuplicateRequest
        | Seeds::SoldOut
        | Seeds::NoSeat
        | Seeds::Already(_) => (card.code, card.message.en),
    };
    Envelope { error: EnvelopeError { code, message, trace_id: trace, meta } }
}
