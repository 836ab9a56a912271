//! Webhooks: who is told what happened, and how far each endpoint was told. The history is the outbox: it is written
//! with the effect, and numbered per subject. An endpoint has one cursor per subject, which one server at a time moves.

use rules::history::AdminName;
use rules::subject::SubjectId;
use rules::time::Moment;

use super::Answered;
use super::records::LedgerNote;

/// What an endpoint can listen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WebhookType {
    ReservationConfirmed,
    ReservationCancelled,
    HoldCreated,
    HoldExpired,
    EventOpened,
    EventSoldOut,
}

impl WebhookType {
    pub const ALL: [WebhookType; 6] = [
        WebhookType::ReservationConfirmed,
        WebhookType::ReservationCancelled,
        WebhookType::HoldCreated,
        WebhookType::HoldExpired,
        WebhookType::EventOpened,
        WebhookType::EventSoldOut,
    ];

    pub const NAMES: [&'static str; 6] = [
        "reservation.confirmed",
        "reservation.cancelled",
        "hold.created",
        "hold.expired",
        "event.opened",
        "event.sold_out",
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            WebhookType::ReservationConfirmed => "reservation.confirmed",
            WebhookType::ReservationCancelled => "reservation.cancelled",
            WebhookType::HoldCreated => "hold.created",
            WebhookType::HoldExpired => "hold.expired",
            WebhookType::EventOpened => "event.opened",
            WebhookType::EventSoldOut => "event.sold_out",
        }
    }

    pub fn named(text: &str) -> Option<WebhookType> {
        WebhookType::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// As a column has them.
    pub(super) fn write(types: &[WebhookType]) -> String {
        types.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(",")
    }

    pub(super) fn read(text: &str) -> Vec<WebhookType> {
        text.split(',').filter_map(WebhookType::named).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookState {
    Enabled,
    /// By an operator, or because the receiver said that it is gone.
    Disabled,
    /// Deliveries failed for so long that nobody tries any more.
    Failing,
}

impl WebhookState {
    pub fn as_str(self) -> &'static str {
        match self {
            WebhookState::Enabled => "enabled",
            WebhookState::Disabled => "disabled",
            WebhookState::Failing => "failing",
        }
    }

    pub fn named(text: &str) -> Option<WebhookState> {
        [WebhookState::Enabled, WebhookState::Disabled, WebhookState::Failing].into_iter().find(|s| s.as_str() == text)
    }
}

/// At least 24 bytes, at most 64.
pub type WebhookSecret = Vec<u8>;

#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: i64,
    pub url: String,
    pub types: Vec<WebhookType>,
    pub state: WebhookState,
    /// Why it is not enabled, where nobody asked for it.
    pub why: Option<String>,
    pub secret: WebhookSecret,
    /// The secret before it, until it ends.
    pub old_secret: Option<(WebhookSecret, Moment)>,
    pub made_at: Moment,
    pub made_by: AdminName,
}

/// Secrets are never logged.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Webhook({}, {}, {:?})", self.id, self.url, self.state)
    }
}

pub struct NewWebhook {
    pub url: String,
    pub types: Vec<WebhookType>,
    pub enabled: bool,
    pub secret: WebhookSecret,
    pub by: AdminName,
}

/// What is absent stays as it is.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    pub url: Option<String>,
    pub types: Option<Vec<WebhookType>>,
    /// With the reason. Enabling forgets failures, so that everything is tried at once.
    pub state: Option<(WebhookState, Option<String>)>,
}

/// How far an endpoint was told of one subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookCursor {
    /// The number of the last history row that needs no delivery any more.
    pub n: u64,
    /// How many seats were sold at that row: whether an event is sold out follows from it.
    pub sold: u64,
    /// The opening by the clock that was told last: the event's opening time, or when it was made.
    pub opened: Option<Moment>,
    /// Counts replays: whoever read the cursor before one does not move it after.
    pub rewound: u64,
    /// Failed deliveries of what comes next.
    pub attempts: u32,
}

