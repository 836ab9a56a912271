//! The lanes of room types: the same engine without a door, ordered by the queue alone. What is
//! asked of a hold is waited for at most a second; if it was the lock, the answer says so.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use rules::holds::Hold;
use rules::outcome::{Outcome, Refusal};
use rules::stays::{RoomCommand, RoomType};
use rules::subject::{RoomTypeId, SubjectId};
use stores::ledger::{Answered, LedgerFault};
use stores::ledger::{Batch, Committed};
use tokio::sync::oneshot;

use super::serve::{GRACE, WATCH, in_time, pause, take, take_late};
use super::{Caller, Ended, Shared, Waiting, refusal, show};

/// The lanes of all room types that somebody asked for.
pub struct RoomLanes {
    shared: Arc<Shared>,
    lanes: RwLock<HashMap<RoomTypeId, Arc<RoomLane>>>,
}

impl RoomLanes {
    pub(super) fn new(shared: Arc<Shared>) -> RoomLanes {
        RoomLanes { shared, lanes: RwLock::default() }
    }

    /// The lane of a room type that exists.
    pub async fn find(&self, id: RoomTypeId) -> Result<Arc<RoomLane>, Refusal> {
        let known = self.lanes.read().unwrap_or_else(|p| p.into_inner()).get(&id).cloned();
        if let Some(lane) = known {
            return Ok(lane);
        }
        let found = self.shared.ledger.room_type(id).await.map_err(|fault| refusal(&fault))?;
        let found = Mutex::new(Arc::new(found.ok_or(Refusal::NotFound)?));
        let mut lanes = self.lanes.write().unwrap_or_else(|p| p.into_inner());
        let lane = lanes.entry(id).or_insert_with(|| {
            Arc::new(RoomLane { id, shared: self.shared.clone(), newest: found, queue: Mutex::default() })
        });
        Ok(lane.clone())
    }

    /// Requests that are waiting or being decided, over all room types.
    pub fn depth(&self) -> usize {
        self.lanes.read().unwrap_or_else(|p| p.into_inner()).values().map(|lane| lane.lock().depth).sum()
    }
}

/// A batch that the ledger has.
struct UnderWay {
    commands: Arc<Vec<RoomCommand>>,
    callers: Vec<Caller>,
    committing: Answered<Committed<RoomType>>,
    began: Instant,
}

#[derive(Default)]
struct Queue {
    pending: VecDeque<Waiting<RoomCommand>>,
    running: bool,
    /// Everything that was accepted and is not answered yet.
    depth: usize,
    /// The last batch did not get the lock.
    locked: bool,
}

pub struct RoomLane {
    id: RoomTypeId,
    shared: Arc<Shared>,
    /// The room type as this server last saw it.
    newest: Mutex<Arc<RoomType>>,
    queue: Mutex<Queue>,
}

