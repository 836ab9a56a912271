//! The lanes of room types: the same engine without a door, ordered by the queue alone. What is
//! asked of a hold is waited for at most a second; if it was the lock, the answer says so.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use rules::decide::Answer;
use rules::holds::Hold;
use rules::outcome::{Outcome, Refusal};
use rules::stays::{Command, RoomType};
use rules::subject::{RoomTypeId, Subject};
use stores::ledger::rooms::{RoomBatch, RoomsCommitted};
use stores::ledger::{BATCH_MOST, Fault};
use tokio::sync::oneshot;

use super::serve::pause;
use super::{Shared, refusal, show};

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

struct Waiting {
    command: Command,
    deadline: Instant,
    reply: oneshot::Sender<Answer>,
}

impl Waiting {
    /// What broken machinery means for this caller.
    fn refusal(&self, fault: &Fault) -> Refusal {
        match fault {
            Fault::Locked if self.command.action.about_a_hold() => Refusal::LockTimeout,
            fault => refusal(fault),
        }
    }
}

#[derive(Default)]
struct Queue {
    pending: VecDeque<Waiting>,
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
    pub fn submit(self: &Arc<Self>, command: Command, limit: Duration) -> Result<oneshot::Receiver<Answer>, Refusal> {
        let (reply, answer) = oneshot::channel();
        let mut queue = self.lock();
        if queue.depth >= self.shared.queue_depth {
            return Err(Refusal::Overloaded);
        }
        queue.depth += 1;
        queue.pending.push_back(Waiting { command, deadline: Instant::now() + limit, reply });
        if !std::mem::replace(&mut queue.running, true) {
            drop(queue);
            tokio::spawn(self.clone().run());
        }
        Ok(answer)
    }

    /// Batch after batch until nobody waits.
    async fn run(self: Arc<Self>) {
        while let Some(batch) = self.next_batch() {
            let requests = batch.len();
            if AssertUnwindSafe(self.serve(batch)).catch_unwind().await.is_err() {
                tracing::error!(room_type = %self.id, requests, "serving a batch panicked");
                let mut queue = self.lock();
                queue.depth = queue.depth.saturating_sub(requests);
            }
        }
    }

    /// The next batch, without those whose deadline has passed; they are told. None: nobody waits.
    fn next_batch(&self) -> Option<Vec<Waiting>> {
        let now = Instant::now();
        let (batch, late, locked) = {
            let mut queue = self.lock();
            if queue.pending.is_empty() {
                queue.running = false;
                return None;
            }
            let most = queue.pending.len().min(BATCH_MOST);
            let taken = queue.pending.drain(..most);
            let (batch, late) = taken.partition::<Vec<_>, _>(|waiting| waiting.deadline > now);
            (batch, late, queue.locked)
        };
        self.give_up(late, |waiting| if locked { waiting.refusal(&Fault::Locked) } else { Refusal::Overloaded });
        Some(batch)
    }

    async fn serve(&self, mut batch: Vec<Waiting>) {
        let Shared { ledger, metrics, terms, max_retries, .. } = &*self.shared;
        let mut tries = 0;
        while !batch.is_empty() {
            let commands = Arc::new(batch.iter().map(|w| w.command.clone()).collect::<Vec<_>>());
            metrics.batch(commands.len());
            let began = Instant::now();
            let result = ledger.commit_rooms(RoomBatch { room_type: self.id, commands, terms: *terms }).await;
            metrics.commit_took(began.elapsed());
            self.lock().locked = matches!(result, Err(Fault::Locked));
            match result {
                Ok(committed) => return self.respond(batch, committed).await,
                Err(fault @ (Fault::Locked | Fault::Passing(_))) if tries < *max_retries => {
                    tries += 1;
                    tokio::time::sleep(pause(tries)).await;
                    let now = Instant::now();
                    let (rest, late): (Vec<_>, Vec<_>) = batch.into_iter().partition(|w| w.deadline > now);
                    self.give_up(late, |waiting| waiting.refusal(&fault));
                    batch = rest;
                }
                Err(fault) => {
                    tracing::error!(room_type = %self.id, requests = batch.len(), %fault, "a batch failed");
                    return self.give_up(batch, |waiting| waiting.refusal(&fault));
                }
            }
        }
    }

    async fn respond(&self, batch: Vec<Waiting>, committed: RoomsCommitted) {
        *self.newest.lock().unwrap_or_else(|p| p.into_inner()) = Arc::new(committed.room_type);
        self.publish(committed.holds).await;
        self.lock().depth -= batch.len();
        for (waiting, answer) in batch.into_iter().zip(committed.answers) {
            let _ = waiting.reply.send(answer);
        }
    }

    async fn publish(&self, holds: Vec<Hold>) {
        show(&self.shared, Subject::RoomType(self.id), holds).await;
    }

    fn give_up(&self, batch: Vec<Waiting>, why: impl Fn(&Waiting) -> Refusal) {
        self.lock().depth -= batch.len();
        for waiting in batch {
            let refusal = why(&waiting);
            let _ = waiting.reply.send(Outcome::from(refusal).into());
        }
    }
}
