//! The dialect of the fifth specification (seed 004): the envelope of 1.1, with its own codes for holds.

use rules::outcome::{Forbidden, Refusal};

/// The code that the specification has for this refusal; none: it has no other than 1.1.
pub fn code(refusal: &Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::HoldNotFound => Some("RESERVATION_HOLD_NOT_FOUND"),
        Refusal::HoldExpired => Some("RESERVATION_HOLD_EXPIRED"),
        Refusal::HoldProcessed { .. } => Some("RESERVATION_HOLD_ALREADY_PROCESSED"),
        Refusal::HoldKeyConflict => Some("RESERVATION_HOLD_KEY_CONFLICT"),
        Refusal::NotAvailable { .. } => Some("RESERVATION_NOT_AVAILABLE"),
        Refusal::LockTimeout => Some("LOCK_TIMEOUT"),
        Refusal::Forbidden(Forbidden::AnothersHold) => Some("FORBIDDEN"),
        _ => None,
    }
}
