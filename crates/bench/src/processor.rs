//! Processor time of processes, and which core they run on.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The server and its services have one core, the generator another.
pub const SERVER_CORE: usize = 0;
pub const GENERATOR_CORE: usize = 1;

/// Clock ticks of `/proc` per second, on every Linux that we know.
const TICKS: f64 = 100.0;

/// The program runs on this core only.
pub fn pinned(core: usize, program: &Command) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string()]).arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Moves a running process and its children, and whatever they start from now on.
pub fn pin(process: u32, core: usize) {
    assert!(moved(process, core), "taskset moves {process}");
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
        // It may have ended meanwhile.
        moved(child, core);
    }
}

fn moved(process: u32, core: usize) -> bool {
    let mut taskset = Command::new("taskset");
    taskset.args(["-a", "-cp", &core.to_string(), &process.to_string()]);
    taskset.output().is_ok_and(|output| output.status.success())
}

/// A process that uses as much of a core as it gets, until it is dropped.
pub struct BusyNeighbour(Child);

impl BusyNeighbour {
    pub fn start(core: usize) -> BusyNeighbour {
        let myself = Command::new(std::env::current_exe().expect("a path"));
        let mut spin = pinned(core, &myself);
        BusyNeighbour(spin.arg("spin").spawn().expect("taskset runs"))
    }

    /// What it does. Bounded, in case nobody is left to end it.
    pub fn spin() {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(300) {
            std::hint::black_box(0);
        }
    }
}

impl Drop for BusyNeighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn own_seconds() -> f64 {
    seconds(std::process::id())
}

/// Processor time that a process has used, in its own code and in the kernel.
pub fn seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a process");
    let after_name = stat.rsplit_once(')').expect("a name").1;
    let mut fields = after_name.split_whitespace().skip(11).map(|field| field.parse::<f64>().expect("a number"));
    let (own, kernel) = (fields.next().unwrap_or(0.0), fields.next().unwrap_or(0.0));
    (own + kernel) / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_grows_with_work() {
        let before = own_seconds();
        let began = Instant::now();
        while own_seconds() <= before {
            assert!(began.elapsed().as_secs() < 30, "no processor time in half a minute");
        }
    }
}
