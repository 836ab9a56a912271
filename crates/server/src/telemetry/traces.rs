//! Traces over OTLP: one span per step of a sampled request, one per batch with links to its requests. Without an
//! endpoint nothing of this runs. Spans wait in a bounded queue; what does not fit is dropped and counted, and no
//! request ever waits for the collector. See `docs/decisions/0029-own-otlp-exporter.md`.

pub mod batch;
pub mod context;
mod exporter;
mod otlp;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use salvo::http::{HeaderMap, HeaderValue};
use tokio::sync::{Notify, mpsc};

use self::batch::TracedBatch;
use self::context::{RequestSpan, SpanContext, SpanId, TraceId, Traceparent};
use self::exporter::Exporter;
use super::journey::RequestMarks;
use super::slow::EndedRequest;
use crate::names::Names;
use crate::settings::TraceSettings;

/// Requests and batches that wait to be exported.
const QUEUE: usize = 4_096;
const FLUSH_LOOK: Duration = Duration::from_millis(10);

/// Where traces go, if they go anywhere.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<Tracer>>);

pub struct Tracer {
    /// Trace ids below it are sampled.
    threshold: u128,
    names: Names,
    queue: mpsc::Sender<TraceRecord>,
    /// Records in the queue or on their way.
    pending: Arc<AtomicUsize>,
    hurry: Arc<Notify>,
    figures: SpanFigures,
}

/// What is exported.
pub enum TraceRecord {
    Request(Box<TracedRequest>),
    Batch(Box<TracedBatch>),
}

pub struct TracedRequest {
    pub span: RequestSpan,
    pub method: &'static str,
    pub route: &'static str,
    pub operation: &'static str,
    pub outcome: &'static str,
    pub status: u16,
    /// If the caller chose another id than the trace's.
    pub request_id: Option<String>,
    pub began: Instant,
    pub ended: Instant,
    pub marks: RequestMarks,
}

/// What became of spans: `exported`, `queue_full`, `failed` (the collector could not be reached or refused them) or
/// `rejected` (it took the others).
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SpanLabels {
    result: &'static str,
}

#[derive(Clone, Default)]
pub struct SpanFigures(Family<SpanLabels, Counter>);

impl SpanFigures {
    pub fn register(&self, registry: &mut Registry) {
        let meaning = "Spans of traces by result: exported, queue_full, failed, rejected";
        registry.register("spans", meaning, self.0.clone());
    }

    fn count(&self, result: &'static str, spans: usize) {
        if spans > 0 {
            self.0.get_or_create(&SpanLabels { result }).inc_by(spans as u64);
        }
    }
}

impl Traces {
    /// Starts to export, if the settings name an endpoint.
    pub fn start(settings: Option<&TraceSettings>, figures: &SpanFigures) -> Traces {
        let Some(settings) = settings else { return Traces(None) };
        let (queue, records) = mpsc::channel(QUEUE);
        let tracer = Arc::new(Tracer {
            threshold: (settings.ratio * 2f64.powi(64)) as u128,
            names: Names::default(),
            queue,
            pending: Arc::default(),
            hurry: Arc::default(),
            figures: figures.clone(),
        });
        let exporter = Exporter {
            endpoint: settings.endpoint.clone(),
            headers: settings.headers.clone(),
            service: settings.service.clone(),
            host: std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
            pending: tracer.pending.clone(),
            hurry: tracer.hurry.clone(),
            figures: figures.clone(),
        };
        tokio::spawn(exporter.run(records));
        Traces(Some(tracer))
    }

    /// The span of a request, if it is sampled: as its caller decided, or by its trace id.
    pub fn begin(&self, headers: &HeaderMap, request_id: &HeaderValue) -> Option<RequestSpan> {
        let tracer = self.0.as_deref()?;
        let (trace, parent) = match Traceparent::of(headers) {
            Some(Traceparent { sampled: false, .. }) => return None,
            Some(Traceparent { context, .. }) => (context.trace, Some(context.span)),
            None => {
                let trace = TraceId::of_hex(request_id.as_bytes()).unwrap_or_else(|| TraceId::new(&tracer.names));
                if trace.low() >= tracer.threshold {
                    return None;
                }
                (trace, None)
            }
        };
        Some(RequestSpan { context: SpanContext { trace, span: SpanId::new(&tracer.names) }, parent })
    }

    pub fn request(&self, span: RequestSpan, ended: &EndedRequest<'_>, route: &'static str) {
        let Some(tracer) = self.0.as_deref() else { return };
        let request_id = ended.trace.to_str().unwrap_or_default();
        let chosen = TraceId::of_hex(request_id.as_bytes()) != Some(span.context.trace);
        tracer.send(TraceRecord::Request(Box::new(TracedRequest {
            span,
            method: ended.method,
            route,
            operation: ended.operation,
            outcome: ended.outcome,
            status: ended.status,
            request_id: chosen.then(|| request_id.to_owned()),
            began: ended.began,
            ended: ended.ended,
            marks: ended.marks,
        })));
    }

    /// Exports what waits, for at most so long.
    pub async fn flush(&self, most: Duration) {
        let Some(tracer) = self.0.as_deref() else { return };
        let began = Instant::now();
        while tracer.pending.load(Ordering::Acquire) > 0 && began.elapsed() < most {
            tracer.hurry.notify_one();
            tokio::time::sleep(FLUSH_LOOK).await;
        }
    }
}

impl Tracer {
    fn send(&self, record: TraceRecord) {
        self.pending.fetch_add(1, Ordering::AcqRel);
        if let Err(full) = self.queue.try_send(record) {
            self.pending.fetch_sub(1, Ordering::AcqRel);
            self.figures.count("queue_full", full.into_inner().spans());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A collector that takes the connection and never answers.
    #[tokio::test]
    async fn full_queue_drops_and_counts() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/v1/traces", listener.local_addr().unwrap()).parse().unwrap();
        let settings = TraceSettings { endpoint, headers: Vec::new(), ratio: 1.0, service: "test".into() };
        let figures = SpanFigures::default();
        let traces = Traces::start(Some(&settings), &figures);
        let (id, now) = (HeaderValue::from_static("chosen"), Instant::now());
        let ended = EndedRequest {
            trace: &id,
            method: "GET",
            operation: "seats",
            outcome: "ok",
            status: 200,
            began: now,
            ended: now,
            marks: RequestMarks::default(),
        };
        for _ in 0..QUEUE + 10 {
            let span = traces.begin(&HeaderMap::new(), &id).unwrap();
            traces.request(span, &ended, "/api/v1/seats");
        }
        let dropped = figures.0.get_or_create(&SpanLabels { result: "queue_full" }).get();
        assert_eq!(dropped, 10, "nothing ran in between: one thread");
    }

    #[tokio::test]
    async fn ratio_decides_by_trace_id() {
        let endpoint: url::Url = "http://127.0.0.1:9/v1/traces".parse().unwrap();
        let sampled = |ratio, id: &'static str| {
            let settings =
                TraceSettings { endpoint: endpoint.clone(), headers: Vec::new(), ratio, service: "t".into() };
            let traces = Traces::start(Some(&settings), &SpanFigures::default());
            traces.begin(&HeaderMap::new(), &HeaderValue::from_static(id)).is_some()
        };
        let (low, high) = ("4bf92f3577b34da60000000000000001", "4bf92f3577b34da6ffffffffffffffff");
        assert!(sampled(1.0, low) && sampled(1.0, high) && sampled(0.01, low));
        assert!(!sampled(0.0, low) && !sampled(0.0, high) && !sampled(0.99, high));
    }
}
