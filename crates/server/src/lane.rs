//! The lane of a subject: its queue, and one batch after another. Requests that arrive while a batch runs form the
//! next batch; no timer collects them. One lane type serves every kind of subject; `Served` defines the differences,
//! and each kind has a file here.
//!
//! The modules in the order of the path: `arrive`, `batch`, `commit`, `publish`, `respond`. `path::serve_batch` calls
//! them.

mod arrive;
mod batch;
mod commit;
mod event;
mod fresh;
mod in_flight;
mod pace;
mod publish;
mod respond;
mod room_type;
mod served;
mod sold_out;
mod waiter;

#[cfg(test)]
mod tests;

pub use self::event::remaining;
pub use self::served::Served;

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;

use futures_util::FutureExt;
use rules::arrive::Arrival;
use rules::command::Terms;
use rules::event::Event;
use rules::ids::EventId;
use rules::outcome::Refusal;
use rules::room_type::RoomType;
use rules::subject::SubjectId;
use stores::door::Door;
use stores::ledger::Ledger;

use self::fresh::Fresh;
use self::in_flight::Depth;
use self::pace::BatchPace;
use self::waiter::Queued;
use crate::gate::planted;
use crate::line::InsideCheck;
use crate::path;
use crate::refusals::Failure;
use crate::settings::Settings;
use crate::telemetry::Metrics;

/// The lanes of every kind of subject.
pub struct Lanes {
    pub events: LanesOf<Event>,
    pub rooms: LanesOf<RoomType>,
}

impl Lanes {
    pub fn new(
        ledger: Arc<dyn Ledger>,
        door: Arc<dyn Door>,
        inside: Arc<InsideCheck>,
        metrics: Arc<Metrics>,
        settings: &Settings,
    ) -> Lanes {
        let shared = Arc::new(Shared {
            ledger,
            door,
            inside,
            metrics,
            terms: settings.terms,
            max_retries: settings.max_retries,
            queue_depth: settings.queue_depth,
            few: if planted::sheds(settings.planted) { settings.few() } else { usize::MAX },
            #[cfg(test)]
            planted: tests::Planted::default(),
        });
        Lanes { events: LanesOf::new(shared.clone()), rooms: LanesOf::new(shared) }
    }

    /// The lane of an event that exists.
    pub async fn find(&self, event: EventId) -> Result<Arc<Lane<Event>>, Refusal> {
        self.events.find(event).await
    }

    /// Makes the lane check that a deleted event is gone before another request takes a number.
    pub fn forget(&self, event: EventId) {
        self.events.forget(event);
    }

    /// The ledger was restored: a subject may be a different one, or gone. Requests in flight are finished by the
    /// lanes that have them.
    pub fn forget_all(&self) {
        self.events.forget_all();
        self.rooms.forget_all();
    }

    /// Forgets lanes that nobody used since the last call. Returns how many are left.
    pub fn forget_unused(&self) -> usize {
        self.events.forget_unused() + self.rooms.forget_unused()
    }

    /// Requests accepted and not finished, over all subjects.
    pub fn depth(&self) -> usize {
        self.events.sum(Lane::depth) + self.rooms.sum(Lane::depth)
    }

    /// How long the oldest request has waited for its batch. None: no request waits.
    pub fn oldest(&self) -> Option<Duration> {
        self.events.oldest().max(self.rooms.oldest())
    }

    /// Requests that have left the queue and are at the door or the ledger.
    pub fn deciding(&self) -> usize {
        self.events.sum(Lane::deciding) + self.rooms.sum(Lane::deciding)
    }
}

/// The lanes of one kind, for the subjects that were asked for.
pub struct LanesOf<S: Served> {
    shared: Arc<Shared>,
    lanes: RwLock<HashMap<S::Id, Arc<Lane<S>>>>,
}

impl<S: Served> LanesOf<S> {
    fn new(shared: Arc<Shared>) -> LanesOf<S> {
        LanesOf { shared, lanes: RwLock::default() }
    }

    /// The lane of a subject that exists.
    pub async fn find(&self, id: S::Id) -> Result<Arc<Lane<S>>, Refusal> {
        let known = self.lanes.read().unwrap_or_else(|p| p.into_inner()).get(&id).cloned();
        if let Some(lane) = known {
            lane.used.store(true, Ordering::Relaxed);
            if lane.exists().await {
                return Ok(lane);
            }
            self.forget(id);
        }
        Ok(self.look_up(id).await?)
    }

    async fn look_up(&self, id: S::Id) -> Result<Arc<Lane<S>>, Failure> {
        let found = S::find(&*self.shared.ledger, id).await?.ok_or(Refusal::NotFound)?;
        let mut lanes = self.lanes.write().unwrap_or_else(|p| p.into_inner());
        let lane = lanes.entry(id).or_insert_with(|| Arc::new(Lane::new(id, found, self.shared.clone())));
        Ok(lane.clone())
    }

    fn forget(&self, id: S::Id) {
        self.lanes.write().unwrap_or_else(|p| p.into_inner()).remove(&id);
    }

    fn forget_all(&self) {
        self.lanes.write().unwrap_or_else(|p| p.into_inner()).clear();
    }

