//! Figures of the scheduled backups and of the replica. Without `BACKUP_DIR` there is no newest backup, and its series is
//! absent; the same for `REPLICATE_TO`.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use rules::time::Moment;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NoLabels {}

#[derive(Default)]
pub struct BackupFigures {
    newest: Family<NoLabels, Gauge>,
    bytes: Family<NoLabels, Gauge>,
    seconds: Family<NoLabels, Gauge<f64, std::sync::atomic::AtomicU64>>,
    failures: Counter,
    replica_newest: Family<NoLabels, Gauge<f64, std::sync::atomic::AtomicU64>>,
    replica_seconds: Family<NoLabels, Gauge<f64, std::sync::atomic::AtomicU64>>,
    replica_failures: Counter,
}

impl BackupFigures {
    pub fn register(&self, registry: &mut Registry) {
        let meaning = "When the newest backup in BACKUP_DIR was begun, in seconds since 1970";
        registry.register("backup_newest_timestamp_seconds", meaning, self.newest.clone());
        registry.register_with_unit("backup_size", "Size of the last backup", Unit::Bytes, self.bytes.clone());
        let meaning = "How long the last backup took, with its verification";
        registry.register_with_unit("backup_duration", meaning, Unit::Seconds, self.seconds.clone());
        registry.register("backup_failures", "Scheduled backups that were not made", self.failures.clone());
        let meaning = "Everything acknowledged before this moment, in seconds since 1970, is in REPLICATE_TO";
        registry.register("replica_newest_timestamp_seconds", meaning, self.replica_newest.clone());
        let meaning = "How long the last copy to REPLICATE_TO took, with its verification";
        registry.register_with_unit("replica_duration", meaning, Unit::Seconds, self.replica_seconds.clone());
        let meaning = "Copies to REPLICATE_TO that were not made";
        registry.register("replica_failures", meaning, self.replica_failures.clone());
    }

    pub fn newest(&self, at: Moment) {
        self.newest.get_or_create(&NoLabels {}).set(at.0 / 1_000);
    }

    pub fn made(&self, bytes: u64, took: Duration) {
        self.bytes.get_or_create(&NoLabels {}).set(bytes as i64);
        self.seconds.get_or_create(&NoLabels {}).set(took.as_secs_f64());
    }

    /// What was acknowledged before `at` is in the second place. `took`: there was something to copy.
    pub fn replicated(&self, at: Moment, took: Option<Duration>) {
        self.replica_newest.get_or_create(&NoLabels {}).set(at.0 as f64 / 1_000.0);
        if let Some(took) = took {
            self.replica_seconds.get_or_create(&NoLabels {}).set(took.as_secs_f64());
        }
    }

    pub fn not_replicated(&self) {
        self.replica_failures.inc();
    }

    pub fn failed(&self) {
        self.failures.inc();
    }
}
