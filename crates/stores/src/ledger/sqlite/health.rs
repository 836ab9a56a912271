//! Whether the ledger can write, for `/readyz`. A full disk is not fatal: nothing was done, and writing continues when
//! there is space again. Since clients may send no more writes by then, the writer tries one itself.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::ledger::LedgerFault;

/// Space for a few batches.
const ROOM: usize = 1 << 20;

pub struct WriteHealth {
    /// Why the last write failed.
    failed: Mutex<Option<String>>,
    /// A file that is written and removed to check for free space.
    probe: PathBuf,
}

impl WriteHealth {
    pub fn new(database: &Path) -> WriteHealth {
        WriteHealth { failed: Mutex::default(), probe: database.with_extension("probe") }
    }

    pub fn failed(&self, error: &rusqlite::Error) {
        *self.lock() = Some(error.to_string());
    }

    /// Called after a successful write.
    pub fn works(&self) {
        if let Some(error) = self.lock().take() {
            tracing::info!(error, "the ledger can be written again");
        }
    }

    pub fn ready(&self) -> Result<(), LedgerFault> {
        match &*self.lock() {
            None => Ok(()),
            Some(why) => Err(LedgerFault::Unreachable(why.clone())),
        }
    }

    /// Checks for free space on the disk.
    pub fn has_room(&self) -> bool {
        let written = write_and_remove(&self.probe);
        written.inspect_err(|error| tracing::debug!(%error, "no room yet")).is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn write_and_remove(probe: &Path) -> io::Result<()> {
    let written = File::create(probe).and_then(|mut file| {
        file.write_all(&vec![0; ROOM])?;
        file.sync_data()
    });
    fs::remove_file(probe)?;
    written
}
