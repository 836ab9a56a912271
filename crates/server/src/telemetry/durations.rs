//! How long requests take, by operation of the API and class of their status. An operation has at most four series.

use std::sync::OnceLock;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::exponential_buckets;
use prometheus_client::registry::Registry;

use super::exemplars::{TracedHistogram, observe};
use super::traces::context::TraceId;

/// By the first digit.
const CLASSES: [&str; 6] = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    operation: &'static str,
    status: &'static str,
}

/// From 0.5 ms to 8 s.
fn buckets() -> TracedHistogram {
    TracedHistogram::new(exponential_buckets(0.000_5, 2.0, 15))
}

#[derive(Clone)]
pub struct RequestTimes {
    family: Family<RequestLabels, TracedHistogram, fn() -> TracedHistogram>,
}

impl Default for RequestTimes {
    fn default() -> Self {
        RequestTimes { family: Family::new_with_constructor(buckets as fn() -> TracedHistogram) }
    }
}

impl RequestTimes {
    pub fn register(&self, registry: &mut Registry) {
        let meaning = "From reading a request to its answer, by operation of the API and class of status";
        registry.register("request_seconds", meaning, self.family.clone());
    }

    pub fn of(&self, operation: &'static str) -> OperationTimes {
        OperationTimes { operation, all: self.clone(), found: Default::default() }
    }
}

/// Those of one operation; each series is found once.
pub struct OperationTimes {
    operation: &'static str,
    all: RequestTimes,
    found: [OnceLock<TracedHistogram>; CLASSES.len()],
}

impl OperationTimes {
    /// `class` is the first digit of the status; `trace` becomes the exemplar of its bucket.
    pub fn took(&self, class: u16, time: Duration, trace: Option<TraceId>) {
        let place = if (1..=5).contains(&class) { usize::from(class) } else { 0 };
        let labels = || RequestLabels { operation: self.operation, status: CLASSES[place] };
        let series = self.found[place].get_or_init(|| self.all.family.get_or_create(&labels()).clone());
        observe(series, time, trace);
    }
}
