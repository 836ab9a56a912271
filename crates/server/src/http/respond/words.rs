//! What a refusal says to a person. Facts come from the outcome; only here they become words.

use rules::outcome::{FieldError, Forbidden, Problem, Refusal};

pub fn message(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoSuchPath => "There is nothing at this path.".into(),
        Refusal::WrongMethod { allow } => format!("This path answers to {allow}."),
        Refusal::TooLarge { limit_bytes } => format!("The body is larger than {limit_bytes} bytes."),
        Refusal::NotJsonType => "Content-Type must be application/json.".into(),
        Refusal::TooSlow => "The body did not arrive in time.".into(),
        Refusal::Invalid(fault) => invalid(fault),
        Refusal::MissingUser => "The request does not say which user is asking.".into(),
        Refusal::Unauthorized => "The request does not show who is allowed to make it.".into(),
        Refusal::Forbidden(Forbidden::Anothers) => "This belongs to another user.".into(),
        Refusal::Forbidden(Forbidden::Ticket) => "This is no ticket of this event.".into(),
        Refusal::Forbidden(Forbidden::UnknownProxy) => {
            "The request came through a proxy that this server was not told about (GATEWAY_KEY).".into()
        }
        Refusal::Forbidden(Forbidden::AnothersHold) => "This hold belongs to another user.".into(),
        Refusal::NotFound => "It does not exist.".into(),
        Refusal::HoldNotFound => "There is no such hold.".into(),
        Refusal::NotQueued => "This user is not in the line.".into(),
        Refusal::NoWaitingRoom => "This event has no waiting room.".into(),
        Refusal::RateLimited { .. } => "Too many requests; ask again shortly.".into(),
        Refusal::AddressSpent { .. } => "Too many requests from this address; ask again shortly.".into(),
        Refusal::AlreadyAsking { .. } => "An earlier request of this user is still running.".into(),
        Refusal::KeyMismatch => "This Idempotency-Key was used for another request.".into(),
        Refusal::NotOpen { .. } => "The sale is not open.".into(),
        Refusal::Closed => "The sale is closed.".into(),
        Refusal::HoldExpired => "The hold has expired.".into(),
        Refusal::HoldProcessed { confirmed: Some(_) } => "The hold was confirmed already.".into(),
        Refusal::HoldProcessed { confirmed: None } => "The hold was cancelled already.".into(),
        Refusal::HoldKeyConflict => "This clientHoldKey belongs to another user's hold.".into(),
        Refusal::Duplicate { .. } => "This user has just reserved.".into(),
        Refusal::AlreadyReserved { .. } => "This user already has a reservation.".into(),
        Refusal::LimitReached { .. } => "This user holds as much as the limit allows.".into(),
        Refusal::EntryRequired => "This event has a waiting room: enter it first.".into(),
        Refusal::NotReady { .. } => "It is not this user's turn yet.".into(),
        Refusal::SeatTaken => "Somebody else has this seat.".into(),
        Refusal::HeldOut { .. } => "No seat is free, but some are on hold and may come back.".into(),
        Refusal::SoldOut => "No seat is left.".into(),
        Refusal::NotAvailable { nights, .. } if !nights.is_empty() => "No room is free on some of these nights.".into(),
        Refusal::NotAvailable { .. } => "Some of these seats are not free.".into(),
        Refusal::InUse => "It is in use: reservations stand.".into(),
        Refusal::RoomsInUse { least } => {
            format!("It is in use: {least} rooms are confirmed or held on some night.")
        }
        Refusal::Contention | Refusal::LockTimeout => "Too many wanted it at once; ask again.".into(),
        Refusal::Overloaded => "Too many requests are waiting; ask again shortly.".into(),
        Refusal::LedgerUnreachable => "The ledger cannot be reached; ask again shortly.".into(),
        Refusal::DoorUnreachable => "The door cannot be reached; ask again shortly.".into(),
        Refusal::ServerUnreachable => "No server can be reached; ask again shortly.".into(),
        Refusal::DoorFailed => "The door could not answer; ask again shortly.".into(),
        Refusal::NoNumber => "No arrival number could be given; ask again shortly.".into(),
        Refusal::Internal => "Something broke on our side.".into(),
    }
}

fn invalid(fault: &FieldError) -> String {
    let field = &fault.field;
    match &fault.problem {
        Problem::Missing => format!("{field} is missing."),
        Problem::Repeated => format!("{field} is given more than once."),
        Problem::NotUtf8 => format!("{field} is not UTF-8."),
        Problem::NotJson { line, column } => format!("{field} is not JSON (line {line}, column {column})."),
        Problem::Expected(what) => format!("{field}: expected {what}."),
        Problem::Length { most } => format!("{field} is longer than {most} characters."),
        Problem::Count { least, most } => format!("{field} must have from {least} to {most} entries."),
        Problem::Unprintable => format!("{field} has characters that cannot be printed, or spaces at its ends."),
        Problem::OutOfRange { least, most } => format!("{field} must be from {least} to {most}."),
        Problem::NotAPhone => format!("{field} is not a telephone number."),
        Problem::NotAMoment => format!("{field} is not a time such as 2026-12-24T18:00:00Z."),
        Problem::NotADate => format!("{field} is not a date such as 2026-12-24."),
        Problem::Dates { least, most } => format!("{field} must be from {least} to {most}."),
        Problem::OneOf(words) => format!("{field} must be one of: {}.", words.join(", ")),
    }
}
