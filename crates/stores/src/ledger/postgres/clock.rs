//! The ledger's clock between two answers of the database: the last time it said plus what has passed
//! here since. For display only; decisions ask the database, under the lock.

use std::sync::{Arc, Mutex, MutexGuard};

use rules::time::{Clock, Moment};

pub struct DatabaseClock {
    /// Only differences of it are used.
    here: Arc<dyn Clock>,
    /// What the database said, and the local time at that moment.
    said: Mutex<Option<(Moment, Moment)>>,
}

impl DatabaseClock {
    pub fn new(here: Arc<dyn Clock>) -> DatabaseClock {
        DatabaseClock { here, said: Mutex::default() }
    }

    pub fn saw(&self, now: Moment) {
        *self.lock() = Some((now, self.here.now()));
    }

    /// 1970 as long as the database has not been asked.
    pub fn now(&self) -> Moment {
        let said = *self.lock();
        said.map_or(Moment(0), |(said, at)| said.plus_ms(at.ms_until(self.here.now())))
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Moment, Moment)>> {
        self.said.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
