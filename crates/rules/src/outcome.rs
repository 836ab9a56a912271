//! Every way a request can end. A refusal is an answer, not an error: it carries facts, no text.

mod samples;

use serde::{Deserialize, Serialize};

use crate::entries::Entry;
use crate::event::Event;
use crate::ids::{Number, ReservationId, Seat};
use crate::time::Moment;

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Done(Done),
    Refused(Refusal),
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Outcome::Refused(refusal)
    }
}

impl Outcome {
    /// One word, the same in answers, metrics and documents.
    pub fn code(&self) -> &'static str {
        match self {
            Outcome::Done(Done::Reserved(_)) => "reserved",
            Outcome::Done(Done::Cancelled) => "cancelled",
            Outcome::Done(Done::Entered(_)) => "entered",
            Outcome::Done(Done::Left) => "left",
            Outcome::Done(Done::Renewed { .. }) => "renewed",
            Outcome::Done(Done::Changed(_)) => "changed",
            Outcome::Refused(refusal) => refusal.code(),
        }
    }
}

/// Something changed, and is durable.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    Reserved(Reserved),
    Cancelled,
    Entered(Box<Entry>),
    Left,
    Renewed {
        ends: Moment,
    },
    /// An operator changed the event; this is how it stands now.
    Changed(Box<Event>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    pub reservation: ReservationId,
    pub seat: Seat,
    pub remaining: u32,
    /// Whole seconds in which a repeated request is a `duplicate`; none: for ever.
    pub user_ttl_s: Option<u64>,
    pub number: Option<Number>,
}

/// The part of an answer that is kept for its idempotency key: only what changed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kept {
    Reserved(Reserved),
    Cancelled,
}

impl Kept {
    pub fn of(done: &Done) -> Option<Kept> {
        match done {
            Done::Reserved(reserved) => Some(Kept::Reserved(reserved.clone())),
            Done::Cancelled => Some(Kept::Cancelled),
            // Queue calls repeat themselves by nature.
            Done::Entered(_) | Done::Left | Done::Renewed { .. } | Done::Changed(_) => None,
        }
    }
}

impl From<Kept> for Done {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Reserved(reserved) => Done::Reserved(reserved),
            Kept::Cancelled => Done::Cancelled,
        }
    }
}

/// In order of precedence: where several apply, the first one is the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    // the form of the request
    NoSuchPath,
    WrongMethod {
        allow: &'static str,
    },
    TooLarge {
        limit_bytes: usize,
    },
    NotJsonType,
    TooSlow,
    Invalid(Fault),
    // who asks
    MissingUser,
    Unauthorized,
    Forbidden(Forbidden),
    // does it exist
    NotFound,
    NotQueued,
    NoWaitingRoom,
    // the door
    RateLimited {
        retry_after: u64,
    },
    AddressSpent {
        retry_after: u64,
    },
    AlreadyAsking {
        retry_after: u64,
    },
    // same key
    KeyMismatch,
    // open
    NotOpen {
        opens_at: Option<Moment>,
        retry_after: Option<u64>,
    },
    Closed,
    // limit of the user
    Duplicate {
        seat: Seat,
        user_ttl_s: Option<u64>,
    },
    AlreadyReserved {
        seat: Seat,
    },
    /// At the limit by holds alone. Newest last; none where the limit counts holds, not seats.
    LimitReached {
        seats: Vec<Seat>,
    },
    // entry
    EntryRequired,
    NotReady {
        retry_after: u64,
    },
    // stock
    SeatTaken,
    SoldOut,
    /// Nothing free, but something on hold: the first hold ends then.
    HeldOut {
        retry_after: u64,
    },
    /// Admin: people have what this would take away.
    InUse,
    // machinery
    Contention,
    Overloaded,
    LedgerUnreachable,
    DoorUnreachable,
    /// Told by a gateway: it is there, and no server behind it is.
    ServerUnreachable,
    /// The door is there, and could not do what it was asked.
    DoorFailed,
    NoNumber,
    Internal,
}

/// What is wrong with one field. Whoever answers puts it into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub field: String,
    pub problem: Problem,
}

