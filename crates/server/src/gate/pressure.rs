//! How hard the server is pressed: by requests in progress, compared with how many it can serve in a
//! short time, and by how late the runtime is. Both are measured every 20 ms.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use salvo::http::{HeaderMap, HeaderValue, ResBody};
use salvo::hyper::Response;
use tokio::sync::Notify;

use super::kinds::{GateRequest, RequestKind};
use super::planted::{self, OverloadBug};
use super::retry::Appointments;
use crate::http::respond::PreparedRefusals;

const BEAT: Duration = Duration::from_millis(20);
/// Admitted requests should be answered within this time on average. Longer: a standing queue.
const TARGET_US: u64 = 250_000;
/// No more than this, measured or not.
const MOST: usize = 65_536;
/// A runtime that is this late counts as full. The least lateness of the last beats counts: a machine that
/// is busy with something else makes single beats late, a standing queue of tasks all of them.
const LATE_US: u64 = 150_000;
const BEATS: usize = 8;
/// A runtime that is this late accepts few new connections.
const ACCEPT_LATE_US: u64 = 75_000;
const ACCEPTS_WHEN_LATE: i64 = 256;
/// The rate is that of the last second in which something was in progress, and known after a tenth.
const KNOWN_FOR: Duration = Duration::from_secs(1);
const KNOWN_LEAST: Duration = Duration::from_millis(100);
/// A mean of fewer requests says nothing.
const SAMPLES: u64 = 16;
/// Subjects are counted in so many groups: bounded, whatever ids people invent.
const GROUPS: usize = 256;

pub struct Gate {
    began: Instant,
    /// So many may always be in progress, however slow the ledger is.
    least: usize,
    in_progress: AtomicUsize,
    /// How many may be in progress.
    limit: AtomicUsize,
    late_us: AtomicU64,
    late_beats: Mutex<[u64; BEATS]>,
    accepts: AtomicI64,
    beaten: Notify,
    /// Since the last beat.
    finished: AtomicU64,
    took_us: AtomicU64,
    refused_now: AtomicU64,
    served: Mutex<ServedLately>,
    /// Changes served per second.
    rate: AtomicU64,
    refused: AtomicU64,
    groups: Box<[AtomicUsize]>,
    /// Groups with requests in progress.
    active: AtomicUsize,
    appointments: Appointments,
    prepared: PreparedRefusals,
    planted: OverloadBug,
}

impl Gate {
    pub fn new(least: usize, planted: OverloadBug) -> Arc<Gate> {
        Arc::new(Gate {
            began: Instant::now(),
            least,
            in_progress: AtomicUsize::new(0),
            limit: AtomicUsize::new(MOST),
            late_us: AtomicU64::new(0),
            late_beats: Mutex::default(),
            accepts: AtomicI64::new(i64::MAX),
            beaten: Notify::new(),
            finished: AtomicU64::new(0),
            took_us: AtomicU64::new(0),
            refused_now: AtomicU64::new(0),
            served: Mutex::default(),
            rate: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            groups: (0..GROUPS).map(|_| AtomicUsize::new(0)).collect(),
            active: AtomicUsize::new(0),
            appointments: Appointments::default(),
            prepared: PreparedRefusals::default(),
            planted,
        })
    }

    /// Lets a request in, or says that the gate is full for it. None: it is not counted, because it passes no
    /// lane and says nothing about the ledger.
    pub fn enter(self: &Arc<Self>, asked: GateRequest) -> Result<Option<Admitted>, GateFull> {
        if asked.kind == RequestKind::Operate {
            return Ok(None);
        }
        let group = asked.event.rem_euclid(GROUPS as i64) as usize;
        let (in_progress, limit) = (self.in_progress.load(Ordering::Relaxed), self.limit.load(Ordering::Relaxed));
        let late = self.late_us.load(Ordering::Relaxed);
        let allowed = asked.kind.refused_from();
        let pressure = (in_progress * 100 / limit).max((late * 100 / LATE_US) as usize);
        if pressure >= allowed && planted::sheds(self.planted) {
            // A subject with less than its share is let in, as long as the runtime itself keeps up.
            let own = self.groups[group].load(Ordering::Relaxed);
            let active = self.active.load(Ordering::Relaxed) + usize::from(own == 0);
            let share = limit * allowed / 100 / active.max(1);
            if active < 2 || own >= share || pressure >= 2 * allowed {
                self.refused.fetch_add(1, Ordering::Relaxed);
                self.refused_now.fetch_add(1, Ordering::Relaxed);
                return Err(GateFull);
            }
        }
        if !asked.kind.changes() {
            return Ok(None);
        }
        self.count(group);
        Ok(Some(Admitted { gate: self.clone(), group, began: Instant::now(), took: Duration::ZERO, waits: false }))
    }