/// What an endpoint was not told of yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookBacklog {
    /// History rows behind the cursors.
    pub rows: u64,
    /// When the oldest of them was written.
    pub oldest: Option<Moment>,
}

/// A subject of which an endpoint is to be told something, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookDue {
    pub subject: SubjectId,
    pub cursor: WebhookCursor,
    /// The number of its newest history row.
    pub newest: u64,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// None: a test.
    pub subject: Option<SubjectId>,
    pub n: u64,
    pub kind: String,
    pub message: String,
    pub at: Moment,
    pub took_ms: i64,
    /// None: there was no answer.
    pub status: Option<u16>,
    /// None: it was delivered.
    pub error: Option<String>,
}

/// An attempt as it is kept, and its number, which rises with every attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDelivery {
    pub seq: i64,
    pub made: WebhookDelivery,
}

/// What the cursor says of failures after it was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorMoved {
    /// When the first of the attempts that failed was made, and the time now.
    pub failing_since: Option<Moment>,
    pub now: Moment,
}

/// Deliveries that are kept per endpoint.
pub const DELIVERIES_KEPT: i64 = 200;

/// What operators do is noted in the history of the ledger, in the same transaction. None: nobody asked for it.
pub type WebhookNote = Option<LedgerNote>;

pub trait Webhooks {
    /// Every endpoint by id.
    fn webhooks(&self) -> Answered<Vec<Webhook>>;

    /// Makes an endpoint. It is told what happens from now on.
    fn create_webhook(&self, new: NewWebhook, note: WebhookNote) -> Answered<Webhook>;

    /// False: there is no such endpoint.
    fn change_webhook(&self, id: i64, change: WebhookChange, note: WebhookNote) -> Answered<bool>;

    /// A new secret. The old one signs beside it for so long. False: there is no such endpoint.
    fn rotate_webhook(&self, id: i64, secret: WebhookSecret, overlap_ms: i64, note: WebhookNote) -> Answered<bool>;

    /// False: there is no such endpoint.
    fn delete_webhook(&self, id: i64, note: WebhookNote) -> Answered<bool>;

    /// This server delivers to an enabled endpoint for so long, or longer than before. False: another one does.
    fn lease_webhook(&self, id: i64, server: String, lease_ms: i64) -> Answered<bool>;

    /// Subjects with history behind the cursor, or that have opened without a row of it (by the clock, or made open);
    /// without those whose next attempt is not due yet.
    fn webhook_due(&self, id: i64, limit: usize) -> Answered<Vec<WebhookDue>>;

    fn webhook_outstanding(&self, id: i64) -> Answered<WebhookBacklog>;

    /// Moves a cursor. `retry_ms`: what comes next failed, and is tried again then. None: this server does not deliver
    /// to the endpoint any more, or the cursor was rewound.
    fn move_cursor(
        &self,
        id: i64,
        server: String,
        subject: SubjectId,
        cursor: WebhookCursor,
        retry_ms: Option<i64>,
    ) -> Answered<Option<CursorMoved>>;

    /// Everything behind `after` is delivered again. False: there is no such endpoint or subject, or its history is
    /// not that long.
    fn rewind_webhook(&self, id: i64, subject: SubjectId, after: u64, note: WebhookNote) -> Answered<bool>;

    fn keep_deliveries(&self, id: i64, deliveries: Vec<WebhookDelivery>) -> Answered<()>;

    /// The last attempts, newest first; `before`: those made before the one with this number.
    fn deliveries(&self, id: i64, before: Option<i64>, limit: usize) -> Answered<Vec<KeptDelivery>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_one_spelling() {
        assert_eq!(WebhookType::ALL.map(WebhookType::as_str), WebhookType::NAMES);
        assert_eq!(WebhookType::read(&WebhookType::write(&WebhookType::ALL)), WebhookType::ALL);
    }
}
