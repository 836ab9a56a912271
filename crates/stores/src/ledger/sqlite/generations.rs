//! The generations of arrival numbers that were raised, stored in a file next to the database. If a database file was
//! restored from a backup, it knows fewer of them than this file. Then every event continues above all of them.
//!
//! One case is not detected: a restored backup of the whole directory, which includes this file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::{Connection, Result};

#[derive(Debug)]
pub struct GenerationsFile {
    path: PathBuf,
    known: Mutex<Generations>,
}

/// The sum over all events. Every raise changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generations {
    raised: i64,
    highest: i64,
}

impl Generations {
    /// The generations in the database.
    pub fn read(conn: &Connection) -> Result<Generations> {
        let query = "SELECT coalesce(sum(generation + 1), 0), coalesce(max(generation), -1) FROM event";
        conn.query_row(query, [], |row| Ok(Generations { raised: row.get(0)?, highest: row.get(1)? }))
    }

    fn parse(text: &str) -> Option<Generations> {
        let (raised, highest) = text.trim().split_once(' ')?;
        Some(Generations { raised: raised.parse().ok()?, highest: highest.parse().ok()? })
    }
}

impl GenerationsFile {
    /// Compares the file with the database, and raises the generations if the database was restored.
    pub fn open(folder: &Path, conn: &Connection) -> Result<GenerationsFile> {
        let path = folder.join("generations");
        let kept = kept(folder);
        let mut found = Generations::read(conn)?;
        if found.raised < kept.raised {
            tracing::warn!("the database is older than its folder: arrival numbers start a new generation");
            conn.execute("UPDATE event SET generation = ?1 WHERE generation < ?1", [kept.highest])?;
            found = Generations::read(conn)?;
        }
        let file = GenerationsFile { path, known: Mutex::new(kept) };
        file.keep(found);
        Ok(file)
    }

    /// The highest generation that was raised in this directory. -1: none is known.
    pub fn highest(folder: &Path) -> i64 {
        if folder.join("generations").exists() { kept(folder).highest } else { -1 }
    }

    /// Stores the current generations of the database. Without the file, numbers are unique as long as no backup is
    /// restored. So a failure is no reason to refuse a sale.
    pub fn keep(&self, found: Generations) {
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let new = Generations { raised: found.raised.max(known.raised), highest: found.highest.max(known.highest) };
        if new == *known {
            return;
        }
        match write(&self.path, new) {
            Ok(()) => *known = new,
            Err(error) => tracing::warn!(%error, file = %self.path.display(), "the generations were not kept"),
        }
    }
}

fn kept(folder: &Path) -> Generations {
    let text = fs::read_to_string(folder.join("generations")).ok();
    text.and_then(|text| Generations::parse(&text)).unwrap_or_default()
}

fn write(path: &Path, generations: Generations) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    writeln!(file, "{} {}", generations.raised, generations.highest)?;
    file.sync_all()?;
    fs::rename(new, path)
}
