//! Arrive: a request enters the lane, passes the door and gets its place in the queue. Arrival numbers and places are
//! assigned in the same order.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use rules::arrive::{Arrival, Arrived};
use rules::command::Command;
use rules::ids::{EventId, Number};
use rules::outcome::{Outcome, Refusal};
use stores::door::Release;
use stores::ledger::LedgerFault;
use stores::limited;
use tokio::sync::oneshot;

use super::respond::Decided;
use super::served::Served;
use super::waiter::{NumberedAnswer, Queued, Waiter};
use super::{Lane, Queue, Shared};
use crate::connections::current_client;
use crate::refusals::Failure;
use crate::reopen::{raise_above, reopen};
use crate::telemetry::journey;
use crate::telemetry::ledger_marks::LedgerTimes;

/// One call to the door carries at most this many requests.
const ARRIVALS_MOST: usize = 128;

/// Another server may open the door, or Redis may lose its data again, while this one reopens it.
const OPENINGS: usize = 3;

impl<S: Served> Lane<S> {
    /// Refuses an action on something that cannot exist.
    pub(crate) fn check(&self, action: &S::Action) -> Result<(), Refusal> {
        S::check(&self.facts, action)
    }

    /// Accepts a request; the channel delivers its answer. A full lane refuses before anything is done.
    ///
    /// A command with a number was admitted by a gateway: it does not pass the door again.
    pub(crate) fn arrive(
        self: &Arc<Self>,
        command: Command<S>,
        arrival: Option<Arrival>,
        limit: Duration,
    ) -> Result<oneshot::Receiver<NumberedAnswer>, Refusal> {
        let (reply, answer) = oneshot::channel();
        let (number, about_a_hold) = (command.number, S::about_a_hold(&command.action));
        let mark = arrival.as_ref().and_then(Release::of);
        let (arrived, client) = (Instant::now(), current_client());
        let deadline = arrived + limit;
        // Counted under the queue's lock: a request is either in the queue or being decided.
        let mut queue = self.lock();
        let in_flight = self.depth.enter(self.shared.queue_depth).ok_or(Refusal::Overloaded)?;
        let waiter = Waiter {
            in_flight,
            about_a_hold,
            mark,
            number,
            arrived,
            // Most get their place at once.
            queued: Some(arrived),
            batched: None,
            committed: None,
            ledger: LedgerTimes::default(),
            span: journey::span().map(|span| span.context),
            batch: None,
            deadline,
            client,
            reply: Some(reply),
        };
        let queued = Queued { command, waiter };
        match (S::door(self.id), arrival.filter(|_| number.is_none())) {
            (Some(event), Some(arrival)) => self.pass_door(queue, event, arrival, queued),
            _ => {
                place(&mut queue.pending, queued, |queued| queued.command.number);
                self.start(queue);
            }
        }
        Ok(answer)
    }

    /// A door in the process answers at once, and number and place are assigned under one lock. Any other door gets
    /// one call at a time, for the same order.
    fn pass_door(
        self: &Arc<Self>,
        mut queue: MutexGuard<'_, Queue<S>>,
        event: EventId,
        arrival: Arrival,
        mut queued: Queued<S>,
    ) {
        if !queue.asking
            && let Some(arrived) = self.shared.door.arrive_now(event, &arrival)
        {
            match queue.admit(queued, arrived) {
                None => self.start(queue),
                Some((waiter, refusal)) => {
                    drop(queue);
                    waiter.answer(Outcome::from(refusal).into(), Instant::now());
                }
            }
            return;
        }
        queued.waiter.queued = None;
        queue.arriving.push_back((arrival, queued));
        if !std::mem::replace(&mut queue.asking, true) {
            drop(queue);
            tokio::spawn(self.clone().ask_door(event));
        }
    }

    /// Calls the door for group after group until no request is left.
    async fn ask_door(self: Arc<Self>, event: EventId) {
        loop {
            let (arrivals, group): (Vec<Arrival>, Vec<Queued<S>>) = {
                let mut queue = self.lock();
                if queue.arriving.is_empty() {
                    queue.asking = false;
                    return;
                }
                let most = queue.arriving.len().min(ARRIVALS_MOST);
                queue.arriving.drain(..most).unzip()
            };
            let (began, sampled) = (Instant::now(), group.iter().find_map(|queued| queued.waiter.span));
            let arrived = self.survive("arrive", self.shared.arrived(event, arrivals)).await;
            self.shared.metrics.steps.arrived(began.elapsed(), sampled.map(|span| span.trace));
            match arrived {
                Some(Ok(arrived)) => {
                    let _ = self.survive("arrive", self.keep_generation(event, &arrived)).await;
                    self.enqueue(group, arrived);
                }
                Some(Err(failure)) => {
                    if matches!(failure, Failure::Ledger(LedgerFault::NoSuchSubject)) {
                        self.gone();
                    }
                    self.turn_away(event, group, failure.into());
                }
                None => self.turn_away(event, group, Refusal::Internal),
            }
        }
    }