    /// Forgets only lanes without other references: two lanes of one subject would serve it in no order.
    fn forget_unused(&self) -> usize {
        let mut lanes = self.lanes.write().unwrap_or_else(|p| p.into_inner());
        lanes.retain(|_, lane| lane.used.swap(false, Ordering::Relaxed) || Arc::strong_count(lane) > 1);
        lanes.shrink_to_fit();
        lanes.len()
    }

    fn oldest(&self) -> Option<Duration> {
        let lanes = self.lanes.read().unwrap_or_else(|p| p.into_inner());
        let front = |lane: &Arc<Lane<S>>| lane.lock().pending.front().map(|queued| queued.waiter.arrived.elapsed());
        lanes.values().filter_map(front).max()
    }

    fn sum(&self, count: impl Fn(&Lane<S>) -> usize) -> usize {
        self.lanes.read().unwrap_or_else(|p| p.into_inner()).values().map(|lane| count(lane)).sum()
    }
}

/// What all lanes share.
struct Shared {
    ledger: Arc<dyn Ledger>,
    door: Arc<dyn Door>,
    /// Notified when the door missed an entry or exit.
    inside: Arc<InsideCheck>,
    metrics: Arc<Metrics>,
    terms: Terms,
    max_retries: u32,
    queue_depth: usize,
    /// Up to this many requests of a subject wait until their deadline, however long the ledger takes.
    few: usize,
    #[cfg(test)]
    planted: tests::Planted,
}

pub struct Lane<S: Served> {
    id: S::Id,
    /// What this server caches about the subject.
    facts: S::Facts,
    fresh: Fresh,
    shared: Arc<Shared>,
    depth: Depth,
    queue: Mutex<Queue<S>>,
    /// At most this many batches are in flight.
    overlap: usize,
    /// Held while a batch is taken from the queue and handed to the ledger, so that overlapping batches
    /// reach the ledger in the order of the queue.
    turn: Mutex<()>,
    /// The last batch timed out on the subject's lock.
    lock_timed_out: AtomicBool,
    /// A generation of arrival numbers that the ledger is known to have reached.
    generation: AtomicU64,
    /// Whether the lane was used since unused lanes were last forgotten.
    used: AtomicBool,
}

struct Queue<S: Served> {
    /// Requests not admitted by the door yet, in order of arrival.
    arriving: VecDeque<(Arrival, Queued<S>)>,
    /// Whether a task is calling the door.
    asking: bool,
    /// Requests for the next batches, in order of arrival number.
    pending: VecDeque<Queued<S>>,
    /// Tasks that serve batches.
    running: usize,
    pace: BatchPace,
}

impl<S: Served> Lane<S> {
    fn new(id: S::Id, found: S, shared: Arc<Shared>) -> Lane<S> {
        let queue = Mutex::new(Queue {
            arriving: VecDeque::new(),
            asking: false,
            pending: VecDeque::new(),
            running: 0,
            pace: BatchPace::default(),
        });
        Lane {
            id,
            overlap: S::overlap(&*shared.ledger).max(1),
            facts: found.facts(),
            fresh: Fresh::now(),
            shared,
            depth: Depth::default(),
            queue,
            turn: Mutex::default(),
            lock_timed_out: AtomicBool::default(),
            generation: AtomicU64::new(u64::MAX),
            used: AtomicBool::new(true),
        }
    }

    fn subject(&self) -> SubjectId {
        S::subject(self.id)
    }

    fn lock(&self) -> MutexGuard<'_, Queue<S>> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn depth(&self) -> usize {
        self.depth.now()
    }

    fn deciding(&self) -> usize {
        let queue = self.lock();
        self.depth.now().saturating_sub(queue.pending.len() + queue.arriving.len())
    }

    /// Starts a task if requests wait and another batch may be in flight.
    fn start(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue<S>>) {
        if !queue.pending.is_empty() && queue.running < self.overlap {
            queue.running += 1;
            drop(queue);
            tokio::spawn(self.clone().run());
        }
    }

    /// Serves batches until the queue is empty. A panic costs the requests of its batch, whose handlers see their
    /// channel closed; the lane continues with the next one.
    async fn run(self: Arc<Self>) {
        while self.survive("serve", path::serve_batch(&self)).await != Some(ControlFlow::Break(())) {}
    }

    /// Runs the last steps of the path: concurrently with the next batch, where the kind of subject allows it.
    pub(crate) async fn finish(self: &Arc<Self>, steps: impl Future<Output = ()> + Send + 'static) {
        if S::NEXT_BATCH_WAITS_FOR_PUBLISH {
            return steps.await;
        }
        let lane = self.clone();
        tokio::spawn(async move { lane.survive("publish", steps).await });
    }

    /// Runs a step of the path. None: it panicked, which is logged.
    async fn survive<T>(&self, step: &'static str, walk: impl Future<Output = T>) -> Option<T> {
        let walked = AssertUnwindSafe(walk).catch_unwind().await;
        walked.inspect_err(|_| tracing::error!(subject = %self.subject(), step, "a lane's step panicked")).ok()
    }
}
