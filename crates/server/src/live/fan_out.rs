//! The thread that writes to the watchers. It is apart from the threads of the sale and gives way to them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;

use super::direct::{DirectWatcher, SocketWrite};

/// Watchers whose client did not take everything are tried again this often.
const AGAIN: Duration = Duration::from_millis(100);
/// The thread's nice value.
const NICE: i32 = 5;

/// The watchers of one hub that are written directly.
#[derive(Default)]
pub struct Audience {
    watchers: Mutex<Vec<Arc<DirectWatcher>>>,
    /// It waits for the thread already.
    called: AtomicBool,
}

/// Watchers whose client did not take everything, by address.
type Blocked = HashMap<usize, Arc<DirectWatcher>>;

type Called = Receiver<Arc<Audience>>;

/// Calls the thread. It starts with the first call and ends with the last of these.
#[derive(Clone)]
pub struct FanOut {
    calls: Sender<Arc<Audience>>,
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
    /// writes, and those who are written already have to hear this too.
    pub fn call(&self, audience: &Arc<Audience>) {
        if audience.called.swap(true, Ordering::AcqRel) {
            return;
        }
        let called = self.called.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(called) = called
            && let Err(error) = std::thread::Builder::new().name("fan-out".into()).spawn(move || run(&called))
        {
            tracing::error!(%error, "watchers cannot be told: no thread");
        }
        let _ = self.calls.send(audience.clone());
    }

    /// Another watcher, who may have missed something already. It alone is told that, not everybody: thousands come
    /// at once.
    pub fn join(&self, audience: &Arc<Audience>, watcher: Arc<DirectWatcher>) {
        watcher.begin();
        audience.lock().push(watcher.clone());
        if watcher.write() == SocketWrite::Blocked {
            self.call(audience);
        }
    }
}

impl Audience {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<DirectWatcher>>> {
        self.watchers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Writes to all; gives those who do not take it. The list is not locked meanwhile, so that nobody who comes
    /// waits.
    fn write(&self, blocked: &mut Blocked) {
        let mut watchers = std::mem::take(&mut *self.lock());
        watchers.retain(|watcher| match watcher.write() {
            SocketWrite::All => true,
            SocketWrite::Blocked => {
                blocked.insert(Arc::as_ptr(watcher) as usize, watcher.clone());
                true
            }
            SocketWrite::Ended => false,
        });
        let mut came = self.lock();
        std::mem::swap(&mut *came, &mut watchers);
        came.append(&mut watchers);
    }
}

fn run(calls: &Called) {
    // Of this thread. Without it the sale has to share more.
    let _ = setpriority_process(None, NICE);
    let (mut blocked, mut tried) = (Blocked::new(), Instant::now());
    loop {
        let called = match blocked.is_empty() {
            true => calls.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => calls.recv_timeout(AGAIN),
        };
        match called {
            Ok(audience) => {
                audience.called.store(false, Ordering::Release);
                audience.write(&mut blocked);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if tried.elapsed() >= AGAIN {
            blocked.retain(|_, watcher| watcher.write() == SocketWrite::Blocked);
            tried = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_while_the_thread_writes_is_not_lost() {
        let (fan_out, audience) = (FanOut::default(), Arc::new(Audience::default()));
        // Here instead of in the thread.
        let calls = fan_out.called.lock().unwrap().take().unwrap();
        fan_out.call(&audience);
        let called = calls.try_recv().unwrap();
        called.called.store(false, Ordering::Release);
        // The list is taken, as it is while it is written.
        assert!(audience.lock().is_empty());
        fan_out.call(&audience);
        fan_out.call(&audience);
        assert!(calls.try_recv().is_ok(), "the next round was said meanwhile");
        assert!(calls.try_recv().is_err(), "one call is enough for both");
    }
}