impl RoomLane {
    pub fn room_type(&self) -> Arc<RoomType> {
        self.newest.lock().unwrap_or_else(|p| p.into_inner()).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes a request in. A full queue refuses before anything was done.
    pub fn submit(
        self: &Arc<Self>,
        command: RoomCommand,
        limit: Duration,
    ) -> Result<oneshot::Receiver<Ended>, Refusal> {
        let (reply, answer) = oneshot::channel();
        let about_a_hold = command.action.about_a_hold();
        let deadline = Instant::now() + limit;
        let caller = Caller { about_a_hold, mark: None, number: None, deadline, reply: Some(reply) };
        let mut queue = self.lock();
        if queue.depth >= self.shared.queue_depth {
            return Err(Refusal::Overloaded);
        }
        queue.depth += 1;
        queue.pending.push_back(Waiting { command, caller });
        if !std::mem::replace(&mut queue.running, true) {
            drop(queue);
            tokio::spawn(self.clone().run());
        }
        Ok(answer)
    }

    /// Batch after batch until nobody waits.
    async fn run(self: Arc<Self>) {
        while let Some((commands, callers)) = self.next_batch() {
            let requests = callers.len();
            if AssertUnwindSafe(self.clone().serve(commands, callers)).catch_unwind().await.is_err() {
                tracing::error!(room_type = %self.id, requests, "serving a batch panicked");
                let mut queue = self.lock();
                queue.depth = queue.depth.saturating_sub(requests);
            }
        }
    }

    /// The next batch, without those whose deadline has passed; they are told. None: nobody waits.
    fn next_batch(&self) -> Option<(Vec<RoomCommand>, Vec<Caller>)> {
        let now = Instant::now();
        let ((commands, callers, late), locked) = {
            let mut queue = self.lock();
            if queue.pending.is_empty() {
                queue.running = false;
                return None;
            }
            (take(&mut queue.pending, now), queue.locked)
        };
        self.give_up(late, if locked { Refusal::Contention } else { Refusal::Overloaded });
        Some((commands, callers))
    }

    fn hand_over(&self, commands: Arc<Vec<RoomCommand>>, callers: Vec<Caller>) -> UnderWay {
        let Shared { ledger, metrics, terms, .. } = &*self.shared;
        metrics.batch(commands.len());
        let began = Instant::now();
        let batch = Batch { subject: self.id, commands: commands.clone(), terms: *terms };
        UnderWay { commands, callers, committing: ledger.commit(batch), began }
    }

    async fn serve(self: Arc<Self>, commands: Vec<RoomCommand>, callers: Vec<Caller>) {
        if callers.is_empty() {
            return;
        }
        let Shared { metrics, max_retries, .. } = &*self.shared;
        let (mut under_way, mut tries) = (self.hand_over(Arc::new(commands), callers), 0);
        loop {
            let result = self.watched(&mut under_way).await;
            metrics.commit_took(under_way.began.elapsed());
            let UnderWay { commands, callers, .. } = under_way;
            self.lock().locked = matches!(result, Err(LedgerFault::Locked));
            match result {
                Ok(committed) => return self.respond(callers, committed),
                Err(fault @ (LedgerFault::Locked | LedgerFault::Passing(_))) if tries < *max_retries => {
                    tries += 1;
                    tokio::time::sleep(pause(tries)).await;
                    let (commands, callers, late) = in_time(commands, callers);
                    self.give_up(late, refusal(&fault));
                    if callers.is_empty() {
                        return;
                    }
                    under_way = self.hand_over(commands, callers);
                }
                Err(fault) => {
                    tracing::error!(room_type = %self.id, requests = callers.len(), %fault, "a batch failed");
                    return self.give_up(callers, refusal(&fault));
                }
            }
        }
    }

    /// Waits for the ledger. One timer for the whole batch, so that a request needs none of its own.
    async fn watched(&self, under_way: &mut UnderWay) -> Result<Committed<RoomType>, LedgerFault> {
        loop {
            match tokio::time::timeout(WATCH, &mut under_way.committing).await {
                Ok(result) => return result,
                Err(_) => self.tell_late(&mut under_way.callers),
            }
        }
    }

    /// Those in the batch are told that nobody knows; those behind it, that nothing was done. The latter
    /// not at their deadline: a moment later the ledger may say that it was the lock, and so may they be
    /// told.
    fn tell_late(&self, callers: &mut [Caller]) {
        let now = Instant::now();
        for caller in callers.iter_mut().filter(|caller| caller.deadline + GRACE <= now) {
            caller.tell(Outcome::from(Refusal::LedgerUnreachable).into());
        }
        let late = take_late(&mut self.lock().pending, |caller| caller.deadline + GRACE <= now);
        self.give_up(late, Refusal::Overloaded);
    }

    /// The next batch does not wait until onlookers have seen this one.
    fn respond(self: Arc<Self>, callers: Vec<Caller>, committed: Committed<RoomType>) {
        let Committed { answers, after, holds, effects: () } = committed;
        *self.newest.lock().unwrap_or_else(|p| p.into_inner()) = Arc::new(after);
        tokio::spawn(async move {
            if AssertUnwindSafe(self.publish(holds)).catch_unwind().await.is_err() {
                tracing::error!(room_type = %self.id, "showing holds to onlookers panicked");
            }
            self.lock().depth -= callers.len();
            for (mut caller, answer) in callers.into_iter().zip(answers) {
                caller.tell(answer);
            }
        });
    }

    async fn publish(&self, holds: Vec<Hold>) {
        show(&self.shared, SubjectId::RoomType(self.id), holds).await;
    }

    fn give_up(&self, callers: Vec<Caller>, why: Refusal) {
        self.lock().depth -= callers.len();
        for mut caller in callers {
            caller.tell(Outcome::from(why.clone()).into());
        }
    }
}