impl Fault {
    /// The refusal that names this fault.
    pub fn refused(field: impl Into<String>, problem: Problem) -> Refusal {
        Refusal::Invalid(Fault { field: field.into(), problem })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    Missing,
    Repeated,
    NotUtf8,
    NotJson { line: usize, column: usize },
    Expected(&'static str),
    Length { most: usize },
    Count { least: usize, most: usize },
    Unprintable,
    OutOfRange { least: i64, most: i64 },
    NotAPhone,
    NotAMoment,
    OneOf(&'static [&'static str]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// It belongs to somebody else.
    Anothers,
    /// A ticket that does not verify.
    Ticket,
    /// A proxy stands in front that we were not told about.
    UnknownProxy,
}

/// Whether asking again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The same request gets the same answer.
    No,
    /// Once it is put right.
    Corrected,
    /// After so many seconds.
    After(u64),
}

impl Refusal {
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::WrongMethod { .. }
            | Refusal::TooLarge { .. }
            | Refusal::NotJsonType
            | Refusal::TooSlow
            | Refusal::Invalid(_) => "validation",
            Refusal::MissingUser => "missing_user",
            Refusal::Unauthorized => "unauthorized",
            Refusal::Forbidden(_) => "forbidden",
            Refusal::NoSuchPath | Refusal::NotFound => "not_found",
            Refusal::NotQueued => "not_queued",
            Refusal::NoWaitingRoom => "no_waiting_room",
            Refusal::RateLimited { .. } => "rate_limited",
            Refusal::AddressSpent { .. } | Refusal::AlreadyAsking { .. } | Refusal::Duplicate { .. } => "duplicate",
            Refusal::KeyMismatch => "idempotency_mismatch",
            Refusal::NotOpen { .. } => "not_open",
            Refusal::Closed => "closed",
            Refusal::AlreadyReserved { .. } => "already_reserved",
            Refusal::LimitReached { .. } => "limit_reached",
            Refusal::EntryRequired => "entry_required",
            Refusal::NotReady { .. } => "not_ready",
            Refusal::SeatTaken => "seat_taken",
            Refusal::SoldOut => "sold_out",
            Refusal::HeldOut { .. } => "held_out",
            Refusal::InUse => "in_use",
            Refusal::Contention => "contention",
            Refusal::Overloaded
            | Refusal::LedgerUnreachable
            | Refusal::DoorUnreachable
            | Refusal::ServerUnreachable => "service_unavailable",
            Refusal::DoorFailed => "redis_error",
            Refusal::NoNumber => "sequence_unavailable",
            Refusal::Internal => "internal_error",
        }
    }

    pub fn again(&self) -> Again {
        match self {
            Refusal::NoSuchPath
            | Refusal::Unauthorized
            | Refusal::Forbidden(_)
            | Refusal::NotFound
            | Refusal::NotQueued
            | Refusal::NoWaitingRoom
            | Refusal::Closed
            | Refusal::AlreadyReserved { .. }
            | Refusal::LimitReached { .. }
            | Refusal::EntryRequired
            | Refusal::SeatTaken
            | Refusal::SoldOut
            | Refusal::InUse
            | Refusal::Internal => Again::No,
            Refusal::WrongMethod { .. }
            | Refusal::TooLarge { .. }
            | Refusal::NotJsonType
            | Refusal::Invalid(_)
            | Refusal::MissingUser
            | Refusal::KeyMismatch => Again::Corrected,
            Refusal::RateLimited { retry_after }
            | Refusal::AddressSpent { retry_after }
            | Refusal::AlreadyAsking { retry_after }
            | Refusal::NotReady { retry_after }
            | Refusal::HeldOut { retry_after } => Again::After(*retry_after),
            Refusal::NotOpen { retry_after, .. } => retry_after.map_or(Again::No, Again::After),
            // The window is a fact about the sale that stands: asking again would find it still there.
            Refusal::Duplicate { .. } => Again::No,
            Refusal::TooSlow
            | Refusal::Contention
            | Refusal::Overloaded
            | Refusal::LedgerUnreachable
            | Refusal::DoorUnreachable
            | Refusal::ServerUnreachable
            | Refusal::DoorFailed
            | Refusal::NoNumber => Again::After(1),
        }
    }
}
