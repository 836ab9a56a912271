//! What the ledger calls now, between two answers of the database: its last word plus the time
//! that has passed here since. For showing states only; decisions ask the database, under the lock.

use std::sync::Mutex;
use std::time::Instant;

use rules::time::Moment;

#[derive(Debug, Default)]
pub struct LastWord(Mutex<Option<(Moment, Instant)>>);

impl LastWord {
    pub fn saw(&self, now: Moment) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some((now, Instant::now()));
    }

    /// The beginning of time, as long as the database has not said anything.
    pub fn now(&self) -> Moment {
        let word = *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        word.map_or(Moment(0), |(said, at)| said.plus_ms(at.elapsed().as_millis() as i64))
    }
}
