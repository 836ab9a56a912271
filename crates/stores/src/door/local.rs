//! The door in the process: the rules of `arrive`, one instance per event, behind a lock that is held for a few lookups
//! only.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::arrive::{Arrival, Arrivals, Arrived, Budget};
use rules::entries::{DoorEntry, InsideDigest, Moved, WaitingRoom};
use rules::ids::{EventId, Number, User};
use rules::queue::{Asking, Forgotten, Line, QueueReply, Serving, Supply};
use rules::time::{Clock, Moment};

use super::{Door, DoorFault, Heard, Opened, REMAINING_FRESH_MS, REMAINING_STALE_MS, Release, Remaining};
use crate::Working;
use crate::ledger::LineBegun;

pub struct LocalDoor {
    clock: Arc<dyn Clock>,
    budget: Budget,
    events: Mutex<HashMap<EventId, Arrivals>>,
    remaining: Mutex<HashMap<EventId, (Remaining, Moment)>>,
    lines: Mutex<HashMap<EventId, LocalLine>>,
    /// Generations of doors that were closed: their numbers were already assigned.
    before: Mutex<HashMap<EventId, u64>>,
}

/// A line, and the generation in which it was begun. None: it does not know yet who is inside.
struct LocalLine {
    line: Line,
    begun: Option<u64>,
}

impl LocalDoor {
    pub fn new(clock: Arc<dyn Clock>, budget: Budget) -> LocalDoor {
        LocalDoor {
            clock,
            budget,
            events: Mutex::default(),
            remaining: Mutex::default(),
            lines: Mutex::default(),
            before: Mutex::default(),
        }
    }

    /// Assigns no numbers until it is opened again with a higher generation.
    pub fn close(&self) {
        self.close_numbers();
        self.lines().clear();
    }

    fn close_numbers(&self) {
        let mut before = self.before();
        for (event, door) in self.events().drain() {
            before.insert(event, door.generation());
        }
    }

    fn before(&self) -> MutexGuard<'_, HashMap<EventId, u64>> {
        self.before.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<EventId, LocalLine>> {
        self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn known_remaining(&self, event: EventId, now: Moment) -> Option<Remaining> {
        let known = self.remaining.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&event).cloned();
        known.and_then(|(remaining, at)| {
            let says = at.ms_until(now) < REMAINING_FRESH_MS && remaining.first_end.is_none_or(|end| end > now);
            says.then_some(remaining)
        })
    }

    /// Calls a line that has begun, if it is known what is left.
    fn of_the_line<T>(&self, event: EventId, ask: impl FnOnce(&mut Line, Supply, Moment) -> T) -> Heard<T> {
        let now = self.clock.now();
        let Some(generation) = self.events().get(&event).map(Arrivals::generation) else { return Heard::NotOpen };
        let mut lines = self.lines();
        let Some(line) = lines.get_mut(&event).filter(|line| line.begun == Some(generation)) else {
            return Heard::NotBegun;
        };
        let Some(remaining) = self.known_remaining(event, now) else { return Heard::NoRemaining };
        Heard::Said(ask(&mut line.line, remaining.supply(), now))
    }

    fn now_inside(&self, event: EventId) -> Vec<DoorEntry> {
        let now = self.clock.now();
        self.lines().get(&event).map_or_else(Vec::new, |local| local.line.insiders(now))
    }

