//! The thread that writes to the watchers. It is separate from the threads of the sale, and has a lower priority.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;

use super::direct::{DirectWatcher, SocketWrite};

/// Watchers with a full socket are retried at this interval.
const AGAIN: Duration = Duration::from_millis(100);
/// The next turn comes with the next round, or after this time if there is none.
const TURN: Duration = Duration::from_millis(120);
/// The thread's nice value.
const NICE: i32 = 5;

/// The directly written watchers of one hub, least recently written first.
#[derive(Default)]
pub struct Audience {
    watchers: Mutex<VecDeque<Arc<DirectWatcher>>>,
    /// Whether it is queued for the thread.
    called: AtomicBool,
    /// All are written next, not only those whose turn it is.
    all: AtomicBool,
    turns: AtomicUsize,
}

/// By address.
type ByAddress<T> = HashMap<usize, T>;

/// Watchers with a full socket.
type Blocked = ByAddress<Arc<DirectWatcher>>;

/// An audience with members that were not written since the last round.
struct Unserved {
    audience: Arc<Audience>,
    left: usize,
    due: Instant,
}

enum FanOutCall {
    Said(Arc<Audience>),
    Blocked(Arc<DirectWatcher>),
}

type Called = Receiver<FanOutCall>;

/// Wakes the thread. It starts with the first call and ends when the last of these is dropped.
#[derive(Clone)]
pub struct FanOut {
    calls: Sender<FanOutCall>,
    /// Held until the thread starts.
    called: Arc<Mutex<Option<Called>>>,
}

impl Default for FanOut {
    fn default() -> Self {
        let (calls, called) = channel();
        FanOut { calls, called: Arc::new(Mutex::new(Some(called))) }
    }
}

impl FanOut {
    /// There is a new round for this audience. An empty list does not mean that there is no one to write to: the
    /// thread takes the list while it writes, and those already written need this round too. With more than one turn
    /// only a part is written now, and the others within that many calls.
    pub fn call(&self, audience: &Arc<Audience>, turns: usize) {
        match turns {
            0 | 1 => audience.all.store(true, Ordering::Release),
            _ => audience.turns.store(turns, Ordering::Release),
        }
        if !audience.called.swap(true, Ordering::AcqRel) {
            self.send(FanOutCall::Said(audience.clone()));
        }
    }

    /// Adds a watcher, which may have missed a round already. Only this one is written, not the whole audience:
    /// thousands join at once.
    pub fn join(&self, audience: &Arc<Audience>, watcher: Arc<DirectWatcher>) {
        watcher.begin();
        audience.lock().push_back(watcher.clone());
        if watcher.write() == SocketWrite::Blocked {
            self.try_again(watcher);
        }
    }

    /// Retries a watcher with a full socket.
    pub fn try_again(&self, watcher: Arc<DirectWatcher>) {
        self.send(FanOutCall::Blocked(watcher));
    }

    fn send(&self, call: FanOutCall) {
        let called = self.called.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(called) = called
            && let Err(error) = std::thread::Builder::new().name("fan-out".into()).spawn(move || run(&called))
        {
            tracing::error!(%error, "watchers cannot be told: no thread");
        }
        let _ = self.calls.send(call);
    }
}

impl Audience {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<DirectWatcher>>> {
        self.watchers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The number of watchers per turn.
    fn turn(&self) -> usize {
        self.lock().len().div_ceil(self.turns.load(Ordering::Acquire).max(1))
    }

    /// Writes to `most` watchers, collects the blocked ones, and returns how many are left. The list is unlocked
    /// meanwhile, so that new watchers do not wait.
    fn write(&self, most: usize, blocked: &mut Blocked) -> usize {
        let (mut taken, left) = {
            let mut watchers = self.lock();
            let count = most.min(watchers.len());
            (watchers.drain(..count).collect::<Vec<_>>(), watchers.len())
        };
        taken.retain(|watcher| match watcher.write() {
            SocketWrite::All => true,
            SocketWrite::Blocked => {
                blocked.insert(Arc::as_ptr(watcher) as usize, watcher.clone());
                true
            }
            SocketWrite::Ended => false,
        });
        self.lock().extend(taken);
        left
    }
}

/// The state of the thread.
#[derive(Default)]
struct FanOutThread {
    blocked: Blocked,
    unserved: ByAddress<Unserved>,
}

impl FanOutThread {
    fn hear(&mut self, call: FanOutCall) {
        match call {
            FanOutCall::Blocked(watcher) => {
                self.blocked.insert(Arc::as_ptr(&watcher) as usize, watcher);
            }
            FanOutCall::Said(audience) => {
                // Before any round is read.
                audience.called.store(false, Ordering::Release);
                let most = if audience.all.swap(false, Ordering::AcqRel) { usize::MAX } else { audience.turn() };
                let left = audience.write(most, &mut self.blocked);
                let (address, due) = (Arc::as_ptr(&audience) as usize, Instant::now() + TURN);
                match left {
                    0 => self.unserved.remove(&address),
                    _ => self.unserved.insert(address, Unserved { audience, left, due }),
                };
            }
        }
    }

    /// Runs the next turn of audiences without a new round.
    fn go_on(&mut self, now: Instant) {
        let blocked = &mut self.blocked;
        self.unserved.retain(|_, unserved| {
            if unserved.due > now {
                return true;
            }
            let count = unserved.audience.turn().min(unserved.left);
            unserved.audience.write(count, blocked);
            unserved.left -= count;
            unserved.due = now + TURN;
            // None: all of them have left.
            count > 0 && unserved.left > 0
        });
    }

    /// When to wake up without a call.
    fn wakes(&self, tried: Instant) -> Option<Instant> {
        let again = (!self.blocked.is_empty()).then_some(tried + AGAIN);
        again.into_iter().chain(self.unserved.values().map(|unserved| unserved.due)).min()
    }
}

fn run(calls: &Called) {
    // For this thread only. Without it the sale has to share more.
    let _ = setpriority_process(None, NICE);
    let (mut thread, mut tried) = (FanOutThread::default(), Instant::now());
    loop {
        let called = match thread.wakes(tried) {
            None => calls.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => calls.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match called {
            Ok(call) => thread.hear(call),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        thread.go_on(now);
        if now.duration_since(tried) >= AGAIN {
            thread.blocked.retain(|_, watcher| watcher.write() == SocketWrite::Blocked);
            tried = now;
        }
    }
}

#[cfg(test)]
mod tests;
