//! How much processor time refusals may take. A refusal costs a fifth of a sale, so refusing everybody in a
//! crowd of many times the peak would leave nothing for the sales. Those who cannot be refused either are left
//! unread, which costs nothing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Handle;

/// Refusals may take this share of the processor time that the process gets. With a tenth, more people were told
/// when to come again and fewer were served: 0.8 of the peak instead of 0.9.
const ONE_IN: u32 = 40;
/// While the backlog is too long although the kernel drops whom nobody could serve: it is shortened only once.
const ONE_IN_BACKLOG: u32 = 6;
/// They may always take this share of the time that passes, as beside a slow ledger, which leaves the processor idle.
const ALWAYS: u32 = 80;
/// Threads that work for less than this share of the time, in percent, leave time for any number of refusals.
const IDLE: u128 = 30;
/// So do those that work for less than this, as long as timers fire on time. A process whose ledger shares its core, or
/// that has a part of a core, is full although its threads wait; then its timers are late.
const WORKING: u128 = 80;
const PUNCTUAL: Duration = Duration::from_millis(2);

/// The processor time of this thread. Not the time that passes: the threads of a busy server wait for each other.
pub fn thread_time() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How long those wait who come into the kernel's backlog now.
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

/// So far.
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

    /// A refusal took so much processor time.
    pub fn spend(&self, took: Duration) {
        self.spent_us.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }

    pub fn see_backlog(&self, backlog: BacklogWait) {
        self.backlog.store(backlog as u8, Ordering::Relaxed);
    }

    /// Whether those who wait in the backlog will be served soon: then nobody of them is refused.
    pub fn backlog_is_short(&self) -> bool {
        self.backlog.load(Ordering::Relaxed) == BacklogWait::Short as u8
    }

    /// No time is left until the next beat.
    #[cfg(test)]
    pub fn spend_all(&self) {
        self.most_us.store(0, Ordering::Relaxed);
    }

    /// Begins anew after a beat of this length. `late`: the mean of the last beats.
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
