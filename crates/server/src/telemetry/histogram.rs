//! Histograms of times. Each request is observed, so an observation takes no lock: two additions in the cache line of its
//! thread. The library's histogram takes two locks, that all processors share. Buckets may have an exemplar: the trace of
//! one request that fell into them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::shards::{SHARDS, place};
use super::switch;
use super::traces::context::TraceId;

/// With the one that has no upper bound.
const BUCKETS_MOST: usize = 18;
/// A bucket takes a new exemplar after this time: when everything is slow, everything would leave one.
const EXEMPLAR_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct TracedHistogram(Arc<Figures>);

struct Figures {
    /// The upper bound of the first bucket. Each further bound is twice the one before.
    first: Duration,
    /// With the last one, which has no upper bound.
    buckets: usize,
    shards: [Shard; SHARDS],
    exemplars: Mutex<[Option<Exemplar>; BUCKETS_MOST]>,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard {
    counts: [AtomicU64; BUCKETS_MOST],
    nanoseconds: AtomicU64,
}

#[derive(Clone, Copy)]
struct Exemplar {
    trace: TraceId,
    took: Duration,
    at: Instant,
}

impl TracedHistogram {
    /// `bounds` buckets with an upper bound.
    pub fn new(first: Duration, bounds: usize) -> TracedHistogram {
        let buckets = bounds + 1;
        assert!(buckets <= BUCKETS_MOST && !first.is_zero(), "{bounds} bounds from {first:?}");
        TracedHistogram(Arc::new(Figures {
            first,
            buckets,
            shards: Default::default(),
            exemplars: Mutex::new([None; BUCKETS_MOST]),
        }))
    }

    pub fn observe(&self, took: Duration, trace: Option<TraceId>) {
        if switch::is_off() {
            return;
        }
        let bucket = self.0.bucket(took);
        let shard = &self.0.shards[place()];
        shard.counts[bucket].fetch_add(1, Ordering::Relaxed);
        shard.nanoseconds.fetch_add(nanoseconds(took), Ordering::Relaxed);
        if let Some(trace) = trace {
            self.0.keep(bucket, trace, took);
        }
    }

    /// The samples of one series. `labels` are `name="value"` with commas between, or nothing.
    fn write(&self, text: &mut String, name: &str, labels: &str) {
        let Figures { first, buckets, shards, exemplars } = &*self.0;
        let sum = |of: &dyn Fn(&Shard) -> &AtomicU64| -> u64 {
            shards.iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum()
        };
        let counts: Vec<u64> = (0..*buckets).map(|i| sum(&|shard| &shard.counts[i])).collect();
        let exemplars = *exemplars.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let seconds = Duration::from_nanos(sum(&|shard| &shard.nanoseconds)).as_secs_f64();
        let _ = writeln!(text, "{name}_sum{braced} {seconds:?}");
        let _ = writeln!(text, "{name}_count{braced} {}", counts.iter().sum::<u64>());
        let comma = if labels.is_empty() { "" } else { "," };
        let mut below = 0;
        for (i, count) in counts.iter().enumerate() {
            below += count;
            let _ = write!(text, "{name}_bucket{{le=\"");
            let _ = if i + 1 == *buckets {
                write!(text, "+Inf")
            } else {
                write!(text, "{:?}", first.as_secs_f64() * f64::from(1u32 << i))
            };
            let _ = write!(text, "\"{comma}{labels}}} {below}");
            if let Some(Exemplar { trace, took, .. }) = exemplars[i] {
                let _ = write!(text, " # {{trace_id=\"{trace}\"}} {:?}", took.as_secs_f64());
            }
            text.push('\n');
        }
    }
}

impl Figures {
    /// The first whose upper bound is not below.
    fn bucket(&self, took: Duration) -> usize {
        let whole = nanoseconds(took).saturating_sub(1) / nanoseconds(self.first);
        ((u64::BITS - whole.leading_zeros()) as usize).min(self.buckets - 1)
    }

