//! The operator's view of the history, on SQLite.

use rules::history::Happened;
use rules::ids::{Number, Seat, User};
use rules::nights::{Dates, Night};
use rules::subject::SubjectId;
use rules::time::Moment;
use rusqlite::{OptionalExtension, Result, Row};

use super::trouble::unknown;
use super::{SqliteLedger, queries, verify};
use crate::ledger::details::read_details;
use crate::ledger::records::{LedgerRecord, Records, admin, bounds};
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
                };
                let n: Option<i64> = statement.query_row([id], |row| row.get(0)).optional()?;
                found.extend(n.map(|n| (subject, n as u64)));
            }
            Ok(found)
        })
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
    })
}
