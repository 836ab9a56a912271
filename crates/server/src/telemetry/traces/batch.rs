//! The span of a batch: a trace of its own, with a link to each sampled request in it. A request may be one of five
//! hundred in its batch; neither is the other's parent.

use std::sync::Arc;
use std::time::Instant;

use rules::subject::SubjectId;

use super::super::journey::PathStep;
use super::super::ledger_marks::LedgerTimes;
use super::context::{SpanContext, SpanId, TraceId};
use super::{TraceRecord, Tracer, Traces};

/// A batch of which at least one request is sampled. It is recorded when it is dropped, however it ended.
pub struct BatchSpan {
    tracer: Arc<Tracer>,
    batch: Option<Box<TracedBatch>>,
}

pub struct TracedBatch {
    pub context: SpanContext,
    pub links: Vec<SpanContext>,
    pub subject: SubjectId,
    /// All of them, sampled or not.
    pub requests: usize,
    pub began: Instant,
    pub ledger: LedgerTimes,
    /// When it was durable.
    pub committed: Option<Instant>,
    /// Why it was not.
    pub fault: Option<String>,
    pub ended: Instant,
}

impl Traces {
    /// None: no request of it is sampled.
    pub fn batch(
        &self,
        subject: SubjectId,
        requests: usize,
        sampled: impl Iterator<Item = SpanContext>,
        began: Instant,
    ) -> Option<BatchSpan> {
        let tracer = self.0.as_ref()?;
        let mut sampled = sampled.peekable();
        sampled.peek()?;
        let context = SpanContext { trace: TraceId::new(&tracer.names), span: SpanId::new(&tracer.names) };
        let links = sampled.collect();
        let batch = TracedBatch {
            context,
            links,
            subject,
            requests,
            began,
            ledger: LedgerTimes::default(),
            committed: None,
            fault: None,
            ended: began,
        };
        Some(BatchSpan { tracer: tracer.clone(), batch: Some(Box::new(batch)) })
    }
}

impl TracedBatch {
    /// The steps in order, without gaps. The step that it was in when it failed is its last.
    pub fn steps(&self) -> Vec<PathStep> {
        let (LedgerTimes { admitted, decided }, published) = (self.ledger, self.committed.map(|_| self.ended));
        let marks = [("admit", admitted), ("decide", decided), ("commit", self.committed), ("publish", published)];
        let (mut steps, mut from) = (Vec::with_capacity(marks.len()), self.began);
        for (name, mark) in marks {
            // A ledger that does not say when it decided: all of it is the commit.
            if mark.is_none() && self.committed.is_some() {
                continue;
            }
            let to = mark.unwrap_or(self.ended);
            steps.push(PathStep { name, from, to });
            from = to;
            if mark.is_none() {
                break;
            }
        }
        steps
    }
}

impl BatchSpan {
    pub fn context(&self) -> Option<SpanContext> {
        self.batch.as_ref().map(|batch| batch.context)
    }

    pub fn trace(&self) -> Option<TraceId> {
        self.context().map(|context| context.trace)
    }

    /// How far the ledger came with it.
    pub fn reached(&mut self, times: LedgerTimes) {
        if let Some(batch) = &mut self.batch {
            batch.ledger = times;
        }
    }

    pub fn committed(&mut self, at: Instant) {
        if let Some(batch) = &mut self.batch {
            batch.committed = Some(at);
        }
    }

    pub fn failed(&mut self, why: String) {
        if let Some(batch) = &mut self.batch {
            batch.fault = Some(why);
        }
    }
}

impl Drop for BatchSpan {
    fn drop(&mut self) {
        if let Some(mut batch) = self.batch.take() {
            batch.ended = Instant::now();
            self.tracer.send(TraceRecord::Batch(batch));
        }
    }
}
