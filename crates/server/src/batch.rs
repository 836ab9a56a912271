//! One batch after another per event. What arrived while the last batch ran is the next batch;
//! no timers. Everything here runs outside the handlers, and every queue has an end.

mod let_in;
mod place;
pub mod rooms;
mod serve;

pub use self::let_in::closed;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::try_join;
use rules::arrive::Arrival;
use rules::command::{Command, Terms};
use rules::decide::Answer;
use rules::entries::Moved;
use rules::event::{Event, State};
use rules::holds::Hold;
use rules::ids::{EventId, Number};
use rules::outcome::{Outcome, Refusal};
use rules::seats::Hall;
use rules::subject::SubjectId;
use rules::time::Moment;
use stores::door::{Door, Release, Remaining};
use stores::ledger::{Ledger, LedgerFault};
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
    /// So many batches of one event are under way at once.
    overlap: usize,
}

impl Lanes {
    pub fn new(ledger: Arc<dyn Ledger>, door: Arc<dyn Door>, metrics: Arc<Metrics>, settings: &Settings) -> Lanes {
        let shared = Shared {
            overlap: ledger.overlap().max(1),
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
            let (shared, queue, turn) = (self.shared.clone(), Mutex::default(), Mutex::default());
            Arc::new(Lane { event, hall: found.hall, shared, queue, turn })
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
    /// Present: the request passes mark, budget and number first, unless the command has a number:
    /// then a gateway let it in.
    pub arrival: Option<Arrival>,
    pub limit: Duration,
}

/// How it ended, with its arrival number.
#[derive(Debug)]
pub struct Ended {
    pub answer: Answer,
    pub number: Option<Number>,
}

/// A request in the queue.
struct Waiting<C> {
    command: C,
    caller: Caller,
}

/// Whom to tell, and what must be undone first.
struct Caller {
    /// It asks for a hold, or of one.
    about_a_hold: bool,
    /// The mark that its arrival left at the door.
    mark: Option<Release>,
    number: Option<Number>,
    deadline: Instant,
    /// None: told already.
    reply: Option<oneshot::Sender<Ended>>,
}

impl Caller {
    fn tell(&mut self, answer: Answer) {
        let answer = match answer.outcome {
            Outcome::Refused(Refusal::Contention) if self.about_a_hold => Outcome::from(Refusal::LockTimeout).into(),
            _ => answer,
        };
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(Ended { answer, number: self.number });
        }
    }
}

#[derive(Default)]
struct Queue {
    /// Not let in yet, in the order in which they came.
    arriving: VecDeque<(Arrival, Waiting<Command>)>,
    letting_in: bool,
    /// Let in, in the order of their numbers.
    pending: VecDeque<Waiting<Command>>,
    /// Batches under way.
    running: usize,
    /// Everything that was accepted and is not answered yet.
    depth: usize,
}

pub struct Lane {
    event: EventId,
    hall: Arc<Hall>,
    shared: Arc<Shared>,
    queue: Mutex<Queue>,
    /// Held while a batch is taken from the queue and handed to the ledger, so that overlapping
    /// batches come to it in the order of the queue.
    turn: Mutex<()>,
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
        let mark = arrival.as_ref().and_then(Release::of);
        let number = command.number;
        let about_a_hold = command.action.about_a_hold();
        let caller = Caller { about_a_hold, mark, number, deadline: Instant::now() + limit, reply: Some(reply) };
        let waiting = Waiting { command, caller };
        let mut queue = self.lock();
        if queue.depth >= self.shared.queue_depth {
            return Err(Refusal::Overloaded);
        }
        queue.depth += 1;
        match arrival.filter(|_| number.is_none()) {
            Some(arrival) => self.through_door(queue, arrival, waiting),
            None => {
                place::by_number(&mut queue.pending, waiting, |w| w.command.number);
                self.start(queue);
            }
        }
        Ok(answer)
    }

    fn start(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) {
        if !queue.pending.is_empty() && queue.running < self.shared.overlap {
            queue.running += 1;
            drop(queue);
            tokio::spawn(self.clone().run());
        }
    }

    async fn give_up(&self, callers: Vec<Caller>, outcome: Outcome) {
        if !callers.is_empty() {
            self.publish(&callers, None, Vec::new()).await;
            self.refuse(callers, &outcome);
        }
    }

    fn refuse(&self, callers: Vec<Caller>, outcome: &Outcome) {
        self.lock().depth -= callers.len();
        for mut caller in callers {
            caller.tell(outcome.clone().into());
        }
    }

    /// Before the answers leave: those who are answered may ask again, and the door knows what is
    /// left. A door that is slow about it is told in the background.
    async fn publish(&self, callers: &[Caller], after: Option<(&Event, Option<Moment>)>, moved: Vec<Moved>) {
        let ended: Vec<Release> = callers.iter().filter_map(|caller| caller.mark.clone()).collect();
        let left = after.map(|(event, first_end)| self.left(event, first_end));
        if left.is_none() && ended.is_empty() {
            return;
        }
        let mut settling = self.shared.door.settle(self.event, left, ended);
        if !moved.is_empty() {
            let (settled, moved) = (settling, self.shared.door.moved(self.event, moved, self.shared.ledger.now()));
            settling = Box::pin(async move { try_join(settled, moved).await.map(|_| ()) });
        }
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

    fn left(&self, event: &Event, first_end: Option<Moment>) -> Remaining {
        self.shared.metrics.remaining(event);
        left(event, first_end, self.shared.ledger.now())
    }
}

/// Holds that began or changed, for onlookers. Nobody waits long for it, and nothing reads it.
async fn show(shared: &Shared, subject: SubjectId, holds: Vec<Hold>) {
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

/// What an event has left, for the door.
pub fn left(event: &Event, first_end: Option<Moment>, now: Moment) -> Remaining {
    let state = event.state_at(now);
    // Scheduled, it opens by the clock alone: nothing said before says anything after.
    let opens = event.opens_at.filter(|_| state == State::Scheduled);
    let first_end = first_end.into_iter().chain(opens).min();
    Remaining { n: event.counts.n, free: event.remaining(), held: event.counts.held, first_end, state }
}

/// What broken machinery means for a caller.
pub fn refusal(fault: &LedgerFault) -> Refusal {
    match fault {
        LedgerFault::Locked => Refusal::Contention,
        LedgerFault::Passing(_) | LedgerFault::Unreachable(_) => Refusal::LedgerUnreachable,
        LedgerFault::NoSuchSubject => Refusal::NotFound,
        LedgerFault::Broken(_) => Refusal::Internal,
    }
}
