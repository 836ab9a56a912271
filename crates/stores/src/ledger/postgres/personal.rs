//! Erasure of personal data, on PostgreSQL. Each step is one transaction, which locks the subjects whose sales, holds
//! and stays it changes, because batches find the row of a seat or a hold by its ctid.

use rules::ids::User;
use rules::subject::SubjectId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::records::append_note;
use super::session::{Session, within};
use super::trouble::Trouble;
use super::{Inner, PostgresLedger, queries, values};
use crate::ledger::Answered;
use crate::ledger::personal::{ErasedBeside, ErasedRows, PERSONAL_WINDOW, PersonalData, PersonalRows, digest};
use crate::ledger::records::LedgerNote;

impl PersonalData for PostgresLedger {
    fn personal_rows(&self, of: User, after: Option<(SubjectId, u64)>) -> Answered<PersonalRows> {
        let (subject, n) = after.map_or((i64::MIN, 0), |(subject, n)| (subject.row(), n as i64));
        let row = values![of.as_str().to_owned(), subject, n, PERSONAL_WINDOW as i64];
        self.read(queries::PERSONAL_ROWS, row, |_, rows| {
            let mut found = PersonalRows::default();
            for row in &rows {
                let place = (SubjectId::of_row(row.try_get(0)?), row.try_get::<_, i64>(1)? as u64);
                if row.try_get(2)? {
                    found.rows.push(place);
                }
                found.next = Some(place);
            }
            found.next = found.next.filter(|_| rows.len() == PERSONAL_WINDOW);
            Ok(found)
        })
    }

    fn erase_rows(&self, rows: Vec<(SubjectId, u64)>) -> Answered<ErasedRows> {
        self.run(move |inner| async move { inner.erase_rows(&rows).await.map_err(Trouble::fault) })
    }

    fn end_erasure(&self, of: User, note: LedgerNote) -> Answered<ErasedBeside> {
        self.run(move |inner| async move { inner.end_erasure(&of, &note).await.map_err(Trouble::fault) })
    }
}

impl Inner {
    /// One transaction per subject, so that none holds two locks, and none holds a lock for longer than its own rows
    /// take.
    async fn erase_rows(&self, rows: &[(SubjectId, u64)]) -> Result<ErasedRows, Trouble> {
        let mut erased = ErasedRows::default();
        for rows in rows.chunk_by(|(a, _), (b, _)| a == b) {
            let subject = rows[0].0;
            let mut session = self.sessions.get().await?;
            session.dirty();
            within(session.batch_execute("BEGIN")).await??;
            lock(&session, subject).await?;
            erased += erase(&session, subject, rows.iter().map(|(_, n)| *n as i64).collect(), None).await?;
            within(session.batch_execute("COMMIT")).await??;
            session.clean();
        }
        Ok(erased)
    }

    async fn end_erasure(&self, of: &User, note: &LedgerNote) -> Result<ErasedBeside, Trouble> {
        let mut session = self.sessions.get().await?;
        session.dirty();
        within(session.batch_execute("BEGIN")).await??;
        let lock = session.prepared(queries::LOCK_EVENTS_OF).await?;
        within(session.query(&lock, &[&of.as_str()])).await??;
        let sales = session.prepared(queries::ERASE_SALES_OF).await?;
        let sales = within(session.execute(&sales, &[&of.as_str()])).await??;
        let answers = session.prepared(queries::ERASE_ANSWERS_OF).await?;
        let answers = within(session.execute(&answers, &[&of.as_str()])).await??;
        append_note(&session, note).await?;
        within(session.batch_execute("COMMIT")).await??;
        session.clean();
        Ok(ErasedBeside { sales, answers })
    }

    /// Processes the oldest rows of subjects that have rows older than this. Returns how many rows were processed.
    pub(super) async fn erase_aged(&self, keep_ms: i64, most: usize) -> Result<usize, Trouble> {
        let mut passed = 0;
        for due in self.rows(queries::PERSONAL_DUE, &[Box::new(keep_ms)]).await? {
            let (row, from): (i64, i64) = (due.try_get(0)?, due.try_get(1)?);
            let subject = SubjectId::of_row(row);
            let mut session = self.sessions.get().await?;
            session.dirty();
            within(session.batch_execute("BEGIN")).await??;
            lock(&session, subject).await?;
            let aged = session.prepared(queries::PERSONAL_AGED).await?;
            let to = from + (most - passed) as i64;
            let bounds: [&(dyn ToSql + Sync); 4] = [&row, &from, &to, &keep_ms];
            let rows = within(session.query(&aged, &bounds)).await??;
            passed += rows.len();
            aged_rows(&session, subject, &rows, keep_ms).await?;
            within(session.batch_execute("COMMIT")).await??;
            session.clean();
            if passed >= most {
                break;
            }
        }
        Ok(passed)
    }
}

