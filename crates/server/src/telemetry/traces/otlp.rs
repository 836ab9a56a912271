//! OTLP as JSON: ids in hexadecimal digits, 64-bit numbers as strings, enumerations as numbers, names in lowerCamelCase.

use std::time::Instant;

use serde_json::{Value, json};

use super::batch::TracedBatch;
use super::context::{SpanContext, SpanId};
use super::{TraceRecord, TracedRequest};
use crate::names::Names;

/// Kinds of spans, and the status of one that failed.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const ERROR: u8 = 2;

/// One reading of both clocks: what the wall clock says of an instant.
#[derive(Clone, Copy, Debug)]
pub struct WallAnchor {
    pub instant: Instant,
    pub unix_ns: u128,
}

impl WallAnchor {
    fn unix_ns(self, at: Instant) -> String {
        let before = self.instant.saturating_duration_since(at).as_nanos();
        let after = at.saturating_duration_since(self.instant).as_nanos();
        (self.unix_ns + after).saturating_sub(before).to_string()
    }
}

/// The body of an `ExportTraceServiceRequest`, and how many spans it has.
pub fn export_body(records: &[TraceRecord], (service, host): (&str, &str), anchor: WallAnchor) -> (Vec<u8>, usize) {
    let mut writer = SpanWriter { anchor, spans: Vec::with_capacity(records.len() * 4), names: Names::default() };
    for record in records {
        match record {
            TraceRecord::Request(request) => writer.request(request),
            TraceRecord::Batch(batch) => writer.batch(batch),
        }
    }
    let count = writer.spans.len();
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        text("service.name", service),
        text("service.version", version),
        text("host.name", host),
        number("process.pid", i64::from(std::process::id())),
    ];
    let body = json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "tickettock", "version": version }, "spans": writer.spans }],
    }]});
    (serde_json::to_vec(&body).unwrap_or_default(), count)
}

impl TraceRecord {
    /// How many spans it becomes.
    pub fn spans(&self) -> usize {
        match self {
            TraceRecord::Request(request) => 1 + request.marks.steps(request.began, request.ended).count(),
            TraceRecord::Batch(batch) => 1 + batch.steps().len(),
        }
    }
}

struct SpanWriter {
    anchor: WallAnchor,
    spans: Vec<Value>,
    names: Names,
}

struct Span<'a> {
    context: SpanContext,
    parent: Option<SpanId>,
    name: &'a str,
    kind: u8,
    from: Instant,
    to: Instant,
    attributes: Vec<Value>,
    links: &'a [SpanContext],
    /// Some: it failed, perhaps with a message.
    failed: Option<&'a str>,
}

impl SpanWriter {
    fn request(&mut self, request: &TracedRequest) {
        let TracedRequest { span, method, route, operation, outcome, status, began, ended, marks, .. } = request;
        let mut attributes = vec![
            text("http.request.method", method),
            text("http.route", route),
            number("http.response.status_code", i64::from(*status)),
            text("tickettock.operation", operation),
            text("tickettock.outcome", outcome),
        ];
        if let Some(id) = &request.request_id {
            attributes.push(text("tickettock.request_id", id));
        }
        if let Some((subject, _)) = marks.lane {
            attributes.push(text("tickettock.subject", &subject.to_string()));
        }
        self.push(Span {
            context: span.context,
            parent: span.parent,
            name: &format!("{method} {route}"),
            kind: SERVER,
            from: *began,
            to: *ended,
            attributes,
            links: &[],
            failed: (*status >= 500).then_some(outcome),
        });
        let batch = marks.lane.and_then(|(_, lane)| lane.batch);
        for step in marks.steps(*began, *ended) {
            let in_ledger = matches!(step.name, "admit" | "decide" | "commit");
            let links = if in_ledger { batch.as_slice() } else { &[] };
            self.child(span.context, step.name, step.from, step.to, links, None);
        }
    }

    fn batch(&mut self, batch: &TracedBatch) {
        let TracedBatch { context, links, subject, requests, began, committed, fault, ended, .. } = batch;
        let attributes =
            vec![text("tickettock.subject", &subject.to_string()), number("tickettock.requests", *requests as i64)];
        let failed = fault.as_deref();
        self.push(Span {
            context: *context,
            parent: None,
            name: "batch",
            kind: INTERNAL,
            from: *began,
            to: *ended,
            attributes,
            links,
            failed,
        });
        let steps = batch.steps();
        for (i, step) in steps.iter().enumerate() {
            let failed = failed.filter(|_| committed.is_none() && i + 1 == steps.len());
            self.child(*context, step.name, step.from, step.to, &[], failed);
        }
    }

    fn child(
        &mut self,
        of: SpanContext,
        name: &str,
        from: Instant,
        to: Instant,
        links: &[SpanContext],
        failed: Option<&str>,
    ) {
        let context = SpanContext { trace: of.trace, span: SpanId::new(&self.names) };
        let (parent, attributes) = (Some(of.span), Vec::new());
        self.push(Span { context, parent, name, kind: INTERNAL, from, to, attributes, links, failed });
    }

    fn push(&mut self, span: Span<'_>) {
        let mut written = json!({
            "traceId": span.context.trace.to_string(),
            "spanId": span.context.span.to_string(),
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": self.anchor.unix_ns(span.from),
            "endTimeUnixNano": self.anchor.unix_ns(span.to),
        });
        if let Some(parent) = span.parent {
            written["parentSpanId"] = json!(parent.to_string());
        }
        if !span.attributes.is_empty() {
            written["attributes"] = json!(span.attributes);
        }
        if !span.links.is_empty() {
            let link = |to: &SpanContext| json!({ "traceId": to.trace.to_string(), "spanId": to.span.to_string() });
            written["links"] = span.links.iter().map(link).collect();
        }
        if let Some(message) = span.failed {
            written["status"] = json!({ "code": ERROR, "message": message });
        }
        self.spans.push(written);
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}
