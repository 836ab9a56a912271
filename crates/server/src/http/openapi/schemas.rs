//! The shapes of bodies. The fuzzer of the suite holds every answer against them.

use rules::event::{EVENT_NAME_CHARS, MAX_PER_USER, SEATS_PER_EVENT};
use rules::hall::{PLACE_NAME_CHARS, ROWS_MOST, SEATS_PER_ROW, SECTIONS_MOST};
use serde_json::{Map, Value, json};

use super::named;
use crate::http::buyer::BUYER_NAME_CHARS;

pub fn all() -> Value {
    let mut all = Map::new();
    for (name, schema) in asked().into_iter().chain(answered()).chain(refused()).chain(old_dialects()) {
        all.insert(name.into(), schema);
    }
    Value::Object(all)
}

/// An object whose fields are all there.
fn object(fields: Value) -> Value {
    let required: Vec<String> = fields.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    json!({ "type": "object", "required": required, "properties": fields })
}

/// An object with these fields and no others.
fn exactly(fields: Value) -> Value {
    let mut schema = object(fields);
    schema["additionalProperties"] = false.into();
    schema
}

fn success(name: &str, fields: Value) -> Value {
    object(json!({ "success": { "const": true }, name: fields }))
}

fn page(name: &str, entry: &str) -> Value {
    let entries = json!({ "type": "array", "items": named(entry) });
    object(json!({ "success": { "const": true }, name: entries, "next": { "type": ["string", "null"] } }))
}

const MOMENT: &str = "An RFC 3339 time in UTC.";

fn asked() -> Vec<(&'static str, Value)> {
    let text =
        |most: usize| json!({ "type": "string", "minLength": 1, "maxLength": most, "pattern": "^[A-Za-z0-9]+$" });
    let phone = json!({ "type": "string", "pattern": "^010-[0-9]{4}-[0-9]{4}$", "description": "E.164, or a usual form of DEFAULT_REGION." });
    let name = json!({ "type": "string", "minLength": 1, "maxLength": BUYER_NAME_CHARS, "pattern": "^[A-Za-z0-9]+$" });
    let seats = json!({ "oneOf": [{ "type": "integer", "minimum": 0, "maximum": SEATS_PER_EVENT }, named("Hall")] });
    let most = json!({ "type": "integer", "minimum": 1, "maximum": MAX_PER_USER });
    let opens = json!({ "type": ["string", "null"], "format": "date-time", "description": MOMENT });
    let row = object(
        json!({ "name": text(PLACE_NAME_CHARS), "seats": { "type": "integer", "minimum": 1, "maximum": SEATS_PER_ROW } }),
    );
    let rows = json!({ "type": "array", "minItems": 1, "maxItems": ROWS_MOST, "items": row });
    let section = object(json!({ "name": text(PLACE_NAME_CHARS), "rows": rows }));
    let sections = json!({ "type": "array", "minItems": 1, "maxItems": SECTIONS_MOST, "items": section });
    let mut buyer = object(json!({ "userName": name, "phone": phone }));
    buyer["description"] = "Dialect 1.0 asks for the phone only; in 2025-08-17 both may be left out.".into();
    vec![
        ("Buyer", buyer),
        ("Hall", object(json!({ "sections": sections }))),
        (
            "NewEvent",
            json!({
                "type": "object",
                "required": ["name", "seats"],
                "properties": { "name": text(EVENT_NAME_CHARS), "seats": seats, "maxPerUser": most, "opensAt": opens },
            }),
        ),
        (
            "Amendment",
            json!({
                "type": "object",
                "properties": { "name": text(EVENT_NAME_CHARS), "maxPerUser": most, "opensAt": opens, "seats": false },
            }),
        ),
    ]
}

