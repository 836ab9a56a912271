//! What the document says about room types, nights and holds.

use rules::outcome::{Forbidden, Limit, Refusal};

use super::{CSV, JSON, JSON_LINES, UNCHANGED, ok, operate, read};
use crate::http::openapi::{Doc, Gives};
use crate::http::respond::Success;

const ONE_ROOM_TYPE: &[Gives] = &[ok("RoomTypeAnswer")];
const ONE_HOLD: &[Gives] = &[ok("HoldAnswer")];

pub const ROOM_TYPES: Doc =
    Doc { paged: true, ..read("listRoomTypes", "rooms", "Room types.", &[ok("RoomTypesAnswer")]) };
pub const ROOM_TYPE: Doc = read("getRoomType", "rooms", "One room type.", ONE_ROOM_TYPE);
pub const AVAILABILITY: Doc = Doc {
    dates: true,
    ..read(
        "getAvailability",
        "rooms",
        "What is free on every night from checkIn up to, not including, checkOut; exact. ETag.",
        &[ok("AvailabilityAnswer"), UNCHANGED],
    )
};

pub const CALENDAR: Doc = Doc {
    month: true,
    ..read("getCalendar", "rooms", "What is left on the nights of one month.", &[ok("CalendarAnswer")])
};

pub const HOLDS: Doc =
    Doc { paged: true, ..read("listMyHolds", "holds", "The caller's live holds.", &[ok("HoldsAnswer")]) };
pub const HOLD: Doc = Doc {
    refuses: &[|| Refusal::HoldNotFound, || Refusal::Forbidden(Forbidden::AnothersHold)],
    ..read("getHold", "holds", "One hold of the caller, in whatever state.", ONE_HOLD)
};
pub const CREATE_HOLD: Doc = Doc {
    done: "held",
    refuses: &[
        || Refusal::NotFound,
        || Refusal::KeyMismatch,
        || Refusal::NotOpen { opens_at: None, retry_after: None },
        || Refusal::Closed,
        || Refusal::HoldKeyConflict,
        || Refusal::Duplicate { seat: rules::ids::Seat(1), user_ttl_s: None },
        || Refusal::AlreadyReserved { seat: rules::ids::Seat(1) },
        || Refusal::LimitReached { seats: vec![], limit: Limit::Holds { has: 5, most: 5 } },
        || Refusal::EntryRequired,
        || Refusal::NotAvailable { nights: vec![rules::nights::Night(20_811)], seats: vec![] },
        || Refusal::LockTimeout,
    ],
    ..read(
        "createHold",
        "holds",
        "Holds nights or seats, all or none. The same clientHoldKey again: 200 and the same hold.",
        &[Gives { status: Success::Created, kind: JSON, schema: Some("HoldAnswer") }, ok("HoldAnswer")],
    )
};

const ON_HOLD: &[fn() -> Refusal] = &[
    || Refusal::HoldNotFound,
    || Refusal::Forbidden(Forbidden::AnothersHold),
    || Refusal::KeyMismatch,
    || Refusal::HoldExpired,
    || Refusal::HoldProcessed { confirmed: None },
    || Refusal::LimitReached { seats: vec![], limit: Limit::HoldAge },
    || Refusal::LockTimeout,
];

const fn on_hold(id: &'static str, summary: &'static str, done: &'static str, gives: &'static [Gives]) -> Doc {
    Doc { done, refuses: ON_HOLD, ..read(id, "holds", summary, gives) }
}

pub const CONFIRM_HOLD: Doc = on_hold(
    "confirmHold",
    "Books what is held, for the buyer that the body names. With CONFIRM_BY=service it takes the admin token in place of the user.",
    "confirmed",
    &[ok("ConfirmedAnswer")],
);
pub const CANCEL_HOLD: Doc = on_hold("cancelHold", "Gives what is held back.", "released", &[ok("Success")]);
pub const EXTEND_HOLD: Doc =
    on_hold("extendHold", "HOLD_TTL from now, up to HOLD_MAX_AGE from the first hold.", "extended", ONE_HOLD);

const SEED_HOLD_SHOWN: &[Gives] = &[ok("SeedHoldAnswer")];

pub const SEED_ROOM_TYPES: Doc = Doc { id: "seedListRoomTypes", ..ROOM_TYPES };
pub const SEED_ROOM_TYPE: Doc = Doc { id: "seedGetRoomType", ..ROOM_TYPE };
pub const SEED_AVAILABILITY: Doc = Doc { id: "seedGetAvailability", ..AVAILABILITY };
pub const SEED_HOLDS: Doc = Doc { id: "seedListMyHolds", gives: &[ok("SeedHoldsAnswer")], ..HOLDS };
pub const SEED_HOLD: Doc = Doc { id: "seedGetHold", gives: SEED_HOLD_SHOWN, ..HOLD };
pub const SEED_CREATE_HOLD: Doc = Doc {
    id: "seedCreateHold",
    gives: &[Gives { status: Success::Created, kind: JSON, schema: Some("SeedHoldAnswer") }, ok("SeedHoldAnswer")],
    ..CREATE_HOLD
};
pub const SEED_CONFIRM_HOLD: Doc = Doc {
    id: "seedConfirmHold",
    summary: "Books what is held. With CONFIRM_BY=service it takes the admin token in place of the user.",
    ..CONFIRM_HOLD
};
pub const SEED_CANCEL_HOLD: Doc = Doc { id: "seedCancelHold", ..CANCEL_HOLD };
pub const SEED_EXTEND_HOLD: Doc = Doc { id: "seedExtendHold", gives: SEED_HOLD_SHOWN, ..EXTEND_HOLD };

pub const ADMIN_ROOM_TYPES: Doc = Doc {
    paged: true,
    ..read(
        "adminListRoomTypes",
        "admin",
        "Room types, for the operator; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("RoomTypesAnswer"), CSV, JSON_LINES],
    )
};
pub const CREATE_ROOM_TYPE: Doc = Doc {
    done: "created",
    gives: &[Gives { status: Success::Created, kind: JSON, schema: Some("RoomTypeAnswer") }],
    ..operate("createRoomType", "Makes a room type.", &[])
};
pub const ADMIN_ROOM_TYPE: Doc = read("adminGetRoomType", "admin", "One room type, for the operator.", ONE_ROOM_TYPE);
pub const AMEND_ROOM_TYPE: Doc = Doc {
    gives: ONE_ROOM_TYPE,
    ..operate(
        "amendRoomType",
        "Changes a room type; its total not below what is confirmed or held on some night.",
        &[|| Refusal::RoomsInUse { least: 1 }, || Refusal::Contention],
    )
};
