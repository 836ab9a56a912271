//! The operator's view of the history, on PostgreSQL.

use rules::history::Happened;
use rules::ids::{Number, Seat, User};
use rules::nights::{Dates, Night};
use rules::subject::SubjectId;
use rules::time::Moment;
use tokio_postgres::Row;

use super::trouble::{Trouble, unknown};
use super::{PostgresLedger, all, queries, values, verify};
use crate::ledger::details::read_details;
use crate::ledger::records::{LedgerRecord, Records, admin, bounds};
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
            }
        }
        self.read(queries::POSITIONS, values![events, room_types], |inner, rows| {
            if let Some(row) = rows.first() {
                inner.clock.saw(Moment(row.try_get(2)?));
            }
            all(&rows, |row| Ok((SubjectId::of_row(row.try_get(0)?), row.try_get::<_, i64>(1)? as u64)))
        })
    }

    fn audit(&self) -> Answered<(Looked, Vec<Finding>)> {
        self.run(|inner| async move { verify::verify_at(&inner.address).await.map_err(LedgerFault::Unreachable) })
    }
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
    })
}
