//! The results of one run of the generator. Passed between processes as one line of JSON.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadFigures {
    pub ok: u64,
    pub other: u64,
    pub seconds: f64,
    pub p50_us: u64,
    pub p90_us: u64,
    pub p99_us: u64,
    pub p999_us: u64,
    /// Open loop: how late the generator itself was at the 99th percentile; the latencies include it.
    pub late_us: u64,
}

impl LoadFigures {
    pub fn rate(&self) -> f64 {
        self.ok as f64 / self.seconds
    }

    pub fn of(ok: u64, other: u64, seconds: f64, times: &Histogram<u64>) -> LoadFigures {
        let at = |quantile| times.value_at_quantile(quantile);
        let (p50_us, p90_us, p99_us, p999_us) = (at(0.5), at(0.9), at(0.99), at(0.999));
        LoadFigures { ok, other, seconds, p50_us, p90_us, p99_us, p999_us, late_us: 0 }
    }
}

/// Microseconds.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("sound bounds")
}
