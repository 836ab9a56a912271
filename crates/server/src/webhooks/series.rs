//! The metrics of webhooks, by endpoint. There are few endpoints, and a deleted one's series are removed.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use stores::ledger::webhooks::{Webhook, WebhookState};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WebhookLabels {
    webhook: i64,
}

#[derive(Clone, Debug, Default)]
pub struct WebhookSeries {
    outstanding: Family<WebhookLabels, Gauge>,
    oldest: Family<WebhookLabels, Gauge<f64, AtomicU64>>,
    failing: Family<WebhookLabels, Gauge>,
    delivered: Family<WebhookLabels, Counter>,
    failed: Family<WebhookLabels, Counter>,
    shown: Arc<Mutex<BTreeSet<i64>>>,
}

impl WebhookSeries {
    pub fn register(&self, registry: &mut Registry) {
        let meaning = "History rows that an endpoint was not told of yet, at the server that delivers to it";
        registry.register("webhooks_outstanding", meaning, self.outstanding.clone());
        let meaning = "How long ago the oldest of these rows was written";
        registry.register("webhooks_oldest_seconds", meaning, self.oldest.clone());
        let meaning = "1: deliveries failed for three days, and stopped until somebody enables the endpoint";
        registry.register("webhooks_failing", meaning, self.failing.clone());
        registry.register("webhooks_delivered", "Webhook messages that a receiver took", self.delivered.clone());
        registry.register("webhooks_failed", "Attempts to deliver a webhook message that failed", self.failed.clone());
    }

    pub fn outstanding(&self, webhook: i64, rows: u64, age_ms: i64) {
        let labels = self.labels(webhook);
        self.outstanding.get_or_create(&labels).set(rows as i64);
        self.oldest.get_or_create(&labels).set(age_ms as f64 / 1_000.0);
        // Created before the first attempt, so that the first one is an increase.
        drop(self.delivered.get_or_create(&labels));
        drop(self.failed.get_or_create(&labels));
    }

    pub fn attempted(&self, webhook: i64, delivered: bool) {
        let series = if delivered { &self.delivered } else { &self.failed };
        series.get_or_create(&self.labels(webhook)).inc();
    }

    /// This server no longer delivers to it.
    pub fn forget(&self, webhook: i64) {
        self.outstanding.remove(&WebhookLabels { webhook });
        self.oldest.remove(&WebhookLabels { webhook });
    }

    /// Keeps the series of these endpoints, and removes all others.
    pub fn exist(&self, existing: &[Webhook]) {
        for webhook in existing {
            let failing = webhook.state == WebhookState::Failing;
            self.failing.get_or_create(&self.labels(webhook.id)).set(i64::from(failing));
        }
        let mut shown = self.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        shown.retain(|webhook| {
            let labels = WebhookLabels { webhook: *webhook };
            let exists = existing.iter().any(|one| one.id == *webhook);
            if !exists {
                self.outstanding.remove(&labels);
                self.oldest.remove(&labels);
                self.failing.remove(&labels);
                self.delivered.remove(&labels);
                self.failed.remove(&labels);
            }
            exists
        });
    }

    fn labels(&self, webhook: i64) -> WebhookLabels {
        self.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(webhook);
        WebhookLabels { webhook }
    }
}
