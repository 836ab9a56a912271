//! The pressure on the server: the requests in progress, compared with how many it can serve in a short time, and the
//! lateness of the runtime. Both are measured every 20 ms.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::{Duration, Instant};

use salvo::http::{HeaderMap, HeaderValue, ResBody};
use salvo::hyper::Response;
use tokio::sync::Notify;

use super::coming::{ComingRequests, ExpectedRequest};
use super::kinds::{GateRequest, RequestKind};
use super::parked::{Parked, ParkedRequests};
use super::planted::{self, OverloadBug};
use super::refusing::RefusalBudget;
use super::retry::Appointments;
use super::served::ServedLately;
use crate::http::respond::PreparedRefusals;

const BEAT: Duration = Duration::from_millis(20);
/// Admitted requests should be answered within this time on average. Longer: a standing queue.
const TARGET_US: u64 = 250_000;
/// While requests are refused or wait unread, the limit is what is served in this time. Fewer in progress cost less
/// each: 128 are served at 32,000 a second, 8,192 at 20,000, because the memory of the few stays in the processor's
/// caches.
const BUSY_TARGET_US: u64 = 50_000;
/// The gate is busy until no request was refused or waited for this many beats.
const BUSY_BEATS: u64 = 25;
/// A backlog that lasts for this many beats is a standing queue, and the gate is busy.
const STANDING_BEATS: u64 = TARGET_US / 20_000;
/// The upper bound of the limit, measured or not.
const MOST: usize = 65_536;
/// A runtime that is this late counts as full. The least lateness of the last beats counts: other load on the machine
/// delays single beats, a standing queue of tasks delays all of them.
const LATE_US: u64 = 150_000;
const BEATS: usize = 8;
/// A runtime that is this late accepts few new connections.
const ACCEPT_LATE_US: u64 = 75_000;
const ACCEPTS_WHEN_LATE: i64 = 256;
/// A waiting accept loop is woken when one in this many places is free, or with the next beat.
const PLACES_AT_ONCE: usize = 8;
/// The minimum number of samples for a mean.
const SAMPLES: u64 = 16;
/// Subjects are counted in this many groups: bounded, whatever ids clients invent.
const GROUPS: usize = 256;

