//! The thread that writes to the watchers. It is apart from the threads of the sale and gives way to them.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;

use super::direct::{DirectWatcher, SocketWrite};

/// Watchers whose client did not take everything are tried again this often.
const AGAIN: Duration = Duration::from_millis(100);
/// The next turn comes with the next round, or, where none follows, after this time.
const TURN: Duration = Duration::from_millis(120);
/// The thread's nice value.
const NICE: i32 = 5;

/// The watchers of one hub that are written directly, those first who were written longest ago.
#[derive(Default)]
pub struct Audience {
    watchers: Mutex<VecDeque<Arc<DirectWatcher>>>,
    /// It waits for the thread already.
    called: AtomicBool,
    /// Everybody is written next, not only those whose turn it is.
    all: AtomicBool,
    turns: AtomicUsize,
}

/// By address.
type ByAddress<T> = HashMap<usize, T>;

/// Watchers whose client did not take everything.
type Blocked = ByAddress<Arc<DirectWatcher>>;

/// An audience of which some were not written yet since something was said.
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

/// Calls the thread. It starts with the first call and ends with the last of these.
#[derive(Clone)]
pub struct FanOut {
    calls: Sender<FanOutCall>,
    /// Until the thread has it.
    called: Arc<Mutex<Option<Called>>>,
}

impl Default for FanOut {
    fn default() -> Self {
        let (calls, called) = channel();
        FanOut { calls, called: Arc::new(Mutex::new(Some(called))) }
    }
}

impl FanOut {
    /// Something was said to this audience. Whether its list is empty says nothing: the thread takes it while it
    /// writes, and those who are written already have to hear this too. In more than one turn only a part is written
    /// now, and the others within as many calls.
    pub fn call(&self, audience: &Arc<Audience>, turns: usize) {
        match turns {
            0 | 1 => audience.all.store(true, Ordering::Release),
            _ => audience.turns.store(turns, Ordering::Release),
        }
        if !audience.called.swap(true, Ordering::AcqRel) {
            self.send(FanOutCall::Said(audience.clone()));
        }
    }

    /// Another watcher, who may have missed something already. It alone is told that, not everybody: thousands come
    /// at once.
    pub fn join(&self, audience: &Arc<Audience>, watcher: Arc<DirectWatcher>) {
        watcher.begin();
        audience.lock().push_back(watcher.clone());
        if watcher.write() == SocketWrite::Blocked {
            self.try_again(watcher);
        }
    }

    /// The client of this watcher did not take everything.
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

    /// How many are written in one turn.
    fn turn(&self) -> usize {
        self.lock().len().div_ceil(self.turns.load(Ordering::Acquire).max(1))
    }

    /// Writes to so many; gives those who do not take it, and how many are left. The list is not locked meanwhile, so
    /// that nobody who comes waits.
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

/// What the thread knows.
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
                // Before anything is read of what was said.
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

    /// The next turn of those to whom nothing more was said.
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
            // None: all of them have gone.
            count > 0 && unserved.left > 0
        });
    }

    /// When something is to be done without a call.
    fn wakes(&self, tried: Instant) -> Option<Instant> {
        let again = (!self.blocked.is_empty()).then_some(tried + AGAIN);
        again.into_iter().chain(self.unserved.values().map(|unserved| unserved.due)).min()
    }
}

fn run(calls: &Called) {
    // Of this thread. Without it the sale has to share more.
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
