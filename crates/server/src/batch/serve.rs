//! From the queue through the ledger to those who wait: batch after batch.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use rules::command::Command;
use rules::event::Event;
use rules::outcome::{Outcome, Refusal};
use rules::subject::SubjectId;
use stores::ledger::{Answered, BATCH_MOST, Batch, Committed, LedgerFault};

use super::{Caller, Lane, Shared, Waiting, refusal, show};

/// A request that is in a batch when its deadline passes may still be answered by that batch.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// While a batch takes long, the lane looks so often for those who have waited too long.
pub(super) const WATCH: Duration = Duration::from_millis(250);

/// A batch that the ledger has.
struct UnderWay {
    commands: Arc<Vec<Command>>,
    callers: Vec<Caller>,
    committing: Answered<Committed<Event>>,
    began: Instant,
}

impl Lane {
    /// Batch after batch until nobody waits.
    pub(super) async fn run(self: Arc<Self>) {
        while let Some((next, late)) = self.next_batch() {
            self.give_up(late, Refusal::Overloaded.into()).await;
            let Some(under_way) = next else { continue };
            let requests = under_way.callers.len();
            // A panic takes the batch with it, whose callers see their channel closed; the lane
            // serves the next.
            if AssertUnwindSafe(self.serve(under_way)).catch_unwind().await.is_err() {
                tracing::error!(event = %self.event, requests, "serving a batch panicked");
                let mut queue = self.lock();
                queue.depth = queue.depth.saturating_sub(requests);
            }
        }
    }

    async fn serve(&self, under_way: UnderWay) {
        match self.commit(under_way).await {
            (callers, Ok(committed)) => self.respond(callers, committed).await,
            (callers, Err(outcome)) => self.give_up(callers, outcome).await,
        }
    }

    async fn respond(&self, callers: Vec<Caller>, committed: Committed<Event>) {
        let after = Some((&committed.after, committed.effects.first_end));
        self.publish(&callers, after, committed.effects.moved).await;
        show(&self.shared, SubjectId::Event(self.event), committed.holds).await;
        self.lock().depth -= callers.len();
        for (mut caller, answer) in callers.into_iter().zip(committed.answers) {
            caller.tell(answer);
        }
    }

    /// The next batch, with the ledger already, and those whose deadline has passed. None: nobody
    /// waits.
    fn next_batch(&self) -> Option<(Option<UnderWay>, Vec<Caller>)> {
        let now = Instant::now();
        let _turn = self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut queue = self.lock();
        if queue.pending.is_empty() {
            queue.running -= 1;
            return None;
        }
        let (commands, callers, late) = take(&mut queue.pending, now);
        drop(queue);
        let batch = (!commands.is_empty()).then(|| self.hand_over(Arc::new(commands), callers));
        Some((batch, late))
    }

    fn hand_over(&self, commands: Arc<Vec<Command>>, callers: Vec<Caller>) -> UnderWay {
        let Shared { ledger, metrics, terms, .. } = &*self.shared;
        metrics.batch(commands.len());
        let began = Instant::now();
        let batch = Batch { subject: self.event, commands: commands.clone(), terms: *terms };
        // Called outside of `run`'s care, under the turn.
        let committing = catch_unwind(AssertUnwindSafe(|| ledger.commit(batch)))
            .unwrap_or_else(|_| Box::pin(async { Err(LedgerFault::Broken("the ledger panicked".into())) }));
        UnderWay { commands, callers, committing, began }
    }

