//! A cache of halls. They never change, and a large one is not parsed twice. Halls that were not used for a while are
//! evicted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::ids::EventId;
use rules::seats::Hall;

#[derive(Debug, Default)]
pub struct HallCache(Mutex<HashMap<EventId, KnownHall>>);

#[derive(Debug)]
struct KnownHall {
    hall: Arc<Hall>,
    /// Since the last `forget_unused`.
    used: bool,
}

impl HallCache {
    pub fn known(&self, id: EventId) -> Option<Arc<Hall>> {
        self.lock().get_mut(&id).map(|known| {
            known.used = true;
            known.hall.clone()
        })
    }

    /// Parses a hall from its row.
    pub fn learn(&self, id: EventId, plan: &str) -> Result<Arc<Hall>, serde_json::Error> {
        let hall: Hall = serde_json::from_str(plan)?;
        Ok(self.lock().entry(id).or_insert_with(|| KnownHall { hall: Arc::new(hall), used: true }).hall.clone())
    }

    /// The ledger was restored: another event may have this id now.
    pub fn forget_all(&self) {
        self.lock().clear();
    }

    /// Evicts the halls that were not used since the last call. Returns how many are left.
    pub fn forget_unused(&self) -> usize {
        let mut halls = self.lock();
        halls.retain(|_, known| std::mem::take(&mut known.used));
        halls.shrink_to_fit();
        halls.len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<EventId, KnownHall>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use rules::hall::{HallRow, Section};

    use super::*;

    /// Rows that were stored before this field existed have none.
    #[test]
    fn accessible_places_are_kept_and_old_halls_are_read() {
        let row =
            |name: &str, accessible: &[u32]| HallRow { name: name.into(), seats: 5, accessible: accessible.into() };
        let hall = Hall::of_sections(vec![Section { name: "a".into(), rows: vec![row("A", &[4, 1]), row("B", &[])] }]);
        let hall = hall.unwrap();
        let stored = serde_json::to_string(&hall).unwrap();
        assert_eq!(stored.matches("accessible").count(), 1, "{stored}");
        let cache = HallCache::default();
        assert_eq!(*cache.learn(EventId(1), &stored).unwrap(), hall);
        let old = r#"{"sections":[{"name":"a","rows":[{"name":"A","seats":2}]}]}"#;
        assert!(cache.learn(EventId(2), old).unwrap().sections().unwrap()[0].rows[0].accessible.is_empty());
    }
}
