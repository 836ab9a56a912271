//! The shapes of room types, nights and holds.

use rules::room_type::{DESCRIPTION_CHARS, ROOM_NAME_CHARS, ROOMS_MOST};
use serde_json::{Value, json};

use super::{maybe, named, object, page, success, text};
use crate::http::resources::holds::SEATS_MOST;

const DATE: &str = "A date of the property's own calendar.";
const KEY: &str = "The client's own name for the hold: a random UUID or ULID.";

fn date() -> Value {
    json!({ "type": "string", "format": "date", "description": DATE })
}

fn hold_key() -> Value {
    let uuid = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
    let ulid = "[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}";
    json!({ "type": "string", "pattern": format!("^({uuid}|{ulid})$"), "description": KEY })
}

pub fn example(schema: &str) -> Option<Value> {
    match schema {
        "NewHold" => Some(json!({
            "roomTypeId": 1, "checkIn": "2026-12-24", "checkOut": "2026-12-26",
            "clientHoldKey": "0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c11",
        })),
        "NewRoomType" => Some(json!({
            "name": "Double", "totalQuantity": 5, "timeZone": "Asia/Seoul", "description": "Two beds", "price": 129000,
        })),
        "RoomTypeAmendment" => Some(json!({ "totalQuantity": 6 })),
        _ => None,
    }
}

pub fn asked() -> Vec<(&'static str, Value)> {
    let id = json!({ "type": "integer", "minimum": 1, "maximum": i64::MAX });
    let seat = json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX });
    let seats = json!({ "type": "array", "minItems": 1, "maxItems": SEATS_MOST, "uniqueItems": true, "items": seat });
    let nights =
        object(json!({ "roomTypeId": id, "checkIn": date(), "checkOut": date(), "clientHoldKey": hold_key() }));
    let places = object(json!({ "eventId": id, "seatIds": seats, "clientHoldKey": hold_key() }));
    let total = json!({ "type": "integer", "minimum": 0, "maximum": ROOMS_MOST });
    let price = json!({ "type": ["number", "null"], "minimum": 0, "maximum": 1_000_000_000_000i64 });
    let description = json!({ "type": ["string", "null"], "maxLength": DESCRIPTION_CHARS });
    let zone = json!({ "type": "string", "description": "An IANA time zone.", "examples": ["Asia/Seoul"] });
    let name = text(ROOM_NAME_CHARS);
    let made = json!({ "name": name, "totalQuantity": total, "timeZone": maybe(zone.clone()), "description": description, "price": price });
    let amended = json!({
        "name": maybe(name), "totalQuantity": maybe(total), "timeZone": maybe(zone), "description": description, "price": price,
    });
    vec![
        ("NewHold", json!({ "oneOf": [nights, places] })),
        ("NewRoomType", json!({ "type": "object", "required": ["name", "totalQuantity"], "properties": made })),
        ("RoomTypeAmendment", json!({ "type": "object", "properties": amended })),
    ]
}

pub fn answered() -> Vec<(&'static str, Value)> {
    let count = json!({ "type": "integer", "minimum": 0 });
    let id = json!({ "type": "integer", "minimum": 1 });
    let text = json!({ "type": "string" });
    let moment = json!({ "type": "string", "format": "date-time" });
    let room_type = object(json!({
        "id": id, "name": text, "totalQuantity": count, "timeZone": text,
        "description": { "type": ["string", "null"] }, "price": { "type": ["number", "null"] },
    }));
    let night = object(json!({ "date": date(), "total": count, "reserved": count, "held": count, "available": count }));
    let availability = object(json!({
        "success": { "const": true }, "roomTypeId": id, "available": count, "nights": { "type": "array", "items": night },
    }));
    let hold = |on: Value| {
        let mut fields = json!({
            "holdId": text, "userId": text, "clientHoldKey": text, "createdAt": moment, "expiredAt": moment,
            "state": { "enum": ["held", "confirmed", "cancelled", "expired"] }, "secondsRemaining": count,
        });
        for (name, schema) in on.as_object().into_iter().flatten() {
            fields[name] = schema.clone();
        }
        object(fields)
    };
    let nights = hold(json!({ "roomTypeId": id, "checkIn": date(), "checkOut": date() }));
    let seats = hold(json!({ "eventId": id, "seatIds": { "type": "array", "items": id } }));
    let stay = object(json!({
        "reservationId": text, "roomTypeId": id, "checkIn": date(), "checkOut": date(), "createdAt": moment,
        "state": { "const": "confirmed" },
    }));
    vec![
        ("RoomType", room_type),
        ("RoomTypeAnswer", success("roomType", named("RoomType"))),
        ("RoomTypesAnswer", page("roomTypes", "RoomType")),
        ("AvailabilityAnswer", availability),
        ("Hold", json!({ "anyOf": [nights, seats] })),
        ("HoldAnswer", success("hold", named("Hold"))),
        ("HoldsAnswer", page("holds", "Hold")),
        ("Stay", stay),
        ("AnyReservation", json!({ "anyOf": [named("Reservation"), named("Stay")] })),
        ("ConfirmedAnswer", success("reservation", named("AnyReservation"))),
    ]
}
