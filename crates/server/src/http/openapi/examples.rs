//! Examples of bodies. The suite checks each against its schema.

use serde_json::{Map, Value, json};

use crate::http::respond::Dialect;

const HASH: &str = "758d803d5c1c67d673e04599d2718453360d7a8b4023949b7856238f782f3c14";

/// What to try first; also the way by which the fuzzer reaches a sale.
pub fn request(schema: &str) -> Option<Value> {
    match schema {
        "Buyer" => Some(json!({ "userName": "Alice", "phone": "010-1234-5678" })),
        "Confirmation" => Some(json!({ "userName": "Alice", "phone": "010-1234-5678" })),
        "Cancellation" => Some(json!({ "reason": "Ill that day" })),
        "NewEvent" => {
            let rows = json!([{ "name": "A", "seats": 20 }, { "name": "B", "seats": 24 }]);
            Some(json!({ "name": "Gala", "seats": { "sections": [{ "name": "1층", "rows": rows }] } }))
        }
        "Amendment" => Some(json!({ "maxPerUser": 4 })),
        "NewHold" => Some(json!({
            "roomTypeId": 1, "checkIn": "2026-12-24", "checkOut": "2026-12-26",
            "clientHoldKey": "0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c11",
        })),
        "NewRoomType" => Some(json!({
            "name": "Double", "totalQuantity": 5, "timeZone": "Asia/Seoul", "description": "Two beds", "price": 129000,
        })),
        "NewAdminToken" => Some(json!({ "name": "box-office", "role": "viewer" })),
        "TokenRotation" => Some(json!({ "graceSeconds": 3600 })),
        "NewWebhook" => Some(json!({ "url": "https://shop.example/hooks", "types": ["reservation.confirmed"] })),
        "WebhookAmendment" => Some(json!({ "enabled": true })),
        "WebhookRotation" => Some(json!({ "overlapSeconds": 86400 })),
        "WebhookReplay" => Some(json!({ "eventId": 1, "from": 1 })),
        "RoomTypeAmendment" => Some(json!({ "totalQuantity": 6 })),
        _ => None,
    }
}

/// What a success looks like.
pub fn answer(schema: &str, dialect: Dialect) -> Option<Value> {
    match (schema, dialect) {
        ("Reserved", Dialect::V1_0) => Some(json!({ "success": true, "seat": 5 })),
        ("Reserved", Dialect::V2025_08_17) => {
            Some(json!({ "success": true, "seat_id": 5, "reserved_by": "alice", "reason": null }))
        }
        ("SeatAnswer", Dialect::V1_0) => Some(json!({ "id": 5, "status": true })),
        ("SeatsAnswer", Dialect::V1_0) => Some(json!([{ "id": 1, "status": true }, { "id": 2, "status": false }])),
        _ => canonical(schema),
    }
}

/// The same list as JSON Lines: the rows of the JSON. What is of one user says its kind.
pub fn lines(schema: &str) -> Option<Value> {
    let mut text = String::new();
    for (list, rows) in canonical(schema)?.as_object()? {
        for row in rows.as_array().into_iter().flatten() {
            let kind = (schema == "AdminUserAnswer").then(|| ("kind".to_owned(), json!(list.trim_end_matches('s'))));
            let row: Map<String, Value> = kind.into_iter().chain(row.as_object()?.clone()).collect();
            text += &format!("{}\n", Value::Object(row));
        }
    }
    Some(text.into())
}