    /// A door may issue numbers of a generation that the ledger does not know, because the ledger was restored from a
    /// backup. Then the ledger's generation is raised above it, so that these numbers are not reissued if the door
    /// loses its data. Checked once per generation.
    async fn keep_generation(&self, event: EventId, arrived: &[Arrived]) {
        let Some(given) = arrived.iter().find_map(Arrived::generation) else { return };
        if self.generation.load(Ordering::Relaxed) == given {
            return;
        }
        let Shared { ledger, door, .. } = &*self.shared;
        match ledger.generation(event).await {
            Ok(known) if known.is_some_and(|known| known >= given) => {}
            Ok(known) => {
                limited!(warn, %event, ?known, given, "the door's generation is above the ledger's: was it restored?");
                if let Err(failure) = raise_above(&**ledger, &**door, event, Some(given)).await {
                    limited!(error, %event, %failure, "the generation could not be raised");
                    return;
                }
            }
            Err(fault) => {
                limited!(warn, %event, %fault, "the generation could not be looked up");
                return;
            }
        }
        self.generation.store(given, Ordering::Relaxed);
    }

    /// Assigns each request of a group its place, or refuses it.
    fn enqueue(self: &Arc<Self>, mut group: Vec<Queued<S>>, arrived: Vec<Arrived>) {
        let now = Instant::now();
        group.iter_mut().for_each(|queued| queued.waiter.queued = Some(now));
        let mut queue = self.lock();
        let refused: Vec<(Waiter, Refusal)> =
            group.into_iter().zip(arrived).filter_map(|(queued, arrived)| queue.admit(queued, arrived)).collect();
        self.start(queue);
        for (waiter, refusal) in refused {
            waiter.answer(Outcome::from(refusal).into(), now);
        }
    }

    /// The door failed. Requests that arrived meanwhile are refused with this group, so that they do not wait for one
    /// failing call after another.
    fn turn_away(&self, event: EventId, group: Vec<Queued<S>>, refusal: Refusal) {
        let mut waiters: Vec<Waiter> = group.into_iter().map(|queued| queued.waiter).collect();
        waiters.extend(self.lock().arriving.drain(..).map(|(_, queued)| queued.waiter));
        let marks: Vec<Release> = waiters.iter().filter_map(|waiter| waiter.mark.clone()).collect();
        // The door may have set marks although its answer was lost. If this call fails too, they expire.
        let door = self.shared.door.clone();
        tokio::spawn(async move { door.release(event, marks).await });
        Decided::<S>::refused(waiters, refusal).respond();
    }
}

impl Shared {
    /// Asks the door. If it does not know the generation of its numbers, reopens it and asks again.
    async fn arrived(&self, event: EventId, arrivals: Vec<Arrival>) -> Result<Vec<Arrived>, Failure> {
        let mut arrived = self.door.arrive(event, arrivals.clone()).await?;
        for _ in 0..OPENINGS {
            if !arrived.contains(&Arrived::NoNumber) {
                break;
            }
            reopen(&*self.ledger, &*self.door, event).await?;
            arrived = self.door.arrive(event, arrivals.clone()).await?;
        }
        Ok(arrived)
    }
}

impl<S: Served> Queue<S> {
    /// Admits a request under its number, or returns it with the door's refusal.
    fn admit(&mut self, mut queued: Queued<S>, arrived: Arrived) -> Option<(Waiter, Refusal)> {
        let refusal = match arrived {
            Arrived::Number(number) => {
                queued.command.number = Some(number);
                queued.waiter.number = Some(number);
                place(&mut self.pending, queued, |queued| queued.command.number);
                return None;
            }
            Arrived::AddressSpent { retry_after } => Refusal::AddressSpent { retry_after },
            Arrived::AlreadyAsking { retry_after } => Refusal::AlreadyAsking { retry_after },
            Arrived::NoNumber => Refusal::NoNumber,
        };
        Some((queued.waiter, refusal))
    }
}

/// Inserts by number: a request that got its number at a gateway may arrive after one with a higher number. A request
/// without a number keeps its position, and none overtakes it.
fn place<T>(queue: &mut VecDeque<T>, new: T, number: impl Fn(&T) -> Option<Number>) {
    let behind = match number(&new) {
        None => 0,
        Some(own) => queue.iter().rev().take_while(|one| number(one).is_some_and(|theirs| theirs > own)).count(),
    };
    queue.insert(queue.len() - behind, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_numbers_come_first() {
        let mut queue = VecDeque::new();
        for number in [3, 1, 0, 7, 5, 6, 4] {
            // 0 stands for none.
            place(&mut queue, number, |n| (*n > 0).then_some(Number(*n)));
        }
        assert_eq!(queue, [1, 3, 0, 4, 5, 6, 7]);
    }
}
