//! Restores a backup into a data directory. The copy is migrated and verified next to the ledger before anything is
//! replaced, and the old ledger is kept under another name.
//!
//! A restored ledger is a different one from the ledger that was backed up. It gets a new epoch, arrival numbers
//! continue far above all that may have been assigned since the backup, and events that are created from now on refuse
//! older tickets, because their ids may have been used before.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension};

use super::backup::{BackupPace, CopyFault, checked, copy, flush, flush_folder, private_new};
use super::data_dir::DataDir;
use super::event::make_ticket_key;
use super::generations::GenerationsFile;
use super::{NotOpened, checkpoint, database_in, migrate};
use crate::ledger::random_secret;
use crate::verify::Looked;

/// Every start of a server raises the generation of the events that it sells. Since the backup there were fewer starts.
const GENERATIONS_SKIPPED: i64 = 1_000;

#[derive(Debug)]
pub struct Restored {
    pub looked: Looked,
    /// The path of the ledger that was replaced.
    pub kept: Option<PathBuf>,
}

/// With `replace` an existing ledger is kept under another name; without it the restore is refused.
pub fn restore(file: &Path, folder: &Path, replace: bool) -> Result<Restored, CopyFault> {
    if !file.exists() {
        return Err(CopyFault::io(file, &io::ErrorKind::NotFound.into()));
    }
    let database = database_in(folder);
    let occupied = fs::metadata(&database).is_ok_and(|there| there.len() > 0);
    if occupied && !replace {
        let why = format!("there is a ledger in {}: --replace puts the backup in its place", folder.display());
        return Err(NotOpened(why).into());
    }
    let _claimed = DataDir::claim(folder).map_err(NotOpened::from)?;
    let new = folder.join("tickettock.db.restoring");
    let _ = fs::remove_file(&new);
    let io = |e: io::Error| CopyFault::io(&new, &e);
    let prepared = private_new(&new).map_err(io).and_then(|_| prepare(file, &new, folder));
    let looked = match prepared {
        Ok(looked) => looked,
        Err(fault) => {
            let _ = fs::remove_file(&new);
            return Err(fault);
        }
    };
    flush(&new).map_err(io)?;
    let kept = if occupied { Some(keep(&database).map_err(io)?) } else { None };
    fs::rename(&new, &database).map_err(io)?;
    flush_folder(&database).map_err(io)?;
    Ok(Restored { looked, kept })
}

/// The copy in its final form: migrated to this version, verified, with a new epoch.
fn prepare(file: &Path, new: &Path, folder: &Path) -> Result<Looked, CopyFault> {
    copy(file, new, BackupPace { mib_per_second: 0 })?;
    let mut conn = Connection::open(new)?;
    let tables = conn.query_row("SELECT count(*) FROM sqlite_schema WHERE name IN ('ledger', 'event')", [], |row| {
        row.get::<_, i64>(0)
    });
    // This also fails if the file is no database at all.
    if tables.optional().ok().flatten() != Some(2) {
        return Err(NotOpened(format!("{} is no backup of a ledger", file.display())).into());
    }
    migrate(&mut conn)?;
    drop(conn);
    let looked = checked(new)?;
    let conn = Connection::open(new)?;
    let epoch = uuid::Uuid::new_v4().simple().to_string();
    conn.execute("UPDATE ledger SET id = substr(id || '.', 1, instr(id || '.', '.')) || ?1", [epoch])?;
    let highest = GenerationsFile::highest(folder);
    conn.execute("UPDATE event SET generation = max(generation, ?1) + ?2", [highest, GENERATIONS_SKIPPED])?;
    // Without a key there are no tickets.
    let newest: Option<i64> = conn.query_row("SELECT max(made_at) FROM ticket_key", [], |row| row.get(0))?;
    if let Some(newest) = newest {
        make_ticket_key(&conn, &random_secret(), Moment(newest))?;
    }
    Ok(looked)
}

/// Gives the old ledger a second name. It keeps its first name until the new ledger takes it, so that a ledger exists
/// at every moment.
fn keep(database: &Path) -> io::Result<PathBuf> {
    let emptied = Connection::open(database).and_then(|conn| {
        let whole = checkpoint::empty(&conn)?;
        conn.pragma_update(None, "journal_mode", "DELETE")?;
        Ok(whole)
    });
    let kept = (1..)
        .map(|n| database.with_file_name(format!("tickettock.db.replaced-{n}")))
        .find(|name| !name.exists())
        .ok_or(io::ErrorKind::AlreadyExists)?;
    fs::hard_link(database, &kept)?;
    if emptied.ok() != Some(true) {
        // A damaged ledger keeps its log, under the name that SQLite expects.
        let log = |of: &Path| PathBuf::from(format!("{}-wal", of.display()));
        if log(database).exists() {
            fs::rename(log(database), log(&kept))?;
        }
    }
    // The log of one database would corrupt another.
    for other in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{other}", database.display()));
    }
    Ok(kept)
}
