//! Scheduled backups of the embedded ledger: one verified file after another in `BACKUP_DIR`, the oldest
//! removed. When the next one is due follows from the names of those that are there, so restarts do not add
//! backups.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rules::time::Moment;
use stores::ledger::sqlite::{self, BackupMade, BackupPace, CopyFault};
use tokio::sync::{oneshot, watch};

use crate::app::App;

/// A sale needs a few MiB per second of the disk.
pub const PACE: BackupPace = BackupPace { mib_per_second: 64 };
/// After a failure, and at most between two looks at what is due.
const AGAIN: Duration = Duration::from_secs(60);
const NAME: &str = "tickettock-%Y%m%dT%H%M%SZ.db";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSchedule {
    pub folder: PathBuf,
    pub every: Duration,
    /// How many files stay.
    pub keep: usize,
}

/// Backs up until the server is gone. The schedule may change meanwhile; none: there are no backups.
pub async fn run(app: Weak<App>, mut schedules: watch::Receiver<Option<BackupSchedule>>) {
    loop {
        let schedule = schedules.borrow_and_update().clone();
        let Some(app) = app.upgrade() else { return };
        let wait = match &schedule {
            None => AGAIN,
            Some(schedule) => look(&app, schedule).await,
        };
        drop(app);
        tokio::select! {
            () = tokio::time::sleep(wait.min(AGAIN)) => {}
            changed = schedules.changed() => if changed.is_err() { return },
        }
    }
}

/// Makes a backup if one is due. Returns how long to wait.
async fn look(app: &App, schedule: &BackupSchedule) -> Duration {
    let now = app.ledger.wall();
    let wait = match schedule.due_in(now) {
        Some(wait) => wait,
        None => round(app, schedule, now).await,
    };
    if let Some(newest) = schedule.newest() {
        app.metrics.backups.newest(newest);
    }
    wait
}

/// Makes one backup. Returns how long to wait.
async fn round(app: &App, schedule: &BackupSchedule, now: Moment) -> Duration {
    let began = Instant::now();
    match make(app.settings.data_dir.clone(), schedule.clone(), now).await {
        Ok((file, made)) => {
            let seconds = began.elapsed().as_secs_f64();
            tracing::info!(file = %file.display(), bytes = made.bytes, seconds, "backup made and verified");
            app.metrics.backups.made(made.bytes, began.elapsed());
            Duration::ZERO
        }
        Err(why) => {
            tracing::error!(%why, "no backup was made");
            app.metrics.backups.failed();
            AGAIN
        }
    }
}

/// On a thread of its own: the end of the process does not wait for it.
async fn make(data_dir: PathBuf, schedule: BackupSchedule, now: Moment) -> Result<(PathBuf, BackupMade), String> {
    let (done, result) = oneshot::channel();
    let work = move || {
        let _ = done.send(schedule.backup(&data_dir, now));
    };
    std::thread::Builder::new().name("backup".into()).spawn(work).map_err(|e| e.to_string())?;
    result.await.unwrap_or_else(|_| Err("the thread ended".into()))
}

impl BackupSchedule {
    /// None: now.
    pub fn due_in(&self, now: Moment) -> Option<Duration> {
        let newest = self.newest()?;
        let passed = newest.ms_until(now);
        // A file of the future is of a clock that was set back: it does not count.
        let passed = Duration::from_millis(u64::try_from(passed).ok()?);
        self.every.checked_sub(passed).filter(|left| !left.is_zero())
    }

    /// When the newest backup was made.
    pub fn newest(&self) -> Option<Moment> {
        self.made().last().map(|(at, _)| *at)
    }

    pub fn backup(&self, data_dir: &Path, now: Moment) -> Result<(PathBuf, BackupMade), String> {
        let bad = |e: std::io::Error| format!("BACKUP_DIR {}: {e}", self.folder.display());
        fs::create_dir_all(&self.folder).map_err(bad)?;
        self.remove_parts();
        let at = Timestamp::from_millisecond(now.0).unwrap_or(Timestamp::UNIX_EPOCH);
        let file = self.folder.join(at.strftime(NAME).to_string());
        let made = sqlite::backup(data_dir, &file, PACE).map_err(|fault| match fault {
            CopyFault::Failed(why) => why.to_string(),
            CopyFault::Broken(findings) => {
                let names: Vec<&str> = findings.iter().map(|finding| finding.name).collect();
                format!("the ledger is broken: {}", names.join("; "))
            }
        })?;
        let all = self.made();
        for (_, old) in &all[..all.len().saturating_sub(self.keep)] {
            if let Err(error) = fs::remove_file(old) {
                tracing::warn!(%error, file = %old.display(), "an old backup stays");
            }
        }
        Ok((file, made))
    }

    /// Ours only, the oldest first.
    fn made(&self) -> Vec<(Moment, PathBuf)> {
        let mut made: Vec<(Moment, PathBuf)> =
            self.files().filter_map(|path| Some((made_at(path.file_name()?.to_str()?)?, path))).collect();
        made.sort();
        made
    }

    /// What a process left that was killed.
    fn remove_parts(&self) {
        for path in self.files() {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".part"));
            if name.and_then(made_at).is_some() {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path())
    }
}

fn made_at(name: &str) -> Option<Moment> {
    let at = DateTime::strptime(NAME, name).ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(Moment(at.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn schedule(folder: &Path) -> BackupSchedule {
        BackupSchedule { folder: folder.to_owned(), every: Duration::from_secs(3_600), keep: 2 }
    }

    #[test]
    fn the_next_backup_is_due_by_the_name_of_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let schedule = schedule(folder.path());
        let now = Moment(1_800_000_000_000);
        assert_eq!(schedule.due_in(now), None, "there is none");
        fs::write(folder.path().join("tickettock-20270115T080000Z.db"), "").unwrap();
        fs::write(folder.path().join("tickettock-20990115T080000Z.db.part"), "").unwrap();
        fs::write(folder.path().join("notes.db"), "").unwrap();
        assert_eq!(schedule.newest(), Some(now));
        assert_eq!(schedule.due_in(now.plus_ms(HOUR / 4)), Some(Duration::from_secs(2_700)));
        assert_eq!(schedule.due_in(now.plus_ms(HOUR)), None);
        assert_eq!(schedule.due_in(now.plus_ms(-HOUR)), None, "the clock was set back");
    }
}
