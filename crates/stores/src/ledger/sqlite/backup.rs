//! Backups of the ledger in one file, made while a server sells. SQLite's online backup copies pages from one read
//! transaction, so the copy is a snapshot: it contains everything that was acknowledged before the backup began. It
//! pauses between two steps, so that sales can use the disk.
//!
//! A copy gets its name only after it was flushed and every invariant holds in it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::verify::verify_file;
use super::{NotOpened, database_in, readers};
use crate::verify::{Finding, Looked};

/// Pages per step: 1 MiB.
const STEP_PAGES: i32 = 256;

/// The speed of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupPace {
    /// MiB per second. 0: no limit.
    pub mib_per_second: u32,
}

impl BackupPace {
    fn pause(self) -> Duration {
        match self.mib_per_second {
            0 => Duration::ZERO,
            steps => Duration::from_secs(1) / steps,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupMade {
    pub bytes: u64,
    pub looked: Looked,
}

/// Why there is no backup.
#[derive(Debug)]
pub enum CopyFault {
    /// A message for the operator.
    Failed(NotOpened),
    /// The copy was made, but these invariants do not hold in it.
    Broken(Vec<Finding>),
}

impl From<NotOpened> for CopyFault {
    fn from(why: NotOpened) -> Self {
        CopyFault::Failed(why)
    }
}

impl From<rusqlite::Error> for CopyFault {
    fn from(error: rusqlite::Error) -> Self {
        CopyFault::Failed(error.into())
    }
}

impl CopyFault {
    pub(super) fn io(path: &Path, error: &io::Error) -> CopyFault {
        CopyFault::Failed(NotOpened(format!("{}: {error}", path.display())))
    }
}

/// Copies the ledger of this data directory to `file`, which must not exist.
pub fn backup(folder: &Path, file: &Path, pace: BackupPace) -> Result<BackupMade, CopyFault> {
    let database = database_in(folder);
    if !database.exists() {
        return Err(NotOpened(format!("there is no ledger in {}", folder.display())).into());
    }
    if file.exists() {
        return Err(CopyFault::io(file, &io::ErrorKind::AlreadyExists.into()));
    }
    let part = Part::begin(file)?;
    copy(&database, &part.0, pace)?;
    let looked = checked(&part.0)?;
    let bytes = flush(&part.0).map_err(|e| CopyFault::io(file, &e))?;
    // A hard link, not a rename: it does not replace a file that was created meanwhile.
    fs::hard_link(&part.0, file).map_err(|e| CopyFault::io(file, &e))?;
    drop(part);
    flush_folder(file).map_err(|e| CopyFault::io(file, &e))?;
    Ok(BackupMade { bytes, looked })
}

/// The unfinished copy next to its final name. It is removed unless it got that name.
struct Part(PathBuf);

impl Part {
    fn begin(file: &Path) -> Result<Part, CopyFault> {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let part = file.with_file_name(name);
        // Left behind by a process that was killed.
        let _ = fs::remove_file(&part);
        private_new(&part).map_err(|e| CopyFault::io(&part, &e))?;
        Ok(Part(part))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The file contains telephone numbers and ticket keys.
pub(super) fn private_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Copies a snapshot of a database into an empty file, which then needs no log.
pub(super) fn copy(from: &Path, to: &Path, pace: BackupPace) -> Result<(), CopyFault> {
    let source = readers::open(from)?;
    // While a read transaction is open, writers do not make the copy start over.
    let moment = source.unchecked_transaction()?;
    moment.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let mut target = Connection::open(to)?;
    // A failed copy is deleted, and a complete one is flushed at the end.
    target.pragma_update(None, "journal_mode", "OFF")?;
    target.pragma_update(None, "synchronous", "OFF")?;
    let steps = Backup::new(&moment, &mut target)?;
    loop {
        match steps.step(STEP_PAGES)? {
            StepResult::Done => break,
            _ => std::thread::sleep(pace.pause()),
        }
    }
    drop(steps);
    drop(target);
    // The copied header says that there is a log. Without WAL mode the file is complete by itself.
    Connection::open(to)?.pragma_update(None, "journal_mode", "DELETE")?;
    Ok(())
}

/// Checks every invariant in the copy.
pub(super) fn checked(file: &Path) -> Result<Looked, CopyFault> {
    let (looked, findings) = verify_file(file)?;
    let broken: Vec<Finding> = findings.into_iter().filter(|finding| !finding.holds()).collect();
    if broken.is_empty() { Ok(looked) } else { Err(CopyFault::Broken(broken)) }
}

/// Returns the length.
pub(super) fn flush(file: &Path) -> io::Result<u64> {
    let file = OpenOptions::new().write(true).open(file)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// A new file name is durable once its directory is flushed.
pub(super) fn flush_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}
