//! Every way a request can end. A refusal is an answer, not an error: it carries facts, no text.

mod samples;

use serde::{Deserialize, Serialize};

use crate::entries::Entry;
use crate::event::Event;
use crate::holds::Hold;
use crate::ids::{Number, ReservationId, Seat};
use crate::nights::Night;
use crate::room_type::RoomType;
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
            Outcome::Done(Done::Changed(_) | Done::RoomsChanged(_)) => "changed",
            Outcome::Done(Done::Held { .. }) => "held",
            Outcome::Done(Done::Confirmed { .. }) => "confirmed",
            Outcome::Done(Done::Released) => "released",
            Outcome::Done(Done::Extended { .. }) => "extended",
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
    /// The same of a room type.
    RoomsChanged(Box<RoomType>),
    /// Not fresh: it was there already, and nothing changed.
    Held {
        hold: Box<Hold>,
        now: Moment,
        fresh: bool,
    },
    Confirmed {
        hold: Box<Hold>,
    },
    /// A hold was given back.
    Released,
    Extended {
        hold: Box<Hold>,
        now: Moment,
    },
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
    Held { hold: Box<Hold>, now: Moment },
    Confirmed { hold: Box<Hold> },
    Released,
    Extended { hold: Box<Hold>, now: Moment },
}

impl Kept {
    pub fn of(done: &Done) -> Option<Kept> {
        match done {
            Done::Reserved(reserved) => Some(Kept::Reserved(reserved.clone())),
            Done::Cancelled => Some(Kept::Cancelled),
            Done::Held { hold, now, fresh: true } => Some(Kept::Held { hold: hold.clone(), now: *now }),
            Done::Confirmed { hold } => Some(Kept::Confirmed { hold: hold.clone() }),
            Done::Released => Some(Kept::Released),
            Done::Extended { hold, now } => Some(Kept::Extended { hold: hold.clone(), now: *now }),
            Done::Changed(_) | Done::RoomsChanged(_) | Done::Held { fresh: false, .. } => None,
            // Queue calls repeat themselves by nature.
            Done::Entered(_) | Done::Left | Done::Renewed { .. } => None,
        }
    }
}

impl From<Kept> for Done {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Reserved(reserved) => Done::Reserved(reserved),
            Kept::Cancelled => Done::Cancelled,
            Kept::Held { hold, now } => Done::Held { hold, now, fresh: true },
            Kept::Confirmed { hold } => Done::Confirmed { hold },
            Kept::Released => Done::Released,
            Kept::Extended { hold, now } => Done::Extended { hold, now },
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
    Invalid(FieldError),
    // who asks
    MissingUser,
    Unauthorized,
    Forbidden(Forbidden),
    // does it exist
    NotFound,
    HoldNotFound,
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
    // the state of a hold
    HoldExpired,
    /// Confirmed, with what it became, or cancelled.
    HoldProcessed {
        confirmed: Option<Box<Hold>>,
    },
    /// The client's key belongs to somebody else's hold on the same nights or seats.
    HoldKeyConflict,
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
    /// Nothing is free on these nights, or of these seats.
    NotAvailable {
        nights: Vec<Night>,
        seats: Vec<Seat>,
    },
    /// Admin: people have what this would take away.
    InUse,
    /// Admin: so many rooms are confirmed or held on some night.
    RoomsInUse {
        least: u32,
    },
    // machinery
    Contention,
    /// The same, about a hold.
    LockTimeout,
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
pub struct FieldError {
    pub field: String,
    pub problem: Problem,
}

impl FieldError {
    /// The refusal that names this fault.
    pub fn refused(field: impl Into<String>, problem: Problem) -> Refusal {
        Refusal::Invalid(FieldError { field: field.into(), problem })
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
    NotADate,
    Dates { least: Night, most: Night },
    OneOf(&'static [&'static str]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// It belongs to somebody else.
    Anothers,
    /// The hold belongs to somebody else.
    AnothersHold,
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
            Refusal::Forbidden(Forbidden::AnothersHold) => "FORBIDDEN",
            Refusal::Forbidden(_) => "forbidden",
            Refusal::NoSuchPath | Refusal::NotFound => "not_found",
            Refusal::HoldNotFound => "RESERVATION_HOLD_NOT_FOUND",
            Refusal::NotQueued => "not_queued",
            Refusal::NoWaitingRoom => "no_waiting_room",
            Refusal::RateLimited { .. } => "rate_limited",
            Refusal::AddressSpent { .. } | Refusal::AlreadyAsking { .. } | Refusal::Duplicate { .. } => "duplicate",
            Refusal::KeyMismatch => "idempotency_mismatch",
            Refusal::NotOpen { .. } => "not_open",
            Refusal::Closed => "closed",
            Refusal::HoldExpired => "RESERVATION_HOLD_EXPIRED",
            Refusal::HoldProcessed { .. } => "RESERVATION_HOLD_ALREADY_PROCESSED",
            Refusal::HoldKeyConflict => "RESERVATION_HOLD_KEY_CONFLICT",
            Refusal::AlreadyReserved { .. } => "already_reserved",
            Refusal::LimitReached { .. } => "limit_reached",
            Refusal::EntryRequired => "entry_required",
            Refusal::NotReady { .. } => "not_ready",
            Refusal::SeatTaken => "seat_taken",
            Refusal::SoldOut => "sold_out",
            Refusal::HeldOut { .. } => "held_out",
            Refusal::NotAvailable { .. } => "RESERVATION_NOT_AVAILABLE",
            Refusal::InUse | Refusal::RoomsInUse { .. } => "in_use",
            Refusal::Contention => "contention",
            Refusal::LockTimeout => "LOCK_TIMEOUT",
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
            | Refusal::HoldNotFound
            | Refusal::NotQueued
            | Refusal::NoWaitingRoom
            | Refusal::Closed
            | Refusal::HoldExpired
            | Refusal::HoldProcessed { .. }
            | Refusal::HoldKeyConflict
            | Refusal::AlreadyReserved { .. }
            | Refusal::LimitReached { .. }
            | Refusal::EntryRequired
            | Refusal::SeatTaken
            | Refusal::SoldOut
            | Refusal::NotAvailable { .. }
            | Refusal::InUse
            | Refusal::RoomsInUse { .. }
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
            | Refusal::LockTimeout
            | Refusal::Overloaded
            | Refusal::LedgerUnreachable
            | Refusal::DoorUnreachable
            | Refusal::ServerUnreachable
            | Refusal::DoorFailed
            | Refusal::NoNumber => Again::After(1),
        }
    }
}
