//! Erasure of personal data, on SQLite. The scan for rows does not block the writer; each step of erasing is one job of
//! the writer.

use rules::ids::User;
use rules::subject::SubjectId;
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::job::Transaction;
use super::records::append_note;
use super::{SqliteLedger, queries};
use crate::ledger::Answered;
use crate::ledger::personal::{ErasedBeside, ErasedRows, PERSONAL_WINDOW, PersonalData, PersonalRows, digest};
use crate::ledger::records::LedgerNote;

impl PersonalData for SqliteLedger {
    fn personal_rows(&self, of: User, after: Option<(SubjectId, u64)>) -> Answered<PersonalRows> {
        self.readers.read(move |conn| {
            let (subject, n) = after.map_or((i64::MIN, 0), |(subject, n)| (subject.row(), n as i64));
            let mut statement = conn.prepare_cached(queries::PERSONAL_ROWS)?;
            let mut rows = statement.query(params![of.as_str(), subject, n, PERSONAL_WINDOW as i64])?;
            let (mut found, mut seen) = (PersonalRows::default(), 0);
            while let Some(row) = rows.next()? {
                let place = (SubjectId::of_row(row.get(0)?), row.get::<_, i64>(1)? as u64);
                if row.get(2)? {
                    found.rows.push(place);
                }
                (seen, found.next) = (seen + 1, Some(place));
            }
            found.next = found.next.filter(|_| seen == PERSONAL_WINDOW);
            Ok(found)
        })
    }

    fn erase_rows(&self, rows: Vec<(SubjectId, u64)>) -> Answered<ErasedRows> {
        self.write(move |tx| {
            tx.erases.set(true);
            let mut erased = ErasedRows::default();
            for (subject, n) in &rows {
                erased += erase(tx.conn, subject.row(), *n, Moment(i64::MAX))?;
            }
            Ok(Some(erased))
        })
    }

    fn end_erasure(&self, of: User, note: LedgerNote) -> Answered<ErasedBeside> {
        self.write(move |tx| {
            tx.erases.set(true);
            let sales = tx.conn.prepare_cached(queries::ERASE_SALES_OF)?.execute([of.as_str()])? as u64;
            let answers = tx.conn.prepare_cached(queries::ERASE_ANSWERS_OF)?.execute([of.as_str()])? as u64;
            append_note(tx, &note)?;
            Ok(Some(ErasedBeside { sales, answers }))
        })
    }
}

/// A row, and the hold and the stay that it names. The reason of a hold is erased if the hold ended before this moment.
fn erase(conn: &Connection, subject: i64, n: u64, before: Moment) -> Result<ErasedRows> {
    let found = conn.prepare_cached(queries::PERSONAL_ROW)?.query_row((subject, n as i64), |row| {
        let text = |i: usize| Ok::<_, rusqlite::Error>(row.get_ref(i)?.as_str_or_null()?);
        let digest = digest(text(0)?, text(1)?, row.get_ref(2)?.as_blob_or_null()?);
        Ok((digest, row.get::<_, Option<i64>>(3)?))
    });
    let Some((digest, hold)) = found.optional()? else { return Ok(ErasedRows::default()) };
    let mut erased = ErasedRows::default();
    if let Some(digest) = digest {
        erased.history +=
            conn.prepare_cached(queries::ERASE_ROW)?.execute(params![subject, n as i64, &digest[..]])? as u64;
    }
    if let Some(hold) = hold {
        erased.holds += conn.prepare_cached(queries::ERASE_HOLD)?.execute((subject, hold, before.0))? as u64;
    }
    if let SubjectId::RoomType(room_type) = SubjectId::of_row(subject) {
        erased.stays += conn.prepare_cached(queries::ERASE_STAY)?.execute((room_type.0, n as i64))? as u64;
    }
    Ok(erased)
}

/// Processes the oldest rows of subjects that have rows from before this moment. Returns how many rows were processed.
pub fn erase_aged(tx: &Transaction<'_>, before: Moment, most: usize) -> Result<usize> {
    tx.erases.set(true);
    let conn = tx.conn;
    let mut due = conn.prepare_cached(queries::PERSONAL_DUE)?;
    let due: Vec<(i64, i64)> =
        due.query_map([before.0], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_>>()?;
    let mut passed = 0;
    for (subject, from) in due {
        let mut rows = conn.prepare_cached(queries::PERSONAL_AGED)?;
        let to = from + (most - passed) as i64;
        let rows = rows.query_map((subject, from, to, before.0), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let rows: Vec<(i64, Option<u32>)> = rows.collect::<Result<_>>()?;
        for (n, seat) in &rows {
            erase(conn, subject, *n as u64, before)?;
            if let Some(seat) = seat {
                conn.prepare_cached(queries::ERASE_SALE)?.execute(params![subject, seat, n])?;
            }
        }
        if let Some((newest, _)) = rows.last() {
            let mark = match SubjectId::of_row(subject) {
                SubjectId::Event(_) => "UPDATE event SET erased_to = ?2 WHERE id = ?1",
                SubjectId::RoomType(_) => "UPDATE room_type SET erased_to = ?2 WHERE id = -?1",
                SubjectId::Ledger => "UPDATE ledger SET erased_to = ?2 WHERE only_row = 1 + ?1",
            };
            conn.prepare_cached(mark)?.execute((subject, newest))?;
        }
        passed += rows.len();
        if passed >= most {
            break;
        }
    }
    Ok(passed)
}
