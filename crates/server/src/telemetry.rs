//! Logs and metrics. Neither carries a token, a telephone number or a user's name.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use rules::event::Event;
use rules::ids::EventId;
use rules::queue::Serving;
use tracing_subscriber::EnvFilter;

use crate::settings::{LogFormat, Settings};

pub fn begin_logging(settings: &Settings) {
    let filter = EnvFilter::try_new(&settings.log_filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // It would tell of a log that cannot be written by a macro that panics if that cannot be written either.
    let logs = logs.log_internal_errors(false);
    match settings.log_format {
        LogFormat::Text => logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        LogFormat::Json => logs.json().init(),
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
    operation: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct EventLabels {
    event: i64,
}

/// What is tidied or remembered: few kinds, known beforehand.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

pub struct Metrics {
    registry: Registry,
    outcomes: Family<OutcomeLabels, Counter>,
    requests: Counter,
    batches: Histogram,
    commits: Histogram,
    remaining: Family<EventLabels, Gauge>,
    waiting: Gauge<u64, AtomicU64>,
    in_line: Family<EventLabels, Gauge>,
    inside: Family<EventLabels, Gauge>,
    admitted: Counter,
    tidied: Family<KindLabels, Counter>,
    remembered: Family<KindLabels, Gauge>,
    /// Events with series, and whether one was set since the last `forget_unused`.
    events: Mutex<HashMap<i64, bool>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("tickettock");
        let outcomes = Family::default();
        registry.register("outcomes", "How requests ended, by operation of the API", outcomes.clone());
        let requests = Counter::default();
        registry.register("requests", "HTTP requests of all kinds", requests.clone());
        let batches = Histogram::new(exponential_buckets(1.0, 2.0, 10));
        registry.register("batch_requests", "Requests per batch", batches.clone());
        let commits = Histogram::new(exponential_buckets(0.000_25, 2.0, 14));
        registry.register("commit_seconds", "From handing a batch to the ledger to its durable end", commits.clone());
        let remaining = Family::default();
        registry.register("remaining_seats", "Free seats after the last batch", remaining.clone());
        let waiting = Gauge::default();
        registry.register("waiting_requests", "Requests accepted and not yet answered", waiting.clone());
        let in_line = Family::default();
        registry.register("queue_waiting", "People in line who were seen lately", in_line.clone());
        let inside = Family::default();
        registry.register("queue_inside", "People inside a waiting room", inside.clone());
        let admitted = Counter::default();
        registry.register("queue_admitted", "Entries given by this server", admitted.clone());
        let tidied = Family::default();
        registry.register("tidied", "What has ended and was removed, by kind", tidied.clone());
        let remembered = Family::default();
        registry.register("remembered", "What this process remembers, by kind", remembered.clone());
        Metrics {
            registry,
            outcomes,
            requests,
            batches,
            commits,
            remaining,
            waiting,
            in_line,
            inside,
            admitted,
            tidied,
            remembered,
            events: Mutex::default(),
        }
    }
}

impl Metrics {
    pub fn request(&self) {
        self.requests.inc();
    }

    /// How often this operation ended so.
    pub fn outcomes(&self, operation: &'static str, outcome: &'static str) -> Counter {
        self.outcomes.get_or_create(&OutcomeLabels { outcome, operation }).clone()
    }

    pub fn batch(&self, requests: usize) {
        self.batches.observe(requests as f64);
    }

    pub fn commit_took(&self, time: Duration) {
        self.commits.observe(time.as_secs_f64());
    }

    pub fn remaining(&self, event: &Event) {
        self.used(event.id);
        self.remaining.get_or_create(&EventLabels { event: event.id.0 }).set(i64::from(event.remaining()));
    }

    fn used(&self, event: EventId) {
        self.events.lock().unwrap_or_else(|p| p.into_inner()).insert(event.0, true);
    }

    /// Removes the series of events that had no news since the last call. Returns how many events are left.
    pub fn forget_unused(&self) -> usize {
        let mut events = self.events.lock().unwrap_or_else(|p| p.into_inner());
        events.retain(|event, used| {
            let labels = EventLabels { event: *event };
            if !*used {
                self.remaining.remove(&labels);
                self.in_line.remove(&labels);
                self.inside.remove(&labels);
            }
            std::mem::take(used)
        });
        events.len()
    }

    pub fn tidied(&self, kind: &'static str, count: usize) {
        if count > 0 {
            self.tidied.get_or_create(&KindLabels { kind }).inc_by(count as u64);
        }
    }

    pub fn remembered(&self, kind: &'static str, count: usize) {
        self.remembered.get_or_create(&KindLabels { kind }).set(count as i64);
    }

    pub fn admitted(&self) {
        self.admitted.inc();
    }

    pub fn line(&self, event: EventId, serving: &Serving) {
        self.used(event);
        let labels = EventLabels { event: event.0 };
        self.in_line.get_or_create(&labels).set(serving.waiting as i64);
        self.inside.get_or_create(&labels).set(serving.inside as i64);
    }

    pub fn text(&self, waiting: usize) -> String {
        self.waiting.set(waiting as u64);
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(_) => String::new(),
        }
    }
}
