//! The shapes of bodies. The fuzzer of the suite holds every answer against them.

mod rooms;

use rules::entries::{IDLE_TIMEOUT_S, INSIDE_MOST, TOKEN_MAX_AGE_S, TOKEN_TTL_S};
use rules::event::{EVENT_NAME_CHARS, HOLD_TTL_MOST_S, MAX_PER_USER, SEATS_PER_EVENT};
use rules::hall::{PLACE_NAME_CHARS, ROWS_MOST, SEATS_PER_ROW, SECTIONS_MOST};
use serde_json::{Map, Value, json};

use super::named;
use crate::http::resources::reservations::buyer::BUYER_NAME_CHARS;

pub fn all() -> Value {
    let mut all = Map::new();
    for (name, schema) in asked()
        .into_iter()
        .chain(lines())
        .chain(rooms::asked())
        .chain(buyers())
        .chain(answered())
        .chain(rooms::answered())
        .chain(refused())
        .chain(old_dialects())
    {
        all.insert(name.into(), schema);
    }
    Value::Object(all)
}

/// What to try first; also the way by which the fuzzer reaches a sale.
pub fn example(schema: &str) -> Option<Value> {
    match schema {
        "BuyerInAnyDialect" => Some(json!({ "userName": "Alice", "phone": "010-1234-5678" })),
        "NewEvent" => {
            let rows = json!([{ "name": "A", "seats": 20 }, { "name": "B", "seats": 24 }]);
            Some(json!({ "name": "Gala", "seats": { "sections": [{ "name": "1층", "rows": rows }] } }))
        }
        "Amendment" => Some(json!({ "maxPerUser": 4 })),
        other => rooms::example(other),
    }
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

/// Printable: what that means beyond the length is said in words, a pattern would refuse more.
fn text(most: usize) -> Value {
    let about = "Printable characters of any script; no control characters.";
    json!({ "type": "string", "minLength": 1, "maxLength": most, "description": about })
}

/// Null and absent are the same.
fn maybe(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"].clone(), "null"]);
    schema
}

fn asked() -> Vec<(&'static str, Value)> {
    let count = |least: u32, most: u32| json!({ "type": "integer", "minimum": least, "maximum": most });
    let seats = json!({ "oneOf": [count(0, SEATS_PER_EVENT), named("Hall")] });
    let most = maybe(count(1, MAX_PER_USER));
    let opens = json!({ "type": ["string", "null"], "format": "date-time", "description": MOMENT });
    let row = object(json!({ "name": text(PLACE_NAME_CHARS), "seats": count(1, SEATS_PER_ROW) }));
    let rows = json!({ "type": "array", "minItems": 1, "maxItems": ROWS_MOST, "items": row });
    let section = object(json!({ "name": text(PLACE_NAME_CHARS), "rows": rows }));
    let sections = json!({ "type": "array", "minItems": 1, "maxItems": SECTIONS_MOST, "items": section });
    let about = "Seconds that a hold of its seats lasts; null: HOLD_TTL.";
    let ttl = json!({ "type": ["integer", "null"], "minimum": 1, "maximum": HOLD_TTL_MOST_S, "description": about });
    let name = text(EVENT_NAME_CHARS);
    let room = json!({ "oneOf": [named("WaitingRoom"), { "type": "null" }] });
    let about = json!({ "maxPerUser": most, "opensAt": opens, "holdTtl": ttl, "waitingRoom": room });
    let with = |own: Value| {
        let mut all = about.clone();
        own.as_object().into_iter().flatten().for_each(|(name, schema)| all[name] = schema.clone());
        all
    };
    let made = with(json!({ "name": name, "seats": seats }));
    let amended = with(json!({ "name": maybe(name), "seats": { "type": "null" } }));
    vec![
        ("WaitingRoom", waiting_room()),
        ("Hall", object(json!({ "sections": sections }))),
        ("NewEvent", json!({ "type": "object", "required": ["name", "seats"], "properties": made })),
        ("Amendment", json!({ "type": "object", "properties": amended })),
    ]
}

/// Every field has a default; an object that names none has all of them.
fn waiting_room() -> Value {
    let count = |(least, most): (u32, u32)| json!({ "type": ["integer", "null"], "minimum": least, "maximum": most });
    json!({ "type": "object", "properties": {
        "maxConcurrent": count((1, INSIDE_MOST)), "tokenTtl": count(TOKEN_TTL_S),
        "tokenMaxAge": count(TOKEN_MAX_AGE_S), "idleTimeout": count(IDLE_TIMEOUT_S),
    } })
}

fn lines() -> Vec<(&'static str, Value)> {
    let count = json!({ "type": "integer", "minimum": 0 });
    let maybe = json!({ "type": ["integer", "null"], "minimum": 0 });
    let mut standing = object(json!({
        "success": { "const": true }, "status": { "enum": ["waiting", "ready", "entered", "sold_out"] },
        "number": maybe, "rank": maybe, "aheadCount": maybe, "pollAfter": { "type": "integer", "minimum": 1 },
    }));
    standing["properties"]["ticket"] = json!({ "type": "string" });
    standing["properties"]["expiresIn"] = count.clone();
    let entered = json!({
        "success": { "const": true }, "status": { "const": "entered" },
        "token": { "type": "string", "pattern": "^[0-9a-f]{32}$" }, "expiresIn": count,
    });
    let serving = json!({
        "success": { "const": true }, "serving": count, "waiting": count, "admittedPerMinute": count,
        "soldOut": { "type": "boolean" },
    });
    let key = json!({ "success": { "const": true }, "key": { "type": "integer", "minimum": 1 } });
    vec![
        ("QueueStanding", standing),
        ("Entered", object(entered)),
        ("Serving", object(serving)),
        ("TicketKey", object(key)),
    ]
}

/// Dialects ask for different fields, and what a dialect does not know it ignores.
fn buyers() -> Vec<(&'static str, Value)> {
    let about = "E.164, or a usual form of DEFAULT_REGION.";
    let phone = json!({ "type": "string", "description": about, "examples": ["010-1234-5678", "+821012345678"] });
    let mut oldest = json!({ "type": "object", "properties": { "phone": maybe(phone.clone()) } });
    oldest["description"] = "Dialect 2025-08-17: the phone may be left out, and so may the body.".into();
    let mut old = object(json!({ "phone": phone }));
    old["description"] = "Dialect 1.0.".into();
    let mut buyer = object(json!({ "userName": text(BUYER_NAME_CHARS), "phone": phone }));
    buyer["description"] = "Dialect 1.1.".into();
    let any: Vec<Value> = ["Buyer", "Buyer10", "Buyer20250817"].map(named).into();
    vec![("Buyer", buyer), ("Buyer10", old), ("Buyer20250817", oldest), ("BuyerInAnyDialect", json!({ "anyOf": any }))]
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
        "waitingRoomSettings": { "oneOf": [named("WaitingRoom"), { "type": "null" }] },
        "holdTtl": { "type": ["integer", "null"] },
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
        ("ReservationAnswer", success("reservation", named("AnyReservation"))),
        ("ReservationsAnswer", page("reservations", "AnyReservation")),
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
        ("nights", json!({ "type": "array", "items": { "type": "string", "format": "date" } })),
        ("reservation", named("AnyReservation")),
        ("reservations", json!({ "type": "array", "items": named("AnyReservation") })),
        ("leastQuantity", json!({ "type": "integer" })),
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
