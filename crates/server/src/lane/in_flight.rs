//! The depth of a lane: how many requests it has accepted and not finished. Each request carries a guard
//! that counts it, so the count is right however the request ends, a panic included.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The count of one lane.
#[derive(Debug, Default)]
pub struct Depth(Arc<AtomicUsize>);

impl Depth {
    pub fn now(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Counts one more request; none if there are `most` already.
    pub fn enter(&self, most: usize) -> Option<InFlight> {
        let one_more = |depth| (depth < most).then_some(depth + 1);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        Some(InFlight(self.0.clone()))
    }
}

/// A request in flight, until it is dropped.
#[derive(Debug)]
pub struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_limit_enters_when_all_try_at_once() {
        let (depth, barrier, wrong) = (Depth::default(), std::sync::Barrier::new(8), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        barrier.wait();
                        let guard = depth.enter(3);
                        barrier.wait();
                        wrong.fetch_add(usize::from(depth.now() != 3), Ordering::Relaxed);
                        barrier.wait();
                        drop(guard);
                    }
                });
            }
        });
        assert_eq!((depth.now(), wrong.into_inner()), (0, 0));
    }
}
