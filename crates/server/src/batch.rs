//! One batch after another per event. What arrived while the last batch ran is the next batch;
//! no timers. Everything here runs outside the handlers, and every queue has an end.

mod let_in;
pub mod rooms;

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use rules::arrive::Arrival;
use rules::command::{Command, Terms};
use rules::decide::Answer;
use rules::event::Event;
use rules::holds::Hold;
use rules::ids::{EventId, Number};
use rules::outcome::{Outcome, Refusal};
use rules::seats::Hall;
use rules::subject::Subject;
use rules::time::Moment;
use stores::door::{Door, Left, Release};
use stores::ledger::{BATCH_MOST, Batch, Committed, Fault, Ledger};
use tokio::sync::oneshot;

use self::rooms::RoomLanes;
use crate::settings::Settings;
use crate::telemetry::Metrics;

/// Answers wait at most so long for the door to be told what is left.
const SETTLE: Duration = Duration::from_millis(50);

/// The lanes of all events that somebody asked for.
pub struct Lanes {
    pub rooms: RoomLanes,
    shared: Arc<Shared>,
    lanes: RwLock<HashMap<EventId, Arc<Lane>>>,
}

struct Shared {
    ledger: Arc<dyn Ledger>,
    door: Arc<dyn Door>,
    metrics: Arc<Metrics>,
    terms: Terms,
    max_retries: u32,
    queue_depth: usize,
}

impl Lanes {
    pub fn new(ledger: Arc<dyn Ledger>, door: Arc<dyn Door>, metrics: Arc<Metrics>, settings: &Settings) -> Lanes {
        let shared = Shared {
            ledger,
            door,
            metrics,
            terms: settings.terms,
            max_retries: settings.max_retries,
            queue_depth: settings.queue_depth,
        };
        let shared = Arc::new(shared);
        Lanes { rooms: RoomLanes::new(shared.clone()), shared, lanes: RwLock::default() }
    }

    /// The lane of an event that exists.
    pub async fn find(&self, event: EventId) -> Result<Arc<Lane>, Refusal> {
        let known = self.lanes.read().unwrap_or_else(|p| p.into_inner()).get(&event).cloned();
        if let Some(lane) = known {
            return Ok(lane);
        }
        let found = self.shared.ledger.event(event).await.map_err(|fault| refusal(&fault))?;
        let found = found.filter(|event| !event.deleted).ok_or(Refusal::NotFound)?;
        let mut lanes = self.lanes.write().unwrap_or_else(|p| p.into_inner());
        let lane = lanes.entry(event).or_insert_with(|| {
            Arc::new(Lane { event, hall: found.hall, shared: self.shared.clone(), queue: Mutex::default() })
        });
        Ok(lane.clone())
    }

    /// A deleted event is looked up again, and not found, before it can cost anybody a number.
    pub fn forget(&self, event: EventId) {
        self.lanes.write().unwrap_or_else(|p| p.into_inner()).remove(&event);
    }

    /// Requests that are waiting or being decided, over all events and room types.
    pub fn depth(&self) -> usize {
        self.sum(|queue| queue.depth) + self.rooms.depth()
    }

    /// Requests that are with the ledger.
    pub fn deciding(&self) -> usize {
        self.sum(|queue| queue.depth - queue.pending.len() - queue.arriving.len())
    }

    fn sum(&self, count: impl Fn(&Queue) -> usize) -> usize {
        self.lanes.read().unwrap_or_else(|p| p.into_inner()).values().map(|lane| count(&lane.lock())).sum()
    }
}

/// What somebody wants of an event.
pub struct Wanted {
    pub command: Command,
    /// Present: the request passes mark, budget and number first.
    pub arrival: Option<Arrival>,
    pub limit: Duration,
}

/// How it ended, with its arrival number.
#[derive(Debug)]
pub struct Ended {
    pub answer: Answer,
    pub number: Option<Number>,
}

struct Waiting {
    command: Command,
    arrival: Option<Arrival>,
    deadline: Instant,
    reply: oneshot::Sender<Ended>,
}

impl Waiting {
    fn end(self, outcome: Outcome) {
        let number = self.command.number;
        let outcome = match outcome {
            Outcome::Refused(Refusal::Contention) if self.command.action.about_a_hold() => Refusal::LockTimeout.into(),
            outcome => outcome,
        };
        let _ = self.reply.send(Ended { answer: outcome.into(), number });
    }