    /// If somebody else has the exemplars in hand, theirs will do.
    fn keep(&self, bucket: usize, trace: TraceId, took: Duration) {
        let Ok(mut exemplars) = self.exemplars.try_lock() else { return };
        let at = Instant::now();
        let kept = &mut exemplars[bucket];
        if kept.is_none_or(|kept| at.saturating_duration_since(kept.at) >= EXEMPLAR_EVERY) {
            *kept = Some(Exemplar { trace, took, at });
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A family in OpenMetrics' text. `series` have labels as [`TracedHistogram::write`] takes them.
pub fn write_family<'a>(
    text: &mut String,
    name: &str,
    meaning: &str,
    series: impl IntoIterator<Item = (String, &'a TracedHistogram)>,
) {
    let _ = write!(text, "# HELP {name} {meaning}.\n# TYPE {name} histogram\n");
    for (labels, histogram) in series {
        histogram.write(text, name, &labels);
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
    use prometheus_client::registry::Registry;

    use super::*;

    type Labels = Vec<(String, String)>;

    fn trace(digit: &str) -> TraceId {
        TraceId::of_hex(digit.repeat(32).as_bytes()).unwrap()
    }

    /// The library's text for the same observations.
    #[test]
    fn text_and_bounds_are_those_of_the_library() {
        let ours = TracedHistogram::new(Duration::from_micros(100), 17);
        let buckets = || Histogram::new(exponential_buckets(0.000_1, 2.0, 17));
        let theirs = Family::<Labels, Histogram, fn() -> Histogram>::new_with_constructor(buckets);
        let labels = vec![("step".to_owned(), "commit".to_owned())];
        // On a bound, just beside it, and beyond the last.
        let micros = [0, 1, 99, 100, 101, 200, 201, 250_000, 6_553_600, 6_553_601, 60_000_000];
        for one in micros {
            ours.observe(Duration::from_micros(one), None);
            theirs.get_or_create(&labels).observe(one as f64 / 1e6);
        }
        let mut registry = Registry::default();
        registry.register("a_seconds", "Time", theirs);
        let (mut expected, mut text) = (String::new(), String::new());
        encode(&mut expected, &registry).unwrap();
        write_family(&mut text, "a_seconds", "Time", [("step=\"commit\"".to_owned(), &ours)]);
        let lines =
            |text: &str| text.lines().filter(|line| !line.contains("_sum")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&(text.clone() + "# EOF\n")), lines(&expected));
        assert!(text.contains("a_seconds_sum{step=\"commit\"} 73.357903"), "{text}");
    }

    #[test]
    fn threads_are_added_up() {
        let histogram = TracedHistogram::new(Duration::from_millis(1), 3);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..1_000).for_each(|_| histogram.observe(Duration::from_millis(2), None)));
            }
        });
        let mut text = String::new();
        histogram.write(&mut text, "a", "");
        assert_eq!(
            text,
            "a_sum 8.0\na_count 4000\na_bucket{le=\"0.001\"} 0\na_bucket{le=\"0.002\"} 4000\n\
             a_bucket{le=\"0.004\"} 4000\na_bucket{le=\"+Inf\"} 4000\n"
        );
    }

    #[test]
    fn bucket_keeps_its_exemplar_for_a_second() {
        let histogram = TracedHistogram::new(Duration::from_millis(1), 3);
        histogram.observe(Duration::from_millis(2), Some(trace("4")));
        histogram.observe(Duration::from_millis(2), Some(trace("7")));
        let mut text = String::new();
        histogram.write(&mut text, "a", "");
        let expected = format!("a_bucket{{le=\"0.002\"}} 2 # {{trace_id=\"{}\"}} 0.002\n", trace("4"));
        assert!(text.contains(&expected), "{text}");
        let kept = histogram.0.exemplars.lock().unwrap()[1].unwrap();
        let earlier = kept.at.checked_sub(EXEMPLAR_EVERY).unwrap();
        histogram.0.exemplars.lock().unwrap()[1] = Some(Exemplar { at: earlier, ..kept });
        histogram.observe(Duration::from_millis(2), Some(trace("7")));
        assert_eq!(histogram.0.exemplars.lock().unwrap()[1].unwrap().trace, trace("7"));
    }
}
