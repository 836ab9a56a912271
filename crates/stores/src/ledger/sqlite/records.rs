//! The operator's view of the history, on SQLite.

use rules::history::Happened;
use rules::ids::{Number, Seat, User};
use rules::nights::{Dates, Night};
use rules::subject::SubjectId;
use rules::time::Moment;
use rusqlite::{OptionalExtension, Result, Row, params};

use super::job::Transaction;
use super::trouble::unknown;
use super::{SqliteLedger, queries, verify};
use crate::chain::walk::StoredLink;
use crate::chain::{Chain, ChainRow, ContactFields, ErasableFields};
use crate::ledger::details::read_details;
use crate::ledger::records::{HistoryHead, LedgerNote, LedgerRecord, Records, admin, bounds};
use crate::ledger::{Answered, LedgerFault};
use crate::verify::{Finding, Looked};

impl Records for SqliteLedger {
    fn records(
        &self,
        of: Option<SubjectId>,
        after: Option<(SubjectId, u64)>,
        limit: usize,
    ) -> Answered<Vec<LedgerRecord>> {
        self.readers.read(move |conn| {
            let [least, greatest, subject, n] = bounds(of, after);
            let mut statement = conn.prepare_cached(queries::RECORDS)?;
            statement.query_map((least, greatest, subject, n, limit as i64), record)?.collect()
        })
    }

    fn positions(&self, subjects: Vec<SubjectId>) -> Answered<Vec<(SubjectId, u64)>> {
        self.readers.read(move |conn| {
            let mut event = conn.prepare_cached(queries::EVENT_POSITION)?;
            let mut room_type = conn.prepare_cached(queries::ROOM_TYPE_POSITION)?;
            let mut found = Vec::with_capacity(subjects.len());
            for subject in subjects {
                let (statement, id) = match subject {
                    SubjectId::Event(id) => (&mut event, id.0),
                    SubjectId::RoomType(id) => (&mut room_type, id.0),
                    // Nobody subscribes to it.
                    SubjectId::Ledger => continue,
                };
                let n: Option<i64> = statement.query_row([id], |row| row.get(0)).optional()?;
                found.extend(n.map(|n| (subject, n as u64)));
            }
            Ok(found)
        })
    }

    fn head(&self, of: SubjectId) -> Answered<Option<HistoryHead>> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::HEAD)?
                .query_row([of.row()], |row| {
                    Ok(HistoryHead { n: row.get::<_, i64>(0)? as u64, hash: row.get(1)?, at: Moment(row.get(2)?) })
                })
                .optional()
        })
    }

    fn note(&self, note: LedgerNote) -> Answered<()> {
        self.write(move |tx| append_note(tx, &note).map(Some))
    }

    fn audit(&self) -> Answered<(Looked, Vec<Finding>)> {
        let database = self.readers.database().to_owned();
        Box::pin(async move {
            let checked = tokio::task::spawn_blocking(move || verify::verify_file(&database)).await;
            let checked = checked.map_err(|_| LedgerFault::Broken("the audit panicked".into()))?;
            checked.map_err(|why| LedgerFault::Unreachable(why.to_string()))
        })
    }
}

/// Runs in the transaction of the change.
pub fn append_note(tx: &Transaction<'_>, note: &LedgerNote) -> Result<()> {
    let (n, head): (i64, _) = tx
        .conn
        .prepare_cached("SELECT n, head FROM ledger WHERE only_row = 1")?
        .query_row([], |row| Ok((row.get::<_, i64>(0)? + 1, row.get(1)?)))?;
    let row = note.row(n as u64, tx.read.now);
    let chain = Chain::extend(head, vec![row.clone()]);
    for link in &chain.links {
        tx.conn.prepare_cached(queries::APPEND_NOTE)?.execute(params![
            n,
            row.what,
            row.owner,
            row.by_admin,
            row.admin,
            row.at,
            row.trace,
            row.detail,
            link.address,
            link.salt.as_ref().map(|salt| &salt[..]),
            &link.hash[..],
        ])?;
    }
    let mut newest = tx.conn.prepare_cached("UPDATE ledger SET n = ?1, head = ?2 WHERE only_row = 1")?;
    newest.execute(params![n, chain.head()]).map(drop)
}

fn record(row: &Row<'_>) -> Result<LedgerRecord> {
    let what: String = row.get(2)?;
    let dates: (Option<i32>, Option<i32>) = (row.get(9)?, row.get(10)?);
    Ok(LedgerRecord {
        subject: SubjectId::of_row(row.get(0)?),
        n: row.get::<_, i64>(1)? as u64,
        what: Happened::named(&what).ok_or_else(|| unknown(2, &what))?,
        seat: row.get::<_, Option<u32>>(3)?.map(Seat),
        owner: row.get::<_, Option<String>>(4)?.map(|owner| User::stored(&owner)),
        admin: admin(row.get(5)?, row.get_ref(11)?.as_str_or_null()?),
        number: row.get::<_, Option<i64>>(6)?.map(|n| Number(n as u64)),
        at: Moment(row.get(7)?),
        hold: row.get::<_, Option<i64>>(8)?.map(|n| n as u64),
        details: read_details(row.get_ref(12)?.as_str_or_null()?),
        dates: dates.0.zip(dates.1).map(|(i, o)| Dates { check_in: Night(i), check_out: Night(o) }),
        trace: text(row, 13)?.map(Into::into),
        detail: text(row, 14)?.map(Into::into),
        address: text(row, 15)?.map(Into::into),
        erased: row.get(16)?,
        hash: row.get(17)?,
    })
}

fn text<'a>(row: &'a Row<'_>, i: usize) -> Result<Option<&'a str>> {
    Ok(row.get_ref(i)?.as_str_or_null()?)
}

/// A row with the columns of a chain scan.
pub fn chain_row(row: &Row<'_>, see: impl FnOnce(&ChainRow<'_>, &StoredLink<'_>)) -> Result<()> {
    let number = |i: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(i)?.map(|n| n as u64));
    let bytes = |i: usize| Ok::<_, rusqlite::Error>(row.get_ref(i)?.as_blob_or_null()?);
    let shown = ChainRow {
        subject: row.get(0)?,
        n: row.get::<_, i64>(1)? as u64,
        what: row.get_ref(2)?.as_str()?,
        seat: row.get(3)?,
        owner: text(row, 4)?,
        by_admin: row.get(5)?,
        number: number(6)?,
        at: row.get(7)?,
        hold: number(8)?,
        check_in: row.get(9)?,
        check_out: row.get(10)?,
        admin: text(row, 11)?,
        trace: text(row, 12)?,
        detail: text(row, 13)?,
        batch: None,
        erasable: ErasableFields { address: text(row, 14)?.map(Into::into), details: text(row, 15)?.map(Into::into) },
        contact: ContactFields { name: text(row, 21)?, phone: text(row, 22)?, email: text(row, 23)? },
    };
    let stored = StoredLink {
        salt: bytes(16)?,
        erased: bytes(17)?,
        hash: bytes(18)?,
        contact: bytes(19)?,
        stands: row.get(20)?,
        contact_salt: bytes(24)?,
    };
    see(&shown, &stored);
    Ok(())
}
