//! The embedded clock. It starts at the later of the wall clock and the newest time in the ledger, and is
//! monotonic from then on. Setting the wall clock back or forward cannot revive or end anything; it is
//! only logged.

use std::sync::Weak;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rules::time::{Clock, Moment};

/// A larger jump of the wall clock against this one is logged.
const JUMP_MS: i64 = 60_000;
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct EmbeddedClock {
    began: Instant,
    began_at: Moment,
    /// How far the wall clock was ahead when it was last logged.
    ahead_ms: AtomicI64,
}

impl EmbeddedClock {
    pub fn starting(newest_known: Moment) -> EmbeddedClock {
        let wall = wall();
        let began_at = wall.max(newest_known);
        EmbeddedClock { began: Instant::now(), began_at, ahead_ms: AtomicI64::new(began_at.ms_until(wall)) }
    }

    /// Checks the wall clock for as long as this clock is in use.
    pub async fn watch(clock: Weak<EmbeddedClock>) {
        while let Some(clock) = clock.upgrade() {
            if let Some(jumped_ms) = clock.jumped(wall()) {
                let by_seconds = jumped_ms / 1_000;
                tracing::warn!(by_seconds, "the wall clock jumped; holds and entries are not affected");
            }
            drop(clock);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// How far the wall clock jumped against this one, if that is far and not logged yet.
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
    fn starts_no_earlier_than_the_ledger() {
        let future = wall().plus_ms(3_600_000);
        assert!(EmbeddedClock::starting(future).now() >= future);
        assert!(EmbeddedClock::starting(Moment(0)).now() > Moment(1_700_000_000_000));
    }

    #[test]
    fn a_wall_clock_jump_is_reported_once() {
        let clock = EmbeddedClock::starting(Moment(0));
        let wall = clock.now();
        assert_eq!(clock.jumped(wall.plus_ms(1_000)), None, "a second is not reported");
        let jumped = clock.jumped(wall.plus_ms(3_600_000)).unwrap();
        assert!((3_590_000..=3_600_000).contains(&jumped), "{jumped}");
        assert_eq!(clock.jumped(wall.plus_ms(3_600_000)), None, "reported before");
        assert!(clock.jumped(wall).unwrap() < -3_590_000, "and back");
        assert!(clock.now().ms_until(wall).abs() < 10_000, "this clock did not move");
    }
}
