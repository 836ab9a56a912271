//! The door in the process: the rules of `arrive`, one per event, behind a lock that is held for
//! as long as a few look-ups take.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::arrive::{Arrival, Arrivals, Arrived, Budget};
use rules::ids::EventId;
use rules::time::Clock;

use super::{Door, DoorFault, Release};
use crate::Working;

pub struct LocalDoor {
    clock: Arc<dyn Clock>,
    budget: Budget,
    events: Mutex<HashMap<EventId, Arrivals>>,
}

impl LocalDoor {
    pub fn new(clock: Arc<dyn Clock>, budget: Budget) -> LocalDoor {
        LocalDoor { clock, budget, events: Mutex::default() }
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
            Some(door) => arrivals.iter().map(|arrival| door.arrive(arrival, self.budget, now)).collect(),
            None => vec![Arrived::NoNumber; arrivals.len()],
        };
        Box::pin(ready(Ok(arrived)))
    }

    fn open(&self, event: EventId, generation: u64) -> Working<Result<(), DoorFault>> {
        self.events().entry(event).or_insert_with(|| Arrivals::new(generation)).raise(generation);
        Box::pin(ready(Ok(())))
    }

    fn release(&self, event: EventId, ended: Vec<Release>) -> Working<Result<(), DoorFault>> {
        if let Some(door) = self.events().get_mut(&event) {
            for mark in &ended {
                door.release(&mark.user, mark.name);
            }
        }
        Box::pin(ready(Ok(())))
    }

    fn ready(&self) -> Working<Result<(), DoorFault>> {
        Box::pin(ready(Ok(())))
    }
}
