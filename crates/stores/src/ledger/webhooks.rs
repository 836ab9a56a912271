//! Webhooks: the endpoints, and how far each of them has been notified. The history is the outbox: it is written in the
//! transaction of the change, and numbered per subject. An endpoint has one cursor per subject, which one server at a
//! time moves.

use rules::history::AdminName;
use rules::subject::SubjectId;
use rules::time::Moment;

use super::Answered;
use super::records::LedgerNote;

/// The event types of an endpoint.
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

    /// The stored form in a column.
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
    /// Disabled by an operator, or because the receiver answered that it is gone.
    Disabled,
    /// Deliveries failed for so long that there are no more retries.
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

/// 24 to 64 bytes.
pub type WebhookSecret = Vec<u8>;

#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: i64,
    pub url: String,
    pub types: Vec<WebhookType>,
    pub state: WebhookState,
    /// The reason why it is disabled, if no operator requested it.
    pub why: Option<String>,
    pub secret: WebhookSecret,
    /// The previous secret, until it expires.
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

/// A field that is absent stays as it is.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    pub url: Option<String>,
    pub types: Option<Vec<WebhookType>>,
    /// With the reason. Enabling resets the failures, so that everything is retried at once.
    pub state: Option<(WebhookState, Option<String>)>,
}

/// How far an endpoint has been notified of one subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookCursor {
    /// The number of the last history row that needs no more delivery.
    pub n: u64,
    /// How many seats were sold at that row. From this follows whether an event is sold out.
    pub sold: u64,
    /// The last opening by the clock that was delivered: the event's opening time, or its creation time.
    pub opened: Option<Moment>,
    /// Counts replays: a cursor that was read before a replay cannot be moved after it.
    pub rewound: u64,
    /// Failed deliveries of the next item.
    pub attempts: u32,
}

/// What has not been delivered to an endpoint yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookBacklog {
    /// History rows beyond the cursors.
    pub rows: u64,
    /// When the oldest of them was written.
    pub oldest: Option<Moment>,
}

/// A subject with something to deliver to an endpoint now.
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
    /// None: there was no response.
    pub status: Option<u16>,
    /// None: it was delivered.
    pub error: Option<String>,
}

/// A stored attempt, and its number, which increases with every attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDelivery {
    pub seq: i64,
    pub made: WebhookDelivery,
}

/// The failures recorded at the cursor after it was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorMoved {
    /// The time of the first failed attempt, and the current time.
    pub failing_since: Option<Moment>,
    pub now: Moment,
}

/// The number of deliveries that are kept per endpoint.
pub const DELIVERIES_KEPT: i64 = 200;

/// Operators' actions are recorded in the ledger's history, in the same transaction. None: no operator requested it.
pub type WebhookNote = Option<LedgerNote>;

pub trait Webhooks {
    /// All endpoints by id.
    fn webhooks(&self) -> Answered<Vec<Webhook>>;

    /// Creates an endpoint. It receives what happens from now on.
    fn create_webhook(&self, new: NewWebhook, note: WebhookNote) -> Answered<Webhook>;

    /// False: the endpoint does not exist.
    fn change_webhook(&self, id: i64, change: WebhookChange, note: WebhookNote) -> Answered<bool>;

    /// Sets a new secret. The old one also signs for this long. False: the endpoint does not exist.
    fn rotate_webhook(&self, id: i64, secret: WebhookSecret, overlap_ms: i64, note: WebhookNote) -> Answered<bool>;

    /// False: the endpoint does not exist.
    fn delete_webhook(&self, id: i64, note: WebhookNote) -> Answered<bool>;

    /// Takes or extends this server's lease on an enabled endpoint. False: another server has it.
    fn lease_webhook(&self, id: i64, server: String, lease_ms: i64) -> Answered<bool>;

    /// Subjects with history beyond the cursor, or that have opened without a history row (by the clock, or created
    /// open), except those whose next attempt is not due yet.
    fn webhook_due(&self, id: i64, limit: usize) -> Answered<Vec<WebhookDue>>;

    fn webhook_outstanding(&self, id: i64) -> Answered<WebhookBacklog>;

    /// Moves a cursor. `retry_ms`: the next item failed, and is retried after this time. None: this server no longer
    /// delivers to the endpoint, or the cursor was rewound.
    fn move_cursor(
        &self,
        id: i64,
        server: String,
        subject: SubjectId,
        cursor: WebhookCursor,
        retry_ms: Option<i64>,
    ) -> Answered<Option<CursorMoved>>;

    /// Delivers everything after `after` again. False: the endpoint or subject does not exist, or its history is not
    /// that long.
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
