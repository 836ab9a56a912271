//! The flaws of the third specification, planted: a counter of tokens, people who left, `ZADD`
//! without `NX`. The chapter on the waiting room must notice each of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rules::arrive::{Arrival, Arrived, Budget};
use rules::entries::{DoorEntry, InsideDigest, Moved, WaitingRoom};
use rules::ids::{EventId, Number, User};
use rules::queue::{Asking, Place, QueueReply, Serving, What};
use rules::time::{Clock, Moment};
use stores::Working;
use stores::conformance::{Stand, queue};
use stores::door::local::LocalDoor;
use stores::door::{Door, DoorFault, Heard, Opened, Release, Remaining};
use stores::ledger::LineBegun;
use stores::ledger::sqlite::{LOG_PAGES, SqliteConfig, SqliteLedger};
use testing::clock::FixtureClock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// `token:count` goes up with every entry and down only when somebody says so: what expires jams
    /// the room for ever (M7).
    CountsTokens,
    /// The same counter, and a return that is told twice: one more than allowed comes in.
    CountsReturnsTwice,
    /// The rank counts people who closed the tab.
    KeepsGhosts,
    /// `ZADD` without `NX`: whoever refreshes goes to the back (M9).
    AddsAgain,
    /// The score is a timestamp: in one millisecond names decide.
    SortsByName,
    /// Whoever is ready and only polls keeps the turn.
    KeepsTurns,
    /// The place of whoever was silent is given away.
    ForgetsTheSilent,
}

struct Flawed {
    flaw: Flaw,
    good: LocalDoor,
    count: Mutex<HashMap<EventId, i64>>,
    /// Numbers as the names of those who joined in one millisecond would sort.
    names: Mutex<Vec<String>>,
}

impl Flawed {
    /// What the flaw makes of the settings.
    fn room(&self, event: EventId, room: WaitingRoom, inside: u64) -> WaitingRoom {
        let never = i64::MAX / 4;
        match self.flaw {
            Flaw::KeepsGhosts => WaitingRoom { idle_ms: never, ..room },
            Flaw::CountsTokens | Flaw::CountsReturnsTwice => {
                let counted = self.count.lock().unwrap().get(&event).copied().unwrap_or(0);
                let most = i64::from(room.max_concurrent) - counted + inside as i64;
                WaitingRoom { max_concurrent: most.max(0) as u32, ..room }
            }
            _ => room,
        }
    }

    async fn inside(&self, event: EventId, room: WaitingRoom) -> u64 {
        if !matches!(self.flaw, Flaw::CountsTokens | Flaw::CountsReturnsTwice) {
            return 0;
        }
        match self.good.serving(event, room).await {
            Ok(Heard::Said(serving)) => serving.inside,
            _ => 0,
        }
    }

    async fn flawed_ask(
        &self,
        event: EventId,
        room: WaitingRoom,
        asking: Asking,
    ) -> Result<Heard<QueueReply>, DoorFault> {
        let room = self.room(event, room, self.inside(event, room).await);
        let again = |what| Asking { what, ..asking.clone() };
        match (self.flaw, asking.what) {
            (Flaw::AddsAgain, What::Join) => drop(self.good.ask(event, room, again(What::Leave)).await),
            (Flaw::ForgetsTheSilent, What::Poll) => {
                let rank = self.good.ask(event, room, again(What::Poll)).await?;
                if let Heard::Said(QueueReply::Place(Place { rank: 1, .. })) = rank {
                    drop(self.good.ask(event, room, again(What::Leave)).await);
                }
            }
            (Flaw::KeepsTurns, What::Poll | What::Join) => drop(self.good.ask(event, room, again(What::Enter)).await),
            _ => {}
        }
        let mut heard = self.good.ask(event, room, asking.clone()).await?;
        if self.flaw == Flaw::SortsByName
            && let Heard::Said(QueueReply::Place(place)) = &mut heard
        {
            let mut names = self.names.lock().unwrap();
            if !names.contains(&asking.user.as_str().to_owned()) {
                names.push(asking.user.as_str().to_owned());
            }
            place.rank = names.iter().filter(|name| name.as_str() < asking.user.as_str()).count() as u64;
            place.number = Number(place.rank + 1);
        }
        Ok(heard)
    }
}

/// The parts that the flaws are in stand on this; the rest is the good door's.
struct Shared(Arc<Flawed>);

