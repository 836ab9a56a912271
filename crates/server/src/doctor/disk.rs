//! The disk of the data folder: room, how long a flush takes, and whether there is reason to doubt that a flush
//! reaches the disk. Only pulling the plug proves that it does.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{CallTimes, Diagnosis, Severity};

const FLUSHES: usize = 64;
/// One page of the database.
const BLOCK: [u8; 4_096] = [0; 4_096];
/// No disk without a battery does it faster.
const TOO_FAST_MS: f64 = 0.02;
const SLOW_MS: f64 = 20.0;
const ROOM_WANTED: u64 = 4 << 30;
const ROOM_NEEDED: u64 = 512 << 20;

/// Also the times of flushes, if there are any.
pub fn examine(data_dir: &Path) -> (Vec<Diagnosis>, Option<CallTimes>) {
    let there = nearest(data_dir);
    let mut all = Vec::new();
    all.extend(room(&there));
    all.extend(mounted(&fs::read_to_string("/proc/self/mounts").unwrap_or_default(), &there));
    all.extend(write_cache(&there));
    if std::env::var("LD_PRELOAD").is_ok_and(|loaded| loaded.contains("eatmydata")) {
        let change = "unset LD_PRELOAD: confirmed sales are lost with the power";
        all.push(Diagnosis::bad("flushes", Severity::Critical, "libeatmydata turns flushes off", change));
    }
    match flush(&there) {
        Ok(times) => {
            all.push(judged(&times));
            (all, Some(times))
        }
        Err(error) => {
            let found = format!("{} cannot be written: {error}", there.display());
            all.push(Diagnosis::bad("data folder", Severity::Critical, found, "DATA_DIR must be writable"));
            (all, None)
        }
    }
}

/// The folder, or the first above it that exists.
fn nearest(data_dir: &Path) -> PathBuf {
    let whole = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    whole.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

fn room(folder: &Path) -> Option<Diagnosis> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    let free = disk.f_bavail * disk.f_frsize;
    let found = format!("{} MiB free at {}", free >> 20, folder.display());
    Some(match free {
        ROOM_WANTED.. => Diagnosis::ok("room", found),
        ROOM_NEEDED.. => {
            let change = "a million sales take about 500 MiB, with a log of 200 MiB: make room before a large sale";
            Diagnosis::bad("room", Severity::Warning, found, change)
        }
        _ => Diagnosis::bad("room", Severity::Critical, found, "reservations are refused when the disk is full"),
    })
}

/// The file system that the folder is on.
fn mounted(mounts: &str, folder: &Path) -> Option<Diagnosis> {
    let of = |line: &str| {
        let mut words = line.split(' ').skip(1);
        Some((PathBuf::from(words.next()?), words.next()?.to_owned(), words.next()?.to_owned()))
    };
    let all = mounts.lines().filter_map(of).filter(|(at, ..)| folder.starts_with(at));
    let (_, kind, options) = all.max_by_key(|(at, ..)| at.components().count())?;
    let check = "file system";
    if ["nfs", "cifs", "smb", "9p", "fuse.sshfs", "ceph"].iter().any(|remote| kind.starts_with(remote)) {
        let change = "locks and flushes cannot be relied on there: use a local disk, or PostgreSQL";
        return Some(Diagnosis::bad(check, Severity::Critical, format!("{kind}, over the network"), change));
    }
    if matches!(kind.as_str(), "tmpfs" | "ramfs") {
        let change = "everything is lost with the power: put DATA_DIR on a disk";
        return Some(Diagnosis::bad(check, Severity::Critical, format!("{kind}, in memory"), change));
    }
    if options.split(',').any(|option| option == "nobarrier" || option == "barrier=0") {
        let change = "mount it without nobarrier: confirmed sales can be lost with the power";
        return Some(Diagnosis::bad(check, Severity::Critical, format!("{kind} with {options}"), change));
    }
    Some(Diagnosis::ok(check, kind))
}

/// What the kernel believes about the cache of the disk. A disk that claims to write through gets no flushes.
fn write_cache(folder: &Path) -> Option<Diagnosis> {
    let device = fs::metadata(folder).ok()?.dev();
    let name = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let place = fs::canonicalize(Path::new("/sys/dev/block").join(name)).ok()?;
    // A partition has no queue of its own.
    let queue = place.ancestors().take(2).map(|disk| disk.join("queue/write_cache")).find(|file| file.exists())?;
    let found = fs::read_to_string(queue).ok()?.trim().to_owned();
    Some(match found.as_str() {
        "write through" => {
            let change = "the kernel sends it no flushes: right for a disk without a volatile cache or with a battery, \
                          wrong where a hypervisor hides one. Look at the cache setting of the virtual disk";
            Diagnosis::bad("disk cache", Severity::Advice, "the disk says that it has no volatile cache", change)
        }
        _ => Diagnosis::ok("disk cache", format!("{found}: flushes reach the disk")),
    })
}

/// Times of writing and flushing a page, as the ledger does.
fn flush(folder: &Path) -> io::Result<CallTimes> {
    let path = folder.join(format!("tickettock-doctor-{}", std::process::id()));
    let measure = || {
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        let mut times = CallTimes::default();
        for _ in 0..FLUSHES {
            file.write_all(&BLOCK)?;
            let began = Instant::now();
            file.sync_data()?;
            times.add(began.elapsed());
        }
        Ok(times)
    };
    let measured = measure();
    let _ = fs::remove_file(&path);
    measured
}

fn judged(times: &CallTimes) -> Diagnosis {
    let (median, late) = (times.at(0.5), times.at(0.99));
    let found = format!("{median:.2} ms, 99 % within {late:.2} ms, over {FLUSHES}");
    let check = "flush";
    if median < TOO_FAST_MS {
        let change = "faster than a disk can be: a cache without a battery, or a hypervisor, only pretends to flush. \
                      Confirmed sales can be lost with the power";
        return Diagnosis::bad(check, Severity::Warning, found, change);
    }
    if median > SLOW_MS {
        let change = "every batch waits for one: use an SSD, best with power-loss protection";
        return Diagnosis::bad(check, Severity::Warning, found, change);
    }
    Diagnosis::ok(check, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "/dev/sda1 / ext4 rw,relatime 0 0\ntmpfs /run tmpfs rw 0 0\n\
                          nas:/x /mnt/nas nfs4 rw 0 0\n/dev/sdb1 /data xfs rw,nobarrier 0 0\n";

    #[test]
    fn unfit_file_systems_are_found() {
        let severity = |folder: &str| mounted(MOUNTS, Path::new(folder)).unwrap().severity;
        assert_eq!(severity("/var/lib/tickettock"), Severity::Ok);
        for unfit in ["/run/tickettock", "/mnt/nas/tickettock", "/data/tickettock"] {
            assert_eq!(severity(unfit), Severity::Critical, "{unfit}");
        }
    }

    #[test]
    fn flushes_that_are_too_fast_or_slow_are_found() {
        let times = |ms: f64| CallTimes(vec![ms; 3]);
        assert_eq!(judged(&times(0.001)).severity, Severity::Warning);
        assert_eq!(judged(&times(1.0)).severity, Severity::Ok);
        assert_eq!(judged(&times(50.0)).severity, Severity::Warning);
    }

    #[test]
    fn measuring_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (found, times) = examine(&folder.path().join("not/yet"));
        assert!(times.is_some() && found.iter().any(|one| one.check == "flush"), "{found:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
