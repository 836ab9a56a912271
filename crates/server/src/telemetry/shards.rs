//! Counts that many threads add to at once. Each thread adds to a cache line of its own, so no request waits for another
//! processor's line; a scrape adds the lines up.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Threads beyond it share.
pub const SHARDS: usize = 8;

/// The place of this thread: the same for all that it counts.
pub fn place() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    PLACE.with(|place| {
        if place.get() == usize::MAX {
            place.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
        }
        place.get()
    })
}

/// As wide as what processors fetch together.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

#[derive(Clone, Default)]
pub struct ShardedCounter(Arc<[Line; SHARDS]>);

impl ShardedCounter {
    pub fn inc(&self) {
        self.0[place()].0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.iter().map(|line| line.0.load(Ordering::Relaxed)).sum()
    }
}

impl fmt::Debug for ShardedCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

impl TypedMetric for ShardedCounter {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for ShardedCounter {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_counter::<NoLabelSet, _, u64>(&self.get(), None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_together() {
        let counter = ShardedCounter::default();
        std::thread::scope(|threads| {
            for _ in 0..2 * SHARDS {
                threads.spawn(|| (0..1_000).for_each(|_| counter.inc()));
            }
        });
        assert_eq!(counter.get(), 2 * SHARDS as u64 * 1_000);
    }
}