    /// Decides and commits in the ledger. A lock that cannot be had and trouble that passes are tried
    /// again, with jitter, by those whose deadline has not passed.
    async fn commit(&self, mut under_way: UnderWay) -> (Vec<Caller>, Result<Committed<Event>, Outcome>) {
        let Shared { metrics, max_retries, .. } = &*self.shared;
        let mut tries = 0;
        loop {
            let result = self.watched(&mut under_way).await;
            metrics.commit_took(under_way.began.elapsed());
            let UnderWay { commands, callers, .. } = under_way;
            match result {
                Ok(committed) => return (callers, Ok(committed)),
                Err(fault @ (LedgerFault::Locked | LedgerFault::Passing(_))) if tries < *max_retries => {
                    tries += 1;
                    tokio::time::sleep(pause(tries)).await;
                    let (commands, callers, late) = in_time(commands, callers);
                    self.give_up(late, refusal(&fault).into()).await;
                    if callers.is_empty() {
                        return (callers, Err(refusal(&fault).into()));
                    }
                    under_way = self.hand_over(commands, callers);
                }
                Err(fault) => {
                    tracing::error!(event = %self.event, requests = callers.len(), %fault, "a batch failed");
                    return (callers, Err(refusal(&fault).into()));
                }
            }
        }
    }

    /// Waits for the ledger. One timer for the whole batch, so that a request needs none of its own:
    /// nobody waits much longer than the deadline, in the batch or behind it, however long it takes.
    async fn watched(&self, under_way: &mut UnderWay) -> Result<Committed<Event>, LedgerFault> {
        loop {
            match tokio::time::timeout(WATCH, &mut under_way.committing).await {
                Ok(result) => return result,
                Err(_) => self.tell_late(&mut under_way.callers).await,
            }
        }
    }

    /// Those in the batch are told that nobody knows; those behind it, that nothing was done.
    async fn tell_late(&self, callers: &mut [Caller]) {
        let now = Instant::now();
        for caller in callers.iter_mut().filter(|caller| caller.deadline + GRACE <= now) {
            caller.tell(Outcome::from(Refusal::LedgerUnreachable).into());
        }
        let late = take_late(&mut self.lock().pending, |caller| caller.deadline <= now);
        self.give_up(late, Refusal::Overloaded.into()).await;
    }
}

/// As many as make a batch: what they ask and who they are, and last those whose deadline has passed.
pub(super) fn take<C>(pending: &mut VecDeque<Waiting<C>>, now: Instant) -> (Vec<C>, Vec<Caller>, Vec<Caller>) {
    let most = pending.len().min(BATCH_MOST);
    let (mut commands, mut callers, mut late) = (Vec::with_capacity(most), Vec::with_capacity(most), Vec::new());
    for Waiting { command, caller } in pending.drain(..most) {
        if caller.deadline > now {
            commands.push(command);
            callers.push(caller);
        } else {
            late.push(caller);
        }
    }
    (commands, callers, late)
}

/// Those who are late; the others keep their order.
pub(super) fn take_late<C>(pending: &mut VecDeque<Waiting<C>>, is_late: impl Fn(&Caller) -> bool) -> Vec<Caller> {
    let (late, rest): (VecDeque<_>, VecDeque<_>) =
        std::mem::take(pending).into_iter().partition(|waiting| is_late(&waiting.caller));
    *pending = rest;
    late.into_iter().map(|waiting| waiting.caller).collect()
}

/// Without those whose deadline has passed, who come last.
pub(super) fn in_time<C: Clone>(
    commands: Arc<Vec<C>>,
    callers: Vec<Caller>,
) -> (Arc<Vec<C>>, Vec<Caller>, Vec<Caller>) {
    let now = Instant::now();
    if callers.iter().all(|caller| caller.deadline > now) {
        return (commands, callers, Vec::new());
    }
    let (mut rest, mut callers_left, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for (command, caller) in commands.iter().zip(callers) {
        if caller.deadline > now {
            rest.push(command.clone());
            callers_left.push(caller);
        } else {
            late.push(caller);
        }
    }
    (Arc::new(rest), callers_left, late)
}

/// 4 to 8 ms, then twice that, up to 64 to 128 ms: several servers must not come back in step.
pub(super) fn pause(tries: u32) -> Duration {
    let base = 4u64 << tries.min(5).saturating_sub(1);
    let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
    Duration::from_micros(base * 1000 + random % (base * 1000))
}
