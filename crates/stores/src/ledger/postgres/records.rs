//! The operator's view of the history, on PostgreSQL.

use rules::history::Happened;
use rules::ids::{Number, Seat, User};
use rules::nights::{Dates, Night};
use rules::subject::SubjectId;
use rules::time::Moment;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::engine::chain_head;
use super::session::{Session, within};
use super::trouble::{Trouble, unknown};
use super::{Inner, PostgresLedger, Values, all, first, queries, values, verify};
use crate::chain::walk::StoredLink;
use crate::chain::{Chain, ChainRow, ContactFields, ErasableFields, RowHash};
use crate::ledger::details::read_details;
use crate::ledger::records::{HistoryHead, LedgerNote, LedgerRecord, Records, admin, bounds};
use crate::ledger::{Answered, LedgerFault};
use crate::verify::{Finding, Looked};

impl Records for PostgresLedger {
    fn records(
        &self,
        of: Option<SubjectId>,
        after: Option<(SubjectId, u64)>,
        limit: usize,
    ) -> Answered<Vec<LedgerRecord>> {
        let [least, greatest, subject, n] = bounds(of, after);
        let row = values![least, greatest, subject, n, limit as i64];
        self.read(queries::RECORDS, row, |_, rows| all(&rows, record))
    }

    fn positions(&self, subjects: Vec<SubjectId>) -> Answered<Vec<(SubjectId, u64)>> {
        let (mut events, mut room_types) = (Vec::new(), Vec::new());
        for subject in subjects {
            match subject {
                SubjectId::Event(id) => events.push(id.0),
                SubjectId::RoomType(id) => room_types.push(id.0),
                // Nobody subscribes to it.
                SubjectId::Ledger => {}
            }
        }
        self.read(queries::POSITIONS, values![events, room_types], |inner, rows| {
            if let Some(row) = rows.first() {
                inner.clock.saw(Moment(row.try_get(2)?));
            }
            all(&rows, |row| Ok((SubjectId::of_row(row.try_get(0)?), row.try_get::<_, i64>(1)? as u64)))
        })
    }

    fn head(&self, of: SubjectId) -> Answered<Option<HistoryHead>> {
        self.read(queries::HEAD, values![of.row()], |_, rows| {
            first(&rows, |row| {
                let n = row.try_get::<_, i64>(0)? as u64;
                Ok(HistoryHead { n, hash: hash(row, 1)?, at: Moment(row.try_get(2)?) })
            })
        })
    }

    fn note(&self, note: LedgerNote) -> Answered<()> {
        self.run(move |inner| async move { inner.note(&note).await.map_err(Trouble::fault) })
    }

    fn audit(&self) -> Answered<(Looked, Vec<Finding>)> {
        self.run(|inner| async move { verify::verify_at(&inner.address, &[]).await.map_err(LedgerFault::Unreachable) })
    }
}

impl Inner {
    async fn note(&self, note: &LedgerNote) -> Result<(), Trouble> {
        let mut session = self.sessions.get().await?;
        session.dirty();
        within(session.batch_execute("BEGIN")).await??;
        append_note(&session, note).await?;
        within(session.batch_execute("COMMIT")).await??;
        session.clean();
        Ok(())
    }
}

impl Inner {
    /// Runs a statement. If it changed anything, appends the note in the same transaction.
    pub(super) async fn noted<T: Default + PartialEq>(
        &self,
        query: &str,
        row: Values,
        note: LedgerNote,
        changed: impl FnOnce(&[Row]) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut session = self.sessions.get().await?;
        let statement = session.prepared(query).await?;
        session.dirty();
        within(session.batch_execute("BEGIN")).await??;
        let row: Vec<&(dyn ToSql + Sync)> = row.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        let rows = within(session.query(&statement, &row)).await??;
        let changed = changed(&rows)?;
        if changed != T::default() {
            append_note(&session, &note).await?;
        }
        within(session.batch_execute("COMMIT")).await??;
        session.clean();
        Ok(changed)
    }
}

