//! Limits of the process and the kernel, memory, and whether the clock is kept right.

use std::fs;
use std::process::Command;

use rustix::process::{Resource, getrlimit};

use super::{Diagnosis, Severity};

const FILES_WANTED: u64 = 65_536;
const BACKLOG_WANTED: u64 = 4_096;
const MEMORY_WANTED_MIB: u64 = 512;

pub fn examine() -> Vec<Diagnosis> {
    let limit = getrlimit(Resource::Nofile);
    let mut all = vec![files(limit.maximum.unwrap_or(u64::MAX))];
    if let Some(most) = number("/proc/sys/net/core/somaxconn") {
        all.push(backlog("connections that wait to be accepted", "net.core.somaxconn", most));
    }
    if let Some(most) = number("/proc/sys/net/ipv4/tcp_max_syn_backlog") {
        all.push(backlog("connections that are being opened", "net.ipv4.tcp_max_syn_backlog", most));
    }
    all.extend(memory(&fs::read_to_string("/proc/meminfo").unwrap_or_default()));
    all.push(clock(synchronised()));
    all.extend(clock_source(&fs::read_to_string(CLOCK_SOURCE).unwrap_or_default()));
    all
}

/// The server raises the soft limit to the hard one itself.
fn files(most: u64) -> Diagnosis {
    let check = "open files";
    let found = if most == u64::MAX { "no limit".to_owned() } else { format!("at most {most}") };
    if most >= FILES_WANTED {
        return Diagnosis::ok(check, found);
    }
    let severity = if most < 4_096 { Severity::Warning } else { Severity::Advice };
    let change = format!("every connection is a file: LimitNOFILE={FILES_WANTED} in the unit, or ulimit -Hn");
    Diagnosis::bad(check, severity, found, change)
}

fn backlog(check: &'static str, setting: &str, most: u64) -> Diagnosis {
    let found = format!("{setting} = {most}");
    if most >= BACKLOG_WANTED {
        return Diagnosis::ok(check, found);
    }
    let severity = if most < 1_024 { Severity::Warning } else { Severity::Advice };
    let change = format!("beyond it clients retry after a second: sysctl -w {setting}={BACKLOG_WANTED}");
    Diagnosis::bad(check, severity, found, change)
}

fn memory(meminfo: &str) -> Option<Diagnosis> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let mib = line.split_whitespace().next()?.parse::<u64>().ok()? / 1_024;
    let found = format!("{mib} MiB available");
    if mib >= MEMORY_WANTED_MIB {
        return Some(Diagnosis::ok("memory", found));
    }
    let change = format!("a server with 20,000 connections needs {MEMORY_WANTED_MIB} MiB");
    Some(Diagnosis::bad("memory", Severity::Warning, found, change))
}

/// None: nobody here can tell.
fn synchronised() -> Option<bool> {
    if fs::exists("/run/systemd/timesync/synchronized").unwrap_or_default() {
        return Some(true);
    }
    let said = Command::new("timedatectl").args(["show", "-p", "NTPSynchronized", "--value"]).output().ok()?;
    match String::from_utf8_lossy(&said.stdout).trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

fn clock(synchronised: Option<bool>) -> Diagnosis {
    let check = "clock";
    match synchronised {
        Some(true) => Diagnosis::ok(check, "synchronised"),
        Some(false) => {
            let change = "sales open by the wall clock: run chrony or systemd-timesyncd";
            Diagnosis::bad(check, Severity::Warning, "not synchronised", change)
        }
        None => {
            let change = "in a container, see that the host runs chrony or systemd-timesyncd";
            Diagnosis::bad(check, Severity::Advice, "nobody here says whether it is synchronised", change)
        }
    }
}

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn clock_source(source: &str) -> Option<Diagnosis> {
    let source = source.trim();
    if !matches!(source, "hpet" | "acpi_pm" | "jiffies") {
        return None;
    }
    let found = format!("the kernel uses {source}");
    Some(Diagnosis::bad("clock source", Severity::Advice, found, "reading it is slow: use tsc or kvm-clock"))
}

fn number(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_limits_are_found() {
        assert_eq!(files(1_024).severity, Severity::Warning);
        assert_eq!(files(20_000).severity, Severity::Advice);
        assert_eq!(files(u64::MAX).severity, Severity::Ok);
        assert_eq!(backlog("x", "net.core.somaxconn", 128).severity, Severity::Warning);
        assert_eq!(backlog("x", "net.core.somaxconn", 4_096).severity, Severity::Ok);
        assert_eq!(memory("MemFree: 1 kB\nMemAvailable:   102400 kB\n").unwrap().severity, Severity::Warning);
        assert_eq!(clock(Some(false)).severity, Severity::Warning);
        assert!(clock_source("hpet\n").is_some() && clock_source("tsc\n").is_none());
    }
}
