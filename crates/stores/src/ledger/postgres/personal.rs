//! The end of personal data, on PostgreSQL. Each step is one transaction, which locks the subjects whose sales it
//! changes: batches find a seat's row by where it lies.

use rules::ids::User;
use rules::subject::SubjectId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::records::append_note;
use super::session::{Session, within};
use super::trouble::Trouble;
use super::{Inner, PostgresLedger, queries, values};
use crate::ledger::Answered;
use crate::ledger::personal::{ErasedBeside, PERSONAL_WINDOW, PersonalData, PersonalRows, digest};
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

    fn erase_rows(&self, rows: Vec<(SubjectId, u64)>) -> Answered<u64> {
        self.run(move |inner| async move { inner.erase_rows(&rows).await.map_err(Trouble::fault) })
    }

    fn end_erasure(&self, of: User, note: LedgerNote) -> Answered<ErasedBeside> {
        self.run(move |inner| async move { inner.end_erasure(&of, &note).await.map_err(Trouble::fault) })
    }
}

impl Inner {
    async fn erase_rows(&self, rows: &[(SubjectId, u64)]) -> Result<u64, Trouble> {
        let mut session = self.sessions.get().await?;
        session.dirty();
        within(session.batch_execute("BEGIN")).await??;
        let (subjects, numbers): (Vec<i64>, Vec<i64>) =
            rows.iter().map(|(subject, n)| (subject.row(), *n as i64)).unzip();
        let erased = erase(&session, subjects, numbers).await?;
        within(session.batch_execute("COMMIT")).await??;
        session.clean();
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

    /// Passes the oldest rows of subjects that have rows older than this. Returns how many rows were passed.
    pub(super) async fn erase_aged(&self, keep_ms: i64, most: usize) -> Result<usize, Trouble> {
        let mut passed = 0;
        for due in self.rows(queries::PERSONAL_DUE, &[Box::new(keep_ms)]).await? {
            let (subject, from): (i64, i64) = (due.try_get(0)?, due.try_get(1)?);
            let mut session = self.sessions.get().await?;
            session.dirty();
            within(session.batch_execute("BEGIN")).await??;
            let lock = session.prepared(queries::LOCK_EVENT).await?;
            within(session.query(&lock, &[&subject])).await??;
            let aged = session.prepared(queries::PERSONAL_AGED).await?;
            let to = from + (most - passed) as i64;
            let row: [&(dyn ToSql + Sync); 4] = [&subject, &from, &to, &keep_ms];
            let rows = within(session.query(&aged, &row)).await??;
            passed += rows.len();
            aged_rows(&session, subject, &rows).await?;
            within(session.batch_execute("COMMIT")).await??;
            session.clean();
            if passed >= most {
                break;
            }
        }
        Ok(passed)
    }
}

/// Erases what these rows tell and the sales of them, and notes how far that went.
async fn aged_rows(session: &Session, subject: i64, rows: &[Row]) -> Result<(), Trouble> {
    let numbers: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let Some(newest) = numbers.last().copied() else { return Ok(()) };
    let (mut seats, mut sales): (Vec<i32>, Vec<i64>) = Default::default();
    for row in rows {
        if let Some(seat) = row.try_get(1)? {
            seats.push(seat);
            sales.push(row.try_get(0)?);
        }
    }
    erase(session, vec![subject; numbers.len()], numbers).await?;
    let sale = session.prepared(queries::ERASE_SALE).await?;
    within(session.execute(&sale, &[&subject, &seats, &sales])).await??;
    let mark = session.prepared(mark(subject)).await?;
    within(session.execute(&mark, &[&subject, &newest])).await??;
    Ok(())
}

/// How far a subject's history was erased. Never back, whichever server was slower.
fn mark(subject: i64) -> &'static str {
    match SubjectId::of_row(subject) {
        SubjectId::Event(_) => "UPDATE event SET erased_to = greatest(erased_to, $2::bigint) WHERE id = $1::bigint",
        SubjectId::RoomType(_) => {
            "UPDATE room_type SET erased_to = greatest(erased_to, $2::bigint) WHERE id = -($1::bigint)"
        }
        SubjectId::Ledger => {
            "UPDATE ledger SET erased_to = greatest(erased_to, $2::bigint) WHERE only_row = 1 AND $1::bigint = 0"
        }
    }
}

/// In an open transaction. Rows with nothing to erase are passed over. History needs no lock: its rows do not change.
async fn erase(session: &Session, subjects: Vec<i64>, numbers: Vec<i64>) -> Result<u64, Trouble> {
    let found = session.prepared(queries::PERSONAL_ROW).await?;
    let found = within(session.query(&found, &[&subjects, &numbers])).await??;
    let (mut subjects, mut numbers, mut digests): (Vec<i64>, Vec<i64>, Vec<Vec<u8>>) = Default::default();
    for row in &found {
        if let Some(digest) = digest(row.try_get(2)?, row.try_get(3)?, row.try_get(4)?) {
            subjects.push(row.try_get(0)?);
            numbers.push(row.try_get(1)?);
            digests.push(digest.to_vec());
        }
    }
    let erase = session.prepared("SELECT erase_history($1, $2, $3)").await?;
    let erased: i64 = within(session.query_one(&erase, &[&subjects, &numbers, &digests])).await??.try_get(0)?;
    Ok(erased as u64)
}
