//! Halls that were read already. They never change, and a large one is not parsed twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::ids::EventId;
use rules::seats::Hall;

#[derive(Debug, Default)]
pub struct HallCache(Mutex<HashMap<EventId, Arc<Hall>>>);

impl HallCache {
    pub fn known(&self, id: EventId) -> Option<Arc<Hall>> {
        self.lock().get(&id).cloned()
    }

    /// Reads a hall as its row says it.
    pub fn learn(&self, id: EventId, plan: &str) -> Result<Arc<Hall>, serde_json::Error> {
        let hall: Hall = serde_json::from_str(plan)?;
        Ok(self.lock().entry(id).or_insert_with(|| Arc::new(hall)).clone())
    }

    /// The ledger was restored: another event may have this id.
    pub fn forget_all(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<EventId, Arc<Hall>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
