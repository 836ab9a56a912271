//! Commit: the ledger decides a batch and makes it durable. A lock timeout or a transient fault is retried with
//! backoff and jitter, before any later batch. No request waits much longer than its deadline, however long this
//! takes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use rules::command::Command;
use rules::outcome::Refusal;
use stores::ledger::{Answered, Batch, BatchProgress, Committed, LedgerFault, OpenCommands};
use stores::limited;

use super::batch::Split;
use super::respond::Decided;
use super::served::Served;
use super::waiter::{Queued, Waiter};
use super::{Lane, Shared};
use crate::refusals::refusal;
use crate::telemetry::ledger_marks::LedgerMarks;
use crate::telemetry::traces::batch::BatchSpan;

/// A request whose deadline passes while its batch runs may still be answered by that batch.
const GRACE: Duration = Duration::from_secs(2);

/// While a batch runs long, the lane checks for requests past their deadline at this interval.
const WATCH: Duration = Duration::from_millis(250);

/// A batch that the ledger has.
pub(crate) struct UnderWay<S: Served> {
    commands: Arc<Vec<Command<S>>>,
    waiters: Vec<Waiter>,
    committing: Answered<Committed<S>>,
    /// The commands that remain while the ledger waits for the lock.
    open: OpenCommands<S>,
    began: Instant,
    /// The ledger's progress with the batch.
    marks: Arc<LedgerMarks>,
    /// If the trace of a request in it is sampled.
    span: Option<BatchSpan>,
}

impl<S: Served> Lane<S> {
    /// Hands a batch to the ledger. A panic there counts as a fault of the ledger, not of the lane.
    pub(super) fn hand_over(&self, commands: Arc<Vec<Command<S>>>, mut waiters: Vec<Waiter>) -> UnderWay<S> {
        let Shared { ledger, metrics, terms, .. } = &*self.shared;
        metrics.batch(commands.len());
        let began = Instant::now();
        let sampled = waiters.iter().filter_map(|waiter| waiter.span);
        let span = metrics.traces.batch(self.subject(), waiters.len(), sampled, began);
        let context = span.as_ref().and_then(BatchSpan::context);
        if let Some(oldest) = waiters.iter().map(|waiter| waiter.arrived).min() {
            metrics.steps.waited(began.saturating_duration_since(oldest), context.map(|context| context.trace));
        }
        for waiter in &mut waiters {
            waiter.batched.get_or_insert(began);
            waiter.batch = context;
        }
        let mut batch = Batch::new(self.id, commands.clone(), *terms);
        batch.traceparent = context.map(|context| context.traceparent().into());
        let marks = Arc::new(LedgerMarks::new(began));
        batch.progress = BatchProgress::told_to(marks.clone());
        let open = batch.open.clone();
        let committing = catch_unwind(AssertUnwindSafe(|| S::commit(&**ledger, batch)))
            .unwrap_or_else(|_| Box::pin(std::future::ready(Err(panicked()))));
        UnderWay { commands, waiters, committing, open, began, marks, span }
    }

    pub(crate) async fn commit(&self, mut under_way: UnderWay<S>) -> Decided<S> {
        let Shared { metrics, max_retries, .. } = &*self.shared;
        let mut tries = 0;
        loop {
            let result = self.watch(&mut under_way).await;
            let ended = Instant::now();
            let took = ended.saturating_duration_since(under_way.began);
            let times = under_way.marks.times();
            let steps = times.steps(under_way.began, ended, result.is_err());
            metrics.steps.committed(took, steps, under_way.span.as_ref().and_then(BatchSpan::trace));
            if result.is_ok() {
                self.lock().pace.ended(under_way.commands.len(), under_way.began, ended);
            }
            self.lock_timed_out.store(result.as_ref().is_err_and(|f| *f == LedgerFault::Locked), Ordering::Release);
            let UnderWay { commands, mut waiters, began, mut span, .. } = under_way;
            waiters.iter_mut().for_each(|waiter| waiter.ledger = times);
            if let Some(span) = &mut span {
                span.reached(times);
            }
            match (&mut span, &result) {
                (Some(span), Ok(_)) => span.committed(ended),
                (Some(span), Err(fault)) => span.failed(fault.to_string()),
                (None, _) => {}
            }
            match result {
                Ok(committed) => {
                    self.saw(&committed.after, began);
                    metrics.audits.holds_changed(&committed.holds);
                    S::remember(&self.facts, &commands, &committed.answers);
                    return Decided::committed(waiters, committed, ended, span);
                }
                // Where batches overlap, the next one may already be decided: only the ledger can keep the
                // order of a retry, and it waits for its lock itself.
                Err(fault @ (LedgerFault::Locked | LedgerFault::Passing(_)))
                    if tries < *max_retries && self.overlap == 1 =>
                {
                    tries += 1;
                    metrics.steps.retried();
                    tokio::time::sleep(backoff(tries)).await;
                    let (commands, waiters, late) = in_time(Instant::now(), &commands, waiters);
                    self.give_up(late, refusal(&fault)).await;
                    if waiters.is_empty() {
                        return Decided::refused(waiters, refusal(&fault));
                    }
                    under_way = self.hand_over(commands, waiters);
                }
                Err(fault) => {
                    if fault == LedgerFault::NoSuchSubject {
                        self.gone();
                    }
                    if !waiters.is_empty() {
                        let (subject, requests) = (self.subject(), waiters.len());
                        limited!(error, %subject, requests, tries, %fault, "a batch failed");
                    }
                    return Decided::refused(waiters, refusal(&fault));
                }
            }
        }
    }