impl Door for Shared {
    fn arrive(&self, event: EventId, arrivals: Vec<Arrival>) -> Working<Result<Vec<Arrived>, DoorFault>> {
        self.0.good.arrive(event, arrivals)
    }

    fn open(&self, event: EventId, generation: u64) -> Working<Result<Opened, DoorFault>> {
        self.0.good.open(event, generation)
    }

    fn settle(&self, event: EventId, left: Option<Remaining>, ended: Vec<Release>) -> Working<Result<(), DoorFault>> {
        self.0.good.settle(event, left, ended)
    }

    fn remaining(&self, event: EventId) -> Working<Result<Option<Remaining>, DoorFault>> {
        self.0.good.remaining(event)
    }

    fn ask(&self, event: EventId, room: WaitingRoom, asking: Asking) -> Working<Result<Heard<QueueReply>, DoorFault>> {
        let flawed = self.0.clone();
        Box::pin(async move { flawed.flawed_ask(event, room, asking).await })
    }

    fn number_in_line(&self, event: EventId, user: User) -> Working<Result<Option<Number>, DoorFault>> {
        self.0.good.number_in_line(event, user)
    }

    fn serving(&self, event: EventId, room: WaitingRoom) -> Working<Result<Heard<Serving>, DoorFault>> {
        let flawed = self.0.clone();
        Box::pin(async move {
            let room = flawed.room(event, room, flawed.inside(event, room).await);
            flawed.good.serving(event, room).await
        })
    }

    fn begin_line(&self, event: EventId, room: WaitingRoom, begun: LineBegun) -> Working<Result<(), DoorFault>> {
        self.0.good.begin_line(event, room, begun)
    }

    fn moved(&self, event: EventId, moved: Vec<Moved>, at: Moment) -> Working<Result<(), DoorFault>> {
        let mut count = self.0.count.lock().unwrap();
        let counted = count.entry(event).or_default();
        for one in &moved {
            *counted += match (one, self.0.flaw) {
                (Moved::In(_), _) => 1,
                (Moved::Out { .. }, Flaw::CountsReturnsTwice) => -2,
                (Moved::Out { .. }, _) => -1,
                (Moved::Renewed { .. }, _) => 0,
            };
        }
        self.0.good.moved(event, moved, at)
    }

    fn inside(&self, event: EventId, unless: Option<i64>) -> Working<Result<Option<InsideDigest>, DoorFault>> {
        self.0.good.inside(event, unless)
    }

    fn insiders(&self, event: EventId) -> Working<Result<Vec<DoorEntry>, DoorFault>> {
        self.0.good.insiders(event)
    }

    fn ready(&self) -> Working<Result<(), DoorFault>> {
        self.0.good.ready()
    }
}

fn stand(folder: &std::path::Path, flaw: Option<Flaw>) -> Stand {
    let clock = Arc::new(FixtureClock::default());
    let (given, moved, wall) = (clock.clone(), clock.clone(), clock.clone());
    let surroundings = SqliteConfig {
        clock: move |_| given as Arc<dyn Clock>,
        on_fatal: Box::new(|why| panic!("{why}")),
        key_ttl_ms: 86_400_000,
        log_pages: LOG_PAGES,
    };
    let ledger = Arc::new(SqliteLedger::open(folder, surroundings).unwrap());
    let good = LocalDoor::new(clock, Budget::default());
    let door: Arc<dyn Door> = match flaw {
        None => Arc::new(good),
        Some(flaw) => {
            Arc::new(Shared(Arc::new(Flawed { flaw, good, count: Mutex::default(), names: Mutex::default() })))
        }
    };
    let advance = Arc::new(move |ms| {
        moved.advance_ms(ms);
    });
    Stand::new(ledger, door, advance).with_wall(move |ms| wall.step_wall_ms(ms))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_flaw_of_seed_003_is_noticed() {
    for flaw in [
        Flaw::CountsTokens,
        Flaw::CountsReturnsTwice,
        Flaw::KeepsGhosts,
        Flaw::AddsAgain,
        Flaw::SortsByName,
        Flaw::KeepsTurns,
        Flaw::ForgetsTheSilent,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words = queue::chapter(&stand(folder.path(), Some(flaw))).await.expect_err(&format!("{flaw:?} passed"));
        println!("{flaw:?}: {words}");
    }
    let folder = tempfile::tempdir().unwrap();
    queue::chapter(&stand(folder.path(), None)).await.unwrap();
}
