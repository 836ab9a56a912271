//! What the document says about live streams.

use super::super::{Doc, Filter, Gives, Shown};
use super::read;
use crate::http::respond::Success;

const fn stream(schema: &'static str) -> Gives {
    Gives { status: Success::Ok, kind: "text/event-stream", schema: Some(schema) }
}

const RESUMES: &[Shown] = &[Shown {
    name: "Last-Event-ID",
    about: "The `id` of the last message that was read: what follows is sent, or a new `snapshot` where that is not known.",
    most: None,
}];

const FILTERS: &[Filter] = &[Filter {
    name: "lastEventId",
    kind: "string",
    about: "As the header, for a first connection of an `EventSource`.",
}];

const ABOUT: &str = "Every change of an event, as Server-Sent Events: `snapshot`, then `seats` (both numbered: `id` is \
    the history number and a mark), `remaining`, `state`. At most 10 messages a second; a reader that is too slow is \
    dropped, and resumes with Last-Event-ID.";

const MESSAGES: &[Gives] = &[stream("EventStreamMessage")];

const fn events(id: &'static str) -> Doc {
    Doc { shows: RESUMES, filters: FILTERS, ..read(id, "live", ABOUT, MESSAGES) }
}

pub const EVENT_STREAM: Doc = events("streamEvent");
pub const FIRST_EVENT_STREAM: Doc = events("streamFirstEvent");