/// Erases the texts of these rows and of their sales, and records the progress.
async fn aged_rows(session: &Session, subject: SubjectId, rows: &[Row], keep_ms: i64) -> Result<(), Trouble> {
    let numbers: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let Some(newest) = numbers.last().copied() else { return Ok(()) };
    let (mut seats, mut sales): (Vec<i32>, Vec<i64>) = Default::default();
    for row in rows {
        if let Some(seat) = row.try_get(1)? {
            seats.push(seat);
            sales.push(row.try_get(0)?);
        }
    }
    erase(session, subject, numbers, Some(keep_ms)).await?;
    let sale = session.prepared(queries::ERASE_SALE).await?;
    within(session.execute(&sale, &[&subject.row(), &seats, &sales])).await??;
    let mark = session.prepared(mark(subject)).await?;
    within(session.execute(&mark, &[&subject.row(), &newest])).await??;
    Ok(())
}

/// Stores how far a subject's history was erased. It never goes back, even if a slower server writes it.
fn mark(subject: SubjectId) -> &'static str {
    match subject {
        SubjectId::Event(_) => "UPDATE event SET erased_to = greatest(erased_to, $2::bigint) WHERE id = $1::bigint",
        SubjectId::RoomType(_) => {
            "UPDATE room_type SET erased_to = greatest(erased_to, $2::bigint) WHERE id = -($1::bigint)"
        }
        SubjectId::Ledger => {
            "UPDATE ledger SET erased_to = greatest(erased_to, $2::bigint) WHERE only_row = 1 AND $1::bigint = 0"
        }
    }
}

/// Takes the row lock of the subject until the transaction ends.
async fn lock(session: &Session, subject: SubjectId) -> Result<(), Trouble> {
    let (lock, id) = match subject {
        SubjectId::Event(event) => (queries::LOCK_EVENT, event.0),
        SubjectId::RoomType(room_type) => (queries::LOCK_ROOM_TYPE, room_type.0),
        // The ledger itself sells nothing, and its history needs no lock, because its rows do not change.
        SubjectId::Ledger => return Ok(()),
    };
    let lock = session.prepared(lock).await?;
    within(session.query(&lock, &[&id])).await??;
    Ok(())
}

/// Erases rows of a subject's history, and the holds and stays that they name, in an open transaction under the row
/// lock. By age, the reason of a hold is erased by the age of the hold's end.
async fn erase(
    session: &Session,
    subject: SubjectId,
    numbers: Vec<i64>,
    keep_ms: Option<i64>,
) -> Result<ErasedRows, Trouble> {
    let found = session.prepared(queries::PERSONAL_ROW).await?;
    let found = within(session.query(&found, &[&vec![subject.row(); numbers.len()], &numbers])).await??;
    let (mut rows, mut digests, mut holds): (Vec<i64>, Vec<Vec<u8>>, Vec<i64>) = Default::default();
    for row in &found {
        if let Some(digest) = digest(row.try_get(2)?, row.try_get(3)?, row.try_get(4)?) {
            rows.push(row.try_get(1)?);
            digests.push(digest.to_vec());
        }
        holds.extend(row.try_get::<_, Option<i64>>(5)?);
    }
    let erase = session.prepared("SELECT erase_history($1, $2, $3)").await?;
    let same = vec![subject.row(); rows.len()];
    let history: i64 = within(session.query_one(&erase, &[&same, &rows, &digests])).await??.try_get(0)?;
    let mut erased = ErasedRows { history: history as u64, ..ErasedRows::default() };
    holds.dedup();
    if !holds.is_empty() {
        let erase = session.prepared(queries::ERASE_HOLDS).await?;
        erased.holds = within(session.execute(&erase, &[&subject.row(), &holds, &keep_ms])).await??;
    }
    if let SubjectId::RoomType(room_type) = subject {
        let erase = session.prepared(queries::ERASE_STAYS).await?;
        erased.stays = within(session.execute(&erase, &[&room_type.0, &numbers])).await??;
    }
    Ok(erased)
}
