//! Delivers messages to one endpoint in sequence, over a connection that is kept alive.

use std::sync::Arc;
use std::time::Duration;

use client::outbound::{Outbound, OutboundAnswer};
use rules::subject::SubjectId;
use serde_json::json;
use stores::ledger::webhooks::{Webhook, WebhookDelivery};
use tokio::time::Instant;

use super::address::{is_public, target};
use super::message::WebhookMessage;
use super::signature::signatures;
use crate::app::App;
use crate::http::wire::moment;

/// The time limit of a test: an operator waits for the result.
const TEST_LIMIT: Duration = Duration::from_secs(10);
/// The maximum length of a stored error.
const ERROR_CHARS: usize = 200;
/// The receiver wants no more messages.
const GONE: u16 = 410;

pub struct Courier<'a> {
    app: &'a App,
    webhook: Arc<Webhook>,
    connection: Option<Outbound>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    Taken,
    /// With the receiver's `Retry-After` in seconds.
    Failed(Option<u64>),
    Gone,
}

impl Courier<'_> {
    pub fn new(app: &App, webhook: Arc<Webhook>) -> Courier<'_> {
        Courier { app, webhook, connection: None }
    }

    pub async fn deliver(&mut self, subject: SubjectId, message: &WebhookMessage) -> (Attempt, WebhookDelivery) {
        let kind = message.kind.as_str();
        let (attempt, made) = self.send(&message.id, kind, &message.body, None).await;
        self.app.webhooks.series.attempted(self.webhook.id, attempt == Attempt::Taken);
        (attempt, WebhookDelivery { subject: Some(subject), n: message.n, ..made })
    }

    /// Sends a test message without content.
    pub async fn test(&mut self) -> WebhookDelivery {
        let id = format!("msg_{}", uuid::Uuid::new_v4().simple());
        let at = moment(self.app.ledger.wall());
        let body = json!({ "type": TEST, "timestamp": at, "data": { "webhookId": self.webhook.id } });
        self.send(&id, TEST, &body.to_string(), Some(TEST_LIMIT)).await.1
    }

    async fn send(&mut self, id: &str, kind: &str, body: &str, most: Option<Duration>) -> (Attempt, WebhookDelivery) {
        let (began, at) = (Instant::now(), self.app.ledger.now());
        let app = self.app;
        let answered = tokio::select! {
            answered = self.post(id, body) => answered,
            limit = app.webhooks.limit.passed(began, most), if !app.webhooks.planted().waits_forever() => {
                Err(format!("no answer within {} s", limit.as_secs()))
            }
        };
        if !matches!(answered, Ok(OutboundAnswer { closes: false, .. })) {
            self.connection = None;
        }
        let (attempt, error) = match &answered {
            Ok(OutboundAnswer { status: 200..300, .. }) => (Attempt::Taken, None),
            Ok(OutboundAnswer { status: GONE, .. }) => (Attempt::Gone, Some("it answered 410: it is gone".to_owned())),
            Ok(OutboundAnswer { status, retry_after, .. }) => {
                let redirect = if (300..400).contains(status) { "; redirects are not followed" } else { "" };
                (Attempt::Failed(*retry_after), Some(format!("it answered {status}{redirect}")))
            }
            Err(why) => (Attempt::Failed(None), Some(why.chars().take(ERROR_CHARS).collect())),
        };
        let made = WebhookDelivery {
            subject: None,
            n: 0,
            kind: kind.to_owned(),
            message: id.to_owned(),
            at,
            took_ms: began.elapsed().as_millis() as i64,
            status: answered.ok().map(|answer| answer.status),
            error,
        };
        (attempt, made)
    }

    async fn post(&mut self, id: &str, body: &str) -> Result<OutboundAnswer, String> {
        let private = self.app.settings.webhook_private;
        // Checked again, in case it was configured while it was allowed.
        let url = target(&self.webhook.url, private).ok_or("the address is not allowed")?;
        if self.connection.as_ref().is_none_or(|open| !open.is_open()) {
            let connected = Outbound::connect(&url, |ip| private || is_public(ip)).await;
            self.connection = Some(connected.map_err(|why| why.to_string())?);
        }
        let connection = self.connection.as_mut().ok_or("no connection")?;
        let timestamp = self.app.ledger.wall().0 / 1_000;
        let signed = signatures(&self.webhook, self.app.ledger.now(), id, timestamp, body.as_bytes());
        let headers = [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", timestamp.to_string()),
            ("webhook-signature", signed),
        ];
        connection.post(&url, &headers, body.to_owned().into()).await.map_err(|why| why.to_string())
    }
}

/// The type of a test message.
const TEST: &str = "webhook.test";
