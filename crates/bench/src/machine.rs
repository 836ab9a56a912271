//! The machine that the bench ran on: ratios are comparable between machines, absolute numbers are not.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub memory_mib: u64,
    pub kernel: String,
    pub disk: String,
    pub flush: Flush,
    /// The share of all cores that other processes used just before the bench began.
    pub busy: f64,
}

/// How long it takes to flush a small append, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    pub p50_us: u64,
    pub p99_us: u64,
}

impl Machine {
    /// Other processes used only a small part of it; otherwise they distort the ratios.
    pub fn was_quiet(&self) -> bool {
        self.busy < 0.05
    }

    /// The disk is the one under `folder`.
    pub fn look(folder: &Path) -> Machine {
        let field = |file: &str, name: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
            line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        let memory = field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
        Machine {
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(0, |n| n.get()),
            memory_mib: memory / 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            disk: disk(folder),
            flush: Flush::measure(folder),
            busy: busy(),
        }
    }
}

/// Measured over two seconds in which the bench itself sleeps. Not the load average: that still includes
/// the build before it.
fn busy() -> f64 {
    let before = Ticks::now();
    std::thread::sleep(Duration::from_secs(2));
    let after = Ticks::now();
    1.0 - (after.idle - before.idle) as f64 / (after.all - before.all).max(1) as f64
}

struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    /// Since the machine started: user, nice, system, idle, waiting for a disk, and so on.
    fn now() -> Ticks {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = first.split_whitespace().skip(1).take(8).filter_map(|t| t.parse().ok()).collect();
        Ticks { idle: ticks.iter().skip(3).take(2).sum(), all: ticks.iter().sum() }
    }
}

/// Device and file system that `folder` lies on.
fn disk(folder: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let holding = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (device, point, kind) = (words.next()?, words.next()?, words.next()?);
        folder.starts_with(point).then(|| (point.len(), format!("{kind} on {device}")))
    });
    holding.max_by_key(|(length, _)| *length).map_or_else(String::new, |(_, disk)| disk)
}

impl Flush {
    pub fn measure(folder: &Path) -> Flush {
        let mut file = tempfile::tempfile_in(folder).expect("a file");
        let mut times: Vec<u64> = (0..300)
            .map(|_| {
                let began = Instant::now();
                file.write_all(&[7; 4096]).and_then(|()| file.sync_data()).expect("a disk that writes");
                began.elapsed().as_micros() as u64
            })
            .collect();
        times.sort_unstable();
        Flush { p50_us: times[times.len() / 2], p99_us: times[times.len() * 99 / 100] }
    }
}
