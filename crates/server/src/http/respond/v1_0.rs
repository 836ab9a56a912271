//! Dialect 1.0 (seed 002): a reservation that could not be made is still 200, in words. Where it
//! has no body of its own: `{"success":false,"reason":"<code with spaces>"}`.

use std::borrow::Cow;

use rules::outcome::Reserved;
use salvo::http::StatusCode;

use super::{Card, Refused, Reply, Seeds};
use crate::http::wire::seeds::{Already10, Error10, Reason10, Refusal10, Reserved10};
use crate::http::wire::{Failed, Succeeded};

pub fn reserved(reserved: &Reserved) -> Reserved10 {
    Reserved10 { success: Succeeded, seat: reserved.seat.0 }
}

pub fn refused(refused: &Refused, card: &Card) -> Reply {
    // Only requests for a seat get these with 200; elsewhere they are ordinary refusals.
    let answer = if refused.caller.is_some() { StatusCode::OK } else { card.status };
    let (status, body) = match card.seeds {
        Seeds::SoldOut => (answer, reason("sold out")),
        Seeds::NoSeat => (answer, reason("no seat available")),
        Seeds::Already(Some(seat)) => {
            let body = Already10 { success: Failed, reason: Already10::REASON, seat: seat.0 };
            (answer, Refusal10::Already(body))
        }
        Seeds::Already(None) => (answer, reason(Already10::REASON)),
        Seeds::DuplicateRequest => (card.status, reason("duplicate request")),
        Seeds::BadRequest => (card.status, error("bad request")),
        Seeds::InternalError => (card.status, error("internal error")),
        Seeds::Code | Seeds::CodeWith(_) => (card.status, reason(card.code.replace('_', " "))),
    };
    Reply::json(status, &body)
}

fn reason(reason: impl Into<Cow<'static, str>>) -> Refusal10 {
    Refusal10::Reason(Reason10 { success: Failed, reason: reason.into() })
}

fn error(error: &'static str) -> Refusal10 {
    Refusal10::Error(Error10 { success: Failed, error })
}
