//! Webhooks and their deliveries, as lists in every format. No list has a secret.

use std::sync::Arc;

use rules::ids::whole_id;
use stores::ledger::webhooks::{KeptDelivery, Webhook};

use super::list_format::{ListRow, cell};
use super::search::{Searched, listed};
use super::webhooks::named;
use crate::app::App;
use crate::auth::Viewer;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::webhooks::{WebhookBody, WebhookDeliveriesAnswer, WebhookDeliveryBody, WebhooksAnswer};
use crate::refusals::Failure;

pub async fn webhooks(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let json = |webhooks, next| Reply::ok(&WebhooksAnswer { success: Succeeded, webhooks, next });
    listed(ListedWebhooks { app, viewer: call.caller }, &call.request, json).await
}

pub async fn deliveries(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let webhook = named(&app, &call.request).await?.id;
    let json = |deliveries, next| Reply::ok(&WebhookDeliveriesAnswer { success: Succeeded, deliveries, next });
    listed(KeptDeliveries { app, webhook }, &call.request, json).await
}

/// Every endpoint, in order of id.
struct ListedWebhooks {
    app: Arc<App>,
    viewer: Viewer,
}

impl Searched for ListedWebhooks {
    type Row = Webhook;
    type Place = i64;
    type Body = WebhookBody;

    /// More than there may be.
    const ROWS: usize = 1_000;

    async fn read(&self, after: Option<i64>, rows: usize) -> Result<Vec<Webhook>, Failure> {
        let all = self.app.ledger.webhooks().await?.into_iter();
        Ok(all.filter(|webhook| after.is_none_or(|after| webhook.id > after)).take(rows).collect())
    }

    fn place(webhook: &Webhook) -> i64 {
        webhook.id
    }

    fn place_read(&self, text: &str) -> Option<i64> {
        whole_id(text)
    }

    fn place_written(&self, id: i64) -> String {
        id.to_string()
    }

    fn body(&self, webhook: Webhook) -> Option<WebhookBody> {
        let body = WebhookBody::of(&webhook, self.app.ledger.now(), self.app.ledger.shift_ms());
        Some(body.seen_by(&self.viewer))
    }
}

/// The attempts of one endpoint that are kept, newest first.
struct KeptDeliveries {
    app: Arc<App>,
    webhook: i64,
}

impl Searched for KeptDeliveries {
    type Row = KeptDelivery;
    type Place = i64;
    type Body = WebhookDeliveryBody;

    const ROWS: usize = 1_000;

    async fn read(&self, after: Option<i64>, rows: usize) -> Result<Vec<KeptDelivery>, Failure> {
        Ok(self.app.ledger.deliveries(self.webhook, after, rows).await?)
    }

    fn place(kept: &KeptDelivery) -> i64 {
        kept.seq
    }

    fn place_read(&self, text: &str) -> Option<i64> {
        whole_id(text)
    }

    fn place_written(&self, seq: i64) -> String {
        seq.to_string()
    }

    fn body(&self, kept: KeptDelivery) -> Option<WebhookDeliveryBody> {
        Some(WebhookDeliveryBody::of(&kept.made, self.app.ledger.shift_ms()))
    }
}

impl ListRow for WebhookBody {
    const HEADING: &'static str = "webhookId,url,types,state,why,createdAt,createdBy,oldSecretEndsAt\r\n";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.url.clone(),
            self.types.join(" "),
            self.state.to_owned(),
            cell(self.why.as_ref()),
            self.created_at.clone(),
            self.created_by.clone(),
            cell(self.old_secret_ends_at.as_ref()),
        ]
    }
}

impl ListRow for WebhookDeliveryBody {
    const HEADING: &'static str = "messageId,type,eventId,roomTypeId,number,at,tookMs,delivered,status,error\r\n";

    fn cells(&self) -> Vec<String> {
        vec![
            self.message_id.clone(),
            self.kind.clone(),
            cell(self.event_id.as_ref()),
            cell(self.room_type_id.as_ref()),
            cell(self.number.as_ref()),
            self.at.clone(),
            self.took_ms.to_string(),
            self.delivered.to_string(),
            cell(self.status.as_ref()),
            cell(self.error.as_ref()),
        ]
    }
}
