//! Processor time of processes, and which core they run on.

use std::path::{Path, PathBuf};
use std::process::Command;

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
    for child in descendants(process) {
        // It may have ended meanwhile.
        moved(child, core);
    }
}

fn moved(process: u32, core: usize) -> bool {
    let mut taskset = Command::new("taskset");
    taskset.args(["-a", "-cp", &core.to_string(), &process.to_string()]);
    taskset.output().is_ok_and(|output| output.status.success())
}

/// All that a process has started, and what those have.
fn descendants(process: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let ids = children.split_whitespace().filter_map(|id| id.parse().ok());
    ids.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// A part of a core for some processes together and whatever they start, by a control group of its own, until it
/// is dropped. Busy neighbours would leave a process with more runnable threads a larger share, which an overload
/// has.
pub struct PartCore(PathBuf);

impl PartCore {
    /// The kernel hands out the time in short periods, so that nobody waits long for the next. It takes no quota below
    /// a millisecond.
    const QUOTA_US: u32 = 1_250;

    /// One of so many equal parts.
    pub fn new(parts: u32, processes: &[u32]) -> std::io::Result<PartCore> {
        let (quota_us, period_us) = (Self::QUOTA_US, Self::QUOTA_US * parts);
        let name = format!("tickettock-bench-{}", std::process::id());
        let (old, new) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        let (group, settings) = if old.join("cpu.cfs_quota_us").exists() {
            let quota = ("cpu.cfs_quota_us", quota_us.to_string());
            (old.join(name), vec![("cpu.cfs_period_us", period_us.to_string()), quota])
        } else {
            std::fs::write(new.join("cgroup.subtree_control"), "+cpu")?;
            (new.join(name), vec![("cpu.max", format!("{quota_us} {period_us}"))])
        };
        std::fs::create_dir_all(&group)?;
        let part = PartCore(group);
        for (file, value) in settings {
            std::fs::write(part.0.join(file), value)?;
        }
        for process in processes {
            std::fs::write(part.0.join("cgroup.procs"), process.to_string())?;
            for child in descendants(*process) {
                // It may have ended meanwhile.
                let _ = std::fs::write(part.0.join("cgroup.procs"), child.to_string());
            }
        }
        Ok(part)
    }
}

impl Drop for PartCore {
    /// What still runs goes back to where it came from.
    fn drop(&mut self) {
        let (procs, parent) = (self.0.join("cgroup.procs"), self.0.with_file_name("cgroup.procs"));
        for process in std::fs::read_to_string(procs).unwrap_or_default().lines() {
            let _ = std::fs::write(&parent, process);
        }
        let _ = std::fs::remove_dir(&self.0);
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
    use std::time::Instant;

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
