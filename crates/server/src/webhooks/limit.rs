//! The time limit of a receiver's response. Tests shorten it, also for requests in flight.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// From DNS resolution to the last byte of the response.
const TIME_LIMIT: Duration = Duration::from_secs(15);

pub struct AnswerLimit {
    limit: watch::Sender<Duration>,
}

impl Default for AnswerLimit {
    fn default() -> AnswerLimit {
        AnswerLimit { limit: watch::Sender::new(TIME_LIMIT) }
    }
}

impl AnswerLimit {
    /// Returns when a request that began at `began` has exceeded the limit, or `most`.
    pub async fn passed(&self, began: Instant, most: Option<Duration>) -> Duration {
        let mut limit = self.limit.subscribe();
        loop {
            let allowed = *limit.borrow_and_update();
            let allowed = most.map_or(allowed, |most| most.min(allowed));
            tokio::select! {
                () = tokio::time::sleep_until(began + allowed) => return allowed,
                // The sender is in `self`, so the channel is open.
                _ = limit.changed() => {}
            }
        }
    }

    #[cfg(feature = "planted")]
    pub fn set(&self, limit: Duration) {
        self.limit.send_replace(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn receivers_have_fifteen_seconds_unless_told_otherwise() {
        let limit = AnswerLimit::default();
        assert_eq!(*limit.limit.borrow(), Duration::from_secs(15));
        let began = Instant::now();
        let most = Some(Duration::from_millis(1));
        assert_eq!(limit.passed(began, most).await, Duration::from_millis(1));
        assert!(began.elapsed() < Duration::from_secs(15));
    }
}
