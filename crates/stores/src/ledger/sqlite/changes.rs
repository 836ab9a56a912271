//! Detects whether a ledger has changed since the last check, without reading it.

use std::path::Path;

use rusqlite::Connection;

use super::{NotOpened, database_in, readers};

/// A separate connection: SQLite counts for each connection what others committed.
pub struct LedgerChanges {
    conn: Connection,
    seen: Option<i64>,
}

impl LedgerChanges {
    /// Opens the ledger in this data directory.
    pub fn of(folder: &Path) -> Result<LedgerChanges, NotOpened> {
        Ok(LedgerChanges { conn: readers::open(&database_in(folder))?, seen: None })
    }

    /// The ledger's id, followed by a dot and its epoch if it was restored.
    pub fn id(&self) -> Result<String, NotOpened> {
        Ok(self.conn.query_row("SELECT id FROM ledger", [], |row| row.get(0))?)
    }

    /// The current state of the ledger. None: unchanged since the stored one.
    pub fn state(&self) -> Result<Option<LedgerState>, NotOpened> {
        let now = self.conn.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        Ok((self.seen != Some(now)).then_some(LedgerState(now)))
    }

    /// Stores this state for later comparisons.
    pub fn keep(&mut self, state: LedgerState) {
        self.seen = Some(state.0);
    }
}

/// A number that changes with every commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerState(i64);
