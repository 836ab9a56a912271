//! Logs and metrics. Neither carries a token, a telephone number or a user's name.

pub mod audits;
pub mod backups;
pub mod durations;
pub mod histogram;
pub mod journey;
pub mod ledger_marks;
mod log_lines;
pub mod series;
pub mod shards;
pub mod slow;
pub mod steps;
mod surroundings;
pub mod switch;
pub mod text_format;
pub mod traces;
pub mod watch;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tracing_subscriber::EnvFilter;

use self::audits::AuditFigures;
use self::backups::BackupFigures;
use self::durations::RequestTimes;
use self::log_lines::LogLineWriter;
pub use self::log_lines::as_event;
use self::series::EventSeries;
use self::shards::ShardedCounter;
use self::steps::StepTimes;
use self::surroundings::Surroundings;
use self::traces::{SpanFigures, Traces};
use crate::app::App;
use crate::connections::OpenConnections;
use crate::gate::Gate;
use crate::live::LiveSeries;
use crate::rates::RequestRates;
use crate::settings::{LogFormat, Settings, TraceSettings};

/// Changes the log filter of a running server.
pub type LogControl = Box<dyn Fn(&str) + Send + Sync>;

pub fn begin_logging(settings: &Settings) -> LogControl {
    let filter = |text: &str| EnvFilter::try_new(text).unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter(&settings.log_filter))
        .with_writer(|| LogLineWriter(std::io::stderr()))
        .with_target(false)
        // It would report a closed standard error to standard error, and panic.
        .log_internal_errors(false);
    log_lines::log_panics();
    match settings.log_format {
        LogFormat::Text => {
            let logs = logs.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).with_filter_reloading();
            let handle = logs.reload_handle();
            logs.init();
            Box::new(move |text| drop(handle.reload(filter(text))))
        }
        LogFormat::Json => {
            let logs = logs.json().with_filter_reloading();
            let handle = logs.reload_handle();
            logs.init();
            Box::new(move |text| drop(handle.reload(filter(text))))
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
    operation: &'static str,
}

/// What is tidied or remembered: few kinds, known beforehand.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

/// Whose token bucket was empty: `user` or `address`.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ScopeLabels {
    scope: &'static str,
}

pub struct Metrics {
    registry: Registry,
    /// Names that every process has.
    process: Registry,
    surroundings: Surroundings,
    pub steps: StepTimes,
    pub durations: RequestTimes,
    pub traces: Traces,
    pub audits: AuditFigures,
    oldest: Gauge<f64, AtomicU64>,
    generations: Counter,
    outcomes: Family<OutcomeLabels, ShardedCounter>,
    requests: ShardedCounter,
    batches: Histogram,
    waiting: Gauge<u64, AtomicU64>,
    pub events: EventSeries,
    admitted: Counter,
    failed_logins: Counter,
    unnoted: Counter,
    tidied: Family<KindLabels, Counter>,
    remembered: Family<KindLabels, Gauge>,
    connections: Gauge<u64, AtomicU64>,
    turned_away: Counter,
    in_progress: Gauge<u64, AtomicU64>,
    limit: Gauge<u64, AtomicU64>,
    unread: Gauge<u64, AtomicU64>,
    let_in: Gauge<f64, AtomicU64>,
    refused: Counter,
    rate_limited: Family<ScopeLabels, Counter>,
    pub webhooks: crate::webhooks::WebhookSeries,
    pub backups: BackupFigures,
    pub live: LiveSeries,
    front: OnceLock<(Arc<OpenConnections>, Arc<Gate>, Arc<RequestRates>)>,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new(None)
    }
}

