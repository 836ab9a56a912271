//! How long the steps of the path take. What a batch does is observed once per batch: a sale of ten thousand a second has
//! a hundred of them. Reading and responding are observed for each request that went to a lane.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::histogram::{TracedHistogram, write_family};
use super::ledger_marks::LedgerStepTimes;
use super::traces::context::TraceId;

/// From 0.1 ms to 6.5 s.
fn histogram() -> TracedHistogram {
    TracedHistogram::new(Duration::from_micros(100), 17)
}

pub struct StepTimes {
    /// From the beginning of a request to its lane.
    read: TracedHistogram,
    /// One call to a door outside the process.
    arrive: TracedHistogram,
    /// How long the oldest request of a batch waited for it.
    batch: TracedHistogram,
    /// Until the ledger has the subject's lock, and has read what the requests of a batch need.
    admit: TracedHistogram,
    /// Until the rules have answered them.
    decide: TracedHistogram,
    /// Until that is written and flushed.
    commit: TracedHistogram,
    /// What the door is told before the answers leave.
    publish: TracedHistogram,
    /// From the lane's answer to the one that is written.
    respond: TracedHistogram,
    /// The three steps in the ledger together, from 0.25 ms to 2 s.
    commits: TracedHistogram,
    retries: Counter,
}

impl Default for StepTimes {
    fn default() -> Self {
        StepTimes {
            read: histogram(),
            arrive: histogram(),
            batch: histogram(),
            admit: histogram(),
            decide: histogram(),
            commit: histogram(),
            publish: histogram(),
            respond: histogram(),
            commits: TracedHistogram::new(Duration::from_micros(250), 14),
            retries: Counter::default(),
        }
    }
}

impl StepTimes {
    pub fn register(&self, registry: &mut Registry) {
        let meaning = "Batches that were tried again after a lock timeout or a passing fault";
        registry.register("commit_retries", meaning, self.retries.clone());
    }

    pub fn write(&self, text: &mut String) {
        let steps = [
            ("read", &self.read),
            ("arrive", &self.arrive),
            ("batch", &self.batch),
            ("admit", &self.admit),
            ("decide", &self.decide),
            ("commit", &self.commit),
            ("publish", &self.publish),
            ("respond", &self.respond),
        ];
        let labelled = steps.map(|(step, histogram)| (format!("step=\"{step}\""), histogram));
        let meaning = "Steps of the path: reading a request, a call to the door, the longest wait for a batch, its lock and reads, its decision, its writes and flush, its publication, the answer";
        write_family(text, "tickettock_step_seconds", meaning, labelled);
        let meaning = "From handing a batch to the ledger to its durable end";
        write_family(text, "tickettock_commit_seconds", meaning, [(String::new(), &self.commits)]);
    }

    /// A request that went to a lane was answered. Here as below: `trace` may become the exemplar of its bucket.
    pub fn passed_lane(&self, read: Duration, respond: Duration, trace: Option<TraceId>) {
        self.read.observe(read, trace);
        self.respond.observe(respond, trace);
    }

    pub fn arrived(&self, took: Duration, trace: Option<TraceId>) {
        self.arrive.observe(took, trace);
    }

    pub fn waited(&self, longest: Duration, trace: Option<TraceId>) {
        self.batch.observe(longest, trace);
    }

    /// A batch was in the ledger for so long.
    pub fn committed(&self, took: Duration, steps: LedgerStepTimes, trace: Option<TraceId>) {
        let LedgerStepTimes { admit, decide, commit } = steps;
        for (histogram, took) in [(&self.admit, admit), (&self.decide, decide), (&self.commit, commit)] {
            if let Some(took) = took {
                histogram.observe(took, trace);
            }
        }
        self.commits.observe(took, trace);
    }

    pub fn published(&self, took: Duration, trace: Option<TraceId>) {
        self.publish.observe(took, trace);
    }

    pub fn retried(&self) {
        self.retries.inc();
    }
}
