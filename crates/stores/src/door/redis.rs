//! The door in Redis, for any number of servers: single or Cluster. Everything that must be atomic is a script. The
//! time is that of Redis, plus an offset that is 0 outside tests.

mod connection;
mod facts;
mod keys;
mod line;
mod onlookers;
pub mod scripts;
mod trouble;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{try_join, try_join_all};
use rules::arrive::{Arrival, Arrived, Budget, MARK_MS};
use rules::entries::{DoorEntry, InsideDigest, Moved, WaitingRoom};
use rules::event::State;
use rules::holds::Hold;
use rules::ids::{EventId, Number, User};
use rules::queue::{Asking, Forgotten, QueueReply, Serving};
use rules::subject::SubjectId;
use rules::time::Moment;

use self::connection::RedisConnections;
pub use self::facts::{RedisFacts, RedisProbe};
use self::onlookers::Onlookers;
use self::scripts::Scripts;
use super::{Door, DoorFault, Heard, Opened, Release, Remaining};
use crate::Working;
use crate::ledger::{LedgerName, LineBegun};

/// Scripts take at most this many requests per call: a script blocks Redis while it runs.
const CALL_MOST: usize = 128;

pub struct RedisDoor(Arc<Inner>);

struct Inner {
    connections: RedisConnections,
    scripts: Scripts,
    budget: Budget,
    /// Known after the first contact with the ledger; no numbers are assigned before.
    ledger: LedgerName,
    /// The highest generation of each event from which this server assigned numbers. If the ledger is restored and
    /// Redis is emptied, this is the only record of it.
    given: Mutex<HashMap<EventId, u64>>,
    onlookers: Onlookers,
    clock_offset_ms: Arc<AtomicI64>,
}

/// The configuration of the door.
#[derive(Clone)]
pub struct RedisConfig {
    /// `redis://` or `rediss://`; several nodes of a cluster are separated by commas.
    pub url: String,
    pub cluster: bool,
    pub budget: Budget,
    /// The name of the ledger that the door belongs to.
    pub ledger: LedgerName,
    /// Timeout for connecting, and for a reply.
    pub step: Duration,
}

/// Redis normally replies in less than a millisecond; after this time it counts as unreachable.
pub const STEP: Duration = Duration::from_millis(400);

impl RedisDoor {
    /// Does not connect yet: Redis may start later than this process.
    pub fn new(place: RedisConfig) -> Result<RedisDoor, String> {
        let connect = || RedisConnections::new(&place.url, place.cluster, place.step);
        let clock_offset_ms = Arc::new(AtomicI64::new(0));
        Ok(RedisDoor(Arc::new(Inner {
            onlookers: Onlookers::new(connect()?, clock_offset_ms.clone()),
            connections: connect()?,
            scripts: Scripts::new(),
            budget: place.budget,
            ledger: place.ledger,
            given: Mutex::default(),
            clock_offset_ms,
        })))
    }

    /// Moves this door's clock, for tests.
    pub fn move_clock(&self, offset_ms: i64) {
        self.0.clock_offset_ms.store(offset_ms, Ordering::Release);
    }

    fn run<T, W>(&self, work: impl FnOnce(Arc<Inner>) -> W) -> Working<Result<T, DoorFault>>
    where
        W: Future<Output = Result<T, DoorFault>> + Send + 'static,
    {
        Box::pin(work(self.0.clone()))
    }
}

impl Inner {
    fn offset_ms(&self) -> i64 {
        self.clock_offset_ms.load(Ordering::Acquire)
    }

    fn ledger(&self) -> Option<Arc<str>> {
        self.ledger.get()
    }

