//! The door in the process: the rules of `arrive`, one per event, behind a lock that is held for
//! as long as a few look-ups take.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::arrive::{Arrival, Arrivals, Arrived, Budget};
use rules::ids::EventId;
use rules::time::{Clock, Moment};

use super::{Door, DoorFault, LEFT_FRESH_MS, Left, Release};
use crate::Working;

pub struct LocalDoor {
    clock: Arc<dyn Clock>,
    budget: Budget,
    events: Mutex<HashMap<EventId, Arrivals>>,
    lefts: Mutex<HashMap<EventId, (Left, Moment)>>,
}

impl LocalDoor {
    pub fn new(clock: Arc<dyn Clock>, budget: Budget) -> LocalDoor {
        LocalDoor { clock, budget, events: Mutex::default(), lefts: Mutex::default() }
    }

    /// Gives no numbers until it is opened again, with a higher generation.
    pub fn close(&self) {
        self.events().clear();
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

    fn open(&self, event: EventId, generation: u64) -> Working<Result<(), DoorFault>> {
        self.events().entry(event).or_insert_with(|| Arrivals::new(generation)).raise(generation);
        Box::pin(ready(Ok(())))
    }

    fn settle(&self, event: EventId, left: Option<Left>, ended: Vec<Release>) -> Working<Result<(), DoorFault>> {
        if let Some(door) = self.events().get_mut(&event) {
            for mark in &ended {
                door.release(&mark.user, mark.name);
            }
        }
        if let Some(left) = left {
            let at = self.clock.now();
            let mut known = self.lefts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let newer = known.get(&event).is_none_or(|(before, _)| left.n >= before.n);
            if newer {
                known.insert(event, (left, at));
            }
        }
        Box::pin(ready(Ok(())))
    }

    fn left(&self, event: EventId) -> Working<Result<Option<Left>, DoorFault>> {
        let now = self.clock.now();
        let known = self.lefts.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&event).cloned();
        let left = known.and_then(|(left, at)| {
            let says = at.ms_until(now) < LEFT_FRESH_MS && left.first_end.is_none_or(|end| end > now);
            says.then_some(left)
        });
        Box::pin(ready(Ok(left)))
    }

    fn ready(&self) -> Working<Result<(), DoorFault>> {
        Box::pin(ready(Ok(())))
    }
}
