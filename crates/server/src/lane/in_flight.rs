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
    fn depth_never_exceeds_its_limit_and_ends_at_zero() {
        let depth = Depth::default();
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    for _ in 0..1_000 {
                        let guard = depth.enter(3);
                        assert!(depth.now() <= 3, "{}", depth.now());
                        drop(guard);
                    }
                });
            }
        });
        assert_eq!(depth.now(), 0);
        let all: Vec<_> = (0..5).filter_map(|_| depth.enter(3)).collect();
        assert_eq!((all.len(), depth.now()), (3, 3));
    }
}
