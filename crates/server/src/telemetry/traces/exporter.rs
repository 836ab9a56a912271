//! Sends spans to the collector: every half second, in one request at a time, with a time limit. A collector that is
//! down or overloaded is asked again a few times; then its spans are dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::fetch::{FetchLimits, Fetched, post};
use serde_json::Value;
use stores::limited;
use tokio::sync::{Notify, mpsc};
use url::Url;

use super::otlp::{WallAnchor, export_body};
use super::{SpanFigures, TraceRecord};
use crate::clock::wall_unix_ns;

const EVERY: Duration = Duration::from_millis(500);
/// Requests and batches in one export.
const RECORDS_MOST: usize = 512;
const LIMITS: FetchLimits = FetchLimits { bytes: 64 * 1024, time: Duration::from_secs(5) };
/// After the first try.
const RETRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// However long a collector asks for.
const PAUSE_MOST: Duration = Duration::from_secs(10);

pub struct Exporter {
    pub endpoint: Url,
    pub headers: Vec<(String, String)>,
    pub service: String,
    pub host: String,
    pub pending: Arc<AtomicUsize>,
    pub hurry: Arc<Notify>,
    pub figures: SpanFigures,
}

impl Exporter {
    /// Until the last tracer is gone.
    pub async fn run(self, mut queue: mpsc::Receiver<TraceRecord>) {
        let mut records = Vec::with_capacity(RECORDS_MOST);
        while queue.recv_many(&mut records, RECORDS_MOST).await > 0 {
            if records.len() < RECORDS_MOST {
                tokio::select! {
                    () = tokio::time::sleep(EVERY) => {}
                    () = self.hurry.notified() => {}
                }
                while records.len() < RECORDS_MOST
                    && let Ok(record) = queue.try_recv()
                {
                    records.push(record);
                }
            }
            self.export(&records).await;
            self.pending.fetch_sub(records.len(), Ordering::AcqRel);
            records.clear();
        }
    }

    async fn export(&self, records: &[TraceRecord]) {
        let anchor = WallAnchor { instant: Instant::now(), unix_ns: wall_unix_ns() };
        let (body, spans) = export_body(records, (&self.service, &self.host), anchor);
        let mut pause = FIRST_PAUSE;
        for retry in 0..=RETRIES {
            let (why, asked) = match post(&self.endpoint, &self.headers, body.clone().into(), LIMITS).await {
                Ok(answer) if answer.status == 200 => {
                    let rejected = rejected(&answer.body).min(spans);
                    self.figures.count("exported", spans - rejected);
                    return self.figures.count("rejected", rejected);
                }
                Ok(answer) if again_helps(answer.status) => (format!("it answered {}", answer.status), asked(&answer)),
                Ok(answer) => {
                    limited!(warn, spans, status = answer.status, "the trace collector refused spans");
                    return self.figures.count("failed", spans);
                }
                Err(error) => (error.to_string(), None),
            };
            if retry == RETRIES {
                limited!(warn, spans, why, "the trace collector cannot be reached; its spans are dropped");
                break;
            }
            // The jitter keeps several servers out of step.
            let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
            let jitter = pause.mul_f64(random as f64 / u64::MAX as f64);
            tokio::time::sleep(asked.unwrap_or(pause / 2 + jitter / 2).min(PAUSE_MOST)).await;
            pause *= 2;
        }
        self.figures.count("failed", spans);
    }
}

/// As the protocol lists them.
fn again_helps(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

fn asked(answer: &Fetched) -> Option<Duration> {
    answer.retry_after.map(Duration::from_secs)
}

/// Of a partial success: a number, or a number as text.
fn rejected(body: &[u8]) -> usize {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let rejected = &body["partialSuccess"]["rejectedSpans"];
    let number = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok());
    number.unwrap_or_default() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_success_is_read_in_both_spellings() {
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}"#), 3);
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":2}}"#), 2);
        assert_eq!([rejected(b"{}"), rejected(b""), rejected(b"\x0a\x02")], [0, 0, 0]);
    }
}
