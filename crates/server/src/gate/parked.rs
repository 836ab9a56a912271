//! Requests that have arrived and are not read yet, in FIFO order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::Waker;

#[derive(Debug, Default)]
pub struct ParkedRequests {
    waiting: Mutex<VecDeque<Weak<Place>>>,
    count: AtomicUsize,
    /// Called, and not read yet.
    called: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Place {
    /// Its turn has come.
    called: AtomicBool,
    waker: Mutex<Waker>,
}

/// A request that waits unread. Dropped when it is read or when its connection ends.
#[derive(Debug)]
pub struct Parked {
    place: Arc<Place>,
    all_called: Arc<AtomicUsize>,
}

impl ParkedRequests {
    pub fn park(&self, waker: &Waker) -> Parked {
        let place = Arc::new(Place { called: AtomicBool::new(false), waker: Mutex::new(waker.clone()) });
        let mut waiting = lock(&self.waiting);
        waiting.push_back(Arc::downgrade(&place));
        self.count.store(waiting.len(), Ordering::Relaxed);
        drop(waiting);
        Parked { place, all_called: self.called.clone() }
    }

    /// The number of requests that wait. Ended connections count until their turn.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// How many are called and not read yet.
    pub fn called(&self) -> usize {
        self.called.load(Ordering::Relaxed)
    }

    /// Calls the next ones, up to as many as there is room for.
    pub fn call(&self, room: usize) {
        while self.called() < room {
            let next = {
                let mut waiting = lock(&self.waiting);
                let next = waiting.pop_front();
                self.count.store(waiting.len(), Ordering::Relaxed);
                next
            };
            let Some(next) = next else { return };
            // Of a connection that ended, only this entry is left.
            let Some(place) = next.upgrade() else { continue };
            self.called.fetch_add(1, Ordering::Relaxed);
            place.called.store(true, Ordering::Release);
            lock(&place.waker).wake_by_ref();
        }
    }
}

impl Parked {
    pub fn is_called(&self, waker: &Waker) -> bool {
        let mut kept = lock(&self.place.waker);
        if !kept.will_wake(waker) {
            kept.clone_from(waker);
        }
        self.place.called.load(Ordering::Acquire)
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        if self.place.called.load(Ordering::Acquire) {
            self.all_called.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_parked_is_called_first_and_the_ended_are_passed_over() {
        let (all, waker) = (ParkedRequests::default(), Waker::noop());
        let mut places: Vec<Parked> = (0..5).map(|_| all.park(waker)).collect();
        drop(places.remove(1));
        all.call(2);
        let called = |places: &[Parked]| places.iter().map(|place| place.is_called(waker)).collect::<Vec<bool>>();
        assert_eq!(called(&places), [true, true, false, false]);
        all.call(2);
        assert_eq!(called(&places), [true, true, false, false], "two are on their way already");
        drop(places.remove(0));
        all.call(2);
        assert_eq!(called(&places), [true, true, false]);
        all.call(9);
        assert_eq!((called(&places), all.count()), (vec![true, true, true], 0));
    }
}
