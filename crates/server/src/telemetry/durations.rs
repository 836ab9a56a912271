//! How long requests take, by operation of the API and class of their status. An operation has at most four series.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::histogram::{TracedHistogram, write_family};
use super::traces::context::TraceId;

/// By the first digit.
const CLASSES: [&str; 6] = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// From 0.5 ms to 8 s.
const FIRST: Duration = Duration::from_micros(500);
const BOUNDS: usize = 15;

/// By operation and class.
type Series = BTreeMap<(&'static str, &'static str), TracedHistogram>;

#[derive(Clone, Default)]
pub struct RequestTimes {
    series: Arc<Mutex<Series>>,
}

impl RequestTimes {
    pub fn of(&self, operation: &'static str) -> OperationTimes {
        OperationTimes { operation, all: self.clone(), found: Default::default() }
    }

    pub fn write(&self, text: &mut String) {
        let series = self.series.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let labelled = series.iter().map(|((operation, status), histogram)| {
            (format!("operation=\"{operation}\",status=\"{status}\""), histogram)
        });
        let meaning = "From reading a request to its answer, by operation of the API and class of status";
        write_family(text, "tickettock_request_seconds", meaning, labelled);
    }

    fn find(&self, operation: &'static str, status: &'static str) -> TracedHistogram {
        let mut series = self.series.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        series.entry((operation, status)).or_insert_with(|| TracedHistogram::new(FIRST, BOUNDS)).clone()
    }
}

/// Those of one operation; each series is found once.
pub struct OperationTimes {
    operation: &'static str,
    all: RequestTimes,
    found: [OnceLock<TracedHistogram>; CLASSES.len()],
}

impl OperationTimes {
    /// `class` is the first digit of the status; `trace` may become the exemplar of its bucket.
    pub fn took(&self, class: u16, time: Duration, trace: Option<TraceId>) {
        let place = if (1..=5).contains(&class) { usize::from(class) } else { 0 };
        let series = self.found[place].get_or_init(|| self.all.find(self.operation, CLASSES[place]));
        series.observe(time, trace);
    }
}
