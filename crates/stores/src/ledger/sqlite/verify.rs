//! Checks the invariants on a SQLite file, also while a server is using it.

use std::path::Path;

use rusqlite::Connection;

use super::records::chain_row;
use super::{NotOpened, database_in, readers};
use crate::chain::walk::{COLUMNS, ChainWalk, KeptHead, ROWS};
use crate::verify::reasons::{GIVEN_BACK, ReasonWalk};
use crate::verify::{Finding, INVARIANTS, LOOKED, Looked, SHOWN_MOST, SQLITE_ONLY, chain_findings};

/// Checks every invariant in one snapshot, and returns what breaks it.
pub fn verify(folder: &Path) -> Result<(Looked, Vec<Finding>), NotOpened> {
    verify_with(folder, &[])
}

/// The same, and checks whether the recorded heads still exist.
pub fn verify_with(folder: &Path, kept: &[KeptHead]) -> Result<(Looked, Vec<Finding>), NotOpened> {
    let database = database_in(folder);
    if !database.exists() {
        return Err(NotOpened(format!("there is no ledger in {}", folder.display())));
    }
    look(&database, kept)
}

/// The same for the database file itself.
pub fn verify_file(database: &Path) -> Result<(Looked, Vec<Finding>), NotOpened> {
    look(database, &[])
}

fn look(database: &Path, kept: &[KeptHead]) -> Result<(Looked, Vec<Finding>), NotOpened> {
    let conn = readers::open(database)?;
    let moment = conn.unchecked_transaction()?;
    let looked = moment.query_row(LOOKED, [], |row| {
        let count = |i| row.get::<_, i64>(i).map(|n| n as u64);
        Ok(Looked { events: count(0)?, reservations: count(1)?, history: count(2)?, ..Looked::default() })
    });
    let mut findings = vec![Finding { name: "the file is whole", broken: integrity(&moment)? }];
    for invariant in INVARIANTS.iter().chain(SQLITE_ONLY) {
        findings.push(Finding { name: invariant.name, broken: sentences(&moment, invariant.sql) });
    }
    let mut reasons = ReasonWalk::default();
    if let Err(error) = given_back(&moment, &mut reasons) {
        reasons.unreadable(&error.to_string());
    }
    findings.push(reasons.finish());
    let mut walk = ChainWalk::looking_for(kept);
    if let Err(error) = walked(&moment, &mut walk) {
        walk.unreadable(&error.to_string());
    }
    let (chain, of_chain) = chain_findings(walk, !kept.is_empty());
    findings.extend(of_chain);
    Ok((Looked { chain, ..looked.unwrap_or_default() }, findings))
}

/// Row by row: no row is kept in memory.
fn walked(conn: &Connection, walk: &mut ChainWalk) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(&format!("SELECT {COLUMNS} {ROWS}"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        chain_row(row, |row, stored| walk.step(row, stored))?;
    }
    Ok(())
}

fn given_back(conn: &Connection, walk: &mut ReasonWalk) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(GIVEN_BACK)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = |i: usize| Ok::<_, rusqlite::Error>(row.get_ref(i)?.as_str_or_null()?);
        walk.step(row.get(0)?, row.get(1)?, text(2)?, text(3)?);
    }
    Ok(())
}

/// Unreadable data counts as broken too.
fn sentences(conn: &Connection, sql: &str) -> Vec<String> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let mut statement = conn.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        rows.take(SHOWN_MOST).collect()
    };
    read().unwrap_or_else(|error| vec![error.to_string()])
}

fn integrity(conn: &Connection) -> Result<Vec<String>, NotOpened> {
    let said = sentences(conn, "PRAGMA integrity_check(5)");
    Ok(if said == ["ok"] { Vec::new() } else { said })
}