fn canonical(schema: &str) -> Option<Value> {
    let body = match schema {
        "Success" => json!({}),
        "EventAnswer" => json!({ "event": event(json!(true)) }),
        "EventsAnswer" => json!({ "events": [event(json!(true))], "next": null }),
        "AdminEventAnswer" => json!({ "event": admin_event() }),
        "AdminEventsAnswer" => json!({ "events": [admin_event()], "next": null }),
        "LayoutAnswer" => json!({ "layout": layout() }),
        "SeatAnswer" => json!({ "seat": seat(5, "sold") }),
        "SeatsAnswer" => json!({ "seats": [seat(1, "sold"), seat(2, "held"), seat(3, "free")] }),
        "Reserved" => json!({
            "seat": { "id": 5, "name": "A5", "status": true }, "remainingSeats": 3, "userTtlRemaining": 900,
            "sequence": 42, "reservationId": RESERVATION,
        }),
        "ReservationAnswer" => json!({ "reservation": reservation() }),
        "ReservationsAnswer" => json!({ "reservations": [reservation(), stay()], "next": null }),
        "AdminReservationsAnswer" => json!({ "reservations": [admin_reservation()], "next": null }),
        "AdminStaysAnswer" => json!({ "reservations": [admin_stay()], "next": null }),
        "ConfirmedAnswer" => json!({ "reservation": stay() }),
        "HoldAnswer" => json!({ "hold": hold("expiresAt", "2026-11-16T09:10:00.000Z") }),
        "HoldsAnswer" => json!({ "holds": [hold("expiresAt", "2026-11-16T09:10:00.000Z")], "next": null }),
        "SeedHoldAnswer" => json!({ "hold": hold("expiredAt", "2026-11-16T09:10:00Z") }),
        "SeedHoldsAnswer" => json!({ "holds": [hold("expiredAt", "2026-11-16T09:10:00Z")], "next": null }),
        "RoomTypeAnswer" => json!({ "roomType": room_type() }),
        "RoomTypesAnswer" => json!({ "roomTypes": [room_type()], "next": null }),
        "AvailabilityAnswer" => json!({ "roomTypeId": 7, "available": 2, "nights": [night()] }),
        "CalendarAnswer" => json!({ "roomTypeId": 7, "month": "2026-12", "nights": [night()] }),
        "QueueStanding" => json!({
            "status": "waiting", "number": 1234, "rank": 733, "aheadCount": 500, "estimatedWait": 42, "pollAfter": 3,
            "ticket": "ticket of the user",
        }),
        "Entered" => json!({ "status": "entered", "token": "4f1c2a9e8b7d6c5f0a1b2c3d4e5f6071", "expiresIn": 300 }),
        "Serving" => json!({ "serving": 733, "waiting": 501, "admittedPerMinute": 60, "soldOut": false }),
        "StreamTicket" => json!({ "ticket": "1794816060000.616c696365.4f1c2a9e", "expiresIn": 60 }),
        "TicketKey" => json!({ "key": 2 }),
        "AdminTokensAnswer" => json!({ "tokens": [admin_token()] }),
        "NewAdminTokenAnswer" => {
            json!({ "token": admin_token(), "secret": "4f1c2a9e8b7d6c5f0a1b2c3d4e5f60714f1c2a9e8b7d6c5f0a1b2c3d4e5f6071" })
        }
        "WebhooksAnswer" => json!({ "webhooks": [webhook()], "next": null }),
        "WebhookDeliveriesAnswer" => json!({ "deliveries": [webhook_delivery()], "next": null }),
        "WebhookAnswer" => json!({ "webhook": webhook(), "outstanding": 0, "deliveries": [webhook_delivery()] }),
        "WebhookSecretAnswer" => {
            json!({ "webhook": webhook(), "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" })
        }
        "WebhookTestAnswer" => json!({ "delivery": webhook_delivery() }),
        "HistoryAnswer" => json!({ "history": [record()], "next": "e1-43" }),
        "AdminUserAnswer" => json!({
            "userId": "alice", "reservations": [admin_reservation()], "stays": [admin_stay()],
            "holds": [hold("expiresAt", "2026-11-16T09:10:00.000Z")],
            "places": [{ "eventId": 2, "status": "waiting", "number": 1234, "expiresAt": null }],
            "history": [record()], "next": null,
        }),
        "ErasedAnswer" => {
            json!({ "erased": { "historyRows": 7, "reservations": 2, "holds": 2, "stays": 1, "answers": 1 } })
        }
        "HistoryHeadAnswer" => json!({ "head": {
            "number": 43,
            "hash": HASH,
            "time": "2026-11-16T09:00:00.000Z",
            "kept": format!("e1-43:{HASH}"),
        } }),
        "AuditAnswer" => json!({
            "holds": true, "checkedAt": "2026-11-16T09:00:00.000Z", "events": 1, "reservations": 0, "history": 1,
            "chained": 1, "beforeChain": 0, "erased": 0,
            "invariants": [{ "name": "every seat has one owner", "holds": true, "broken": [] }],
        }),
        _ => return None,
    };
    let Value::Object(fields) = body else { return None };
    Some([("success".to_owned(), json!(true))].into_iter().chain(fields).collect())
}

const RESERVATION: &str = "e1-x783msn8dzj6h5";
const STAY: &str = "r7-x4k9x1b0c2d3e5";
const MADE: &str = "2026-11-16T09:00:00.000Z";

fn admin_token() -> Value {
    json!({
        "name": "box-office", "role": "viewer", "live": true, "createdAt": "2026-11-16T09:00:00.000Z", "createdBy": "admin",
        "endsAt": null, "endedBy": null,
    })
}

