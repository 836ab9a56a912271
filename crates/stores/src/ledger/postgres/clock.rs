//! The ledger's clock between two answers of the database: the last time it said plus what has passed
//! here since. For display only; decisions ask the database, under the lock.

use std::sync::{Arc, Mutex, MutexGuard};

use rules::time::{Clock, Moment};

/// A larger jump of the database's clock is logged.
const JUMP_MS: i64 = 60_000;

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
        let here = self.here.now();
        let before = self.lock().replace((now, here));
        let jumped_ms = before.map_or(0, |(said, at)| said.plus_ms(at.ms_until(here)).ms_until(now));
        if jumped_ms.abs() > JUMP_MS {
            let by_seconds = jumped_ms / 1_000;
            tracing::warn!(
                by_seconds,
                "the database's wall clock jumped; holds and entries end by that much earlier or later"
            );
        }
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
