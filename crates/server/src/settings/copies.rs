//! Where the embedded ledger is copied to, and how often: backups on a schedule, and the replica.

use std::path::PathBuf;
use std::time::Duration;

use super::typed::{KEEP_MOST_S, Reading};
use super::{BadSetting, Settings, Stores};
use crate::backups::BackupSchedule;
use crate::replica::ReplicaPlan;

impl Reading<'_> {
    pub(super) fn backups(&self) -> Result<Option<BackupSchedule>, BadSetting> {
        let every = Duration::from_secs(self.within("BACKUP_EVERY", 1, KEEP_MOST_S)? as u64);
        let keep = self.within("BACKUP_KEEP", 1, 100_000)? as usize;
        let folder = self.text("BACKUP_DIR");
        Ok((!folder.is_empty()).then(|| BackupSchedule { folder: PathBuf::from(folder), every, keep }))
    }

    pub(super) fn replica(&self) -> Result<Option<ReplicaPlan>, BadSetting> {
        let every = Duration::from_secs(self.within("REPLICATE_EVERY", 1, KEEP_MOST_S)? as u64);
        let folder = self.text("REPLICATE_TO");
        Ok((!folder.is_empty()).then(|| ReplicaPlan { folder: PathBuf::from(folder), every }))
    }
}

impl Settings {
    /// They are of a file that is there only with SQLite.
    pub(super) fn copies_of_sqlite(&self, read: &Reading<'_>) -> Result<(), BadSetting> {
        if self.stores == Stores::Embedded {
            return Ok(());
        }
        if self.backups.is_some() {
            return Err(read.bad("BACKUP_DIR", "nothing with DATABASE_URL: PostgreSQL has its own backups"));
        }
        if self.replica.is_some() {
            return Err(read.bad("REPLICATE_TO", "nothing with DATABASE_URL: PostgreSQL has standbys"));
        }
        Ok(())
    }
}
