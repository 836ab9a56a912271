//! A continuous copy of the embedded ledger in a second place, for the day when the first one is gone: one file in
//! `REPLICATE_TO`, replaced by a newer one a few seconds after every change. Each is whole and verified, as a backup
//! is, so `tickettock restore` takes it.
//!
//! The file is named after the ledger and its epoch: a server that starts with an empty folder, or from an old backup,
//! never overwrites the copy of the ledger that was lost.

use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::{Duration, Instant};

use stores::ledger::sqlite::{self, CopyFault, LedgerChanges};
use tokio::sync::oneshot;

use crate::app::App;
use crate::backups::PACE;

/// A copy of a large ledger rests so many times as long as it took.
const REST: u32 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaPlan {
    pub folder: PathBuf,
    pub every: Duration,
}

/// Copies until the server is gone.
pub async fn run(app: Weak<App>, plan: ReplicaPlan) {
    let mut replica = None;
    loop {
        let Some(now) = app.upgrade() else { return };
        let (began, before) = (Instant::now(), now.ledger.wall());
        let folder = now.settings.data_dir.clone();
        match step(replica.take(), folder, plan.clone()).await {
            Ok((kept, copied)) => {
                // Everything that was acknowledged before is in it.
                now.metrics.backups.replicated(before, copied.then(|| began.elapsed()));
                replica = Some(kept);
            }
            Err(why) => {
                tracing::error!(%why, "the ledger was not copied to REPLICATE_TO");
                now.metrics.backups.not_replicated();
            }
        }
        drop(now);
        tokio::time::sleep(plan.every.max(began.elapsed() * REST)).await;
    }
}

/// On a thread of its own: the end of the process does not wait for it. Returns whether there was anything to copy.
async fn step(replica: Option<Replica>, data: PathBuf, plan: ReplicaPlan) -> Result<(Replica, bool), String> {
    let (done, result) = oneshot::channel();
    let work = move || {
        let _ = done.send(Replica::of(replica, &data, &plan).and_then(|mut replica| {
            let copied = replica.follow(&data)?;
            Ok((replica, copied))
        }));
    };
    std::thread::Builder::new().name("replica".into()).spawn(work).map_err(|e| e.to_string())?;
    result.await.unwrap_or_else(|_| Err("the thread ended".into()))
}

/// The copy of one ledger.
pub struct Replica {
    file: PathBuf,
    changes: LedgerChanges,
}

impl Replica {
    fn of(known: Option<Replica>, data: &Path, plan: &ReplicaPlan) -> Result<Replica, String> {
        match known {
            Some(replica) => Ok(replica),
            None => Replica::begin(data, &plan.folder),
        }
    }

    /// Of the ledger in this data folder, as a file in `folder`.
    pub fn begin(data: &Path, folder: &Path) -> Result<Replica, String> {
        let changes = LedgerChanges::of(data).map_err(|e| e.to_string())?;
        let id = changes.id().map_err(|e| e.to_string())?;
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Replica { file: folder.join(format!("tickettock-replica-{id}.db")), changes })
    }

    /// Copies the ledger if it was changed since the last copy. Returns whether it was.
    pub fn follow(&mut self, data: &Path) -> Result<bool, String> {
        // Before the copy: what is committed while it is made may or may not be in it.
        let Some(state) = self.changes.state().map_err(|e| e.to_string())? else { return Ok(false) };
        let new = self.file.with_extension("new");
        // Left by a process that was killed.
        let _ = std::fs::remove_file(&new);
        sqlite::backup(data, &new, PACE).map_err(|fault| match fault {
            CopyFault::Failed(why) => why.to_string(),
            CopyFault::Broken(findings) => {
                let names: Vec<&str> = findings.iter().map(|finding| finding.name).collect();
                format!("the ledger is broken, and the last copy stays: {}", names.join("; "))
            }
        })?;
        let bad = |e: std::io::Error| format!("{}: {e}", self.file.display());
        std::fs::rename(&new, &self.file).map_err(bad)?;
        // The new name is durable when its folder is.
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(bad)?;
        self.changes.keep(state);
        Ok(true)
    }
}