    fn count(&self, group: usize) {
        self.in_progress.fetch_add(1, Ordering::Relaxed);
        if self.groups[group].fetch_add(1, Ordering::Relaxed) == 0 {
            self.active.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn uncount(&self, group: usize) {
        self.in_progress.fetch_sub(1, Ordering::Relaxed);
        if self.groups[group].fetch_sub(1, Ordering::Relaxed) == 1 {
            self.active.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Seconds after which a request that was refused for load should come again.
    pub fn retry_after(&self) -> u64 {
        let seconds = self.appointments.next(self.now(), self.rate.load(Ordering::Relaxed));
        planted::retry_after(self.planted, seconds)
    }

    /// The prepared refusal of a request with these headers.
    pub fn refusal(
        &self,
        asked: GateRequest,
        headers: &HeaderMap,
        trace: &HeaderValue,
        close: bool,
    ) -> Response<ResBody> {
        // Reads and those in line are needed again soon, and wait for no appointment.
        let retry = if asked.kind.changes() { self.retry_after() } else { self.appointments.soon() };
        self.prepared.answer(headers, asked.speech, trace, retry, close)
    }

    /// Waits while the runtime is so late that further connections would only make it later.
    pub async fn accepting(&self) {
        loop {
            let beaten = self.beaten.notified();
            if self.accepts.fetch_sub(1, Ordering::Relaxed) > 0 {
                return;
            }
            beaten.await;
        }
    }

    /// Measures until the gate is gone.
    pub async fn beat(gate: std::sync::Weak<Gate>) {
        let mut last = Instant::now();
        loop {
            tokio::time::sleep(BEAT).await;
            let Some(gate) = gate.upgrade() else { return };
            let elapsed = last.elapsed();
            last = Instant::now();
            gate.measure(elapsed);
        }
    }

    fn measure(&self, elapsed: Duration) {
        let late = elapsed.saturating_sub(BEAT).as_micros() as u64;
        let late = {
            let mut beats = self.late_beats.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            beats.rotate_left(1);
            beats[BEATS - 1] = late;
            beats.iter().copied().min().unwrap_or(0)
        };
        self.late_us.store(late, Ordering::Relaxed);
        self.accepts.store(if late > ACCEPT_LATE_US { ACCEPTS_WHEN_LATE } else { i64::MAX }, Ordering::Relaxed);
        self.beaten.notify_waiters();

        let finished = self.finished.swap(0, Ordering::Relaxed);
        let took = self.took_us.swap(0, Ordering::Relaxed);
        let in_progress = self.in_progress.load(Ordering::Relaxed);
        let busy = finished > 0 || in_progress > 0;
        let served = self.served.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).rate(busy, finished, elapsed);
        if let Some(rate) = served {
            self.rate.store(rate, Ordering::Relaxed);
        }
        let limit = self.limit.load(Ordering::Relaxed);
        let slow = finished >= SAMPLES && took / finished > TARGET_US;
        let wanted = match served.map(|rate| (rate * TARGET_US / 1_000_000) as usize) {
            // As many as are served in the target time.
            Some(in_time) if slow || in_progress > 2 * in_time.max(self.least) => in_time.clamp(self.least, MOST),
            _ => (limit + limit / 20 + 1).min(MOST),
        };
        self.limit.store(wanted, Ordering::Relaxed);
        if self.refused_now.swap(0, Ordering::Relaxed) == 0 && in_progress < wanted / 2 {
            self.appointments.calm();
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    /// Requests refused so far.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Admitted requests that have not been answered.
    pub fn in_progress(&self) -> usize {
        self.in_progress.load(Ordering::Relaxed)
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }
}

/// What was served in the last second of work. Batches end in bursts, so a shorter time says little.
#[derive(Default)]
struct ServedLately {
    beats: VecDeque<(Duration, u64)>,
    time: Duration,
    count: u64,
}

impl ServedLately {
    /// Per second; none while too little is known.
    fn rate(&mut self, busy: bool, finished: u64, elapsed: Duration) -> Option<u64> {
        if busy {
            self.beats.push_back((elapsed, finished));
            (self.time, self.count) = (self.time + elapsed, self.count + finished);
        }
        while self.time > KNOWN_FOR
            && let Some((time, count)) = self.beats.pop_front()
        {
            (self.time, self.count) = (self.time - time, self.count - count);
        }
        let known = self.time >= KNOWN_LEAST;
        known.then(|| (self.count as f64 / self.time.as_secs_f64()) as u64)
    }
}

/// The gate is full for a request.
#[derive(Debug)]
pub struct GateFull;

/// A request in progress, until it is dropped. While it waits for its client it is not counted: a slow body says
/// nothing about this server, and a thousand of them must not make it refuse others.
pub struct Admitted {
    gate: Arc<Gate>,
    group: usize,
    began: Instant,
    /// Before it last waited.
    took: Duration,
    waits: bool,
}

impl Admitted {
    /// Whether the request waits for its client now.
    pub fn waits_for_client(&mut self, waits: bool) {
        match (self.waits, waits) {
            (false, true) => {
                self.took += self.began.elapsed();
                self.gate.uncount(self.group);
            }
            (true, false) => {
                self.began = Instant::now();
                self.gate.count(self.group);
            }
            _ => {}
        }
        self.waits = waits;
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        // The client left while it was waited for.
        if self.waits {
            return;
        }
        let gate = &self.gate;
        gate.uncount(self.group);
        gate.finished.fetch_add(1, Ordering::Relaxed);
        let took = self.took + self.began.elapsed();
        gate.took_us.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }
}
