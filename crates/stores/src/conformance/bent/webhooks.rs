//! Webhooks, as the good ledger has them.

use rules::subject::SubjectId;

use super::Bent;
use crate::ledger::Answered;
use crate::ledger::webhooks::{
    CursorMoved, KeptDelivery, NewWebhook, Webhook, WebhookBacklog, WebhookChange, WebhookCursor, WebhookDelivery,
    WebhookDue, WebhookNote, WebhookSecret, Webhooks,
};

impl Webhooks for Bent {
    fn webhooks(&self) -> Answered<Vec<Webhook>> {
        self.good.webhooks()
    }

    fn create_webhook(&self, new: NewWebhook, note: WebhookNote) -> Answered<Webhook> {
        self.good.create_webhook(new, note)
    }

    fn change_webhook(&self, id: i64, change: WebhookChange, note: WebhookNote) -> Answered<bool> {
        self.good.change_webhook(id, change, note)
    }

    fn rotate_webhook(&self, id: i64, secret: WebhookSecret, overlap_ms: i64, note: WebhookNote) -> Answered<bool> {
        self.good.rotate_webhook(id, secret, overlap_ms, note)
    }

    fn delete_webhook(&self, id: i64, note: WebhookNote) -> Answered<bool> {
        self.good.delete_webhook(id, note)
    }

    fn lease_webhook(&self, id: i64, server: String, lease_ms: i64) -> Answered<bool> {
        self.good.lease_webhook(id, server, lease_ms)
    }

    fn webhook_due(&self, id: i64, limit: usize) -> Answered<Vec<WebhookDue>> {
        self.good.webhook_due(id, limit)
    }

    fn webhook_outstanding(&self, id: i64) -> Answered<WebhookBacklog> {
        self.good.webhook_outstanding(id)
    }

    fn move_cursor(
        &self,
        id: i64,
        server: String,
        subject: SubjectId,
        cursor: WebhookCursor,
        retry_ms: Option<i64>,
    ) -> Answered<Option<CursorMoved>> {
        self.good.move_cursor(id, server, subject, cursor, retry_ms)
    }

    fn rewind_webhook(&self, id: i64, subject: SubjectId, after: u64, note: WebhookNote) -> Answered<bool> {
        self.good.rewind_webhook(id, subject, after, note)
    }

    fn keep_deliveries(&self, id: i64, deliveries: Vec<WebhookDelivery>) -> Answered<()> {
        self.good.keep_deliveries(id, deliveries)
    }

    fn deliveries(&self, id: i64, before: Option<i64>, limit: usize) -> Answered<Vec<KeptDelivery>> {
        self.good.deliveries(id, before, limit)
    }
}
