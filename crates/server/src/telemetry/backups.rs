//! Figures of the scheduled backups. Without `BACKUP_DIR` there is no newest one, and its series is absent.

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
}

impl BackupFigures {
    pub fn register(&self, registry: &mut Registry) {
        let meaning = "When the newest backup in BACKUP_DIR was begun, in seconds since 1970";
        registry.register("backup_newest_timestamp_seconds", meaning, self.newest.clone());
        registry.register_with_unit("backup_size", "Size of the last backup", Unit::Bytes, self.bytes.clone());
        let meaning = "How long the last backup took, with its verification";
        registry.register_with_unit("backup_duration", meaning, Unit::Seconds, self.seconds.clone());
        registry.register("backup_failures", "Scheduled backups that were not made", self.failures.clone());
    }

    pub fn newest(&self, at: Moment) {
        self.newest.get_or_create(&NoLabels {}).set(at.0 / 1_000);
    }

    pub fn made(&self, bytes: u64, took: Duration) {
        self.bytes.get_or_create(&NoLabels {}).set(bytes as i64);
        self.seconds.get_or_create(&NoLabels {}).set(took.as_secs_f64());
    }

    pub fn failed(&self) {
        self.failures.inc();
    }
}