    fn events(&self) -> MutexGuard<'_, HashMap<EventId, Arrivals>> {
        self.events.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Door for LocalDoor {
    fn arrive(&self, event: EventId, arrivals: Vec<Arrival>) -> Working<Result<Vec<Arrived>, DoorFault>> {
        let now = self.clock.now();
        let mut events = self.events();
        let arrived = match events.get_mut(&event) {
            Some(door) if door.spent(arrivals.len()) => vec![Arrived::NoNumber; arrivals.len()],
            Some(door) => arrivals.iter().map(|arrival| door.arrive(arrival, self.budget, now)).collect(),
            None => vec![Arrived::NoNumber; arrivals.len()],
        };
        Box::pin(ready(Ok(arrived)))
    }

    fn arrive_now(&self, event: EventId, arrival: &Arrival) -> Option<Arrived> {
        let now = self.clock.now();
        let mut events = self.events();
        let door = events.get_mut(&event).filter(|door| !door.spent(1))?;
        Some(door.arrive(arrival, self.budget, now))
    }

    fn open(&self, event: EventId, generation: u64) -> Working<Result<Opened, DoorFault>> {
        let before = self.before().get(&event).copied();
        let mut events = self.events();
        let opened = match events.get_mut(&event) {
            None if before.is_some_and(|known| known >= generation) => {
                Opened::Behind { known: before.unwrap_or_default() }
            }
            Some(door) if door.generation() >= generation => Opened::Behind { known: door.generation() },
            Some(door) => {
                door.raise(generation);
                Opened::Yes
            }
            None => {
                events.insert(event, Arrivals::new(generation));
                Opened::Yes
            }
        };
        Box::pin(ready(Ok(opened)))
    }

    fn settle(
        &self,
        event: EventId,
        remaining: Option<Remaining>,
        ended: Vec<Release>,
    ) -> Working<Result<(), DoorFault>> {
        if let Some(door) = self.events().get_mut(&event) {
            for mark in &ended {
                door.release(&mark.user, mark.name);
            }
        }
        if let Some(remaining) = remaining {
            let at = self.clock.now();
            let mut known = self.remaining.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let gives_way = |(before, said): &(Remaining, Moment)| {
                remaining.n >= before.n || said.ms_until(at) >= REMAINING_STALE_MS
            };
            if known.get(&event).is_none_or(gives_way) {
                known.insert(event, (remaining, at));
            }
        }
        Box::pin(ready(Ok(())))
    }

    fn remaining(&self, event: EventId) -> Working<Result<Option<Remaining>, DoorFault>> {
        Box::pin(ready(Ok(self.known_remaining(event, self.clock.now()))))
    }

    fn ask(&self, event: EventId, room: WaitingRoom, asking: Asking) -> Working<Result<Heard<QueueReply>, DoorFault>> {
        let heard = self.of_the_line(event, |line, supply, now| line.ask(&room, supply, &asking, now));
        Box::pin(ready(Ok(heard)))
    }

    fn number_in_line(&self, event: EventId, user: User) -> Working<Result<Option<Number>, DoorFault>> {
        let number = self.lines().get(&event).and_then(|local| local.line.number_of(&user));
        Box::pin(ready(Ok(number)))
    }

    fn serving(&self, event: EventId, room: WaitingRoom) -> Working<Result<Heard<Serving>, DoorFault>> {
        let heard = self.of_the_line(event, |line, supply, now| line.serving(&room, supply, now));
        Box::pin(ready(Ok(heard)))
    }

    fn begin_line(&self, event: EventId, room: WaitingRoom, begun: LineBegun) -> Working<Result<(), DoorFault>> {
        let now = self.clock.now();
        let Some(generation) = self.events().get(&event).map(Arrivals::generation) else {
            return Box::pin(ready(Ok(())));
        };
        let mut lines = self.lines();
        let local = lines.entry(event).or_insert_with(|| LocalLine { line: Line::new(generation), begun: None });
        // A line that was begun before has lost nothing: only its numbering restarts.
        let forgot = begun.used && local.begun.is_none();
        local.line.raise(generation);
        local.line.restore(
            &begun.inside,
            begun.n,
            begun.at.ms_until(now),
            forgot.then(|| now.plus_ms(room.pause_ms())),
        );
        local.begun = Some(generation);
        Box::pin(ready(Ok(())))
    }

    fn moved(&self, event: EventId, moved: Vec<Moved>, at: Moment) -> Working<Result<(), DoorFault>> {
        let now = self.clock.now();
        let mut lines = self.lines();
        let local = lines.entry(event).or_insert_with(|| LocalLine { line: Line::new(0), begun: None });
        moved.iter().for_each(|one| local.line.moved(one, at.ms_until(now), now));
        Box::pin(ready(Ok(())))
    }

    fn inside(&self, event: EventId, _: Option<i64>) -> Working<Result<Option<InsideDigest>, DoorFault>> {
        let begun = self.lines().get(&event).is_some_and(|local| local.begun.is_some());
        let insiders = self.now_inside(event);
        let sum = Some(insiders.iter().map(|entry| entry.n).sum());
        Box::pin(ready(Ok(begun.then_some(InsideDigest { count: insiders.len() as u64, sum }))))
    }

    fn insiders(&self, event: EventId) -> Working<Result<Vec<DoorEntry>, DoorFault>> {
        Box::pin(ready(Ok(self.now_inside(event))))
    }

    /// Users keep their places in line; the stored counts are no longer valid.
    fn ledger_restored(&self) {
        self.close_numbers();
        self.remaining.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    }

    fn forget(&self, event: EventId) -> Working<Result<(), DoorFault>> {
        self.events().remove(&event);
        self.remaining.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(&event);
        self.lines().remove(&event);
        self.before().remove(&event);
        Box::pin(ready(Ok(())))
    }

    fn forget_silent(
        &self,
        event: EventId,
        room: WaitingRoom,
        silent_ms: i64,
        most: usize,
    ) -> Working<Result<Forgotten, DoorFault>> {
        let now = self.clock.now();
        let forgotten = match self.lines().get_mut(&event) {
            Some(local) => local.line.forget_silent(&room, silent_ms, most, now),
            None => Forgotten::default(),
        };
        Box::pin(ready(Ok(forgotten)))
    }

    fn ready(&self) -> Working<Result<(), DoorFault>> {
        Box::pin(ready(Ok(())))
    }
}
