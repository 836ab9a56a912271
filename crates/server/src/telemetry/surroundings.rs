//! What is read when somebody scrapes: the process, the build, the disk of the data folder, the pool of connections.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::clock::{Hands as _, SystemHands};

/// The kernel counts processor time in these.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Default)]
pub struct Surroundings {
    memory: Gauge<u64, AtomicU64>,
    cpu: Counter<f64, AtomicU64>,
    files: Gauge<u64, AtomicU64>,
    files_most: Gauge<u64, AtomicU64>,
    threads: Gauge<u64, AtomicU64>,
    started: Gauge<f64, AtomicU64>,
    free: Gauge<u64, AtomicU64>,
    pool: Family<StateLabels, Gauge<u64, AtomicU64>>,
}

impl Surroundings {
    pub fn register(&self, registry: &mut Registry, process: &mut Registry) {
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of this server", build);
        registry.register_with_unit("data_free", "Room on the disk of DATA_DIR", Unit::Bytes, self.free.clone());
        let meaning = "Connections to PostgreSQL: idle, in use, and wanted by somebody who waits";
        registry.register("pool_connections", meaning, self.pool.clone());
        process.register_with_unit("process_resident_memory", "Resident memory", Unit::Bytes, self.memory.clone());
        process.register_with_unit("process_cpu", "Processor time used", Unit::Seconds, self.cpu.clone());
        process.register("process_open_fds", "Open files", self.files.clone());
        process.register("process_max_fds", "Files that may be open", self.files_most.clone());
        process.register("process_threads", "Threads", self.threads.clone());
        self.started.set(SystemHands.wall().0 as f64 / 1_000.0);
        let meaning = "When the process started, in seconds since 1970";
        process.register("process_start_time_seconds", meaning, self.started.clone());
    }

    pub fn look(&self, data_dir: &Path, pool: Option<stores::ledger::PoolFigures>) {
        if let Ok(disk) = rustix::fs::statvfs(data_dir) {
            self.free.set(disk.f_bavail * disk.f_frsize);
        }
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            self.files.set(entries.count() as u64);
        }
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        self.files_most.set(limit.unwrap_or(u64::MAX));
        if let Ok(stat) = fs::read_to_string("/proc/self/stat") {
            self.read(&stat);
        }
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse().ok());
        self.memory.set(resident.unwrap_or(0u64) * 1_024);
        if let Some(pool) = pool {
            for (state, count) in [("idle", pool.idle), ("in_use", pool.in_use), ("wanted", pool.wanted)] {
                self.pool.get_or_create(&StateLabels { state }).set(count as u64);
            }
        }
    }

    /// The name of the process is in brackets and may have spaces.
    fn read(&self, stat: &str) {
        let Some((_, rest)) = stat.rsplit_once(") ") else { return };
        let fields: Vec<&str> = rest.split(' ').collect();
        let field = |place: usize| fields.get(place).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
        let seconds = (field(11) + field(12)) as f64 / TICKS_PER_SECOND;
        self.cpu.inner().store(seconds.to_bits(), Ordering::Relaxed);
        self.threads.set(field(17));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_process_are_read() {
        let seen = Surroundings::default();
        seen.look(Path::new("/"), None);
        assert!(seen.memory.get() > 1 << 20 && seen.files.get() > 2 && seen.free.get() > 0);
        seen.read("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 9 0 100 1 3");
        assert_eq!((seen.cpu.get(), seen.threads.get()), (3.0, 9));
    }
}
