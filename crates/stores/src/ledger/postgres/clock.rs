//! The ledger's clock between two replies of the database: the last time it reported plus the local time since. It is
//! for display only; decisions read the database's clock, under the row lock.

use std::sync::{Arc, Mutex, MutexGuard};

use rules::time::{Clock, Moment};

/// A larger jump of the database's clock is logged.
const JUMP_MS: i64 = 60_000;

pub struct DatabaseClock {
    /// Only differences between its readings are used.
    here: Arc<dyn Clock>,
    /// The time that the database reported, and the local time of that report.
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

    /// 1970 until the database was reached.
    pub fn now(&self) -> Moment {
        let said = *self.lock();
        said.map_or(Moment(0), |(said, at)| said.plus_ms(at.ms_until(self.here.now())))
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Moment, Moment)>> {
        self.said.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