    /// The mark that its arrival left at the door.
    fn mark(&self) -> Option<Release> {
        let arrival = self.arrival.as_ref().filter(|a| !a.keyed)?;
        Some(Release { user: arrival.user.clone()?, name: arrival.name })
    }
}

#[derive(Default)]
struct Queue {
    /// Not let in yet, in the order in which they came.
    arriving: VecDeque<Waiting>,
    letting_in: bool,
    /// Let in, in the order of their numbers.
    pending: VecDeque<Waiting>,
    running: bool,
    /// Everything that was accepted and is not answered yet.
    depth: usize,
}

pub struct Lane {
    event: EventId,
    hall: Arc<Hall>,
    shared: Arc<Shared>,
    queue: Mutex<Queue>,
}

impl Lane {
    pub fn hall(&self) -> Arc<Hall> {
        self.hall.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes a request in. A full queue refuses before anything was done.
    pub fn submit(self: &Arc<Self>, wanted: Wanted) -> Result<oneshot::Receiver<Ended>, Refusal> {
        let (reply, answer) = oneshot::channel();
        let Wanted { command, arrival, limit } = wanted;
        let through_door = arrival.is_some();
        let waiting = Waiting { command, arrival, deadline: Instant::now() + limit, reply };
        let mut queue = self.lock();
        if queue.depth >= self.shared.queue_depth {
            return Err(Refusal::Overloaded);
        }
        queue.depth += 1;
        if through_door {
            queue.arriving.push_back(waiting);
            let first = !std::mem::replace(&mut queue.letting_in, true);
            drop(queue);
            if first {
                self.let_in_now();
            }
        } else {
            queue.pending.push_back(waiting);
            self.start(queue);
        }
        Ok(answer)
    }

    fn start(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) {
        if !queue.pending.is_empty() && !std::mem::replace(&mut queue.running, true) {
            drop(queue);
            tokio::spawn(self.clone().run());
        }
    }

    /// Batch after batch until nobody waits.
    async fn run(self: Arc<Self>) {
        while let Some(batch) = self.next_batch().await {
            let requests = batch.len();
            // A panic takes the batch with it, whose callers see their channel closed; the lane
            // serves the next.
            if AssertUnwindSafe(self.serve(batch)).catch_unwind().await.is_err() {
                tracing::error!(event = %self.event, requests, "serving a batch panicked");
                let mut queue = self.lock();
                queue.depth = queue.depth.saturating_sub(requests);
            }
        }
    }

    async fn serve(&self, batch: Vec<Waiting>) {
        if batch.is_empty() {
            return;
        }
        match self.commit(batch).await {
            (batch, Ok(committed)) => self.respond(batch, committed).await,
            (batch, Err(outcome)) => self.give_up(batch, outcome).await,
        }
    }

    /// The next batch, without those whose deadline has passed; they are told. None: nobody waits.
    async fn next_batch(&self) -> Option<Vec<Waiting>> {
        let now = Instant::now();
        let (batch, late) = {
            let mut queue = self.lock();
            if queue.pending.is_empty() {
                queue.running = false;
                return None;
            }
            let most = queue.pending.len().min(BATCH_MOST);
            let taken = queue.pending.drain(..most);
            taken.partition::<Vec<_>, _>(|waiting| waiting.deadline > now)
        };
        if !late.is_empty() {
            self.give_up(late, Refusal::Overloaded.into()).await;
        }
        Some(batch)
    }

    /// Decides and commits in the ledger. A lock that cannot be had and trouble that passes are tried
    /// again, with jitter, by those whose deadline has not passed.
    async fn commit(&self, mut batch: Vec<Waiting>) -> (Vec<Waiting>, Result<Committed, Outcome>) {
        let Shared { ledger, metrics, terms, max_retries, .. } = &*self.shared;
        let mut tries = 0;
        loop {
            let commands = Arc::new(batch.iter().map(|w| w.command.clone()).collect::<Vec<_>>());
            metrics.batch(commands.len());
            let began = Instant::now();
            let result = ledger.commit(Batch { event: self.event, commands, terms: *terms }).await;
            metrics.commit_took(began.elapsed());
            match result {
                Ok(committed) => return (batch, Ok(committed)),
                Err(fault @ (Fault::Locked | Fault::Passing(_))) if tries < *max_retries => {
                    tries += 1;
                    tokio::time::sleep(pause(tries)).await;
                    let now = Instant::now();
                    let (rest, late): (Vec<_>, Vec<_>) = batch.into_iter().partition(|w| w.deadline > now);
                    self.give_up(late, refusal(&fault).into()).await;
                    batch = rest;
                    if batch.is_empty() {
                        return (batch, Err(refusal(&fault).into()));
                    }
                }
                Err(fault) => {
                    tracing::error!(event = %self.event, requests = batch.len(), %fault, "a batch failed");
                    return (batch, Err(refusal(&fault).into()));
                }
            }
        }
    }

    async fn respond(&self, batch: Vec<Waiting>, committed: Committed) {
        self.publish(&batch, Some((&committed.event, committed.holds.first_end))).await;
        show(&self.shared, Subject::Event(self.event), committed.holds.changed).await;
        self.lock().depth -= batch.len();
        for (waiting, answer) in batch.into_iter().zip(committed.answers) {
            let number = waiting.command.number;
            let _ = waiting.reply.send(Ended { answer, number });
        }
    }

    async fn give_up(&self, batch: Vec<Waiting>, outcome: Outcome) {
        self.publish(&batch, None).await;
        self.refuse(batch, &outcome);
    }

    fn refuse(&self, batch: Vec<Waiting>, outcome: &Outcome) {
        self.lock().depth -= batch.len();
        for waiting in batch {
            waiting.end(outcome.clone());
        }
    }

    /// Before the answers leave: those who are answered may ask again, and the door knows what is
    /// left. A door that is slow about it is told in the background.
    async fn publish(&self, batch: &[Waiting], after: Option<(&Event, Option<Moment>)>) {
        let ended: Vec<Release> = batch.iter().filter_map(Waiting::mark).collect();
        let left = after.map(|(event, first_end)| self.left(event, first_end));
        if left.is_none() && ended.is_empty() {
            return;
        }
        let mut settling = self.shared.door.settle(self.event, left, ended);
        let settled = match (&mut settling).now_or_never() {
            Some(settled) => Some(settled),
            None => {
                let task = tokio::spawn(settling);
                tokio::time::timeout(SETTLE, task).await.ok().and_then(Result::ok)
            }
        };
        match settled {
            Some(Ok(())) => {}
            Some(Err(fault)) => tracing::warn!(%fault, "the door was not told; marks end by themselves"),
            None => tracing::debug!("the door is slow to be told what is left"),
        }
    }

    fn left(&self, event: &Event, first_end: Option<Moment>) -> Left {
        self.shared.metrics.remaining(event);
        let state = event.state_at(self.shared.ledger.now());
        Left { n: event.counts.n, free: event.remaining(), held: event.counts.held, first_end, state }
    }
}

/// Holds that began or changed, for onlookers. Nobody waits long for it, and nothing reads it.
async fn show(shared: &Shared, subject: Subject, holds: Vec<Hold>) {
    if holds.is_empty() {
        return;
    }
    let mut showing = shared.door.show_holds(subject, holds);
    if (&mut showing).now_or_never().is_none() {
        let task = tokio::spawn(showing);
        let shown = tokio::time::timeout(SETTLE, task).await;
        if let Ok(Ok(Err(fault))) = shown {
            tracing::warn!(%fault, "onlookers were not shown what is on hold");
        }
    }
}

/// 4 to 8 ms, then twice that, up to 64 to 128 ms: several servers must not come back in step.
fn pause(tries: u32) -> Duration {
    let base = 4u64 << tries.min(5).saturating_sub(1);
    let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
    Duration::from_micros(base * 1000 + random % (base * 1000))
}

/// What broken machinery means for a caller.
pub fn refusal(fault: &Fault) -> Refusal {
    match fault {
        Fault::Locked => Refusal::Contention,
        Fault::Passing(_) | Fault::Unreachable(_) => Refusal::LedgerUnreachable,
        Fault::NoSuchEvent => Refusal::NotFound,
        Fault::Broken(_) => Refusal::Internal,
    }
}