    /// Waits for the ledger, with one timer for the whole batch instead of one per request.
    async fn watch(&self, under_way: &mut UnderWay<S>) -> Result<Committed<S>, LedgerFault> {
        loop {
            let committing = AssertUnwindSafe(&mut under_way.committing).catch_unwind();
            match tokio::time::timeout(WATCH, committing).await {
                Ok(result) => return result.unwrap_or_else(|_| Err(panicked())),
                Err(_) => self.answer_late(under_way).await,
            }
        }
    }

    /// While the ledger waits for the lock, late requests leave the batch and the queue with `contention`: nothing
    /// was done for them. Otherwise late requests in the batch are answered `ledger_unreachable`, because it is
    /// unknown whether they will be committed, and those behind it `overloaded`.
    async fn answer_late(&self, under_way: &mut UnderWay<S>) {
        let now = Instant::now();
        let UnderWay { commands, waiters, open, marks, .. } = under_way;
        if open.withdraw(|place| waiters.get(place).is_some_and(|waiter| waiter.deadline <= now)) {
            let (left, in_time, mut late) = in_time(now, commands, std::mem::take(waiters));
            (*commands, *waiters) = (left, in_time);
            late.extend(self.take_late(|waiter| waiter.deadline <= now));
            return self.give_up(late, Refusal::Contention).await;
        }
        for waiter in waiters.iter_mut().filter(|waiter| waiter.deadline + GRACE <= now) {
            waiter.ledger = marks.times();
            waiter.answer_early(Refusal::LedgerUnreachable);
        }
        let grace = if S::LATE_WAIT_FOR_LOCK_RESULT { GRACE } else { Duration::ZERO };
        let late = self.take_late(|waiter| waiter.deadline + grace <= now);
        self.give_up(late, Refusal::Overloaded).await;
    }
}

fn panicked() -> LedgerFault {
    LedgerFault::Broken("the ledger panicked".into())
}

/// Splits the batch into the requests within their deadline and the rest.
fn in_time<S: Served>(
    now: Instant,
    commands: &Arc<Vec<Command<S>>>,
    waiters: Vec<Waiter>,
) -> (Arc<Vec<Command<S>>>, Vec<Waiter>, Vec<Waiter>) {
    if waiters.iter().all(|waiter| waiter.deadline > now) {
        return (commands.clone(), waiters, Vec::new());
    }
    let all = commands.iter().cloned().zip(waiters).map(|(command, waiter)| Queued { command, waiter });
    let Split { commands, waiters, late } = Split::at(now, all, commands.len());
    (Arc::new(commands), waiters, late)
}

/// 4 to 8 ms, then twice that, up to 64 to 128 ms. The jitter keeps several servers out of step.
fn backoff(tries: u32) -> Duration {
    let base = 4u64 << tries.min(5).saturating_sub(1);
    let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
    Duration::from_micros(base * 1000 + random % (base * 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_with_jitter_up_to_its_limit() {
        for (tries, least) in [(1, 4), (2, 8), (3, 16), (4, 32), (5, 64), (6, 64), (u32::MAX, 64)] {
            let pause = backoff(tries).as_millis();
            assert!((least..=2 * least).contains(&pause), "try {tries}: {pause} ms");
        }
    }
}
