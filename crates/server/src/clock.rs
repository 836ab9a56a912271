//! The embedded clock: it begins at the later of the wall clock and the newest ledger time, then
//! runs monotonic. A wall clock that is set back or forward cannot revive or end anything; that it
//! was set is logged.

use std::sync::Weak;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rules::time::{Clock, Moment};

/// So much between the wall clock and this one is worth a line in the log.
const JUMP_MS: i64 = 60_000;
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct EmbeddedClock {
    began: Instant,
    began_at: Moment,
    /// How far the wall clock is ahead, as it was last said.
    ahead_ms: AtomicI64,
}

impl EmbeddedClock {
    pub fn starting(newest_known: Moment) -> EmbeddedClock {
        let wall = wall();
        let began_at = wall.max(newest_known);
        EmbeddedClock { began: Instant::now(), began_at, ahead_ms: AtomicI64::new(began_at.ms_until(wall)) }
    }

    /// Looks at the wall clock for as long as this one is in use.
    pub async fn watch(clock: Weak<EmbeddedClock>) {
        while let Some(clock) = clock.upgrade() {
            if let Some(jumped_ms) = clock.jumped(wall()) {
                let by_seconds = jumped_ms / 1_000;
                tracing::warn!(by_seconds, "the wall clock was set; holds and entries go on by their own time");
            }
            drop(clock);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// How far the wall clock moved against this one, if that is far and was not said before.
    fn jumped(&self, wall: Moment) -> Option<i64> {
        let ahead = self.now().ms_until(wall);
        let by = ahead - self.ahead_ms.load(Ordering::Relaxed);
        (by.abs() > JUMP_MS).then(|| {
            self.ahead_ms.store(ahead, Ordering::Relaxed);
            by
        })
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

    #[test]
    fn a_wall_clock_that_was_set_is_said_once() {
        let clock = EmbeddedClock::starting(Moment(0));
        let wall = clock.now();
        assert_eq!(clock.jumped(wall.plus_ms(1_000)), None, "a second is nothing");
        let jumped = clock.jumped(wall.plus_ms(3_600_000)).unwrap();
        assert!((3_590_000..=3_600_000).contains(&jumped), "{jumped}");
        assert_eq!(clock.jumped(wall.plus_ms(3_600_000)), None, "said before");
        assert!(clock.jumped(wall).unwrap() < -3_590_000, "and back");
        assert!(clock.now().ms_until(wall).abs() < 10_000, "this clock did not move");
    }
}
