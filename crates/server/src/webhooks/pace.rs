//! Deliveries yield to a crowd: while many requests are in progress, the number of messages per second is limited.
//! The others follow after the crowd; the history keeps them. The rate rises with the backlog, so that messages are
//! at most about a minute late in a lasting crowd. Where a hold ends, deliveries do not yield (`urgent`).

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// A sale with this many requests in progress at once uses the whole machine.
const CROWD: usize = 32;
/// A crowd counts as present for this long after it was last seen: between two batches few requests are in progress.
const STAYS: Duration = Duration::from_secs(1);
/// Messages per second in a crowd, over all endpoints.
const RATE: u64 = 100;
/// The backlog is delivered within this time even if the crowd lasts.
const LATE_MOST_S: u64 = 60;
/// How often a cursor is stored while deliveries succeed: each time is a transaction. After a crash the messages
/// since then are delivered again; in a crowd they are fewer.
const STORE_EVERY: Duration = Duration::from_millis(200);
const STORE_EVERY_IN_A_CROWD: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct DeliveryPace {
    paced: Mutex<Paced>,
}

#[derive(Default)]
struct Paced {
    crowd_until: Option<Instant>,
    next: Option<Instant>,
    /// History rows that were not delivered yet, as last counted.
    outstanding: HashMap<i64, u64>,
    /// Tests: there is a crowd, whoever asks.
    #[cfg(feature = "planted")]
    always: bool,
}

impl DeliveryPace {
    /// Waits until the next message may be sent.
    pub async fn turn(&self, in_progress: usize) {
        let turn = self.locked().book(Instant::now(), in_progress);
        if let Some(at) = turn {
            tokio::time::sleep_until(at).await;
        }
    }

    /// Records how many history rows are after the cursors of an endpoint.
    pub fn outstanding(&self, webhook: i64, rows: u64) {
        self.locked().outstanding.insert(webhook, rows);
    }

    /// This server no longer delivers to it.
    pub fn forget(&self, webhook: i64) {
        self.locked().outstanding.remove(&webhook);
    }

    pub fn store_every(&self, in_progress: usize) -> Duration {
        let crowded = self.locked().sees_crowd(Instant::now(), in_progress);
        if crowded { STORE_EVERY_IN_A_CROWD } else { STORE_EVERY }
    }

    /// From now on there is a crowd.
    #[cfg(feature = "planted")]
    pub fn be_crowded(&self) {
        self.locked().always = true;
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Paced> {
        self.paced.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Paced {
    fn sees_crowd(&mut self, now: Instant, in_progress: usize) -> bool {
        #[cfg(feature = "planted")]
        let in_progress = if self.always { CROWD } else { in_progress };
        if in_progress >= CROWD {
            self.crowd_until = Some(now + STAYS);
        }
        self.crowd_until.is_some_and(|until| now < until)
    }

    /// When the next message may be sent. None: at once.
    fn book(&mut self, now: Instant, in_progress: usize) -> Option<Instant> {
        if !self.sees_crowd(now, in_progress) {
            self.next = None;
            return None;
        }
        let at = self.next.map_or(now, |next| next.max(now));
        self.next = Some(at + self.gap());
        Some(at)
    }

    fn gap(&self) -> Duration {
        let outstanding: u64 = self.outstanding.values().sum();
        Duration::from_secs(1) / u32::try_from(RATE.max(outstanding / LATE_MOST_S)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a hundred messages take from now on.
    fn hundred(paced: &mut Paced, now: Instant) -> Duration {
        let booked: Vec<Instant> = (0..101).filter_map(|_| paced.book(now, CROWD)).collect();
        booked[100] - booked[0]
    }

    #[test]
    fn messages_are_spread_in_a_crowd() {
        let (mut paced, now) = (Paced::default(), Instant::now());
        assert_eq!(paced.book(now, CROWD - 1), None);
        assert_eq!(hundred(&mut paced, now), 100 * Duration::from_secs(1) / RATE as u32);
        // Later nobody waits for what was not used.
        let later = now + Duration::from_secs(9);
        assert_eq!(paced.book(later, CROWD), Some(later));
    }

    #[test]
    fn crowd_is_remembered_between_two_batches() {
        let (mut paced, now) = (Paced::default(), Instant::now());
        paced.book(now, CROWD);
        assert!(paced.book(now + STAYS / 2, 0).is_some());
        assert_eq!(paced.book(now + STAYS, 0), None);
    }

    #[test]
    fn what_is_outstanding_goes_out_within_a_minute() {
        let (mut paced, now) = (Paced::default(), Instant::now());
        for webhook in [1, 2] {
            paced.outstanding.insert(webhook, 60_000);
        }
        assert_eq!(hundred(&mut paced, now), Duration::from_millis(50), "2,000 per second");
        paced.outstanding.remove(&2);
        let later = now + Duration::from_secs(9);
        assert_eq!(hundred(&mut paced, later), Duration::from_millis(100));
    }
}
