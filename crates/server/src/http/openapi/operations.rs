//! What the document says about every operation.

mod rooms;

use rules::ids::Seat;
use rules::outcome::{Forbidden, Refusal};

pub use self::rooms::*;
use super::{Doc, Gives, Takes, Who};
use crate::http::respond::Success;

const JSON: &str = "application/json";

const fn ok(schema: &'static str) -> Gives {
    Gives { status: Success::Ok, kind: JSON, schema: Some(schema) }
}

const RESERVED: &[Gives] = &[ok("ReservedInAnyDialect")];
const ONE_EVENT: &[Gives] = &[ok("EventAnswer")];
const UNCHANGED: Gives = Gives { status: Success::Unchanged, kind: "", schema: None };
const HTML: &[Gives] = &[Gives { status: Success::Ok, kind: "text/html", schema: None }];

const fn read(id: &'static str, tag: &'static str, summary: &'static str, gives: &'static [Gives]) -> Doc {
    Doc { id, tag, summary, who: Who::Anyone, takes: Takes::Nothing, paged: false, dates: false, gives, refuses: &[] }
}

const SALE: &[fn() -> Refusal] = &[
    || Refusal::NotFound,
    || Refusal::AlreadyAsking { retry_after: 1 },
    || Refusal::NotOpen { opens_at: None, retry_after: None },
    || Refusal::Closed,
    || Refusal::AlreadyReserved { seat: Seat(1) },
    || Refusal::SoldOut,
    || Refusal::Contention,
    || Refusal::KeyMismatch,
    || Refusal::DoorUnreachable,
    || Refusal::DoorFailed,
    || Refusal::NoNumber,
];

/// As `SALE`, and the seat may be somebody else's.
const CHOICE: &[fn() -> Refusal] = &[
    || Refusal::NotFound,
    || Refusal::AlreadyAsking { retry_after: 1 },
    || Refusal::NotOpen { opens_at: None, retry_after: None },
    || Refusal::Closed,
    || Refusal::AlreadyReserved { seat: Seat(1) },
    || Refusal::SeatTaken,
    || Refusal::Contention,
    || Refusal::KeyMismatch,
    || Refusal::DoorUnreachable,
    || Refusal::DoorFailed,
    || Refusal::NoNumber,
];

const fn reserve(id: &'static str, summary: &'static str, who: Who, takes: Takes) -> Doc {
    Doc { id, tag: "seats", summary, who, takes, paged: false, dates: false, gives: RESERVED, refuses: SALE }
}

const fn operate(id: &'static str, summary: &'static str, refuses: &'static [fn() -> Refusal]) -> Doc {
    Doc {
        id,
        tag: "admin",
        summary,
        who: Who::Admin,
        takes: Takes::Nothing,
        paged: false,
        dates: false,
        gives: ONE_EVENT,
        refuses,
    }
}

const LOCKED: &[fn() -> Refusal] = &[|| Refusal::Contention];

pub const EVENTS: Doc = Doc { paged: true, ..read("listEvents", "events", "Events.", &[ok("EventsAnswer")]) };
pub const EVENT: Doc = read("getEvent", "events", "One event.", &[ok("EventAnswer")]);
pub const LAYOUT: Doc = read(
    "getLayout",
    "seats",
    "Sections and rows with the seats they begin with, for a map. Never changes while the event lives.",
    &[ok("LayoutAnswer")],
);
pub const SEATS: Doc =
    read("listSeats", "seats", "Every seat, at most 250 ms behind. ETag, gzip.", &[ok("SeatsInAnyDialect"), UNCHANGED]);
pub const SEAT: Doc = read("getSeat", "seats", "One seat, exact.", &[ok("SeatInAnyDialect")]);
pub const RESERVE: Doc = reserve(
    "reserve",
    "The lowest free seat of the event, first come, first served.",
    Who::User,
    Takes::MaybeJson("BuyerInAnyDialect"),
);
pub const RESERVE_SEAT: Doc = Doc {
    refuses: CHOICE,
    ..reserve(
        "reserveSeat",
        "This seat and no other, by the same rules.",
        Who::User,
        Takes::MaybeJson("BuyerInAnyDialect"),
    )
};
pub const FIRST_RESERVE_SEAT: Doc = Doc { id: "reserveSeatOfFirstEvent", who: Who::MaybeUser, ..RESERVE_SEAT };
pub const FIRST_SEATS: Doc = Doc { id: "listSeatsOfFirstEvent", ..SEATS };
pub const FIRST_SEAT: Doc = Doc { id: "getSeatOfFirstEvent", ..SEAT };
pub const FIRST_RESERVE: Doc = reserve(
    "reserveInFirstEvent",
    "The lowest free seat of event 1, first come, first served.",
    Who::MaybeUser,
    Takes::MaybeJson("BuyerInAnyDialect"),
);
pub const FIRST_RESERVE_1_0: Doc = reserve(
    "reserveInFirstEvent10",
    "The same; speaks dialect 1.0 unless told otherwise.",
    Who::MaybeUser,
    Takes::MaybeJson("BuyerInAnyDialect"),
);
pub const JOIN: Doc =
    reserve("join", "The same under a shorter path.", Who::MaybeUser, Takes::MaybeJson("BuyerInAnyDialect"));

