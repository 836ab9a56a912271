//! Moments in milliseconds since 1970 UTC. The rules are handed `now`; they never ask for it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    pub fn plus_ms(self, ms: i64) -> Moment {
        Moment(self.0.saturating_add(ms))
    }

    pub fn ms_until(self, later: Moment) -> i64 {
        later.0.saturating_sub(self.0)
    }

    /// Whole seconds until `later`, rounded up, never negative: what a countdown shows.
    pub fn seconds_until(self, later: Moment) -> u64 {
        let ms = self.ms_until(later).max(0) as u64;
        ms.div_ceil(1000)
    }
}

/// Where `now` comes from. Implemented outside this crate: by the system, or by a test's hand.
pub trait Clock: Send + Sync {
    fn now(&self) -> Moment;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_up_and_stop_at_zero() {
        assert_eq!(Moment(0).seconds_until(Moment(1)), 1);
        assert_eq!(Moment(0).seconds_until(Moment(1000)), 1);
        assert_eq!(Moment(5000).seconds_until(Moment(1000)), 0);
    }
}
