//! The status of every refusal. The compiler asks for a line when an outcome is added.

use rules::outcome::Refusal;
use salvo::http::StatusCode;

pub fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::WrongMethod { .. } => StatusCode::METHOD_NOT_ALLOWED,
        Refusal::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::NotJsonType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Refusal::TooSlow => StatusCode::REQUEST_TIMEOUT,
        Refusal::Invalid(_) | Refusal::MissingUser | Refusal::HoldExpired => StatusCode::BAD_REQUEST,
        Refusal::Unauthorized => StatusCode::UNAUTHORIZED,
        Refusal::Forbidden(_) | Refusal::EntryRequired => StatusCode::FORBIDDEN,
        Refusal::NoSuchPath | Refusal::NotFound | Refusal::HoldNotFound | Refusal::NotQueued => StatusCode::NOT_FOUND,
        Refusal::AddressSpent { .. }
        | Refusal::AlreadyAsking { .. }
        | Refusal::NoWaitingRoom
        | Refusal::NotOpen { .. }
        | Refusal::Closed
        | Refusal::HoldProcessed { .. }
        | Refusal::HoldKeyConflict
        | Refusal::Duplicate { .. }
        | Refusal::AlreadyReserved { .. }
        | Refusal::LimitReached { .. }
        | Refusal::NotReady { .. }
        | Refusal::SeatTaken
        | Refusal::SoldOut
        | Refusal::HeldOut { .. }
        | Refusal::NotAvailable { .. }
        | Refusal::InUse
        | Refusal::RoomsInUse { .. }
        | Refusal::Contention
        | Refusal::LockTimeout => StatusCode::CONFLICT,
        Refusal::KeyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Overloaded
        | Refusal::LedgerUnreachable
        | Refusal::DoorUnreachable
        | Refusal::ServerUnreachable
        | Refusal::DoorFailed
        | Refusal::NoNumber => StatusCode::SERVICE_UNAVAILABLE,
        Refusal::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The status of a refusal in dialect 1.1 as a number, for documents.
pub fn number(refusal: &Refusal) -> u16 {
    status(refusal).as_u16()
}

/// How a request that was not refused can be answered, for documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    Ok,
    Created,
    Unchanged,
}

impl Success {
    pub fn number(self) -> u16 {
        match self {
            Success::Ok => StatusCode::OK,
            Success::Created => StatusCode::CREATED,
            Success::Unchanged => StatusCode::NOT_MODIFIED,
        }
        .as_u16()
    }
}