impl Metrics {
    /// With traces, if the settings name where they go.
    pub fn new(traces: Option<&TraceSettings>) -> Metrics {
        let mut registry = Registry::with_prefix("tickettock");
        let outcomes = Family::default();
        registry.register("outcomes", "How requests ended, by operation of the API", outcomes.clone());
        let requests = ShardedCounter::default();
        registry.register("requests", "HTTP requests of all kinds", requests.clone());
        let batches = Histogram::new(exponential_buckets(1.0, 2.0, 10));
        registry.register("batch_requests", "Requests per batch", batches.clone());
        let waiting = Gauge::default();
        registry.register("waiting_requests", "Requests accepted and not yet answered", waiting.clone());
        let events = EventSeries::default();
        events.register(&mut registry);
        let admitted = Counter::default();
        registry.register("queue_admitted", "Entries given by this server", admitted.clone());
        let failed_logins = Counter::default();
        registry.register("failed_admin_logins", "Requests with a wrong admin token", failed_logins.clone());
        let unnoted = Counter::default();
        registry.register(
            "admin_refusals_not_noted",
            "Refused admin requests that are not in the history, because there were too many",
            unnoted.clone(),
        );
        let tidied = Family::default();
        registry.register("tidied", "What has ended and was removed, by kind", tidied.clone());
        let remembered = Family::default();
        registry.register("remembered", "What this process remembers, by kind", remembered.clone());
        let connections = Gauge::default();
        registry.register("connections", "Open connections", connections.clone());
        let turned_away = Counter::default();
        let meaning = "Connections closed because their address had too many";
        registry.register("connections_turned_away", meaning, turned_away.clone());
        let in_progress = Gauge::default();
        registry.register(
            "gate_in_progress",
            "Requests that passed the gate and are not answered",
            in_progress.clone(),
        );
        let limit = Gauge::default();
        registry.register("gate_limit", "Requests that may be in progress, as last measured", limit.clone());
        let refused = Counter::default();
        registry.register("gate_refused", "Requests refused before the router because of load", refused.clone());
        let unread = Gauge::default();
        registry.register("gate_unread", "Requests that wait unread because of load", unread.clone());
        let let_in = Gauge::default();
        registry.register(
            "gate_let_in_ratio",
            "Share of new connections that the kernel lets in; below 1 more come than can be served",
            let_in.clone(),
        );
        let rate_limited = Family::default();
        let meaning = "Requests refused because a token bucket was empty, of a user or of an address";
        registry.register("rate_limited", meaning, rate_limited.clone());
        let webhooks = crate::webhooks::WebhookSeries::default();
        webhooks.register(&mut registry);
        let backups = BackupFigures::default();
        backups.register(&mut registry);
        let live = LiveSeries::default();
        live.register(&mut registry);
        let mut process = Registry::default();
        let surroundings = Surroundings::default();
        surroundings.register(&mut registry, &mut process);
        let steps = StepTimes::default();
        steps.register(&mut registry);
        let audits = AuditFigures::default();
        audits.register(&mut registry);
        let spans = SpanFigures::default();
        spans.register(&mut registry);
        let traces = Traces::start(traces, &spans);
        let oldest = Gauge::default();
        registry.register("oldest_request_seconds", "Age of the oldest request that waits for a batch", oldest.clone());
        let generations = Counter::default();
        registry.register("generations_raised", "Doors opened again with a new generation", generations.clone());
        Metrics {
            registry,
            process,
            surroundings,
            steps,
            durations: RequestTimes::default(),
            traces,
            audits,
            oldest,
            generations,
            live,
            outcomes,
            requests,
            batches,
            waiting,
            events,
            admitted,
            failed_logins,
            unnoted,
            tidied,
            remembered,
            connections,
            turned_away,
            in_progress,
            limit,
            unread,
            let_in,
            refused,
            rate_limited,
            webhooks,
            backups,
            front: OnceLock::new(),
        }
    }

    pub fn request(&self) {
        if !switch::is_off() {
            self.requests.inc();
        }
    }

    /// How often this operation ended so.
    pub fn outcomes(&self, operation: &'static str, outcome: &'static str) -> ShardedCounter {
        self.outcomes.get_or_create(&OutcomeLabels { outcome, operation }).clone()
    }

    pub fn batch(&self, requests: usize) {
        if !switch::is_off() {
            self.batches.observe(requests as f64);
        }
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

    pub fn failed_login(&self) {
        self.failed_logins.inc();
    }

    pub fn refusal_not_noted(&self) {
        self.unnoted.inc();
    }

    /// Where the figures of the listener, the gate and the token buckets come from.
    pub fn watch_front(&self, open: Arc<OpenConnections>, gate: Arc<Gate>, rates: Arc<RequestRates>) {
        let _ = self.front.set((open, gate, rates));
    }

    /// What a scrape gets.
    pub fn text(&self, app: &App) -> String {
        if let Some((open, gate, rates)) = self.front.get() {
            self.connections.set(open.count() as u64);
            self.turned_away.inner().store(open.turned_away(), Ordering::Relaxed);
            self.in_progress.set(gate.in_progress() as u64);
            self.limit.set(gate.limit() as u64);
            self.unread.set(gate.unread() as u64);
            self.let_in.set(gate.share_let_in());
            self.refused.inner().store(gate.refused(), Ordering::Relaxed);
            let (users, addresses) = rates.limited();
            for (scope, count) in [("user", users), ("address", addresses)] {
                let series = self.rate_limited.get_or_create(&ScopeLabels { scope });
                series.inner().store(count, Ordering::Relaxed);
            }
        }
        self.waiting.set(app.lanes.depth() as u64);
        self.oldest.set(app.lanes.oldest().unwrap_or_default().as_secs_f64());
        self.generations.inner().store(crate::reopen::raised(), Ordering::Relaxed);
        self.surroundings.look(&app.settings.data_dir, app.ledger.pool());
        self.events.show();
        let mut text = String::new();
        let written =
            encode_registry(&mut text, &self.registry).and_then(|()| encode_registry(&mut text, &self.process));
        self.steps.write(&mut text);
        self.durations.write(&mut text);
        let written = written.and_then(|()| encode_eof(&mut text));
        if written.is_ok() { text } else { String::new() }
    }
}
