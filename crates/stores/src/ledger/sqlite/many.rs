//! One statement for many rows, because starting and ending a statement costs SQLite as much as a row.

use std::sync::LazyLock;

use rusqlite::{CachedStatement, Connection, Result, Row, ToSql};

use super::queries;

/// Rows per statement: the largest size as often as possible, then the next size for the rest.
const SIZES: [usize; 3] = [64, 8, 1];

pub static SELL_SEATS: Many = Many(LazyLock::new(|| texts(queries::SELL_SEAT)));
pub static APPEND_HISTORY: Many = Many(LazyLock::new(|| texts(queries::APPEND_HISTORY)));
pub static APPEND_ROOM_HISTORY: Many = Many(LazyLock::new(|| texts(queries::APPEND_ROOM_HISTORY)));
pub static BEGIN_HOLDS: Many = Many(LazyLock::new(|| texts(queries::BEGIN_HOLD)));
pub static HOLDINGS: Many = Many(LazyLock::new(|| texts(queries::HOLDINGS)));

/// One statement per size.
pub struct Many(LazyLock<[String; SIZES.len()]>);

/// Built from the statement for one row, `VALUES (?, ...)`. All its parameters are plain `?`.
fn texts(single: &str) -> [String; SIZES.len()] {
    let cut = single.split_once("VALUES (").and_then(|(head, rest)| Some((head, rest.split_once(')')?)));
    let (head, (row, tail)) = cut.unwrap_or_else(|| panic!("no row of values in {single}"));
    SIZES.map(|size| format!("{head}VALUES {}{tail}", vec![format!("({row})"); size].join(", ")))
}

/// The parameters of a statement, bound one after the other.
pub struct Parameters<'s, 'c> {
    statement: &'s mut CachedStatement<'c>,
    given: usize,
}

impl<'s, 'c> Parameters<'s, 'c> {
    pub fn of(statement: &'s mut CachedStatement<'c>) -> Parameters<'s, 'c> {
        Parameters { statement, given: 0 }
    }

    pub fn give(&mut self, value: impl ToSql) -> Result<()> {
        self.given += 1;
        self.statement.raw_bind_parameter(self.given, value)
    }
}

impl Many {
    /// Inserts one row per item. After an error some rows may exist: the caller rolls back to the start of its
    /// transaction or savepoint.
    pub fn insert<T>(
        &self,
        conn: &Connection,
        all: &[T],
        row: impl Fn(&mut Parameters<'_, '_>, &T) -> Result<()>,
    ) -> Result<()> {
        self.each(conn, all, row, |statement| statement.raw_execute().map(drop))
    }

    /// The rows found for all items, with `last` as the last parameter.
    pub fn find<T>(
        &self,
        conn: &Connection,
        all: &[T],
        last: impl ToSql + Copy,
        row: impl Fn(&mut Parameters<'_, '_>, &T) -> Result<()>,
        mut found: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.each(conn, all, row, |statement| {
            let behind = statement.parameter_count();
            statement.raw_bind_parameter(behind, last)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                found(row)?;
            }
            Ok(())
        })
    }

    fn each<T>(
        &self,
        conn: &Connection,
        mut all: &[T],
        row: impl Fn(&mut Parameters<'_, '_>, &T) -> Result<()>,
        mut run: impl FnMut(&mut CachedStatement<'_>) -> Result<()>,
    ) -> Result<()> {
        for (size, text) in SIZES.into_iter().zip(&*self.0) {
            if all.len() < size {
                continue;
            }
            let mut statement = conn.prepare_cached(text)?;
            while let Some((now, rest)) = all.split_at_checked(size) {
                let mut parameters = Parameters::of(&mut statement);
                now.iter().try_for_each(|one| row(&mut parameters, one))?;
                run(&mut statement)?;
                all = rest;
            }
        }
        Ok(())
    }
}
