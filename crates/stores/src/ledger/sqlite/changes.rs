//! Whether a ledger was changed since somebody last looked, without reading it.

use std::path::Path;

use rusqlite::Connection;

use super::{NotOpened, database_in, readers};

/// A connection of its own: SQLite counts for each what others committed.
pub struct LedgerChanges {
    conn: Connection,
    seen: Option<i64>,
}

impl LedgerChanges {
    /// Of the ledger in this data folder.
    pub fn of(folder: &Path) -> Result<LedgerChanges, NotOpened> {
        Ok(LedgerChanges { conn: readers::open(&database_in(folder))?, seen: None })
    }

    /// The ledger's id, and behind a dot its epoch if it was restored.
    pub fn id(&self) -> Result<String, NotOpened> {
        Ok(self.conn.query_row("SELECT id FROM ledger", [], |row| row.get(0))?)
    }

    /// Which state the ledger is in now. None: the one that was kept.
    pub fn state(&self) -> Result<Option<LedgerState>, NotOpened> {
        let now = self.conn.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        Ok((self.seen != Some(now)).then_some(LedgerState(now)))
    }

    /// What follows is compared with this state.
    pub fn keep(&mut self, state: LedgerState) {
        self.seen = Some(state.0);
    }
}

/// A number that differs after every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerState(i64);
