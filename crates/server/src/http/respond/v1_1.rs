//! Dialect 1.1 (seed 001): `{"success":false,"reason":...,"message":...,"traceId":...}` plus facts.

use rules::ids::Seat;
use rules::outcome::{Again, Refusal, Reserved};
use rules::seats::Hall;
use serde_json::{Map, Value, json};

use super::{Refused, message};
use crate::http::wire::stays::HoldReservations;
use crate::http::wire::{self, ReservedBody, SeatBody};

pub fn reserved(reserved: &Reserved, hall: &Hall) -> ReservedBody {
    ReservedBody::of(reserved, hall)
}

pub fn refused(refused: &Refused, trace: &str) -> Value {
    let refusal = &refused.refusal;
    let mut body = Map::new();
    body.insert("success".into(), false.into());
    body.insert("reason".into(), refusal.code().into());
    body.insert("message".into(), message(refusal).into());
    body.insert("traceId".into(), trace.into());
    facts(refused, &mut body);
    Value::Object(body)
}

/// What is known beside the reason. Also the `meta` of 2025-08-17.
pub fn facts(refused: &Refused, body: &mut Map<String, Value>) {
    if let Again::After(seconds) = refused.refusal.again() {
        body.insert("retryAfter".into(), seconds.max(1).into());
    }
    if let Some(number) = refused.number {
        body.insert("sequence".into(), number.0.into());
    }
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
        Refusal::LimitReached { seats } if !seats.is_empty() => {
            body.insert("seatIds".into(), seats.iter().map(|seat| seat.0).collect());
        }
        Refusal::HoldProcessed { confirmed: Some(hold) } => {
            let reservations = HoldReservations::of(hold, refused.hall.as_deref());
            body.insert("reservation".into(), json!(reservations.first()));
            if reservations.len() > 1 {
                body.insert("reservations".into(), json!(reservations));
            }
        }
        Refusal::NotAvailable { nights, seats } => {
            if !nights.is_empty() {
                body.insert("nights".into(), nights.iter().map(|night| night.to_string()).collect());
            }
            if !seats.is_empty() {
                body.insert("seatIds".into(), seats.iter().map(|seat| seat.0).collect());
            }
        }
        Refusal::RoomsInUse { least } => {
            body.insert("leastQuantity".into(), (*least).into());
        }
        Refusal::NotOpen { opens_at, .. } => {
            body.insert("opensAt".into(), json!(opens_at.map(wire::moment)));
        }
        Refusal::SoldOut | Refusal::HeldOut { .. } => {
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
