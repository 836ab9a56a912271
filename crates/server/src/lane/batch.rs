//! Batch: the queue becomes the next batch, which is handed to the ledger.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rules::command::Command;
use rules::outcome::Refusal;
use stores::ledger::BATCH_MOST;

use super::commit::UnderWay;
use super::served::Served;
use super::waiter::{Queued, Waiter};
use super::{Lane, Queue};

/// In a shorter queue every request is served, whether or not its client is still there.
const LOOKED_AT_FROM: usize = 32;

impl<S: Served> Lane<S> {
    /// Returns the next batch, which the ledger has already. Requests past their deadline are refused. None: the
    /// queue is empty, and the calling task ends.
    pub(crate) async fn next_batch(&self) -> Option<UnderWay<S>> {
        loop {
            let (batch, late) = self.take()?;
            self.give_up(late, self.too_late()).await;
            if batch.is_some() {
                return batch;
            }
        }
    }

    /// The refusal of requests whose deadline passed in the queue: nothing was done for them.
    fn too_late(&self) -> Refusal {
        let lock = S::LATE_WAIT_FOR_LOCK_RESULT && self.lock_timed_out.load(Ordering::Acquire);
        if lock { Refusal::Contention } else { Refusal::Overloaded }
    }

    fn take(&self) -> Option<(Option<UnderWay<S>>, Vec<Waiter>)> {
        let now = Instant::now();
        let _turn = self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut queue = self.lock();
        if queue.pending.is_empty() {
            // Under the same lock as the check: the next arrival starts a new task.
            queue.running -= 1;
            return None;
        }
        let mut stale = queue.shed_stale(now, self.shared.few);
        let most = queue.pending.len().min(queue.pace.most());
        let Split { commands, waiters, mut late } = Split::at(now, queue.pending.drain(..most), most);
        late.append(&mut stale);
        #[cfg(test)]
        self.shared.planted.strike();
        drop(queue);
        let batch = (!commands.is_empty()).then(|| self.hand_over(Arc::new(commands), waiters));
        Some((batch, late))
    }

    /// Removes late requests from the queue; the others keep their order.
    pub(super) fn take_late(&self, is_late: impl Fn(&Waiter) -> bool) -> Vec<Waiter> {
        let mut queue = self.lock();
        let stale = queue.shed_stale(Instant::now(), self.shared.few);
        if !queue.pending.iter().any(|queued| is_late(&queued.waiter)) {
            return stale;
        }
        let (late, rest): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut queue.pending).into_iter().partition(|queued| is_late(&queued.waiter));
        queue.pending = rest;
        late.into_iter().map(|queued| queued.waiter).chain(stale).collect()
    }
}

impl<S: Served> Queue<S> {
    /// Removes stale requests from the next batch while others wait: those whose clients have disconnected, and when
    /// more than `few` wait, those that have waited too long. The others keep their order.
    fn shed_stale(&mut self, now: Instant, few: usize) -> Vec<Waiter> {
        let mut stale = Vec::new();
        let mut seen = 0;
        while self.pending.len() > LOOKED_AT_FROM
            && seen < BATCH_MOST
            && let Some(Queued { waiter, .. }) = self.pending.get(seen)
        {
            if (self.pending.len() > few && waiter.stale(now)) || waiter.client_has_left() {
                stale.extend(self.pending.remove(seen).map(|queued| queued.waiter));
            } else {
                seen += 1;
            }
        }
        stale
    }
}

/// Requests split by deadline. `commands` and `waiters` correspond by index.
pub(super) struct Split<S: Served> {
    pub commands: Vec<Command<S>>,
    pub waiters: Vec<Waiter>,
    pub late: Vec<Waiter>,
}

impl<S: Served> Split<S> {
    pub fn at(now: Instant, all: impl Iterator<Item = Queued<S>>, most: usize) -> Split<S> {
        let (commands, waiters) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut split = Split { commands, waiters, late: Vec::new() };
        for Queued { command, waiter } in all {
            if waiter.deadline > now {
                split.commands.push(command);
                split.waiters.push(waiter);
            } else {
                split.late.push(waiter);
            }
        }
        split
    }
}
