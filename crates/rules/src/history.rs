//! History records: one row per change, numbered per subject without gaps, in commit order.

use std::net::IpAddr;
use std::sync::Arc;

use crate::buyer::Metadata;
use crate::ids::{Number, Seat, User};
use crate::time::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Happened {
    Created,
    Reserved,
    Cancelled,
    Opened,
    Paused,
    Resumed,
    Closed,
    Archived,
    Unarchived,
    Amended,
    Deleted,
    Entered,
    Left,
    Held,
    Extended,
    /// A newer hold of the same user replaced it.
    Replaced,
    /// A hold was given back.
    Released,
    /// A hold expired.
    Expired,
    /// An operator's request was refused.
    Refused,
    /// An operator's token was created, replaced or revoked.
    TokenMade,
    TokenReplaced,
    TokenRevoked,
    /// The key of the tickets of waiting rooms was rotated.
    KeyRotated,
    /// Personal data was removed.
    Erased,
    /// A webhook was created, changed, replayed or deleted, or got a new secret.
    WebhookMade,
    WebhookChanged,
    WebhookRotated,
    WebhookReplayed,
    WebhookDeleted,
}

impl Happened {
    pub const ALL: [Happened; 29] = [
        Happened::Created,
        Happened::Reserved,
        Happened::Cancelled,
        Happened::Opened,
        Happened::Paused,
        Happened::Resumed,
        Happened::Closed,
        Happened::Archived,
        Happened::Unarchived,
        Happened::Amended,
        Happened::Deleted,
        Happened::Entered,
        Happened::Left,
        Happened::Held,
        Happened::Extended,
        Happened::Replaced,
        Happened::Released,
        Happened::Expired,
        Happened::Refused,
        Happened::TokenMade,
        Happened::TokenReplaced,
        Happened::TokenRevoked,
        Happened::KeyRotated,
        Happened::Erased,
        Happened::WebhookMade,
        Happened::WebhookChanged,
        Happened::WebhookRotated,
        Happened::WebhookReplayed,
        Happened::WebhookDeleted,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Happened::Created => "created",
            Happened::Reserved => "reserved",
            Happened::Cancelled => "cancelled",
            Happened::Opened => "opened",
            Happened::Paused => "paused",
            Happened::Resumed => "resumed",
            Happened::Closed => "closed",
            Happened::Archived => "archived",
            Happened::Unarchived => "unarchived",
            Happened::Amended => "amended",
            Happened::Deleted => "deleted",
            Happened::Entered => "entered",
            Happened::Left => "left",
            Happened::Held => "held",
            Happened::Extended => "extended",
            Happened::Replaced => "replaced",
            Happened::Released => "released",
            Happened::Expired => "expired",
            Happened::Refused => "refused",
            Happened::TokenMade => "token_made",
            Happened::TokenReplaced => "token_replaced",
            Happened::TokenRevoked => "token_revoked",
            Happened::KeyRotated => "key_rotated",
            Happened::Erased => "erased",
            Happened::WebhookMade => "webhook_made",
            Happened::WebhookChanged => "webhook_changed",
            Happened::WebhookRotated => "webhook_rotated",
            Happened::WebhookReplayed => "webhook_replayed",
            Happened::WebhookDeleted => "webhook_deleted",
        }
    }

    pub fn named(text: &str) -> Option<Happened> {
        Happened::ALL.into_iter().find(|h| h.as_str() == text)
    }
}

/// The operator's token by its name, such as `box-office`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AdminName(Arc<str>);

pub const ADMIN_NAME_CHARS: usize = 64;

impl AdminName {
    /// Lower-case letters, digits, dots, dashes and underscores, because it is used in paths.
    pub fn new(text: &str) -> Option<AdminName> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        let begins = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        (begins && text.len() <= ADMIN_NAME_CHARS && text.bytes().all(plain)).then(|| AdminName(text.into()))
    }

    /// A name read from the ledger, validated when it was received.
    pub fn stored(text: &str) -> AdminName {
        AdminName(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The token in `ADMIN_TOKEN`. Rows written before tokens had names belong to it.
impl Default for AdminName {
    fn default() -> AdminName {
        AdminName("admin".into())
    }
}

/// Who made the change. `Nobody` is a reservation without any identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    User(User),
    Nobody,
    Admin(AdminName),
}

impl Actor {
    pub fn user(&self) -> Option<&User> {
        match self {
            Actor::User(user) => Some(user),
            Actor::Nobody | Actor::Admin(_) => None,
        }
    }

    pub fn admin(&self) -> Option<&AdminName> {
        match self {
            Actor::Admin(name) => Some(name),
            Actor::User(_) | Actor::Nobody => None,
        }
    }
}

/// Where a request came from. None for what expired by the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestOrigin {
    pub address: Option<IpAddr>,
    /// The request id that the caller got in the response.
    pub trace: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    pub n: u64,
    pub what: Happened,
    pub seat: Option<Seat>,
    /// The owner of the seat. None for changes of the event itself and for anonymous sales.
    pub owner: Option<User>,
    /// The operator who did it. None if it was not an operator.
    pub admin: Option<AdminName>,
    pub number: Option<Number>,
    pub at: Moment,
    /// The hold it is about, by the history number at which it began.
    pub hold: Option<u64>,
    pub origin: RequestOrigin,
    pub details: Option<Box<Details>>,
}

/// What a row stores beyond its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The shop's metadata of the order. For a hold on several seats, only the first row has it.
    pub metadata: Option<Metadata>,
    /// Why it was cancelled.
    pub reason: Option<Box<str>>,
    /// For a cancellation: the history number of the reservation that was cancelled.
    pub reservation: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_names_stand_in_paths() {
        for good in ["a", "admin", "box-office.2", "7_up", &"x".repeat(64)] {
            assert_eq!(AdminName::new(good).map(|name| name.as_str() == good), Some(true), "{good}");
        }
        for bad in ["", "-a", ".", "A", "a b", "a/b", "a%", "ä", &"x".repeat(65)] {
            assert_eq!(AdminName::new(bad), None, "{bad}");
        }
    }
}