/// Runs in the transaction of the change. The ledger's row is the row lock.
pub async fn append_note(session: &Session, note: &LedgerNote) -> Result<(), Trouble> {
    let newest = session.prepared(queries::LOCK_LEDGER).await?;
    let newest = within(session.query_one(&newest, &[])).await??;
    let (n, at) = (newest.try_get::<_, i64>(0)? + 1, Moment(newest.try_get(2)?));
    let row = note.row(n as u64, at);
    let chain = Chain::extend(chain_head(&newest)?, vec![row.clone()]);
    let append = session.prepared(queries::APPEND_NOTE).await?;
    for link in &chain.links {
        let (salt, hash) = (link.salt.as_ref().map(|salt| &salt[..]), &link.hash[..]);
        let values: [&(dyn ToSql + Sync); 11] = [
            &n,
            &row.what,
            &row.owner,
            &row.by_admin,
            &row.admin,
            &row.at,
            &row.trace,
            &row.detail,
            &link.address.as_deref(),
            &salt,
            &hash,
        ];
        within(session.execute(&append, &values)).await??;
    }
    let moved = session.prepared(queries::MOVE_LEDGER).await?;
    within(session.execute(&moved, &[&n, &chain.head()])).await??;
    Ok(())
}

fn record(row: &Row) -> Result<LedgerRecord, Trouble> {
    let what: &str = row.try_get(2)?;
    let dates: (Option<i32>, Option<i32>) = (row.try_get(9)?, row.try_get(10)?);
    Ok(LedgerRecord {
        subject: SubjectId::of_row(row.try_get(0)?),
        n: row.try_get::<_, i64>(1)? as u64,
        what: Happened::named(what).ok_or_else(|| unknown(what))?,
        seat: row.try_get::<_, Option<i32>>(3)?.map(|seat| Seat(seat as u32)),
        owner: row.try_get::<_, Option<&str>>(4)?.map(User::stored),
        admin: admin(row.try_get(5)?, row.try_get(11)?),
        number: row.try_get::<_, Option<i64>>(6)?.map(|n| Number(n as u64)),
        at: Moment(row.try_get(7)?),
        hold: row.try_get::<_, Option<i64>>(8)?.map(|n| n as u64),
        details: read_details(row.try_get(12)?),
        dates: dates.0.zip(dates.1).map(|(i, o)| Dates { check_in: Night(i), check_out: Night(o) }),
        trace: text(row, 13)?.map(Into::into),
        detail: text(row, 14)?.map(Into::into),
        address: text(row, 15)?.map(Into::into),
        erased: row.try_get(16)?,
        hash: hash(row, 17)?,
    })
}

fn text(row: &Row, i: usize) -> Result<Option<&str>, Error> {
    row.try_get(i)
}

fn hash(row: &Row, i: usize) -> Result<Option<RowHash>, Trouble> {
    let hash: Option<&[u8]> = row.try_get(i)?;
    let another = |_| Trouble::Broken("a hash of another length".into());
    hash.map(|hash| RowHash::try_from(hash).map_err(another)).transpose()
}

/// A row with the columns of a chain scan, and its batch.
pub fn chain_row(row: &Row, see: impl FnOnce(&ChainRow<'_>, &StoredLink<'_>)) -> Result<(), Error> {
    let number = |i: usize| Ok::<_, Error>(row.try_get::<_, Option<i64>>(i)?.map(|n| n as u64));
    let shown = ChainRow {
        subject: row.try_get(0)?,
        n: row.try_get::<_, i64>(1)? as u64,
        what: row.try_get(2)?,
        seat: row.try_get::<_, Option<i32>>(3)?.map(|seat| seat as u32),
        owner: text(row, 4)?,
        by_admin: row.try_get(5)?,
        number: number(6)?,
        at: row.try_get(7)?,
        hold: number(8)?,
        check_in: row.try_get(9)?,
        check_out: row.try_get(10)?,
        admin: text(row, 11)?,
        trace: text(row, 12)?,
        detail: text(row, 13)?,
        batch: text(row, 25)?,
        erasable: ErasableFields { address: text(row, 14)?.map(Into::into), details: text(row, 15)?.map(Into::into) },
        contact: ContactFields { name: text(row, 21)?, phone: text(row, 22)?, email: text(row, 23)? },
    };
    let stored = StoredLink {
        salt: row.try_get(16)?,
        erased: row.try_get(17)?,
        hash: row.try_get(18)?,
        contact: row.try_get(19)?,
        stands: row.try_get(20)?,
        contact_salt: row.try_get(24)?,
    };
    see(&shown, &stored);
    Ok(())
}
