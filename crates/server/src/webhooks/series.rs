//! The figures of webhooks, by endpoint. There are few endpoints, and those that are deleted take their series with them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WebhookLabels {
    webhook: i64,
}

#[derive(Clone, Debug, Default)]
pub struct WebhookSeries {
    outstanding: Family<WebhookLabels, Gauge>,
    delivered: Family<WebhookLabels, Counter>,
    failed: Family<WebhookLabels, Counter>,
    shown: Arc<Mutex<BTreeSet<i64>>>,
}

impl WebhookSeries {
    pub fn register(&self, registry: &mut Registry) {
        let meaning = "History rows that an endpoint was not told of yet, at the server that delivers to it";
        registry.register("webhooks_outstanding", meaning, self.outstanding.clone());
        registry.register("webhooks_delivered", "Webhook messages that a receiver took", self.delivered.clone());
        registry.register("webhooks_failed", "Attempts to deliver a webhook message that failed", self.failed.clone());
    }

    pub fn outstanding(&self, webhook: i64, rows: u64) {
        self.outstanding.get_or_create(&self.labels(webhook)).set(rows as i64);
    }

    pub fn attempted(&self, webhook: i64, delivered: bool) {
        let series = if delivered { &self.delivered } else { &self.failed };
        series.get_or_create(&self.labels(webhook)).inc();
    }

    /// This server does not deliver to it any more.
    pub fn forget(&self, webhook: i64) {
        self.outstanding.remove(&WebhookLabels { webhook });
    }

    /// These endpoints exist.
    pub fn keep_only(&self, existing: &[i64]) {
        let mut shown = self.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        shown.retain(|webhook| {
            let labels = WebhookLabels { webhook: *webhook };
            let exists = existing.contains(webhook);
            if !exists {
                self.outstanding.remove(&labels);
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
