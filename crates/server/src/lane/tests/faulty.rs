//! A real ledger and a real door that fail when a test says so.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rules::arrive::{Arrival, Arrived};
use rules::entries::{DoorEntry, InsideDigest, Moved, WaitingRoom};
use rules::holds::Hold;
use rules::ids::{EventId, Number, User};
use rules::queue::{Asking, QueueReply, Serving};
use rules::subject::SubjectId;
use rules::time::Moment;
use stores::Working;
use stores::conformance::bent::Bent;
use stores::door::{Door, DoorFault, Heard, Opened, Release, Remaining};
use stores::ledger::{Answered, Batch, Committed, Ledger, LedgerFault, LineBegun};
use tokio::sync::Semaphore;

use crate::lane::Served;

/// A panic in `take`, while the queue's lock is held. No store is called there, so it is planted in the
/// code itself, for tests only.
#[derive(Debug, Default)]
pub struct Planted(AtomicBool);

impl Planted {
    pub fn plant(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn clear(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    pub fn strike(&self) {
        assert!(!self.0.swap(false, Ordering::SeqCst), "planted in take");
    }
}

/// What the ledger does with a batch in place of committing it.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Panics when it is called.
    Panic,
    /// Panics when it is awaited.
    PanicLater,
    Locked,
    /// Waits for a permit of the gate, then commits.
    Wait,
    /// Waits for a permit of the gate, then panics.
    WaitAndPanic,
}

/// The script of a faulty ledger and door.
pub struct Faults {
    /// For the next batches, in order; then the ledger is sound.
    pub commits: Mutex<VecDeque<Fault>>,
    pub gate: Arc<Semaphore>,
    /// The arrival numbers of every batch that reached the ledger, in order.
    pub seen: Mutex<Vec<Option<Number>>>,
    /// Each makes the next call of its kind panic.
    pub publish_panics: AtomicBool,
    pub arrive_panics: AtomicBool,
    pub arrive_now_panics: AtomicBool,
    /// The door must be awaited, as one outside of the process.
    pub door_is_remote: AtomicBool,
}

impl Default for Faults {
    fn default() -> Self {
        Faults {
            commits: Mutex::default(),
            gate: Arc::new(Semaphore::new(0)),
            seen: Mutex::default(),
            publish_panics: AtomicBool::default(),
            arrive_panics: AtomicBool::default(),
            arrive_now_panics: AtomicBool::default(),
            door_is_remote: AtomicBool::default(),
        }
    }
}

impl Faults {
    pub fn script(&self, faults: impl IntoIterator<Item = Fault>) {
        self.commits.lock().unwrap().extend(faults);
    }

    fn commit<S: Served>(&self, good: &Arc<dyn Ledger>, batch: Batch<S>) -> Answered<Committed<S>> {
        self.seen.lock().unwrap().extend(batch.commands.iter().map(|command| command.number));
        let fault = self.commits.lock().unwrap().pop_front();
        let (good, gate) = (good.clone(), self.gate.clone());
        let pass = async move { gate.acquire().await.unwrap().forget() };
        match fault {
            None => S::commit(&*good, batch),
            Some(Fault::Panic) => panic!("planted in commit"),
            Some(Fault::PanicLater) => Box::pin(async { panic!("planted in commit, later") }),
            Some(Fault::Locked) => Box::pin(async { Err(LedgerFault::Locked) }),
            Some(Fault::Wait) => Box::pin(async move {
                pass.await;
                S::commit(&*good, batch).await
            }),
            Some(Fault::WaitAndPanic) => Box::pin(async move {
                pass.await;
                panic!("planted in commit, after waiting")
            }),
        }
    }

    /// A sound ledger that follows the script.
    pub fn ledger(self: &Arc<Self>, good: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
        let (events, rooms) = (self.clone(), self.clone());
        let bent = Arc::new(Bent::new(good, move |good, batch| events.commit(good, batch)));
        Arc::new(Bent::of_rooms(bent, move |good, batch| rooms.commit(good, batch)))
    }

    pub fn door(self: &Arc<Self>, good: Arc<dyn Door>) -> Arc<dyn Door> {
        Arc::new(FaultyDoor { good, faults: self.clone() })
    }
}

fn strike(planted: &AtomicBool, step: &str) {
    assert!(!planted.swap(false, Ordering::SeqCst), "planted in {step}");
}

struct FaultyDoor {
    good: Arc<dyn Door>,
    faults: Arc<Faults>,
}

impl Door for FaultyDoor {
    fn arrive(&self, event: EventId, arrivals: Vec<Arrival>) -> Working<Result<Vec<Arrived>, DoorFault>> {
        strike(&self.faults.arrive_panics, "arrive");
        self.good.arrive(event, arrivals)
    }

    fn arrive_now(&self, event: EventId, arrival: &Arrival) -> Option<Arrived> {
        strike(&self.faults.arrive_now_panics, "arrive_now");
        if self.faults.door_is_remote.load(Ordering::SeqCst) { None } else { self.good.arrive_now(event, arrival) }
    }

    fn open(&self, event: EventId, generation: u64) -> Working<Result<Opened, DoorFault>> {
        self.good.open(event, generation)
    }

    fn settle(&self, event: EventId, left: Option<Remaining>, ended: Vec<Release>) -> Working<Result<(), DoorFault>> {
        strike(&self.faults.publish_panics, "publish");
        self.good.settle(event, left, ended)
    }

    fn remaining(&self, event: EventId) -> Working<Result<Option<Remaining>, DoorFault>> {
        self.good.remaining(event)
    }

    fn ask(&self, event: EventId, room: WaitingRoom, asking: Asking) -> Working<Result<Heard<QueueReply>, DoorFault>> {
        self.good.ask(event, room, asking)
    }

    fn number_in_line(&self, event: EventId, user: User) -> Working<Result<Option<Number>, DoorFault>> {
        self.good.number_in_line(event, user)
    }

    fn serving(&self, event: EventId, room: WaitingRoom) -> Working<Result<Heard<Serving>, DoorFault>> {
        self.good.serving(event, room)
    }

    fn begin_line(&self, event: EventId, room: WaitingRoom, begun: LineBegun) -> Working<Result<(), DoorFault>> {
        self.good.begin_line(event, room, begun)
    }

    fn moved(&self, event: EventId, moved: Vec<Moved>, at: Moment) -> Working<Result<(), DoorFault>> {
        self.good.moved(event, moved, at)
    }

    fn show_holds(&self, subject: SubjectId, holds: Vec<Hold>) -> Working<Result<(), DoorFault>> {
        strike(&self.faults.publish_panics, "publish");
        self.good.show_holds(subject, holds)
    }

    fn inside(&self, event: EventId, unless: Option<i64>) -> Working<Result<Option<InsideDigest>, DoorFault>> {
        self.good.inside(event, unless)
    }

    fn insiders(&self, event: EventId) -> Working<Result<Vec<DoorEntry>, DoorFault>> {
        self.good.insiders(event)
    }

    fn ready(&self) -> Working<Result<(), DoorFault>> {
        self.good.ready()
    }
}
