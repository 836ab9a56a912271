//! Log lines of an outage: one a second from each place in the code, however many batches or requests
//! fail. Each line says how many were left out before it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);

/// The limit of one place. `limited!` makes one.
pub struct LogLimit(Mutex<LastLine>);

struct LastLine {
    at: Option<Instant>,
    left_out: u64,
}

impl LogLimit {
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> LogLimit {
        LogLimit(Mutex::new(LastLine { at: None, left_out: 0 }))
    }

    /// Some: a line may be written now; so many were left out since the last one.
    pub fn pass(&self) -> Option<u64> {
        self.pass_at(Instant::now())
    }

    fn pass_at(&self, now: Instant) -> Option<u64> {
        let mut last = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if last.at.is_some_and(|at| now.saturating_duration_since(at) < INTERVAL) {
            last.left_out += 1;
            return None;
        }
        last.at = Some(now);
        Some(std::mem::take(&mut last.left_out))
    }
}

/// `limited!(error, %fault, "a batch failed")`: the line of `tracing::error!`, at most once a second from
/// this place.
#[macro_export]
macro_rules! limited {
    ($level:ident, $($line:tt)+) => {{
        static LIMIT: $crate::log_limit::LogLimit = $crate::log_limit::LogLimit::new();
        if let Some(left_out) = LIMIT.pass() {
            ::tracing::$level!(left_out, $($line)+);
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_with_a_count_of_the_others() {
        let (limit, start) = (LogLimit::new(), Instant::now());
        let at = |ms| limit.pass_at(start + Duration::from_millis(ms));
        assert_eq!([at(0), at(1), at(999), at(1_000), at(1_500)], [Some(0), None, None, Some(2), None]);
        assert_eq!([at(9_000), at(10_000)], [Some(1), Some(0)]);
    }
}
