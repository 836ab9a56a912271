//! What the document says about every operation, and the outcome that its success is counted as.

mod live;
mod rooms;
mod tokens;
mod webhooks;

use rules::ids::Seat;
use rules::outcome::{Forbidden, Limit, Refusal};

pub use self::live::*;
pub use self::rooms::*;
pub use self::tokens::*;
pub use self::webhooks::*;
use super::{Doc, Filter, Gives, Shown};
use crate::http::respond::Success;
use crate::tickets::TICKET_CHARS;

const JSON: &str = "application/json";

const fn ok(schema: &'static str) -> Gives {
    Gives { status: Success::Ok, kind: JSON, schema: Some(schema) }
}

const RESERVED: &[Gives] = &[ok("Reserved")];
const ONE_EVENT: &[Gives] = &[ok("AdminEventAnswer")];
const UNCHANGED: Gives = Gives { status: Success::Unchanged, kind: "", schema: None };
const CSV: Gives = Gives { status: Success::Ok, kind: "text/csv", schema: None };
const JSON_LINES: Gives = Gives { status: Success::Ok, kind: "application/x-ndjson", schema: None };
const HTML: &[Gives] = &[Gives { status: Success::Ok, kind: "text/html", schema: None }];
const PAGE: &[Gives] = &[HTML[0], UNCHANGED];

pub const fn read(id: &'static str, tag: &'static str, summary: &'static str, gives: &'static [Gives]) -> Doc {
    Doc {
        id,
        tag,
        summary,
        done: "ok",
        shows: &[],
        paged: false,
        dates: false,
        month: false,
        filters: &[],
        gives,
        refuses: &[],
    }
}

/// Asked for where the event has a waiting room.
const ENTRY: &[Shown] = &[Shown {
    name: "X-Entry-Token",
    about: "The token of a live entry, where the event has a waiting room.",
    most: None,
}];

const TICKET: &[Shown] = &[Shown {
    name: "X-Queue-Ticket",
    about: "The ticket of an earlier answer: the same place again, also after the door forgot it.",
    most: Some(TICKET_CHARS),
}];

const LIMIT: Refusal = Refusal::LimitReached { seats: Vec::new(), limit: Limit::Seats { asked: 1, has: 2, most: 2 } };

const SALE: &[fn() -> Refusal] = &[
    || Refusal::NotFound,
    || Refusal::AlreadyAsking { retry_after: 1 },
    || Refusal::NotOpen { opens_at: None, retry_after: None },
    || Refusal::Closed,
    || Refusal::Duplicate { seat: Seat(3), user_ttl_s: Some(870) },
    || Refusal::AlreadyReserved { seat: Seat(3) },
    || LIMIT,
    || Refusal::EntryRequired,
    || Refusal::SoldOut,
    || Refusal::HeldOut { retry_after: 42 },
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
    || Refusal::Duplicate { seat: Seat(3), user_ttl_s: Some(870) },
    || Refusal::AlreadyReserved { seat: Seat(3) },
    || LIMIT,
    || Refusal::EntryRequired,
    || Refusal::SeatTaken,
    || Refusal::Contention,
    || Refusal::KeyMismatch,
    || Refusal::DoorUnreachable,
    || Refusal::DoorFailed,
    || Refusal::NoNumber,
];

const fn reserve(id: &'static str, summary: &'static str) -> Doc {
    Doc { done: "reserved", shows: ENTRY, refuses: SALE, ..read(id, "seats", summary, RESERVED) }
}

