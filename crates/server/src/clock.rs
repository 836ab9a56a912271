//! The clock of an embedded server, with two hands. The monotonic hand starts at the later of the wall clock
//! and the newest time in the ledger, and never goes back; suspended time counts. Setting the wall clock
//! cannot revive or end anything. The wall hand is the wall clock itself. See
//! `docs/decisions/0015-two-hands-of-the-clock.md`.

use std::sync::Weak;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rules::time::{Clock, Moment};

/// The wall clock was set if it moved by more than this against the monotonic hand.
const STEP_MS: i64 = 2_000;
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where the hands get their time from.
pub trait Hands: Send + Sync {
    /// Since some moment in the past. Never goes back, and counts while the machine is suspended.
    fn since_boot(&self) -> Duration;

    fn wall(&self) -> Moment;
}

/// The clocks of the operating system.
#[derive(Debug)]
pub struct SystemHands;

impl Hands for SystemHands {
    #[cfg(target_os = "linux")]
    fn since_boot(&self) -> Duration {
        let at = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::new(at.tv_sec.max(0) as u64, at.tv_nsec as u32)
    }

    /// Whether suspended time counts is up to the operating system.
    #[cfg(not(target_os = "linux"))]
    fn since_boot(&self) -> Duration {
        use std::sync::OnceLock;
        use std::time::Instant;
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        BEGAN.get_or_init(Instant::now).elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    fn wall(&self) -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(since.as_millis() as i64)
    }
}

/// Nanoseconds since 1970 by the wall clock, for traces.
#[expect(clippy::disallowed_methods, reason = "Moment has milliseconds only")]
pub fn wall_unix_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

#[derive(Debug)]
pub struct EmbeddedClock<H = SystemHands> {
    hands: H,
    began: Duration,
    began_at: Moment,
    /// How far the wall clock was ahead of the monotonic hand when it was last set.
    ahead_ms: AtomicI64,
}

impl EmbeddedClock {
    pub fn starting(newest_known: Moment) -> EmbeddedClock {
        EmbeddedClock::with(SystemHands, newest_known)
    }

    /// Checks the wall clock for as long as this clock is in use.
    pub async fn watch(clock: Weak<EmbeddedClock>) {
        while let Some(clock) = clock.upgrade() {
            if let Some(stepped_ms) = clock.stepped() {
                let by_seconds = stepped_ms / 1_000;
                tracing::warn!(by_seconds, "the wall clock jumped; holds and entries are not affected");
            }
            drop(clock);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

impl<H: Hands> EmbeddedClock<H> {
    pub fn with(hands: H, newest_known: Moment) -> EmbeddedClock<H> {
        let wall = hands.wall();
        let began_at = wall.max(newest_known);
        let ahead_ms = AtomicI64::new(began_at.ms_until(wall));
        EmbeddedClock { began: hands.since_boot(), hands, began_at, ahead_ms }
    }

    /// By how much the wall clock was set since the last call, if it was.
    pub fn stepped(&self) -> Option<i64> {
        let ahead = self.now().ms_until(self.wall());
        let by = ahead - self.ahead_ms.load(Ordering::Relaxed);
        (by.abs() > STEP_MS).then(|| {
            self.ahead_ms.store(ahead, Ordering::Relaxed);
            by
        })
    }
}

impl<H: Hands> Clock for EmbeddedClock<H> {
    fn now(&self) -> Moment {
        self.began_at.plus_ms(self.hands.since_boot().saturating_sub(self.began).as_millis() as i64)
    }

    fn wall(&self) -> Moment {
        self.hands.wall()
    }

    fn shift_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const TODAY: Moment = Moment(1_800_000_000_000);
    const HOUR: i64 = 3_600_000;

    /// Hands that a test moves.
    #[derive(Default)]
    struct Moved {
        boot_ms: AtomicI64,
        wall_ms: AtomicI64,
    }

    impl Moved {
        fn pass(&self, ms: i64) {
            self.boot_ms.fetch_add(ms, Ordering::Relaxed);
            self.wall_ms.fetch_add(ms, Ordering::Relaxed);
        }
    }

    impl Hands for Arc<Moved> {
        fn since_boot(&self) -> Duration {
            Duration::from_millis(self.boot_ms.load(Ordering::Relaxed) as u64)
        }

        fn wall(&self) -> Moment {
            TODAY.plus_ms(self.wall_ms.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn starts_no_earlier_than_the_ledger() {
        let future = SystemHands.wall().plus_ms(HOUR);
        assert!(EmbeddedClock::starting(future).now() >= future);
        assert!(EmbeddedClock::starting(Moment(0)).now() > Moment(1_700_000_000_000));
    }

    #[test]
    fn setting_the_wall_clock_moves_the_wall_hand_alone() {
        let hands = Arc::new(Moved::default());
        let clock = EmbeddedClock::with(hands.clone(), Moment(0));
        hands.pass(5_000);
        hands.wall_ms.fetch_add(HOUR, Ordering::Relaxed);
        assert_eq!((clock.now(), clock.wall()), (TODAY.plus_ms(5_000), TODAY.plus_ms(5_000 + HOUR)));
    }

    #[test]
    fn suspended_time_passes_on_both_hands() {
        let hands = Arc::new(Moved::default());
        let clock = EmbeddedClock::with(hands.clone(), Moment(0));
        hands.pass(8 * HOUR);
        assert_eq!((clock.now(), clock.wall()), (TODAY.plus_ms(8 * HOUR), TODAY.plus_ms(8 * HOUR)));
        assert_eq!(clock.stepped(), None, "nobody set the wall clock");
    }

    #[test]
    fn moments_are_shown_as_the_wall_clock_has_them() {
        let hands = Arc::new(Moved::default());
        let clock = EmbeddedClock::with(hands.clone(), TODAY.plus_ms(HOUR));
        assert_eq!(clock.now().plus_ms(clock.shift_ms()), clock.wall(), "the ledger is an hour ahead");
        let before = clock.now();
        hands.wall_ms.fetch_add(2 * HOUR, Ordering::Relaxed);
        assert_eq!(clock.stepped(), Some(2 * HOUR));
        assert_eq!(before.plus_ms(clock.shift_ms()), clock.wall());
    }

    #[test]
    fn a_wall_clock_step_is_reported_once() {
        let hands = Arc::new(Moved::default());
        let clock = EmbeddedClock::with(hands.clone(), Moment(0));
        hands.wall_ms.fetch_add(1_000, Ordering::Relaxed);
        assert_eq!(clock.stepped(), None, "a second is not reported");
        hands.wall_ms.fetch_add(HOUR, Ordering::Relaxed);
        assert_eq!((clock.stepped(), clock.stepped()), (Some(HOUR + 1_000), None));
        hands.wall_ms.fetch_sub(HOUR, Ordering::Relaxed);
        assert_eq!(clock.stepped(), Some(-HOUR), "and back");
        assert_eq!(clock.now(), TODAY, "the monotonic hand did not move");
    }

    /// The clock that counts suspended time is not behind the one that does not.
    #[test]
    #[cfg(target_os = "linux")]
    fn boot_time_includes_suspended_time() {
        let awake = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        assert!(SystemHands.since_boot() >= Duration::new(awake.tv_sec as u64, awake.tv_nsec as u32));
    }
}
