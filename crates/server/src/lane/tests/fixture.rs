//! A lane on a real ledger in a temporary folder, and requests for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rules::arrive::Arrival;
use rules::command::{Buyer, Command, EventAction};
use rules::decide::Answer;
use rules::event::{Event, NewEvent};
use rules::history::Actor;
use rules::ids::{ClientAddress, EventId, RequestName, User};
use rules::nights::{Dates, Night};
use rules::outcome::{Outcome, Refusal};
use rules::room_type::{NewRoomType, RoomAction, RoomType};
use rules::seats::Hall;
use rules::subject::RoomTypeId;
use stores::ledger::Ledger;
use tokio::sync::oneshot;

use super::faulty::Faults;
use crate::clock::EmbeddedClock;
use crate::lane::waiter::NumberedAnswer;
use crate::lane::{Lane, Lanes, Queue, Served};
use crate::line::InsideCheck;
use crate::path::DEADLINE;
use crate::settings::{Settings, Values};
use crate::telemetry::Metrics;
use crate::wiring::{self, Parts};

pub type Receiver = oneshot::Receiver<NumberedAnswer>;

/// A kind of subject, as the tests use it.
pub trait Kind: Served {
    fn make(ledger: &dyn Ledger) -> impl Future<Output = Self::Id> + Send;

    /// Something that the subject sells; `n` tells requests apart.
    fn action(n: u64) -> Self::Action;
}

impl Kind for Event {
    async fn make(ledger: &dyn Ledger) -> EventId {
        let new = NewEvent {
            by: rules::history::AdminName::default(),
            origin: rules::history::RequestOrigin::default(),
            name: "Test".into(),
            hall: Hall::Count(10_000),
            max_per_user: 100,
            opens_at: None,
            occasion: Default::default(),
            hold_ttl_ms: None,
            buyer_fields: Default::default(),
            price: None,
            rehearsal: false,
            waiting_room: None,
        };
        ledger.create_event(new).await.unwrap().id
    }

    fn action(_: u64) -> EventAction {
        EventAction::Reserve(Buyer::default())
    }
}

impl Kind for RoomType {
    async fn make(ledger: &dyn Ledger) -> RoomTypeId {
        let (name, time_zone) = ("Double".into(), "UTC".into());
        let new = NewRoomType {
            by: rules::history::AdminName::default(),
            origin: rules::history::RequestOrigin::default(),
            name,
            description: None,
            price: None,
            currency: None,
            time_zone,
            total: 10_000,
        };
        ledger.create_room_type(new).await.unwrap().id
    }

    fn action(n: u64) -> RoomAction {
        let dates = Dates { check_in: Night(20_811), check_out: Night(20_812) };
        RoomAction::Hold { dates, key: format!("key-{n}").into() }
    }
}

pub struct Fixture<S: Kind> {
    pub lanes: Lanes,
    pub lane: Arc<Lane<S>>,
    pub faults: Arc<Faults>,
    next: AtomicU64,
    _folder: tempfile::TempDir,
}

impl<S: Kind> Fixture<S> {
    pub async fn new(settings: &[(&str, &str)]) -> Fixture<S> {
        Fixture::overlapping(settings, 1).await
    }

    /// With this many batches in flight at once. The door has been opened.
    pub async fn overlapping(settings: &[(&str, &str)], overlap: usize) -> Fixture<S> {
        let folder = tempfile::tempdir().unwrap();
        let environment = |name: &str| match name {
            "DATA_DIR" => Some(folder.path().display().to_string()),
            _ => settings.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned()),
        };
        let settings = Settings::understand(&Values::gather(|_| None, environment, None).unwrap()).unwrap();
        let Parts { ledger, door } =
            wiring::open_embedded(&settings, |newest| Arc::new(EmbeddedClock::starting(newest))).unwrap();
        let id = S::make(&*ledger).await;
        let faults = Arc::new(Faults::default());
        let (ledger, door) = (faults.ledger(ledger), faults.door(door));
        let inside = InsideCheck::new(ledger.clone(), door.clone());
        let lanes = Lanes::new(ledger.clone(), door, inside, Arc::new(Metrics::default()), &settings);
        let found = S::find(&*ledger, id).await.unwrap().unwrap();
        let of = S::lanes(&lanes);
        let mut lane = Lane::new(id, found, of.shared.clone());
        lane.overlap = overlap;
        let lane = Arc::new(lane);
        of.lanes.write().unwrap().insert(id, lane.clone());
        let fixture = Fixture { lanes, lane, faults, next: AtomicU64::new(1), _folder: folder };
        fixture.serves_on().await;
        fixture
    }

    /// A request of a new user, through the door where the subject has one.
    pub fn arrive_within(&self, limit: Duration) -> Result<Receiver, Refusal> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        self.arrive_as(&format!("user-{n}"), limit)
    }

    pub fn arrive_as(&self, user: &str, limit: Duration) -> Result<Receiver, Refusal> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let (name, user) = (RequestName(u128::from(n)), User::new(user).unwrap());
        let arrival =
            Arrival { name, user: Some(user.clone()), address: ClientAddress::V4([127, 0, 0, 1]), keyed: false };
        let actor = Actor::User(user);
        let command = Command {
            actor,
            number: None,
            name,
            key: None,
            entry: None,
            action: S::action(n),
            details: None,
            origin: Default::default(),
        };
        self.lane.arrive(command, Some(arrival), limit)
    }

    pub fn arrive(&self) -> Receiver {
        self.arrive_within(DEADLINE).unwrap()
    }

    /// A request that is with the ledger when this returns, and waits there for a permit of the gate.
    pub async fn with_the_ledger(&self) -> Receiver {
        let seen = self.faults.seen.lock().unwrap().len();
        let receiver = self.arrive();
        wait_until("the batch is with the ledger", || self.faults.seen.lock().unwrap().len() > seen).await;
        receiver
    }

    /// Everything that was accepted has ended.
    pub async fn is_idle(&self) {
        wait_until("the depth is 0", || self.lanes.depth() == 0).await;
        wait_until("no task runs", || self.lane.lock().running == 0).await;
        let queued = |queue: &Queue<S>| (queue.pending.len(), queue.arriving.len());
        assert_eq!(queued(&self.lane.lock()), (0, 0));
        assert_eq!(self.lanes.deciding(), 0);
    }

    /// The subject serves, and nothing is left over afterwards.
    pub async fn serves_on(&self) {
        for _ in 0..3 {
            assert_eq!(ended(self.arrive()).await, End::Done);
        }
        self.is_idle().await;
    }
}

/// How a request ended.
#[derive(Debug, PartialEq)]
pub enum End {
    Done,
    Refused(Refusal),
    /// Nobody will answer.
    Closed,
}

pub async fn ended(receiver: Receiver) -> End {
    match tokio::time::timeout(Duration::from_secs(20), receiver).await.expect("an answer in time") {
        Ok((Answer { outcome: Outcome::Done(_), .. }, ..)) => End::Done,
        Ok((Answer { outcome: Outcome::Refused(refusal), .. }, ..)) => End::Refused(refusal),
        Err(_) => End::Closed,
    }
}

pub async fn wait_until(what: &str, is: impl Fn() -> bool) {
    let waiting = async {
        while !is() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}
