//! Dialect 1.1: `{"success":false,"reason":...,"message":...,"traceId":...}` plus facts.

use rules::ids::Seat;
use rules::outcome::{Again, Refusal};
use serde_json::{Map, Value, json};

use super::{Refused, message};
use crate::http::wire::{self, SeatBody};

pub fn refused(refused: &Refused, trace: &str) -> Value {
    let refusal = &refused.refusal;
    let mut body = Map::new();
    body.insert("success".into(), false.into());
    body.insert("reason".into(), refusal.code().into());
    body.insert("message".into(), message(refusal).into());
    body.insert("traceId".into(), trace.into());
    if let Again::After(seconds) = refusal.again() {
        body.insert("retryAfter".into(), seconds.max(1).into());
    }
    if let Some(number) = refused.number {
        body.insert("sequence".into(), number.0.into());
    }
    facts(refused, &mut body);
    Value::Object(body)
}

fn facts(refused: &Refused, body: &mut Map<String, Value>) {
    match &refused.refusal {
        Refusal::Invalid(fault) => {
            body.insert("field".into(), fault.field.clone().into());
        }
        Refusal::AddressSpent { .. } => {
            body.insert("scope".into(), "ip".into());
        }
        Refusal::AlreadyAsking { .. } => {
            body.insert("scope".into(), "user".into());
        }
        Refusal::Duplicate { seat, user_ttl_s } => {
            insert_seat(refused, *seat, body);
            body.insert("userTtlRemaining".into(), json!(user_ttl_s));
        }
        Refusal::AlreadyReserved { seat } => insert_seat(refused, *seat, body),
        Refusal::NotOpen { opens_at, .. } => {
            body.insert("opensAt".into(), json!(opens_at.map(wire::moment)));
        }
        Refusal::SoldOut => {
            body.insert("remainingSeats".into(), 0.into());
        }
        _ => {}
    }
}

fn insert_seat(refused: &Refused, seat: Seat, body: &mut Map<String, Value>) {
    if let Some(hall) = &refused.hall {
        body.insert("seat".into(), json!(SeatBody::sold(hall, seat)));
    }
}
