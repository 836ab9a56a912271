//! How long the steps of the path take. Observed once per batch or call, not per request: a sale of ten thousand a
//! second has a hundred batches a second.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StepLabels {
    step: &'static str,
}

/// From 0.1 ms to 6.5 s.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.000_1, 2.0, 17))
}

pub struct StepTimes {
    family: Family<StepLabels, Histogram, fn() -> Histogram>,
    /// One call to a door outside the process.
    arrive: Histogram,
    /// How long the oldest request of a batch waited for it.
    batch: Histogram,
    commit: Histogram,
    /// What the door is told before the answers leave.
    publish: Histogram,
    retries: Counter,
}

impl Default for StepTimes {
    fn default() -> Self {
        let family = Family::new_with_constructor(buckets as fn() -> Histogram);
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

    pub fn arrived(&self, took: Duration) {
        self.arrive.observe(took.as_secs_f64());
    }

    pub fn waited(&self, longest: Duration) {
        self.batch.observe(longest.as_secs_f64());
    }

    pub fn committed(&self, took: Duration) {
        self.commit.observe(took.as_secs_f64());
    }

    pub fn published(&self, took: Duration) {
        self.publish.observe(took.as_secs_f64());
    }

    pub fn retried(&self) {
        self.retries.inc();
    }
}
