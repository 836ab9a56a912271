//! What the ledger calls now, between two answers of the database: its last word plus the time
//! that has passed here since. For showing states only; decisions ask the database, under the lock.

use std::sync::{Arc, Mutex, MutexGuard};

use rules::time::{Clock, Moment};

pub struct DatabaseClock {
    /// Runs on; what it shows does not matter.
    here: Arc<dyn Clock>,
    /// What the database said, and what it was here at that moment.
    said: Mutex<Option<(Moment, Moment)>>,
}

impl DatabaseClock {
    pub fn new(here: Arc<dyn Clock>) -> DatabaseClock {
        DatabaseClock { here, said: Mutex::default() }
    }

    pub fn saw(&self, now: Moment) {
        *self.lock() = Some((now, self.here.now()));
    }

    /// The beginning of time, as long as the database has not said anything.
    pub fn now(&self) -> Moment {
        let said = *self.lock();
        said.map_or(Moment(0), |(said, at)| said.plus_ms(at.ms_until(self.here.now())))
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Moment, Moment)>> {
        self.said.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
