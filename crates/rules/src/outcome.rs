//! Every way a request can end. A refusal is an answer, not an error. It carries facts; the server
//! turns them into status, code and words.

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

impl Done {
    /// One word, the same in metrics and in the headers for a gateway.
    pub fn code(&self) -> &'static str {
        match self {
            Done::Reserved(_) => "reserved",
            Done::Cancelled => "cancelled",
            Done::Entered(_) => "entered",
            Done::Left => "left",
            Done::Renewed { .. } => "renewed",
            Done::Changed(_) | Done::RoomsChanged(_) => "changed",
            Done::Held { .. } => "held",
            Done::Confirmed { .. } => "confirmed",
            Done::Released => "released",
            Done::Extended { .. } => "extended",
        }
    }
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
    BadToken(TokenProblem),
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
    /// The waiting line has as many users as it may.
    QueueFull {
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
    /// The client's key belongs to another user's hold on the same nights or seats.
    HoldKeyConflict,
    // limit of the user
    Duplicate {
        seat: Seat,
        user_ttl_s: Option<u64>,
    },
    AlreadyReserved {
        seat: Seat,
    },
    /// Beyond a limit, or at it by holds alone. `seats` are the user's seats on hold, newest last; none
    /// where the limit counts holds, not seats.
    LimitReached {
        seats: Vec<Seat>,
        limit: Limit,
    },
    // entry
    EntryRequired,
    NotReady {
        retry_after: u64,
    },
    /// The user gave just this back, and may hold it again only after the cool-down.
    HeldLately {
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
    /// Admin: reservations stand that this would remove.
    InUse,
    /// Admin: seats are on hold, or people are inside.
    StillBuying {
        held: u32,
        inside: u32,
    },
    /// Admin: `least` rooms are confirmed or held on some night.
    RoomsInUse {
        least: u32,
    },
    // machinery
    /// The request timed out on the subject's lock.
    Contention,
    /// The same for a request about a hold.
    LockTimeout,
    Overloaded,
    LedgerUnreachable,
    DoorUnreachable,
    /// The keys that tokens are verified with were never fetched.
    KeysUnreachable,
    /// From a gateway: it reached no server.
    ServerUnreachable,
    /// From a gateway: every server identifies users in another way.
    AuthModesDiffer,
    /// The door was reached, but its script failed.
    DoorFailed,
    NoNumber,
    Internal,
}

/// Which limit a user would pass, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Seats of an event, bought and on hold: `asked` beside `has` would be more than `most`.
    Seats { asked: u32, has: u32, most: u32 },
    /// Live holds of a user in one event or room type.
    Holds { has: u32, most: u32 },
    /// How long a hold may be extended.
    HoldAge,
}

/// What is wrong with one field, header or parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub field: String,
    pub problem: Problem,
}

impl FieldError {
    /// The refusal that names this field.
    pub fn refused(field: impl Into<String>, problem: Problem) -> Refusal {
        Refusal::Invalid(FieldError { field: field.into(), problem })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    Missing,
    Repeated,
    NotUtf8,
    NotJson {
        line: usize,
        column: usize,
    },
    Expected(Expected),
    Length {
        most: usize,
    },
    Count {
        least: usize,
        most: usize,
    },
    /// Too many bytes.
    Size {
        most_bytes: usize,
    },
    Unprintable,
    OutOfRange {
        least: i64,
        most: i64,
    },
    NotAPhone,
    NotAnEmail,
    NotAMoment,
    NotADate,
    Dates {
        least: Night,
        most: Night,
    },
    OneOf(&'static [&'static str]),
    /// No field of this name; perhaps `nearest` was meant.
    Unknown {
        nearest: Option<&'static str>,
    },
}

/// What should have been sent instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    JsonObject,
    List,
    Text,
    /// Escapes such as `\ud800` that stand for no character.
    ReadableEscapes,
    WholeNumber,
    CompleteBody,
    WellFormedRequest,
    /// Fewer headers, or shorter ones.
    ShorterHead,
    /// The `next` of an earlier page.
    NextOfAPage,
    /// `2026-12`.
    Month,
    /// The list has too many seats to be sent plain at once.
    GzipOrPages,
    TimeZone,
    /// Not below `tokenTtl`.
    AtLeastTokenTtl,
    /// Before `opensAt`, which must be given.
    BeforeOpening,
    /// An event whose gathering has not begun.
    BeforeGathering,
    /// An event with a draw that has not opened yet.
    NotDrawnYet,
    /// Seats are fixed when an event is made.
    NoSeats,
    OpenEvent,
    PausedEvent,
    /// Not an archived one.
    ListedEvent,
    ArchivedEvent,
    /// An event that was made as one.
    Rehearsal,
    /// `roomTypeId` or `eventId`, not both.
    RoomTypeOrEvent,
    /// A UUID or a ULID.
    HoldKey,
    /// Text, a number, true or false.
    PlainValue,
    YesOrNo,
    /// A decimal number as text.
    Amount,
    /// A code of ISO 4217.
    Currency,
    /// Of a token of the admin API: one that no live token has.
    UnusedTokenName,
    /// Another token than the one that asks.
    OtherToken,
    /// Of this event or room type.
    HoldId,
    IpAddress,
    /// 32 hexadecimal digits.
    RequestName,
    ArrivalNumber,
    /// `https`, and nothing private.
    WebhookUrl,
}

impl Expected {
    pub const ALL: [Expected; 35] = [
        Expected::JsonObject,
        Expected::List,
        Expected::Text,
        Expected::ReadableEscapes,
        Expected::WholeNumber,
        Expected::CompleteBody,
        Expected::WellFormedRequest,
        Expected::ShorterHead,
        Expected::NextOfAPage,
        Expected::Month,
        Expected::GzipOrPages,
        Expected::TimeZone,
        Expected::AtLeastTokenTtl,
        Expected::BeforeOpening,
        Expected::BeforeGathering,
        Expected::NotDrawnYet,
        Expected::NoSeats,
        Expected::OpenEvent,
        Expected::PausedEvent,
        Expected::ListedEvent,
        Expected::ArchivedEvent,
        Expected::Rehearsal,
        Expected::RoomTypeOrEvent,
        Expected::HoldKey,
        Expected::PlainValue,
        Expected::YesOrNo,
        Expected::Amount,
        Expected::Currency,
        Expected::UnusedTokenName,
        Expected::OtherToken,
        Expected::HoldId,
        Expected::IpAddress,
        Expected::RequestName,
        Expected::ArrivalNumber,
        Expected::WebhookUrl,
    ];
}

/// Why a user's token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenProblem {
    /// Not a token that this server reads: its form, its size, its header or a claim.
    Malformed,
    /// An algorithm that is not allowed, a key that is not known, or a signature that does not verify.
    Signature,
    Expired,
    NotYetValid,
    Issuer,
    Audience,
    /// `sub` cannot be a user id.
    Subject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// The request names another user than its token.
    NotTheTokens,
    /// The token's role does not allow it.
    Role,
    /// It belongs to another user.
    Anothers,
    /// The hold belongs to another user.
    AnothersHold,
    /// A ticket that does not verify.
    Ticket,
    /// The request came through a proxy that the server was not told about.
    UnknownProxy,
    /// The request names a host that is not this machine.
    UnknownHost,
}
