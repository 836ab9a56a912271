//! Webhooks, for the operator.

use rules::subject::SubjectId;
use rules::time::Moment;
use schemars::JsonSchema;
use serde::Serialize;
use stores::ledger::webhooks::{Webhook, WebhookDelivery};

use super::{Succeeded, moment};
use crate::auth::Viewer;
use crate::webhooks::address::{URL_CHARS, origin};

/// 30 days.
pub const OVERLAP_MOST_S: u32 = 2_592_000;

const STATES: [&str; 3] = ["enabled", "disabled", "failing"];

/// What an endpoint can listen for.
#[derive(JsonSchema)]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is used")]
pub enum WebhookTypeName {
    #[schemars(rename = "reservation.confirmed")]
    ReservationConfirmed,
    #[schemars(rename = "reservation.cancelled")]
    ReservationCancelled,
    #[schemars(rename = "hold.created")]
    HoldCreated,
    #[schemars(rename = "hold.expired")]
    HoldExpired,
    #[schemars(rename = "event.opened")]
    EventOpened,
    #[schemars(rename = "event.sold_out")]
    EventSoldOut,
}

#[derive(JsonSchema)]
#[schemars(rename = "NewWebhook", rename_all = "camelCase", deny_unknown_fields)]
pub struct NewWebhookBody {
    /// Where messages are posted to: `https`, and a public address unless `WEBHOOK_PRIVATE` allows others.
    #[schemars(length(max = URL_CHARS))]
    pub url: String,
    /// What it is told. Without it everything.
    #[schemars(length(min = 1, max = 6))]
    pub types: Option<Vec<WebhookTypeName>>,
    /// Without it true.
    pub enabled: Option<bool>,
}

/// What is absent stays as it is.
#[derive(JsonSchema)]
#[schemars(rename = "WebhookAmendment", rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookAmendmentBody {
    #[schemars(length(max = URL_CHARS))]
    pub url: Option<String>,
    #[schemars(length(min = 1, max = 6))]
    pub types: Option<Vec<WebhookTypeName>>,
    /// True also ends `failing`: what is outstanding is tried at once.
    pub enabled: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename = "WebhookRotation", rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookRotationBody {
    /// For so long messages are signed with both secrets, in seconds. Without it a day.
    #[schemars(range(min = 0, max = OVERLAP_MOST_S))]
    pub overlap_seconds: Option<u32>,
}

/// One of `eventId` and `roomTypeId`.
#[derive(JsonSchema)]
#[schemars(rename = "WebhookReplay", rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookReplayBody {
    #[schemars(range(min = 1))]
    pub event_id: Option<i64>,
    #[schemars(range(min = 1))]
    pub room_type_id: Option<i64>,
    /// The number of the first history row that is delivered again.
    #[schemars(range(min = 1))]
    pub from: i64,
}

/// An endpoint, without its secret.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Webhook")]
#[serde(rename_all = "camelCase")]
pub struct WebhookBody {
    pub id: i64,
    /// A viewer sees scheme, host and port only: the rest may be secret.
    pub url: String,
    #[schemars(with = "Vec<WebhookTypeName>")]
    pub types: Vec<&'static str>,
    /// `failing`: deliveries failed for three days, and stopped.
    #[schemars(extend("enum" = STATES))]
    pub state: &'static str,
    /// Why it is not enabled, where no operator disabled it.
    pub why: Option<String>,
    pub created_at: String,
    pub created_by: String,
    /// Until when the secret before this one signs, too.
    pub old_secret_ends_at: Option<String>,
}

impl WebhookBody {
    pub fn of(webhook: &Webhook, now: Moment, shift_ms: i64) -> WebhookBody {
        let old = webhook.old_secret.as_ref().map(|(_, ends_at)| *ends_at).filter(|ends_at| now < *ends_at);
        WebhookBody {
            id: webhook.id,
            url: webhook.url.clone(),
            types: webhook.types.iter().map(|kind| kind.as_str()).collect(),
            state: webhook.state.as_str(),
            why: webhook.why.clone(),
            created_at: moment(webhook.made_at.plus_ms(shift_ms)),
            created_by: webhook.made_by.as_str().to_owned(),
            old_secret_ends_at: old.map(|ends_at| moment(ends_at.plus_ms(shift_ms))),
        }
    }
}

impl WebhookBody {
    pub fn seen_by(self, viewer: &Viewer) -> WebhookBody {
        if viewer.sees_secrets() { self } else { WebhookBody { url: origin(&self.url), ..self } }
    }
}

/// One attempt.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookDelivery")]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeliveryBody {
    /// The header `webhook-id`: the same for every attempt.
    pub message_id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub event_id: Option<i64>,
    pub room_type_id: Option<i64>,
    /// The number of the history row; null: a test.
    pub number: Option<u64>,
    pub at: String,
    pub took_ms: i64,
    pub delivered: bool,
    /// What the receiver answered; null: there was no answer.
    pub status: Option<u16>,
    pub error: Option<String>,
}

impl WebhookDeliveryBody {
    pub fn of(made: &WebhookDelivery, shift_ms: i64) -> WebhookDeliveryBody {
        let (event_id, room_type_id) = match made.subject {
            Some(SubjectId::Event(event)) => (Some(event.0), None),
            Some(SubjectId::RoomType(room_type)) => (None, Some(room_type.0)),
            Some(SubjectId::Ledger) | None => (None, None),
        };
        WebhookDeliveryBody {
            message_id: made.message.clone(),
            kind: made.kind.clone(),
            event_id,
            room_type_id,
            number: made.subject.map(|_| made.n),
            at: moment(made.at.plus_ms(shift_ms)),
            took_ms: made.took_ms,
            delivered: made.error.is_none(),
            status: made.status,
            error: made.error.clone(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct WebhooksAnswer {
    pub success: Succeeded,
    pub webhooks: Vec<WebhookBody>,
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct WebhookDeliveriesAnswer {
    pub success: Succeeded,
    /// Every attempt that is kept, newest first.
    pub deliveries: Vec<WebhookDeliveryBody>,
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct WebhookAnswer {
    pub success: Succeeded,
    pub webhook: WebhookBody,
    /// History rows that it was not told of yet.
    pub outstanding: u64,
    /// The last attempts, newest first.
    pub deliveries: Vec<WebhookDeliveryBody>,
}

#[derive(Serialize, JsonSchema)]
pub struct WebhookSecretAnswer {
    pub success: Succeeded,
    pub webhook: WebhookBody,
    /// What messages are signed with. It is not shown again.
    pub secret: String,
}

#[derive(Serialize, JsonSchema)]
pub struct WebhookTestAnswer {
    pub success: Succeeded,
    pub delivery: WebhookDeliveryBody,
}
