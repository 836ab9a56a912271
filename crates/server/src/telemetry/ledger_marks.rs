//! When the ledger passed the steps of one batch. The ledger says that it has, and the time is taken here: two readings of
//! the clock per batch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stores::ledger::{BatchWatcher, LedgerStep};

/// Written by the ledger while a batch is under way. Nanoseconds since `began`; zero is not reached.
#[derive(Debug)]
pub struct LedgerMarks {
    began: Instant,
    admitted: AtomicU64,
    decided: AtomicU64,
}

/// What a ledger has reached with a batch, and when. Both are absent for a ledger that does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerTimes {
    /// It has the subject's lock, and has read what the requests need.
    pub admitted: Option<Instant>,
    /// The rules have answered every request.
    pub decided: Option<Instant>,
}

/// The three steps of a batch in the ledger. None: it was not reached, or is part of a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerStepTimes {
    pub admit: Option<Duration>,
    pub decide: Option<Duration>,
    pub commit: Option<Duration>,
}

impl LedgerMarks {
    pub fn new(began: Instant) -> LedgerMarks {
        LedgerMarks { began, admitted: AtomicU64::new(0), decided: AtomicU64::new(0) }
    }

    pub fn times(&self) -> LedgerTimes {
        let at = |mark: &AtomicU64| match mark.load(Ordering::Acquire) {
            0 => None,
            ns => Some(self.began + Duration::from_nanos(ns)),
        };
        let admitted = at(&self.admitted);
        LedgerTimes { admitted, decided: at(&self.decided).filter(|decided| admitted.is_some_and(|a| a <= *decided)) }
    }
}

impl BatchWatcher for LedgerMarks {
    fn reached(&self, step: LedgerStep) {
        let ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
        let mark = match step {
            LedgerStep::Admitted => &self.admitted,
            LedgerStep::Decided => &self.decided,
        };
        mark.store(ns, Ordering::Release);
    }
}

impl LedgerTimes {
    /// The steps of a batch from `began` to `ended`, without gaps. One that failed was in its last step when it ended.
    pub fn steps(self, began: Instant, ended: Instant, failed: bool) -> LedgerStepTimes {
        let between = |from: Instant, to: Instant| Some(to.saturating_duration_since(from));
        let (admit, decide, commit) = match (self.admitted, self.decided) {
            (Some(admitted), Some(decided)) => {
                (between(began, admitted), between(admitted, decided), between(decided, ended))
            }
            (Some(admitted), None) if failed => (between(began, admitted), between(admitted, ended), None),
            (None, _) if failed => (between(began, ended), None, None),
            _ => (None, None, between(began, ended)),
        };
        LedgerStepTimes { admit, decide, commit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_no_gaps_and_a_failed_batch_ends_in_one() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let steps = |admitted: Option<u64>, decided: Option<u64>, failed| {
            let times = LedgerTimes { admitted: admitted.map(at), decided: decided.map(at) };
            let LedgerStepTimes { admit, decide, commit } = times.steps(began, at(31), failed);
            [admit, decide, commit].map(|time| time.map(|time| time.as_millis()))
        };
        for failed in [false, true] {
            assert_eq!(steps(Some(4), Some(6), failed), [Some(4), Some(2), Some(25)]);
        }
        assert_eq!(steps(Some(4), None, true), [Some(4), Some(27), None]);
        assert_eq!(steps(None, None, true), [Some(31), None, None]);
        assert_eq!(steps(None, None, false), [None, None, Some(31)], "a ledger that does not say");
    }

    #[test]
    fn last_time_counts() {
        let marks = LedgerMarks::new(Instant::now());
        assert_eq!(marks.times(), LedgerTimes::default());
        marks.reached(LedgerStep::Admitted);
        marks.reached(LedgerStep::Decided);
        let first = marks.times();
        assert!(first.admitted <= first.decided && first.decided.is_some());
        // It is tried again, and has not been decided again.
        std::thread::sleep(Duration::from_millis(1));
        marks.reached(LedgerStep::Admitted);
        assert!(marks.times().admitted > first.admitted && marks.times().decided.is_none());
    }
}