fn webhook() -> Value {
    json!({
        "id": 1, "url": "https://shop.example/hooks", "types": ["reservation.confirmed"], "state": "enabled", "why": null,
        "createdAt": MADE, "createdBy": "admin", "oldSecretEndsAt": null,
    })
}

fn webhook_delivery() -> Value {
    json!({
        "messageId": "msg_4f1c2a9e8b7d6c5f0a1b2c3d4e5f6071", "type": "reservation.confirmed", "eventId": 1,
        "roomTypeId": null, "number": 43, "at": MADE, "tookMs": 12, "delivered": true, "status": 200, "error": null,
    })
}

fn event(waiting_room: Value) -> Value {
    json!({
        "id": 2, "name": "Gala", "state": "open", "opensAt": null, "startsAt": MADE, "timeZone": "Asia/Seoul",
        "place": "Olympic Hall", "seatCount": 500, "remainingSeats": 123,
        "waitingRoom": waiting_room, "waitingRoomSettings": room(), "maxPerUser": 4, "holdTtl": null,
        "buyerFields": { "userName": "required", "phone": "required", "email": "absent" },
        "price": { "amount": "55000", "currency": "KRW" },
    })
}

fn admin_event() -> Value {
    let mut event = event(room());
    event["rehearsal"] = false.into();
    event["archivedAt"] = Value::Null;
    event
}

fn room() -> Value {
    json!({ "maxConcurrent": 800, "tokenTtl": 300, "tokenMaxAge": 1800, "idleTimeout": 60, "queueMost": 1000000,
        "gatherFrom": null, "admitPerMinute": null })
}

fn layout() -> Value {
    let rows = json!([
        { "name": "A", "firstSeat": 1, "seats": 20, "accessible": [1, 20] },
        { "name": "B", "firstSeat": 21, "seats": 24 },
    ]);
    json!({ "seatCount": 44, "sections": [{ "name": "1층", "firstSeat": 1, "seatCount": 44, "rows": rows }] })
}

fn seat(id: u32, state: &str) -> Value {
    json!({ "id": id, "name": format!("A{id}"), "status": state != "free", "state": state })
}

fn reservation() -> Value {
    json!({
        "reservationId": RESERVATION, "eventId": 1, "seat": { "id": 5, "name": "A5" }, "createdAt": MADE,
        "state": "confirmed", "sequence": 42,
    })
}

fn admin_reservation() -> Value {
    json!({
        "reservationId": "e1-7", "eventId": 1, "seat": { "id": 5, "name": "A5" }, "createdAt": MADE,
        "state": "confirmed", "publicId": RESERVATION, "userId": "alice", "userName": "Alice", "phone": "+821012345678",
        "email": null, "sequence": 42, "metadata": { "order": "A-1" },
    })
}

fn record() -> Value {
    json!({
        "eventId": 1, "roomTypeId": null, "n": 43, "what": "reserved", "by": "user", "byName": null, "userId": "alice",
        "seatId": 5, "holdId": null, "checkIn": null, "checkOut": null, "sequence": 42, "at": MADE, "reason": null,
        "metadata": { "order": "A-1" }, "address": "192.0.2.7", "traceId": "7f0c5e0a9b3d4c21a7e6f1d2c3b4a596",
        "detail": null, "erased": false, "hash": HASH,
    })
}

fn stay() -> Value {
    json!({
        "reservationId": STAY, "roomTypeId": 7, "checkIn": "2026-12-24", "checkOut": "2026-12-26",
        "createdAt": MADE, "state": "confirmed",
    })
}

fn admin_stay() -> Value {
    let mut stay = stay();
    stay["reservationId"] = "r7-12".into();
    stay["publicId"] = STAY.into();
    stay["userId"] = "alice".into();
    stay["holdId"] = "hr7-31".into();
    stay
}

fn hold(end: &str, at: &str) -> Value {
    let mut hold = json!({
        "holdId": "hr7-x7k2m9q4c1b8zd", "roomTypeId": 7, "checkIn": "2026-12-24", "checkOut": "2026-12-26", "userId": "alice",
        "clientHoldKey": "0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c11", "createdAt": "2026-11-16T09:00:00Z",
        "state": "held", "secondsRemaining": 600,
    });
    hold[end] = at.into();
    if end == "expiresAt" {
        hold["createdAt"] = MADE.into();
    }
    hold
}

fn room_type() -> Value {
    json!({
        "id": 7, "name": "Double", "totalQuantity": 5, "timeZone": "Asia/Seoul", "description": "Two beds",
        "price": 129000,
    })
}

fn night() -> Value {
    json!({ "date": "2026-12-24", "total": 5, "reserved": 2, "held": 1, "available": 2 })
}
