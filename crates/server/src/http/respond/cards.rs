//! One card per refusal, with everything that any output says about it. Answers, metrics, the gateway's
//! files and `docs/outcomes.md` are made from the cards.
//!
//! The `match` below has no wildcard and every card is a whole struct literal. A new refusal without a
//! status, a Korean message or an advice does not compile.

mod door;
mod fields;
mod form;
mod holds;
mod machinery;
mod sale;
mod who;

use std::borrow::Cow;

use rules::ids::Seat;
use rules::outcome::{Forbidden, Refusal, TokenProblem};
use salvo::http::StatusCode;

use super::language::Language;

pub struct Card {
    pub status: StatusCode,
    /// `reason` in dialect 1.1, `code` in 2025-08-17; the fifth specification has its own for holds.
    pub code: &'static str,
    pub message: Message,
    pub retry: Retry,
    pub seeds: Seeds,
    /// When it happens, for the documents.
    pub when: &'static str,
    /// What to do next.
    pub buyer: &'static str,
    pub author: &'static str,
    pub operator: &'static str,
}

/// For people to read: in words that a buyer knows.
pub struct Message {
    pub en: Cow<'static, str>,
    pub ko: Cow<'static, str>,
}

impl Message {
    pub fn in_language(self, language: Language) -> Cow<'static, str> {
        match language {
            Language::English => self.en,
            Language::Korean => self.ko,
        }
    }
}

fn message(en: impl Into<Cow<'static, str>>, ko: impl Into<Cow<'static, str>>) -> Message {
    Message { en: en.into(), ko: ko.into() }
}

/// Whether to send the request again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request gets the same answer.
    No,
    /// Once it is corrected.
    Corrected,
    /// After this many seconds.
    After(u64),
}

impl Retry {
    /// The value of `Retry-After`, which is at least one second.
    pub fn seconds(self) -> Option<u64> {
        match self {
            Retry::No | Retry::Corrected => None,
            Retry::After(seconds) => Some(seconds.max(1)),
        }
    }
}

/// How the dialects of the seeds, 1.0 and 2025-08-17, say it. Their words never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// By the code; 2025-08-17 adds the English message.
    Code,
    /// By the code; 2025-08-17 adds this message, although 1.1 words it differently now.
    CodeWith(&'static str),
    /// 1.0 says `bad request`, 2025-08-17 `validation_failed`.
    BadRequest,
    /// 1.0 says `internal error`.
    InternalError,
    /// 1.0 says `duplicate request`.
    DuplicateRequest,
    /// `sold out`. Requests for a seat get this one and those below with 200.
    SoldOut,
    /// 1.0 says `no seat available`, 2025-08-17 `contention`.
    NoSeat,
    /// `already reserved`, with the newest seat if there is one.
    Already(Option<Seat>),
}

const NOTHING: &str = "Nothing.";

/// Everything about a refusal.
pub fn card(refusal: &Refusal) -> Card {
    match refusal {
        Refusal::NoSuchPath => form::no_such_path(),
        Refusal::WrongMethod { allow } => form::wrong_method(allow),
        Refusal::TooLarge { limit_bytes } => form::too_large(*limit_bytes),
        Refusal::NotJsonType => form::not_json_type(),
        Refusal::TooSlow => form::too_slow(),
        Refusal::Invalid(error) => form::invalid(error),
        Refusal::MissingUser => who::missing_user(),
        Refusal::Unauthorized => who::unauthorized(),
        Refusal::BadToken(TokenProblem::Expired) => who::expired_token(),
        Refusal::BadToken(_) => who::bad_token(),
        Refusal::Forbidden(Forbidden::NotTheTokens) => who::not_the_tokens(),
        Refusal::Forbidden(Forbidden::Role) => who::wrong_role(),
        Refusal::Forbidden(Forbidden::Anothers) => who::anothers(),
        Refusal::Forbidden(Forbidden::AnothersHold) => who::anothers_hold(),
        Refusal::Forbidden(Forbidden::Ticket) => who::bad_ticket(),
        Refusal::Forbidden(Forbidden::UnknownProxy) => who::unknown_proxy(),
        Refusal::Forbidden(Forbidden::UnknownHost) => who::unknown_host(),
        Refusal::NotFound => who::not_found(),
        Refusal::HoldNotFound => holds::not_found(),
        Refusal::NotQueued => door::not_queued(),
        Refusal::NoWaitingRoom => door::no_waiting_room(),
        Refusal::RateLimited { retry_after } => door::rate_limited(*retry_after),
        Refusal::AddressSpent { retry_after } => door::address_spent(*retry_after),
        Refusal::AlreadyAsking { retry_after } => door::already_asking(*retry_after),
        Refusal::QueueFull { retry_after } => door::queue_full(*retry_after),
        Refusal::KeyMismatch => form::key_mismatch(),
        Refusal::NotOpen { opens_at: _, retry_after } => sale::not_open(*retry_after),
        Refusal::Closed => sale::closed(),
        Refusal::HoldExpired => holds::expired(),
        Refusal::HoldProcessed { confirmed: Some(_) } => holds::confirmed(),
        Refusal::HoldProcessed { confirmed: None } => holds::cancelled(),
        Refusal::HoldKeyConflict => holds::key_conflict(),
        Refusal::Duplicate { seat, user_ttl_s: _ } => sale::duplicate(*seat),
        Refusal::AlreadyReserved { seat } => sale::already_reserved(*seat),
        Refusal::LimitReached { seats, limit } => sale::limit_reached(seats.last().copied(), *limit),
        Refusal::EntryRequired => door::entry_required(),
        Refusal::NotReady { retry_after } => door::not_ready(*retry_after),
        Refusal::HeldLately { retry_after } => holds::held_lately(*retry_after),
        Refusal::SeatTaken => sale::seat_taken(),
        Refusal::SoldOut => sale::sold_out(),
        Refusal::HeldOut { retry_after } => sale::held_out(*retry_after),
        Refusal::NotAvailable { nights, seats: _ } => holds::not_available(!nights.is_empty()),
        Refusal::InUse => sale::in_use(),
        Refusal::StillBuying { held, inside } => sale::still_buying(*held, *inside),
        Refusal::RoomsInUse { least } => sale::rooms_in_use(*least),
        Refusal::Contention => machinery::contention(),
        Refusal::LockTimeout => holds::lock_timeout(),
        Refusal::Overloaded => machinery::overloaded(),
        Refusal::LedgerUnreachable => machinery::ledger_unreachable(),
        Refusal::DoorUnreachable => machinery::door_unreachable(),
        Refusal::KeysUnreachable => machinery::keys_unreachable(),
        Refusal::ServerUnreachable => machinery::server_unreachable(),
        Refusal::AuthModesDiffer => machinery::auth_modes_differ(),
        Refusal::DoorFailed => machinery::door_failed(),
        Refusal::NoNumber => machinery::no_number(),
        Refusal::Internal => machinery::internal(),
    }
}
