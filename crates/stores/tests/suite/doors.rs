//! Doors that are broken on purpose. The chapter on arriving must notice each of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rules::arrive::{Arrival, Arrived, Budget};
use rules::entries::{DoorEntry, InsideDigest, Moved, WaitingRoom};
use rules::ids::{EventId, Number, User};
use rules::queue::{Asking, QueueReply, Serving};
use rules::time::Moment;
use stores::Working;
use stores::conformance::{Stand, arrive};
use stores::door::{Door, DoorFault, Heard, Opened, Release, Remaining};
use stores::ledger::LineBegun;
use testing::database::Database;
use testing::redis::OwnRedis;
use testing::stands::{prepared, redis_door};

#[derive(Clone, Copy, Debug)]
enum Bug {
    /// Every call counts from one.
    RepeatsNumbers,
    /// Nobody is ever already asking.
    ForgetsMarks,
    /// A mark goes whatever name is said.
    ReleasesAnybody,
    /// Gives numbers before any generation is known.
    OpensByItself,
    /// Believes late news of a lower generation.
    GoesBack,
    /// Marks those who bring a key.
    MarksKeys,
}

struct Broken {
    bug: Bug,
    good: Arc<dyn Door>,
    given: Arc<AtomicU64>,
    last: Arc<std::sync::Mutex<Vec<Release>>>,
}

impl Door for Broken {
    fn arrive(&self, event: EventId, mut arrivals: Vec<Arrival>) -> Working<Result<Vec<Arrived>, DoorFault>> {
        if matches!(self.bug, Bug::ForgetsMarks) {
            arrivals.iter_mut().for_each(|arrival| arrival.keyed = true);
        }
        if matches!(self.bug, Bug::MarksKeys) {
            for (i, arrival) in arrivals.iter_mut().enumerate().filter(|(_, a)| a.keyed) {
                arrival.keyed = false;
                arrival.name.0 += 1_000 + i as u128;
            }
        }
        self.last
            .lock()
            .unwrap()
            .extend(arrivals.iter().filter_map(|a| Some(Release { user: a.user.clone()?, name: a.name })));
        let (bug, asked, arrived) = (self.bug, arrivals.len(), self.good.arrive(event, arrivals));
        let given = self.given.clone();
        Box::pin(async move {
            let mut arrived = arrived.await?;
            for (i, one) in arrived.iter_mut().enumerate() {
                match (bug, *one) {
                    (Bug::RepeatsNumbers, Arrived::Number(_)) => *one = Arrived::Number(Number(1 + (i % asked) as u64)),
                    (Bug::OpensByItself, Arrived::NoNumber) => {
                        *one = Arrived::Number(Number(1 + given.fetch_add(1, Ordering::SeqCst)));
                    }
                    (Bug::GoesBack, Arrived::Number(number)) if given.load(Ordering::SeqCst) == 0 => {
                        *one = Arrived::Number(Number(number.0 % 1_000_000_000));
                    }
                    _ => {}
                }
            }
            Ok(arrived)
        })
    }

    fn open(&self, event: EventId, generation: u64) -> Working<Result<Opened, DoorFault>> {
        if matches!(self.bug, Bug::GoesBack) {
            self.given.store(generation, Ordering::SeqCst);
        }
        self.good.open(event, generation)
    }

    fn settle(&self, event: EventId, left: Option<Remaining>, ended: Vec<Release>) -> Working<Result<(), DoorFault>> {
        let ended = match self.bug {
            Bug::ReleasesAnybody => {
                let all = self.last.lock().unwrap().clone();
                all.into_iter().filter(|one| ended.iter().any(|e| e.user == one.user)).collect()
            }
            _ => ended,
        };
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

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_door_is_noticed() {
    let (redis, database) = (OwnRedis::start(), Database::fresh().await);
    let ledger = Arc::new(prepared(&database.url, Default::default()).await);
    for bug in [
        Bug::RepeatsNumbers,
        Bug::ForgetsMarks,
        Bug::ReleasesAnybody,
        Bug::OpensByItself,
        Bug::GoesBack,
        Bug::MarksKeys,
    ] {
        redis.ask::<()>(&["FLUSHALL"]);
        let good = Arc::new(redis_door(&redis.url(), false, "ours", Budget::default()));
        let moved = good.clone();
        let door = Broken { bug, good, given: Arc::default(), last: Arc::default() };
        let advance = Arc::new(move |ms| moved.move_clock(ms));
        let stand = Stand::new(ledger.clone(), Arc::new(door), advance);
        let words = arrive::chapter(&stand).await.expect_err(&format!("{bug:?} went unnoticed"));
        println!("{bug:?}: {words}");
    }
}