const fn operate(id: &'static str, summary: &'static str, refuses: &'static [fn() -> Refusal]) -> Doc {
    Doc { done: "changed", refuses, ..read(id, "admin", summary, ONE_EVENT) }
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
pub const SEATS: Doc = Doc {
    filters: &[
        Filter { name: "from", kind: "integer", about: "The first seat of a page." },
        Filter { name: "limit", kind: "integer", about: "Seats in a page, from 1 to 1000, which is the default." },
    ],
    ..read(
        "listSeats",
        "seats",
        "Every seat, at most 250 ms behind; a page of them with from or limit. ETag, gzip. More than 20,000 seats are \
         sent with gzip or in pages only.",
        &[ok("SeatsAnswer"), UNCHANGED],
    )
};
pub const SEAT: Doc = read("getSeat", "seats", "One seat, exact.", &[ok("SeatAnswer")]);
pub const RESERVE: Doc = reserve("reserve", "The lowest free seat of the event, first come, first served.");
pub const RESERVE_SEAT: Doc =
    Doc { refuses: CHOICE, ..reserve("reserveSeat", "This seat and no other, by the same rules.") };
pub const FIRST_RESERVE_SEAT: Doc = Doc { id: "reserveSeatOfFirstEvent", ..RESERVE_SEAT };
/// Event 1 may be deleted like any other.
pub const FIRST_SEATS: Doc = Doc { id: "listSeatsOfFirstEvent", refuses: &[|| Refusal::NotFound], ..SEATS };
pub const FIRST_SEAT: Doc = Doc { id: "getSeatOfFirstEvent", ..SEAT };
pub const FIRST_RESERVE: Doc =
    reserve("reserveInFirstEvent", "The lowest free seat of event 1, first come, first served.");
pub const FIRST_RESERVE_1_0: Doc =
    reserve("reserveInFirstEvent10", "The same; speaks dialect 1.0 unless told otherwise.");
pub const JOIN: Doc = reserve("join", "The same under a shorter path.");

const IN_LINE: &[fn() -> Refusal] = &[
    || Refusal::Forbidden(Forbidden::Ticket),
    || Refusal::NoWaitingRoom,
    || Refusal::QueueFull { retry_after: 30 },
    || Refusal::Closed,
    || Refusal::DoorUnreachable,
    || Refusal::DoorFailed,
    || Refusal::NoNumber,
];

const fn in_line(id: &'static str, summary: &'static str, gives: &'static [Gives]) -> Doc {
    Doc { shows: TICKET, refuses: IN_LINE, ..read(id, "queue", summary, gives) }
}

pub const QUEUE_JOIN: Doc = Doc {
    done: "joined",
    ..in_line("joinQueue", "Joins the line, or finds the place that one has. Keep the ticket.", &[ok("QueueStanding")])
};
pub const QUEUE_POLL: Doc = Doc {
    refuses: &[
        || Refusal::Forbidden(Forbidden::Ticket),
        || Refusal::NoWaitingRoom,
        || Refusal::QueueFull { retry_after: 30 },
        || Refusal::NotQueued,
        || Refusal::Closed,
        || Refusal::Contention,
        || Refusal::DoorUnreachable,
        || Refusal::DoorFailed,
        || Refusal::NoNumber,
    ],
    ..in_line("pollQueue", "How one stands; the heartbeat. Renews an entry.", &[ok("QueueStanding")])
};
pub const QUEUE_LEAVE: Doc = Doc {
    done: "left",
    shows: &[],
    refuses: &[|| Refusal::Contention, || Refusal::DoorUnreachable, || Refusal::DoorFailed, || Refusal::NoNumber],
    ..in_line("leaveQueue", "Gives the place or the entry back.", &[ok("Success")])
};
pub const QUEUE_ENTER: Doc = Doc {
    done: "entered",
    refuses: &[
        || Refusal::Forbidden(Forbidden::Ticket),
        || Refusal::NoWaitingRoom,
        || Refusal::QueueFull { retry_after: 30 },
        || Refusal::NotQueued,
        || Refusal::Closed,
        || Refusal::NotReady { retry_after: 1 },
        || Refusal::Contention,
        || Refusal::DoorUnreachable,
        || Refusal::DoorFailed,
        || Refusal::NoNumber,
    ],
    ..in_line("enter", "Comes in, if it is one's turn; again: the same entry.", &[ok("Entered")])
};
pub const QUEUE_SERVING: Doc = Doc {
    refuses: &[|| Refusal::NoWaitingRoom, || Refusal::DoorUnreachable, || Refusal::DoorFailed, || Refusal::NoNumber],
    ..read("serving", "queue", "The number that everybody may follow. Cacheable.", &[ok("Serving")])
};
pub const ROTATE_TICKET_KEY: Doc = Doc {
    done: "rotated",
    gives: &[Gives { status: Success::Created, kind: JSON, schema: Some("TicketKey") }],
    ..operate("rotateTicketKey", "Tickets are signed with a new key from now on.", &[])
};

pub const MINE: Doc = Doc {
    paged: true,
    ..read("listMyReservations", "reservations", "What the caller has.", &[ok("ReservationsAnswer")])
};
const ANOTHERS: &[fn() -> Refusal] = &[|| Refusal::Forbidden(Forbidden::Anothers)];
pub const RESERVATION: Doc = Doc {
    refuses: ANOTHERS,
    ..read("getReservation", "reservations", "One reservation of the caller.", &[ok("ReservationAnswer")])
};
pub const CANCEL: Doc = Doc {
    done: "cancelled",
    refuses: &[|| Refusal::Forbidden(Forbidden::Anothers), || Refusal::KeyMismatch, || Refusal::Contention],
    ..read("cancelReservation", "reservations", "Gives a reservation back.", &[ok("Success")])
};

pub const ADMIN_EVENTS: Doc = Doc {
    paged: true,
    filters: &[Filter {
        name: "archived",
        kind: "boolean",
        about: "True: the archived ones. They are not listed otherwise.",
    }],
    ..read(
        "adminListEvents",
        "admin",
        "Events, for the operator; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("AdminEventsAnswer"), CSV, JSON_LINES],
    )
};
pub const CREATE_EVENT: Doc = Doc {
    done: "created",
    gives: &[Gives { status: Success::Created, kind: JSON, schema: Some("AdminEventAnswer") }],
    ..operate("createEvent", "Makes an event: a count of seats, or a hall of sections and rows.", &[])
};
pub const ADMIN_EVENT: Doc = read("adminGetEvent", "admin", "One event, for the operator.", ONE_EVENT);
pub const AMEND_EVENT: Doc = operate("amendEvent", "Changes an event; not its seats.", LOCKED);
pub const DELETE_EVENT: Doc = Doc {
    done: "deleted",
    filters: &[Filter { name: "sold", kind: "boolean", about: "True: with what it sold. Of a rehearsal only." }],
    ..operate(
        "deleteEvent",
        "Deletes an event in which nobody has a seat; a rehearsal also with what it sold.",
        &[|| Refusal::InUse, || Refusal::Contention],
    )
};
pub const OPEN_EVENT: Doc = operate("openEvent", "Opens the sale now.", LOCKED);
pub const CLOSE_EVENT: Doc = operate("closeEvent", "Closes the sale.", LOCKED);
pub const PAUSE_EVENT: Doc = operate("pauseEvent", "Pauses an open sale.", LOCKED);
pub const ARCHIVE_EVENT: Doc = operate(
    "archiveEvent",
    "Closes the sale and takes the event out of the list. Not while seats are on hold or people are inside.",
    &[|| Refusal::StillBuying { held: 2, inside: 3 }, || Refusal::Contention],
);
pub const UNARCHIVE_EVENT: Doc = operate("unarchiveEvent", "Lists an archived event again. It stays closed.", LOCKED);
pub const RESUME_EVENT: Doc = operate("resumeEvent", "Resumes a paused sale.", LOCKED);
pub const ADMIN_RESERVATIONS: Doc = Doc {
    paged: true,
    filters: &[
        Filter { name: "user", kind: "string", about: "Of this user." },
        Filter { name: "name", kind: "string", about: "Whose name has this part." },
        Filter { name: "phone", kind: "string", about: "Whose telephone number ends so; at least four digits." },
        Filter { name: "email", kind: "string", about: "Whose email address has this part." },
        Filter { name: "seat", kind: "integer", about: "Of this seat." },
        Filter {
            name: "id",
            kind: "string",
            about: "The reservation with this id, as the buyer or the admin knows it.",
        },
    ],
    ..read(
        "adminListReservations",
        "admin",
        "Who has which seat; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("AdminReservationsAnswer"), CSV, JSON_LINES],
    )
};
const OF_USER: &[Filter] = &[Filter { name: "user", kind: "string", about: "Of this user; needed." }];
pub const ADMIN_RESERVATIONS_OF_USER: Doc = Doc {
    paged: true,
    filters: OF_USER,
    ..read(
        "adminListReservationsOfUser",
        "admin",
        "Seats and stays of one user; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("ReservationsAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_HOLDS_OF_USER: Doc = Doc {
    paged: true,
    filters: OF_USER,
    ..read(
        "adminListHoldsOfUser",
        "admin",
        "Live holds of one user; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("HoldsAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_USER: Doc = Doc {
    paged: true,
    refuses: &[|| Refusal::DoorUnreachable, || Refusal::DoorFailed],
    ..read(
        "adminGetUser",
        "admin",
        "Everything of one user: seats, stays, holds, places in line, and what the history says of them; whole with \
         `Accept: application/x-ndjson` or `text/csv`.",
        &[ok("AdminUserAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_HOLDS_OF_EVENT: Doc = Doc {
    paged: true,
    ..read(
        "adminListHoldsOfEvent",
        "admin",
        "Holds of an event, in whatever state; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("HoldsAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_HOLDS_OF_ROOM_TYPE: Doc = Doc {
    paged: true,
    ..read(
        "adminListHoldsOfRoomType",
        "admin",
        "Holds of a room type, in whatever state; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("HoldsAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_STAYS: Doc = Doc {
    paged: true,
    filters: &[
        Filter { name: "user", kind: "string", about: "Of this user." },
        Filter { name: "id", kind: "string", about: "The stay with this id, as the guest or the admin knows it." },
    ],
    ..read(
        "adminListStays",
        "admin",
        "Who stays in a room type; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("AdminStaysAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_CANCEL: Doc = Doc {
    done: "cancelled",
    gives: &[ok("Success")],
    ..operate("adminCancelReservation", "Takes a reservation away.", LOCKED)
};

pub const ADMIN_HISTORY: Doc = Doc {
    paged: true,
    filters: &[
        Filter { name: "event", kind: "integer", about: "Of this event." },
        Filter { name: "roomType", kind: "integer", about: "Of this room type." },
        Filter { name: "user", kind: "string", about: "About what this user has." },
        Filter { name: "seat", kind: "integer", about: "About this seat." },
        Filter { name: "hold", kind: "string", about: "About this hold." },
        Filter { name: "what", kind: "string", about: "Of this kind, such as `reserved`." },
        Filter { name: "byName", kind: "string", about: "By the operator whose token has this name." },
        Filter { name: "traceId", kind: "string", about: "By the request with this `X-Request-Id`." },
        Filter { name: "from", kind: "string", about: "Not before this time." },
        Filter { name: "to", kind: "string", about: "Before this time." },
    ],
    ..read(
        "adminHistory",
        "admin",
        "Who did what when, in order; whole with `Accept: text/csv` or `application/x-ndjson`.",
        &[ok("HistoryAnswer"), CSV, JSON_LINES],
    )
};
pub const ADMIN_EVENT_HEAD: Doc = read(
    "adminEventHistoryHead",
    "admin",
    "The newest row of the event's history and its hash, which covers everything before it.",
    &[ok("HistoryHeadAnswer")],
);
pub const ADMIN_ROOM_TYPE_HEAD: Doc = read(
    "adminRoomTypeHistoryHead",
    "admin",
    "The newest row of the room type's history and its hash, which covers everything before it.",
    &[ok("HistoryHeadAnswer")],
);
pub const ADMIN_LEDGER_HEAD: Doc = read(
    "adminHistoryHead",
    "admin",
    "The newest row of what concerns no event and no room type, such as tokens, and its hash.",
    &[ok("HistoryHeadAnswer")],
);
pub const ERASE_USER: Doc = Doc {
    done: "erased",
    gives: &[ok("ErasedAnswer")],
    ..operate(
        "eraseUserData",
        "Removes the user's names, phones, emails, addresses, and the metadata and reasons of their orders. Seats, counts and the history stay; so does the user id.",
        &[],
    )
};
pub const ADMIN_AUDIT: Doc =
    read("adminAudit", "admin", "The invariants of the ledger, checked now.", &[ok("AuditAnswer")]);

pub const LIVE: Doc = read("live", "machine", "The process is alive.", &[ok("Success")]);
pub const READY: Doc = read("ready", "machine", "It can sell; 503 says what is missing.", &[ok("Success")]);
pub const METRICS: Doc = read(
    "metrics",
    "machine",
    "Counts, for Prometheus.",
    &[
        Gives { status: Success::Ok, kind: "application/openmetrics-text", schema: None },
        Gives { status: Success::Ok, kind: "text/plain", schema: None },
    ],
);
pub const OPENAPI: Doc =
    read("openapi", "machine", "This document.", &[Gives { status: Success::Ok, kind: JSON, schema: None }]);
pub const OPENAPI_OF_DIALECT: Doc = read(
    "openapiOfDialect",
    "machine",
    "The document of a dialect: `1.1.json`, `1.0.json`, `2025-08-17.json`, `v1.json`.",
    &[Gives { status: Success::Ok, kind: JSON, schema: None }],
);
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
pub const PAGE_FILE: Doc = read(
    "pageFile",
    "machine",
    "Styles, scripts and the icon of the pages.",
    &[
        Gives { status: Success::Ok, kind: "text/css", schema: None },
        Gives { status: Success::Ok, kind: "text/javascript", schema: None },
        Gives { status: Success::Ok, kind: "image/svg+xml", schema: None },
        UNCHANGED,
    ],
);
pub const FAVICON: Doc = read(
    "favicon",
    "machine",
    "The icon, where browsers look for it unasked.",
    &[Gives { status: Success::Ok, kind: "image/x-icon", schema: None }, UNCHANGED],
);
pub const TOUCH_ICON: Doc = read(
    "touchIcon",
    "machine",
    "The icon on the home screen of a phone.",
    &[Gives { status: Success::Ok, kind: "image/png", schema: None }, UNCHANGED],
);
pub const EVENTS_PAGE: Doc = read("eventsPage", "pages", "Events on sale.", PAGE);
pub const EVENT_PAGE: Doc = Doc {
    refuses: &[|| Refusal::NotFound],
    ..read("eventPage", "pages", "Where a buyer waits, chooses and confirms.", PAGE)
};
pub const ROOMS_PAGE: Doc = read("roomsPage", "pages", "A calendar of rooms.", PAGE);
pub const OWN_PAGE: Doc = read("ownPage", "pages", "Reservations, stays and holds of the viewer.", PAGE);
pub const CONSOLE_PAGE: Doc = read("consolePage", "pages", "The operator's console.", PAGE);
pub const TRY_PAGE: Doc = read("tryPage", "pages", "The API with buttons and curl lines.", PAGE);
