//! Deliveries give way to a crowd: while many requests are in progress, only so many messages per second go out. The
//! others follow when the crowd is gone; the history keeps them.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// A sale in which so many requests are in progress at once uses the whole machine.
const CROWD: usize = 32;
/// Between two messages, of all endpoints together.
const GAP: Duration = Duration::from_millis(5);

pub struct DeliveryPace {
    next: Mutex<Instant>,
}

impl Default for DeliveryPace {
    fn default() -> DeliveryPace {
        DeliveryPace { next: Mutex::new(Instant::now()) }
    }
}

impl DeliveryPace {
    /// Waits until the next message may go out.
    pub async fn turn(&self, in_progress: usize) {
        if in_progress >= CROWD {
            tokio::time::sleep_until(self.book(Instant::now())).await;
        }
    }

    fn book(&self, now: Instant) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let at = now.max(*next);
        *next = at + GAP;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_spread_in_a_crowd() {
        let (pace, now) = (DeliveryPace::default(), Instant::now());
        let booked: Vec<Instant> = (0..101).map(|_| pace.book(now)).collect();
        assert_eq!(booked[100] - booked[0], 100 * GAP);
        // Later nobody waits for what was not used.
        let later = now + Duration::from_secs(9);
        assert_eq!(pace.book(later), later);
    }
}
