//! The embedded clock: it begins at the later of the wall clock and the newest ledger time, then
//! runs monotonic. A wall clock that is set back cannot revive or end anything.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rules::time::{Clock, Moment};

#[derive(Debug)]
pub struct EmbeddedClock {
    began: Instant,
    began_at: Moment,
}

impl EmbeddedClock {
    pub fn starting(newest_known: Moment) -> EmbeddedClock {
        let began_at = wall().max(newest_known);
        EmbeddedClock { began: Instant::now(), began_at }
    }
}

impl Clock for EmbeddedClock {
    fn now(&self) -> Moment {
        self.began_at.plus_ms(self.began.elapsed().as_millis() as i64)
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
fn wall() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(since.as_millis() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_behind_the_ledger() {
        let future = wall().plus_ms(3_600_000);
        assert!(EmbeddedClock::starting(future).now() >= future);
        assert!(EmbeddedClock::starting(Moment(0)).now() > Moment(1_700_000_000_000));
    }
}