    async fn arrive(&self, event: EventId, arrivals: &[Arrival]) -> Result<Vec<Arrived>, DoorFault> {
        let Some(ledger) = self.ledger() else { return Ok(vec![Arrived::NoNumber; arrivals.len()]) };
        let mut connected = self.connections.get().await?;
        let door = keys::door(event);
        let mut script = self.scripts.arrive.prepare_invoke();
        script.key(&door).key(keys::sequence(event));
        script.arg(&*ledger).arg(&*connected.run_id).arg(self.offset_ms());
        script.arg(MARK_MS).arg(self.budget.limit).arg(self.budget.window_ms);
        for arrival in arrivals {
            let marked = arrival.user.as_ref().filter(|_| !arrival.keyed);
            script.key(marked.map_or(door.clone(), |user| keys::user(event, user)));
            script.key(keys::address(event, &arrival.address));
            script.arg(marked.map_or(String::new(), |_| keys::name(arrival.name)));
        }
        let said: Vec<u64> = self.connections.run(&mut connected, &script).await?;
        let arrived: Vec<Arrived> = said.chunks(2).map(understand).collect();
        if let Some(generation) = arrived.iter().find_map(Arrived::generation) {
            self.gave(event, generation);
        }
        if arrived.len() == arrivals.len() { Ok(arrived) } else { Err(odd("arrive", &said)) }
    }

    fn given(&self, event: EventId) -> Option<u64> {
        self.given.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&event).copied()
    }

    fn gave(&self, event: EventId, generation: u64) {
        let mut given = self.given.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = given.entry(event).or_default();
        *known = generation.max(*known);
    }

    async fn settle(&self, event: EventId, remaining: Option<&Remaining>, ended: &[Release]) -> Result<(), DoorFault> {
        let mut connected = self.connections.get().await?;
        let mut script = self.scripts.settle.prepare_invoke();
        script.key(keys::left(event)).arg(self.offset_ms());
        match remaining {
            Some(Remaining { n, free, held, first_end, state }) => {
                let first_end = first_end.map_or(String::new(), |end| end.0.to_string());
                script.arg(n).arg(free).arg(held).arg(first_end).arg(state.as_str());
            }
            None => {
                script.arg("").arg("").arg("").arg("").arg("");
            }
        }
        script.arg(keys::live(event));
        for mark in ended {
            script.key(keys::user(event, &mark.user)).arg(keys::name(mark.name));
        }
        let _: u64 = self.connections.run(&mut connected, &script).await?;
        Ok(())
    }

    async fn remaining(&self, event: EventId) -> Result<Option<Remaining>, DoorFault> {
        let mut connected = self.connections.get().await?;
        let mut script = self.scripts.left.prepare_invoke();
        script.key(keys::left(event)).arg(self.offset_ms());
        let said: Vec<String> = self.connections.run(&mut connected, &script).await?;
        let [n, free, held, first_end, state, ..] = &said[..] else { return Ok(None) };
        let number = |text: &String| text.parse::<u64>().map_err(|_| odd("left", &said));
        Ok(Some(Remaining {
            n: number(n)?,
            free: number(free)? as u32,
            held: number(held)? as u32,
            first_end: first_end.parse().ok().map(Moment),
            state: State::named(state).ok_or_else(|| odd("left", &said))?,
        }))
    }
}

fn understand(said: &[u64]) -> Arrived {
    match *said {
        [1, number] => Arrived::Number(Number(number)),
        [2, retry_after] => Arrived::AddressSpent { retry_after },
        [3, retry_after] => Arrived::AlreadyAsking { retry_after },
        _ => Arrived::NoNumber,
    }
}

fn odd(script: &str, said: &impl std::fmt::Debug) -> DoorFault {
    DoorFault::Failed(format!("{script} answered {said:?}"))
}

impl Door for RedisDoor {
    fn arrive(&self, event: EventId, arrivals: Vec<Arrival>) -> Working<Result<Vec<Arrived>, DoorFault>> {
        self.run(|inner| async move {
            let mut arrived = Vec::with_capacity(arrivals.len());
            for some in arrivals.chunks(CALL_MOST) {
                arrived.extend(inner.arrive(event, some).await?);
            }
            Ok(arrived)
        })
    }

    fn open(&self, event: EventId, generation: u64) -> Working<Result<Opened, DoorFault>> {
        self.run(move |inner| async move {
            let Some(ledger) = inner.ledger() else {
                return Err(DoorFault::Failed("the ledger is not known yet".into()));
            };
            if let Some(known) = inner.given(event).filter(|given| *given >= generation) {
                return Ok(Opened::Behind { known });
            }
            let mut connected = inner.connections.get().await?;
            let mut script = inner.scripts.open.prepare_invoke();
            script.key(keys::door(event)).key(keys::sequence(event)).key(keys::left(event));
            let [.., token, inside, _] = keys::line(event);
            script.key(token).key(inside);
            script.arg(&*ledger).arg(&*connected.run_id).arg(generation);
            let known: i64 = inner.connections.run(&mut connected, &script).await?;
            let behind = u64::try_from(known);
            inner.gave(event, behind.unwrap_or(generation));
            Ok(behind.map_or(Opened::Yes, |known| Opened::Behind { known }))
        })
    }

