//! Exemplars: a histogram shows, per bucket, the trace of one request that fell into it. Only sampled and slow requests
//! leave one, so that most observations allocate nothing.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::exemplar::HistogramWithExemplars;

use super::switch;
use super::traces::context::TraceId;

pub type TracedHistogram = HistogramWithExemplars<TraceLabels>;

/// Always 32 digits, whatever a caller sent.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct TraceLabels {
    trace_id: String,
}

pub fn observe(histogram: &TracedHistogram, took: Duration, trace: Option<TraceId>) {
    if switch::is_off() {
        return;
    }
    let labels = trace.map(|trace| TraceLabels { trace_id: trace.to_string() });
    histogram.observe(took.as_secs_f64(), labels, None);
}