pub struct Gate {
    began: Instant,
    /// This many may always be in progress, however slow the ledger is.
    least: usize,
    in_progress: AtomicUsize,
    /// How many may be in progress.
    limit: AtomicUsize,
    late_us: AtomicU64,
    late_beats: Mutex<[u64; BEATS]>,
    accepts: AtomicI64,
    /// The accept loop waits for room.
    held_back: AtomicBool,
    /// Consecutive beats during which it has waited.
    held_beats: AtomicU64,
    /// A beat, or room for another connection.
    beaten: Notify,
    /// Since the last beat.
    finished: AtomicU64,
    took_us: AtomicU64,
    refused_now: AtomicU64,
    served: Mutex<ServedLately>,
    /// Changes served per second.
    rate: AtomicU64,
    /// Beats since a request was refused or waited unread.
    calm_beats: AtomicU64,
    refused: AtomicU64,
    groups: Box<[AtomicUsize]>,
    /// Groups with requests in progress.
    active: AtomicUsize,
    appointments: Appointments,
    refusals: RefusalBudget,
    /// The share of new connections admitted, as the bits of an `f64`.
    let_in: AtomicU64,
    parked: ParkedRequests,
    coming: ComingRequests,
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
            held_back: AtomicBool::new(false),
            held_beats: AtomicU64::new(0),
            beaten: Notify::new(),
            finished: AtomicU64::new(0),
            took_us: AtomicU64::new(0),
            refused_now: AtomicU64::new(0),
            served: Mutex::default(),
            rate: AtomicU64::new(0),
            calm_beats: AtomicU64::new(BUSY_BEATS),
            refused: AtomicU64::new(0),
            groups: (0..GROUPS).map(|_| AtomicUsize::new(0)).collect(),
            active: AtomicUsize::new(0),
            appointments: Appointments::default(),
            refusals: RefusalBudget::default(),
            let_in: AtomicU64::new(1f64.to_bits()),
            parked: ParkedRequests::default(),
            coming: ComingRequests::default(),
            prepared: PreparedRefusals::default(),
            planted,
        })
    }

    /// Admits a request, or reports that the gate is full for it. None: it is not counted, because it passes no lane
    /// and does not measure the ledger.
    pub fn enter(self: &Arc<Self>, asked: GateRequest) -> Result<Option<Admitted>, GateFull> {
        if self.turns_away(asked, false) {
            return Err(GateFull);
        }
        Ok(self.admit(asked))
    }

    /// Admits a request that waited unread until it was called.
    pub fn admit(self: &Arc<Self>, asked: GateRequest) -> Option<Admitted> {
        if !asked.kind.changes() {
            return None;
        }
        let group = group_of(asked);
        self.count(group);
        Some(Admitted { gate: self.clone(), group, began: Instant::now(), took: Duration::ZERO, waits: false })
    }

    /// Whether a request is refused now. If so, it is counted. `others_first`: earlier requests that are not counted
    /// yet take the room that is left.
    pub fn turns_away(&self, asked: GateRequest, others_first: bool) -> bool {
        if !self.is_full_for(asked, others_first) {
            return false;
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.refused_now.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn is_full_for(&self, asked: GateRequest, others_first: bool) -> bool {
        let allowed = asked.kind.refused_from();
        let mut pressure = self.pressure();
        if asked.kind <= RequestKind::Reserve && (others_first || self.parked.count() > 0) {
            pressure = pressure.max(allowed);
        }
        if pressure < allowed || !planted::sheds(self.planted) {
            return false;
        }
        // A subject below its share is admitted, as long as the runtime itself keeps up.
        let own = self.groups[group_of(asked)].load(Ordering::Relaxed);
        let active = self.active.load(Ordering::Relaxed) + usize::from(own == 0);
        let share = self.limit() * allowed / 100 / active.max(1);
        active < 2 || own >= share || pressure >= allowed.saturating_mul(2)
    }

    /// In percent of what the server can take.
    fn pressure(&self) -> usize {
        let late = self.late_us.load(Ordering::Relaxed);
        (self.in_progress() * 100 / self.limit()).max((late * 100 / LATE_US) as usize)
    }

    /// Whether a reservation that arrived now might not be served at once.
    pub fn is_pressed(&self) -> bool {
        let full = self.pressure() >= RequestKind::Reserve.refused_from() || self.parked.count() > 0;
        full && planted::sheds(self.planted)
    }

    /// Decides whether to read a request that has arrived.
    pub fn before_reading(&self, asked: GateRequest) -> Unread {
        if asked.kind > RequestKind::Reserve || !self.is_full_for(asked, false) {
            Unread::Serve
        } else if self.refusals.is_left() {
            Unread::Refuse
        } else {
            Unread::Park
        }
    }

    pub fn refusals(&self) -> &RefusalBudget {
        &self.refusals
    }

    /// Records the share of new connections that the kernel admits, from 0 to 1.
    pub fn let_in(&self, share: f64) {
        self.let_in.store(share.to_bits(), Ordering::Relaxed);
    }

    pub fn share_let_in(&self) -> f64 {
        f64::from_bits(self.let_in.load(Ordering::Relaxed))
    }

    /// Leaves a request unread until it is its turn to be served or refused.
    pub fn park(&self, waker: &Waker) -> Parked {
        self.parked.park(waker)
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

    /// Seconds after which a request that was refused for load should be retried.
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
        self.prepared.answer(headers, asked.speech, trace, self.comes_again(asked), close)
    }

    /// The same as bytes, with headers that depend on when the request should be retried.
    pub fn refusal_bytes(
        &self,
        asked: GateRequest,
        headers: &HeaderMap,
        trace: &HeaderValue,
        others: impl FnOnce(u64) -> HeaderMap,
    ) -> Vec<u8> {
        let retry = self.comes_again(asked);
        self.prepared.bytes(headers, asked.speech, trace, retry, &others(retry))
    }

    /// Seconds. Reads and requests of those in line are needed again soon, and take no appointment.
    fn comes_again(&self, asked: GateRequest) -> u64 {
        if asked.kind.changes() { self.retry_after() } else { self.appointments.soon() }
    }

    /// Waits until another connection is worth accepting: there is room for its request, or time to refuse it.
    /// Meanwhile it waits in the kernel's backlog, which costs nothing.
    pub async fn accepting(&self) -> Accepting {
        loop {
            let beaten = self.beaten.notified();
            let sheds = planted::sheds(self.planted);
            let (busy, place) = (self.is_busy(), !sheds || self.has_place());
            self.held_back.store(!place, Ordering::Relaxed);
            match (busy && sheds, place) {
                (true, true) => return Accepting::ToAdmit,
                (false, true) if self.accepts.fetch_sub(1, Ordering::Relaxed) > 0 => return Accepting::ToServe,
                // It is not known yet that they cannot be served soon.
                (false, false) => {}
                _ if self.refusals.backlog_is_short() => {}
                _ if self.refusals.is_left() && self.late_us.load(Ordering::Relaxed) < ACCEPT_LATE_US => {
                    return Accepting::ToRefuse;
                }
                _ => {}
            }
            beaten.await;
        }
    }

    /// Whether there is room for one more, beside those that wait or are on their way.
    fn has_place(&self) -> bool {
        self.parked.count() == 0 && self.taken() < self.most_taken()
    }

    /// Whether there is enough room to wake the accept loop: waking it for each single connection costs a tenth of a
    /// sale.
    fn has_places(&self) -> bool {
        let most = self.most_taken();
        self.parked.count() == 0 && self.taken() + most / PLACES_AT_ONCE < most
    }

    /// Places of requests in progress, and of those that are expected.
    pub fn taken(&self) -> usize {
        self.in_progress() + self.parked.called() + self.coming.count()
    }

    fn most_taken(&self) -> usize {
        self.limit().min(self.at_once())
    }

    /// Connections are accepted for at most this many requests, whatever the limit is: otherwise a crowd that arrives
    /// all at once would be in progress as a whole before the next beat measures anything.
    fn at_once(&self) -> usize {
        let in_time = self.rate.load(Ordering::Relaxed) * TARGET_US / 1_000_000;
        (in_time as usize).max(2 * self.least)
    }

    /// Reserves a place for the first request of a connection.
    pub fn expect(&self) -> ExpectedRequest {
        self.coming.expect()
    }

    pub async fn next_beat(&self) {
        self.beaten.notified().await;
    }

    /// Measures until the gate is dropped.
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
        let (late, late_mean) = {
            let mut beats = self.late_beats.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            beats.rotate_left(1);
            beats[BEATS - 1] = late;
            (beats.iter().copied().min().unwrap_or(0), beats.iter().sum::<u64>() / BEATS as u64)
        };
        self.late_us.store(late, Ordering::Relaxed);

        let finished = self.finished.swap(0, Ordering::Relaxed);
        let took = self.took_us.swap(0, Ordering::Relaxed);
        let in_progress = self.in_progress.load(Ordering::Relaxed);
        let working = finished > 0 || in_progress > 0;
        let mut served = self.served.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let served = served.rate(working, finished, elapsed);
        if let Some(rate) = served {
            self.rate.store(rate, Ordering::Relaxed);
        }
        let limit = self.limit.load(Ordering::Relaxed);
        let refused = self.refused_now.swap(0, Ordering::Relaxed);
        let held = if self.held_back.load(Ordering::Relaxed) { self.held_beats.load(Ordering::Relaxed) + 1 } else { 0 };
        self.held_beats.store(held, Ordering::Relaxed);
        let busy = refused > 0 || self.parked.count() > 0 || held > STANDING_BEATS;
        let calm_beats = if busy { 0 } else { self.calm_beats.load(Ordering::Relaxed) + 1 };
        self.calm_beats.store(calm_beats, Ordering::Relaxed);
        let target = if calm_beats < BUSY_BEATS { BUSY_TARGET_US } else { TARGET_US };
        let slow = finished >= SAMPLES && took / finished > target;
        let wanted = match served.map(|rate| (rate * target / 1_000_000) as usize) {
            // As many as are served in the target time.
            Some(in_time) if slow || in_progress > 2 * in_time.max(self.least) => in_time.clamp(self.least, MOST),
            _ => (limit + limit / 20 + 1).min(MOST),
        };
        self.limit.store(wanted, Ordering::Relaxed);
        self.refusals.renew(elapsed, Duration::from_micros(late_mean));
        self.call_parked();
        let accepts = match planted::sheds(self.planted) {
            true if in_progress >= wanted => 0,
            true if late > ACCEPT_LATE_US => ACCEPTS_WHEN_LATE,
            _ => i64::MAX,
        };
        self.accepts.store(accepts, Ordering::Relaxed);
        self.coming.beat();
        self.beaten.notify_waiters();
        if refused == 0 && in_progress < wanted / 2 {
            self.appointments.calm();
        }
    }

    /// Whether a request was refused or waited unread lately.
    fn is_busy(&self) -> bool {
        self.calm_beats.load(Ordering::Relaxed) < BUSY_BEATS
    }

    /// Calls as many unread requests as there is room for.
    fn call_parked(&self) {
        if self.parked.count() > 0 && self.late_us.load(Ordering::Relaxed) < LATE_US {
            self.parked.call(self.limit().saturating_sub(self.in_progress()));
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    /// Requests refused so far.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Requests that have come and wait unread.
    pub fn unread(&self) -> usize {
        self.parked.count()
    }

    /// Admitted requests that have not been answered.
    pub fn in_progress(&self) -> usize {
        self.in_progress.load(Ordering::Relaxed)
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }
}

fn group_of(asked: GateRequest) -> usize {
    asked.event.rem_euclid(GROUPS as i64) as usize
}

/// The purpose for which a connection is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepting {
    ToServe,
    /// A place is reserved for its first request, which is not refused.
    ToAdmit,
    /// There is no room for its request, unless it is more important than others.
    ToRefuse,
}

/// What to do with a request that has arrived and is not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    Serve,
    /// It stays unread until it is called.
    Park,
    Refuse,
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
    /// Its duration before the last wait.
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
        gate.call_parked();
        if gate.held_back.load(Ordering::Relaxed) && gate.has_places() {
            gate.beaten.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