    fn settle(
        &self,
        event: EventId,
        remaining: Option<Remaining>,
        ended: Vec<Release>,
    ) -> Working<Result<(), DoorFault>> {
        self.run(move |inner| async move {
            let (first, rest) = ended.split_at(ended.len().min(CALL_MOST));
            // Requests wait for this, so the calls are sent concurrently.
            let others = rest.chunks(CALL_MOST).map(|some| inner.settle(event, None, some));
            try_join(inner.settle(event, remaining.as_ref(), first), try_join_all(others)).await.map(drop)
        })
    }

    fn remaining(&self, event: EventId) -> Working<Result<Option<Remaining>, DoorFault>> {
        self.run(move |inner| async move { inner.remaining(event).await })
    }

    fn ask(&self, event: EventId, room: WaitingRoom, asking: Asking) -> Working<Result<Heard<QueueReply>, DoorFault>> {
        self.run(move |inner| async move { inner.ask(event, &room, &asking).await })
    }

    fn number_in_line(&self, event: EventId, user: User) -> Working<Result<Option<Number>, DoorFault>> {
        self.run(move |inner| async move { inner.number_in_line(event, &user).await })
    }

    fn serving(&self, event: EventId, room: WaitingRoom) -> Working<Result<Heard<Serving>, DoorFault>> {
        self.run(move |inner| async move { inner.serving(event, &room).await })
    }

    fn begin_line(&self, event: EventId, room: WaitingRoom, begun: LineBegun) -> Working<Result<(), DoorFault>> {
        self.run(move |inner| async move { inner.begin_line(event, &room, &begun).await })
    }

    fn moved(&self, event: EventId, moved: Vec<Moved>, at: Moment) -> Working<Result<(), DoorFault>> {
        self.run(move |inner| async move { inner.moved(event, &moved, at).await })
    }

    fn inside(
        &self,
        event: EventId,
        unless_within_ms: Option<i64>,
    ) -> Working<Result<Option<InsideDigest>, DoorFault>> {
        self.run(move |inner| async move { inner.inside(event, unless_within_ms.unwrap_or(0)).await })
    }

    fn insiders(&self, event: EventId) -> Working<Result<Vec<DoorEntry>, DoorFault>> {
        self.run(move |inner| async move { inner.insiders(event).await })
    }

    fn show_holds(&self, subject: SubjectId, holds: Vec<Hold>) -> Working<Result<(), DoorFault>> {
        self.0.onlookers.show(subject, holds);
        Box::pin(std::future::ready(Ok(())))
    }

    fn ledger(&self) -> Option<Arc<str>> {
        self.0.ledger()
    }

    fn forget(&self, event: EventId) -> Working<Result<(), DoorFault>> {
        self.run(move |inner| async move {
            let mut connected = inner.connections.get().await?;
            let mut script = inner.scripts.forget.prepare_invoke();
            script.key(keys::sequence(event));
            for key in keys::line(event) {
                script.key(key);
            }
            let _: u64 = inner.connections.run(&mut connected, &script).await?;
            inner.given.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&event);
            Ok(())
        })
    }

    fn forget_silent(
        &self,
        event: EventId,
        room: WaitingRoom,
        silent_ms: i64,
        most: usize,
    ) -> Working<Result<Forgotten, DoorFault>> {
        self.run(move |inner| async move { inner.forget_silent(event, &room, silent_ms, most).await })
    }

    fn ready(&self) -> Working<Result<(), DoorFault>> {
        self.run(|inner| async move {
            let mut connected = inner.connections.get().await?;
            if connected.writes().await.is_ok() {
                return Ok(());
            }
            // The old connection may have broken unnoticed: try a new one.
            inner.connections.forget(&connected).await;
            inner.connections.get().await?.writes().await
        })
    }
}