fn answered() -> Vec<(&'static str, Value)> {
    let count = json!({ "type": "integer", "minimum": 0 });
    let id = json!({ "type": "integer", "minimum": 1 });
    let text = json!({ "type": "string" });
    let maybe = json!({ "type": ["string", "null"] });
    let moment = json!({ "type": "string", "format": "date-time" });
    let state = json!({ "enum": ["scheduled", "open", "paused", "closed"] });
    let event = json!({
        "id": id, "name": text, "state": state, "opensAt": maybe, "seatCount": count, "remainingSeats": count,
        "waitingRoom": { "type": "boolean" }, "maxPerUser": id,
    });
    let seat = json!({ "id": id, "name": text, "status": { "type": "boolean" }, "state": { "enum": ["free", "held", "sold"] } });
    let reservation = json!({
        "reservationId": text, "eventId": id, "seat": object(json!({ "id": id, "name": text })),
        "createdAt": moment, "state": { "const": "confirmed" },
    });
    let mut admin = reservation.clone();
    for name in ["userId", "userName", "phone"] {
        admin[name] = maybe.clone();
    }
    admin["sequence"] = json!({ "type": ["integer", "null"] });
    let row = object(json!({ "name": text, "firstSeat": id, "seats": count }));
    let rows = json!({ "type": "array", "items": row });
    let section = object(json!({ "name": maybe, "firstSeat": id, "seatCount": count, "rows": rows }));
    let layout = object(json!({ "seatCount": count, "sections": { "type": "array", "items": section } }));
    vec![
        ("Success", object(json!({ "success": { "const": true } }))),
        ("Event", object(event)),
        ("EventAnswer", success("event", named("Event"))),
        ("EventsAnswer", page("events", "Event")),
        ("Seat", object(seat)),
        ("Reservation", object(reservation)),
        ("ReservationAnswer", success("reservation", named("Reservation"))),
        ("ReservationsAnswer", page("reservations", "Reservation")),
        ("AdminReservation", object(admin)),
        ("AdminReservationsAnswer", page("reservations", "AdminReservation")),
        ("LayoutAnswer", success("layout", layout)),
        ("SeatsAnswer", success("seats", json!({ "type": "array", "items": named("Seat") }))),
        ("SeatAnswer", success("seat", named("Seat"))),
        (
            "Reserved",
            object(json!({
                "success": { "const": true },
                "seat": object(json!({ "id": id, "name": text, "status": { "const": true } })),
                "remainingSeats": count,
                "userTtlRemaining": { "type": ["integer", "null"] },
                "sequence": id,
                "reservationId": text,
            })),
        ),
    ]
}

fn refused() -> Vec<(&'static str, Value)> {
    let text = json!({ "type": "string" });
    let mut refusal = object(json!({
        "success": { "const": false }, "reason": text, "message": text, "traceId": text,
    }));
    let seat = object(json!({ "id": { "type": "integer" }, "name": text, "status": { "type": "boolean" } }));
    for (name, schema) in [
        ("field", json!({ "type": "string", "description": "What is wrong, by its path." })),
        ("retryAfter", json!({ "type": "integer", "minimum": 1 })),
        ("sequence", json!({ "type": "integer" })),
        ("scope", json!({ "enum": ["user", "ip"] })),
        ("seat", seat),
        ("seatIds", json!({ "type": "array", "items": { "type": "integer" } })),
        ("userTtlRemaining", json!({ "type": ["integer", "null"] })),
        ("opensAt", json!({ "type": ["string", "null"] })),
        ("remainingSeats", json!({ "type": "integer" })),
    ] {
        refusal["properties"][name] = schema;
    }
    vec![("Refusal", refusal)]
}

fn old_dialects() -> Vec<(&'static str, Value)> {
    let id = json!({ "type": "integer", "minimum": 1 });
    let text = json!({ "type": "string" });
    let no = json!({ "const": false });
    let bare = exactly(json!({ "id": id, "status": { "type": "boolean" } }));
    let words = exactly(json!({ "success": no, "reason": text }));
    let taken = exactly(json!({ "success": no, "reason": { "const": "already reserved" }, "seat": id }));
    let error = exactly(json!({ "success": no, "error": text }));
    let four = exactly(json!({
        "success": { "type": "boolean" },
        "seat_id": { "type": ["integer", "null"] },
        "reserved_by": { "type": ["string", "null"] },
        "reason": { "enum": [null, "sold_out", "already_reserved", "contention"] },
    }));
    let envelope = exactly(json!({ "code": text, "message": text, "trace_id": text, "meta": { "type": "object" } }));
    let any = |schemas: &[&str]| json!({ "anyOf": schemas.iter().map(|name| named(name)).collect::<Vec<_>>() });
    vec![
        ("Seat10", bare),
        ("Seats10", json!({ "type": "array", "items": named("Seat10") })),
        ("Reserved10", exactly(json!({ "success": { "const": true }, "seat": id }))),
        ("Refusal10", json!({ "anyOf": [words, taken, error] })),
        ("Reserved20250817", four),
        ("Refusal20250817", exactly(json!({ "error": envelope }))),
        ("SeatInAnyDialect", any(&["SeatAnswer", "Seat10"])),
        ("SeatsInAnyDialect", any(&["SeatsAnswer", "Seats10"])),
        ("ReservedInAnyDialect", any(&["Reserved", "Reserved10", "Refusal10", "Reserved20250817"])),
        ("RefusalInAnyDialect", any(&["Refusal", "Refusal10", "Refusal20250817"])),
    ]
}