pub const MINE: Doc = Doc {
    who: Who::User,
    paged: true,
    ..read("listMyReservations", "reservations", "What the caller has.", &[ok("ReservationsAnswer")])
};
const ANOTHERS: &[fn() -> Refusal] = &[|| Refusal::Forbidden(Forbidden::Anothers)];
pub const RESERVATION: Doc = Doc {
    who: Who::User,
    refuses: ANOTHERS,
    ..read("getReservation", "reservations", "One reservation of the caller.", &[ok("ReservationAnswer")])
};
pub const CANCEL: Doc = Doc {
    who: Who::User,
    refuses: &[
        || Refusal::Forbidden(Forbidden::Anothers),
        || Refusal::TooLarge { limit_bytes: 0 },
        || Refusal::TooSlow,
        || Refusal::KeyMismatch,
        || Refusal::Contention,
    ],
    ..read("cancelReservation", "reservations", "Gives a reservation back.", &[ok("Success")])
};

pub const ADMIN_EVENTS: Doc = Doc {
    who: Who::Admin,
    paged: true,
    ..read("adminListEvents", "admin", "Events, for the operator.", &[ok("EventsAnswer")])
};
pub const CREATE_EVENT: Doc = Doc {
    takes: Takes::Json("NewEvent"),
    gives: &[Gives { status: Success::Created, kind: JSON, schema: Some("EventAnswer") }],
    ..operate("createEvent", "Makes an event: a count of seats, or a hall of sections and rows.", &[])
};
pub const ADMIN_EVENT: Doc = operate("adminGetEvent", "One event, for the operator.", &[]);
pub const AMEND_EVENT: Doc =
    Doc { takes: Takes::Json("Amendment"), ..operate("amendEvent", "Changes an event; not its seats.", LOCKED) };
pub const DELETE_EVENT: Doc = operate(
    "deleteEvent",
    "Deletes an event in which nobody has a seat.",
    &[|| Refusal::InUse, || Refusal::Contention],
);
pub const OPEN_EVENT: Doc = operate("openEvent", "Opens the sale now.", LOCKED);
pub const CLOSE_EVENT: Doc = operate("closeEvent", "Closes the sale.", LOCKED);
pub const PAUSE_EVENT: Doc = operate("pauseEvent", "Pauses an open sale.", LOCKED);
pub const RESUME_EVENT: Doc = operate("resumeEvent", "Resumes a paused sale.", LOCKED);
pub const ADMIN_RESERVATIONS: Doc = Doc {
    who: Who::Admin,
    paged: true,
    ..read(
        "adminListReservations",
        "admin",
        "Who has which seat; CSV with `Accept: text/csv`.",
        &[ok("AdminReservationsAnswer"), Gives { status: Success::Ok, kind: "text/csv", schema: None }],
    )
};
pub const ADMIN_CANCEL: Doc =
    Doc { gives: &[ok("Success")], ..operate("adminCancelReservation", "Takes a reservation away.", LOCKED) };

pub const LIVE: Doc = read("live", "machine", "The process is alive.", &[ok("Success")]);
pub const READY: Doc = read("ready", "machine", "It can sell; 503 says what is missing.", &[ok("Success")]);
pub const METRICS: Doc = read(
    "metrics",
    "machine",
    "Counts, for Prometheus.",
    &[Gives { status: Success::Ok, kind: "application/openmetrics-text", schema: None }],
);
pub const OPENAPI: Doc =
    read("openapi", "machine", "This document.", &[Gives { status: Success::Ok, kind: JSON, schema: None }]);
pub const DOCS: Doc = read("docs", "machine", "This document, to try.", HTML);
pub const DOCS_FILE: Doc = read(
    "docsFile",
    "machine",
    "What that page is made of.",
    &[
        Gives { status: Success::Ok, kind: "text/css", schema: None },
        Gives { status: Success::Ok, kind: "text/javascript", schema: None },
    ],
);
pub const PAGE: Doc = read("page", "machine", "What this is, and what to try first.", HTML);
