//! What the document says about live streams.

use rules::outcome::{Forbidden, Refusal};

use super::super::{Doc, Filter, Gives, Shown};
use super::{ok, read};
use crate::http::respond::Success;

const fn stream(schema: &'static str) -> Gives {
    Gives { status: Success::Ok, kind: "text/event-stream", schema: Some(schema) }
}

const RESUMES: &[Shown] = &[Shown {
    name: "Last-Event-ID",
    about: "The `id` of the last message that was read: what follows is sent, or a new `snapshot` where that is not known.",
    most: None,
}];

const EVENT_FILTERS: &[Filter] = &[
    Filter { name: "lastEventId", kind: "string", about: "As the header, for a first connection of an `EventSource`." },
    Filter { name: "ticket", kind: "string", about: "A stream ticket: one's own messages are sent too." },
];

const NIGHT_FILTERS: &[Filter] = &[
    Filter {
        name: "from",
        kind: "string",
        about: "The first night; without it, and at the earliest, today. At most `MAX_DAYS_AHEAD` days ahead.",
    },
    Filter { name: "to", kind: "string", about: "The day after the last night: at most 366 nights, without it 62." },
];

const EVENT_ABOUT: &str = "Every change of an event, as Server-Sent Events: `snapshot`, then `seats` (both numbered: \
    `id` is the history number, a dot and a mark), `remaining`, `state`, `queue`; with a ticket also `place`, `hold` and \
    `reservation`. At most 10 messages a second; a reader that is too slow is dropped, and resumes with Last-Event-ID.";

const EVENT_MESSAGES: &[Gives] = &[stream("EventStreamMessage")];
const ROOM_TYPE_MESSAGES: &[Gives] = &[stream("RoomTypeStreamMessage")];
const BAD_TICKET: &[fn() -> Refusal] = &[|| Refusal::Forbidden(Forbidden::Ticket)];

const fn events(id: &'static str) -> Doc {
    let doc = read(id, "live", EVENT_ABOUT, EVENT_MESSAGES);
    Doc { shows: RESUMES, filters: EVENT_FILTERS, refuses: BAD_TICKET, ..doc }
}

pub const EVENT_STREAM: Doc = events("streamEvent");
pub const FIRST_EVENT_STREAM: Doc = events("streamFirstEvent");
pub const STREAM_TICKET: Doc = read(
    "createStreamTicket",
    "live",
    "Proves in the address of a stream who watches, because an `EventSource` sends no headers. To be used within a minute.",
    &[ok("StreamTicket")],
);
pub const ROOM_TYPE_STREAM: Doc = Doc {
    filters: NIGHT_FILTERS,
    ..read(
        "streamRoomType",
        "live",
        "What is left on the nights of a room type, as Server-Sent Events: `snapshot`, then `nights` with those that \
         changed. Every connection begins with a `snapshot`.",
        ROOM_TYPE_MESSAGES,
    )
};
