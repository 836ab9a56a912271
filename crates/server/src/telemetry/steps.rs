//! How long the steps of the path take. Observed once per batch or call, not per request: a sale of ten thousand a
//! second has a hundred batches a second.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::exponential_buckets;
use prometheus_client::registry::Registry;

use super::exemplars::{TracedHistogram, observe};
use super::traces::context::TraceId;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StepLabels {
    step: &'static str,
}

/// From 0.1 ms to 6.5 s.
fn buckets() -> TracedHistogram {
    TracedHistogram::new(exponential_buckets(0.000_1, 2.0, 17))
}

pub struct StepTimes {
    family: Family<StepLabels, TracedHistogram, fn() -> TracedHistogram>,
    /// One call to a door outside the process.
    arrive: TracedHistogram,
    /// How long the oldest request of a batch waited for it.
    batch: TracedHistogram,
    pub(super) commit: TracedHistogram,
    /// What the door is told before the answers leave.
    publish: TracedHistogram,
    retries: Counter,
}

impl Default for StepTimes {
    fn default() -> Self {
        let family = Family::new_with_constructor(buckets as fn() -> TracedHistogram);
        let step = |step| family.get_or_create(&StepLabels { step }).clone();
        StepTimes {
            arrive: step("arrive"),
            batch: step("batch"),
            commit: step("commit"),
            publish: step("publish"),
            family,
            retries: Counter::default(),
        }
    }
}

impl StepTimes {
    pub fn register(&self, registry: &mut Registry) {
        let meaning =
            "Steps of the path: a call to the door, the longest wait for a batch, its commit, its publication";
        registry.register("step_seconds", meaning, self.family.clone());
        let meaning = "Batches that were tried again after a lock timeout or a passing fault";
        registry.register("commit_retries", meaning, self.retries.clone());
    }

    /// Here as below: `trace` becomes the exemplar of its bucket.
    pub fn arrived(&self, took: Duration, trace: Option<TraceId>) {
        observe(&self.arrive, took, trace);
    }

    pub fn waited(&self, longest: Duration, trace: Option<TraceId>) {
        observe(&self.batch, longest, trace);
    }

    pub fn published(&self, took: Duration, trace: Option<TraceId>) {
        observe(&self.publish, took, trace);
    }

    pub fn retried(&self) {
        self.retries.inc();
    }
}
