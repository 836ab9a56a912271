//! Limits the processor time of refusals. A refusal costs a fifth of a sale, so refusing a crowd of many times the
//! peak would leave nothing for the sales. Requests beyond this budget are left unread, which costs nothing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Handle;

/// Refusals may take one part in this many of the process's processor time. With a tenth, more clients were told when
/// to retry and fewer were served: 0.8 of the peak instead of 0.9.
const ONE_IN: u32 = 40;
/// The same while the backlog is too long although the kernel drops the excess: it is shortened only once.
const ONE_IN_BACKLOG: u32 = 6;
/// They may always take one part in this many of the elapsed time, as when a slow ledger leaves the processor idle.
const ALWAYS: u32 = 80;
/// Threads that are busy for less than this percentage of the time leave room for any number of refusals.
const IDLE: u128 = 30;
/// So do those below this percentage, as long as timers fire on time. A process that shares its core with its ledger,
/// or has a part of a core, is at capacity although its threads wait. Then its timers are late.
const WORKING: u128 = 80;
const PUNCTUAL: Duration = Duration::from_millis(2);

/// The processor time of this thread, not the elapsed time: the threads of a busy server wait for each other.
pub fn thread_time() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How long a connection that enters the kernel's backlog now will wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BacklogWait {
    Unknown,
    Short,
    Long,
    TooLong,
}

/// Renewed with every beat of the gate.
#[derive(Debug)]
pub struct RefusalBudget {
    most_us: AtomicU64,
    spent_us: AtomicU64,
    backlog: AtomicU8,
    last: Mutex<Used>,
}

/// Totals so far.
#[derive(Debug, Default)]
struct Used {
    /// By all threads.
    processor: Duration,
    /// During which the runtime's threads had work.
    working: Duration,
}

impl Default for RefusalBudget {
    fn default() -> Self {
        let (most_us, spent_us) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        RefusalBudget { most_us, spent_us, backlog: AtomicU8::new(BacklogWait::Unknown as u8), last: Mutex::default() }
    }
}

impl RefusalBudget {
    pub fn is_left(&self) -> bool {
        self.spent_us.load(Ordering::Relaxed) < self.most_us.load(Ordering::Relaxed)
    }

    /// Charges the processor time of a refusal to the budget.
    pub fn spend(&self, took: Duration) {
        self.spent_us.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }

    pub fn see_backlog(&self, backlog: BacklogWait) {
        self.backlog.store(backlog as u8, Ordering::Relaxed);
    }

    /// Whether the backlog will be served soon: then none of it is refused.
    pub fn backlog_is_short(&self) -> bool {
        self.backlog.load(Ordering::Relaxed) == BacklogWait::Short as u8
    }

    /// No time is left until the next beat.
    #[cfg(test)]
    pub fn spend_all(&self) {
        self.most_us.store(0, Ordering::Relaxed);
    }

    /// Starts a new budget after a beat of this length. `late`: the mean lateness of the last beats.
    pub fn renew(&self, beat: Duration, late: Duration) {
        let metrics = Handle::current().metrics();
        let threads = metrics.num_workers();
        let working = (0..threads).map(|thread| metrics.worker_total_busy_duration(thread)).sum();
        let now = Used { processor: time_of(ClockId::ProcessCPUTime), working };
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let processor = now.processor.saturating_sub(last.processor);
        let working = now.working.saturating_sub(last.working);
        *last = now;
        let whole = beat * threads as u32;
        let enough = if late <= PUNCTUAL { WORKING } else { IDLE };
        let idle = working.as_micros() * 100 < whole.as_micros() * enough;
        let one_in =
            if self.backlog.load(Ordering::Relaxed) == BacklogWait::TooLong as u8 { ONE_IN_BACKLOG } else { ONE_IN };
        let most = if idle { whole } else { (processor / one_in).max(whole / ALWAYS) };
        self.most_us.store(most.as_micros() as u64, Ordering::Relaxed);
        self.spent_us.store(0, Ordering::Relaxed);
    }
}
