//! The data directory: used by one process at a time, and readable by its user only.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A locked data directory. The lock is held as long as the process writes there; the system releases it when the
/// process ends, in any way.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

#[derive(Debug)]
pub enum NotClaimed {
    InUse(PathBuf),
    Io(PathBuf, io::Error),
}

impl DataDir {
    pub fn claim(path: &Path) -> Result<DataDir, NotClaimed> {
        let io = |e| NotClaimed::Io(path.to_owned(), e);
        if !path.exists() {
            fs::create_dir_all(path).map_err(io)?;
            private(path).map_err(io)?;
        } else if open_to_others(path).map_err(io)? {
            let folder = path.display();
            tracing::warn!(%folder, "other users of this machine may read the data folder: chmod 700 it");
        }
        let file = path.join("lock");
        let lock = private_file(&file).map_err(io)?;
        // SQLite gives the log the same mode as the database.
        private_file(&database_in(path)).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => Ok(DataDir { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(NotClaimed::InUse(path.to_owned())),
            Err(TryLockError::Error(e)) => Err(io(e)),
        }
    }

    pub fn database(&self) -> PathBuf {
        database_in(&self.path)
    }
}

pub fn database_in(folder: &Path) -> PathBuf {
    folder.join("tickettock.db")
}

/// Opens a file for writing. A new file is accessible to this user only.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn open_to_others(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn private(_: &Path) -> io::Result<()> {
    Ok(())
}
