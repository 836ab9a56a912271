//! Holds of every kind of subject: conversion between rows and the type of the rules, and the hold methods of the port.

use rules::buyer::Metadata;
use rules::holds::{Hold, HoldState, On};
use rules::ids::{EventId, Seat, User};
use rules::nights::Dates;
use rules::subject::{HoldId, SubjectId};
use rules::time::Moment;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::session::{Session, execute};
use super::trouble::{Trouble, unknown};
use super::{PostgresLedger, all, first, queries, seat_column, values};
use crate::ledger::Answered;
use crate::ledger::details::sparse;
use crate::ledger::holds::{At, HoldCensus, Holds, read_numbers, read_stock, write_numbers, write_stock};

pub fn hold(row: &Row) -> Result<Hold, Trouble> {
    let (stock, state): (&str, &str) = (row.try_get(4)?, row.try_get(8)?);
    let reserved: Option<&str> = row.try_get(10)?;
    Ok(Hold {
        id: HoldId { subject: SubjectId::of_row(row.try_get(0)?), n: row.try_get::<_, i64>(1)? as u64 },
        owner: User::stored(row.try_get(2)?),
        key: row.try_get::<_, &str>(3)?.into(),
        on: read_stock(stock).ok_or_else(|| unknown(stock))?,
        first_at: Moment(row.try_get(5)?),
        at: Moment(row.try_get(6)?),
        ends_at: Moment(row.try_get(7)?),
        state: HoldState::named(state).ok_or_else(|| unknown(state))?,
        ended_at: row.try_get::<_, Option<i64>>(9)?.map(Moment),
        reserved: match reserved {
            Some(numbers) => read_numbers(numbers).ok_or_else(|| unknown(numbers))?,
            None => Vec::new(),
        },
        metadata: row.try_get::<_, Option<&str>>(11)?.map(Metadata::stored),
        reason: row.try_get::<_, Option<&str>>(12)?.map(Into::into),
    })
}

/// Whether a hold's row says that it is held although its end has passed.
pub fn lapsed(row: &Row, now: Moment) -> bool {
    let held = row.try_get::<_, &str>(8).is_ok_and(|state| state == HoldState::Held.as_str());
    held && row.try_get::<_, i64>(7).is_ok_and(|ends_at| ends_at <= now.0)
}

pub async fn change_holds(session: &Session, statement: &Statement, holds: Vec<&Hold>) -> Result<(), Error> {
    let subject: Vec<i64> = holds.iter().map(|h| h.id.subject.row()).collect();
    let n: Vec<i64> = holds.iter().map(|h| h.id.n as i64).collect();
    let state: Vec<&str> = holds.iter().map(|h| h.state.as_str()).collect();
    let ends_at: Vec<i64> = holds.iter().map(|h| h.ends_at.0).collect();
    let ended_at: Vec<Option<i64>> = holds.iter().map(|h| h.ended_at.map(|at| at.0)).collect();
    let reserved: Vec<Option<String>> = holds.iter().map(|h| reserved(h)).collect();
    let reason = sparse(holds.iter().map(|h| h.reason.as_deref()));
    execute(session, statement, &[&subject, &n, &state, &ends_at, &ended_at, &reserved, &reason]).await
}

pub async fn begin_holds(session: &Session, statement: &Statement, holds: Vec<&Hold>) -> Result<(), Error> {
    let subject: Vec<i64> = holds.iter().map(|h| h.id.subject.row()).collect();
    let n: Vec<i64> = holds.iter().map(|h| h.id.n as i64).collect();
    let owner: Vec<&str> = holds.iter().map(|h| h.owner.as_str()).collect();
    let key: Vec<&str> = holds.iter().map(|h| &*h.key).collect();
    let stock: Vec<String> = holds.iter().map(|h| write_stock(&h.on)).collect();
    let check_in: Vec<Option<i32>> = holds.iter().map(|h| dates(h).map(|d| d.check_in.0)).collect();
    let check_out: Vec<Option<i32>> = holds.iter().map(|h| dates(h).map(|d| d.check_out.0)).collect();
    let first_at: Vec<i64> = holds.iter().map(|h| h.first_at.0).collect();
    let at: Vec<i64> = holds.iter().map(|h| h.at.0).collect();
    let ends_at: Vec<i64> = holds.iter().map(|h| h.ends_at.0).collect();
    let state: Vec<&str> = holds.iter().map(|h| h.state.as_str()).collect();
    let ended_at: Vec<Option<i64>> = holds.iter().map(|h| h.ended_at.map(|at| at.0)).collect();
    let reserved: Vec<Option<String>> = holds.iter().map(|h| reserved(h)).collect();
    let metadata = sparse(holds.iter().map(|h| h.metadata.as_ref().map(Metadata::as_str)));
    let reason = sparse(holds.iter().map(|h| h.reason.as_deref()));
    let row: [&(dyn ToSql + Sync); 15] = [
        &subject, &n, &owner, &key, &stock, &check_in, &check_out, &first_at, &at, &ends_at, &state, &ended_at,
        &reserved, &metadata, &reason,
    ];
    execute(session, statement, &row).await
}

fn dates(hold: &Hold) -> Option<Dates> {
    match &hold.on {
        On::Nights(dates) => Some(*dates),
        On::Seats(_) => None,
    }
}

fn reserved(hold: &Hold) -> Option<String> {
    (!hold.reserved.is_empty()).then(|| write_numbers(hold.reserved.iter().copied()))
}

impl Holds for PostgresLedger {
    fn hold_census(&self, most: usize) -> Answered<HoldCensus> {
        self.read(queries::HOLD_CENSUS, values![most as i64], |_, rows| {
            let count = |row: &Row, place: usize| row.try_get::<_, i64>(place).map(|count| count as u64);
            let census = first(&rows, |row| Ok(HoldCensus { live: count(row, 0)?, lapsed: count(row, 1)? }))?;
            Ok(census.unwrap_or_default())
        })
    }

    fn with_holds_ending(&self, within_ms: i64, limit: usize) -> Answered<Vec<SubjectId>> {
        self.read(queries::WITH_HOLDS_ENDING, values![within_ms, limit as i64], |_, rows| {
            all(&rows, |row| Ok(SubjectId::of_row(row.try_get(0)?)))
        })
    }

    fn held_seats(&self, event: EventId) -> Answered<At<Vec<(Seat, Moment)>>> {
        self.read(queries::HELD_SEATS, values![event.0], |_, rows| {
            let now = first(&rows, |row| Ok(Moment(row.try_get(2)?)))?.unwrap_or_default();
            let mut found = Vec::with_capacity(rows.len());
            for row in &rows {
                if let Some(seat) = row.try_get::<_, Option<i32>>(0)? {
                    found.push((Seat(seat as u32), Moment(row.try_get(1)?)));
                }
            }
            Ok(At { found, now })
        })
    }

    fn seat_is_held(&self, event: EventId, seat: Seat) -> Answered<bool> {
        let row = values![event.0, seat_column(seat)];
        self.read(queries::SEAT_IS_HELD, row, |_, rows| Ok(first(&rows, |row| Ok(row.try_get(0)?))?.unwrap_or(false)))
    }

    fn hold(&self, id: HoldId) -> Answered<At<Option<Hold>>> {
        let row = values![id.subject.row(), id.n as i64];
        self.read(queries::HOLD, row, |inner, rows| {
            let found = first(&rows, |row| Ok((hold(row)?, Moment(row.try_get(13)?))))?;
            let now = found.as_ref().map_or(inner.clock.now(), |(_, now)| *now);
            Ok(At { found: found.map(|(hold, _)| hold), now })
        })
    }

    fn holds_of(&self, user: User, after: Option<HoldId>, limit: usize) -> Answered<At<Vec<Hold>>> {
        let (subject, n) = after.map_or((i64::MIN, 0), |id| (id.subject.row(), id.n as i64));
        let row = values![user.as_str().to_owned(), subject, n, limit as i64];
        self.read(queries::LIVE_HOLDS_OF, row, |_, rows| holds_at(&rows))
    }

    fn holds_in(&self, subject: SubjectId, after: u64, limit: usize) -> Answered<At<Vec<Hold>>> {
        let row = values![subject.row(), after as i64, limit as i64];
        self.read(queries::HOLDS_IN, row, |_, rows| holds_at(&rows))
    }
}

/// Every row has the time. A row without a hold means that there is none.
fn holds_at(rows: &[Row]) -> Result<At<Vec<Hold>>, Trouble> {
    let now = first(rows, |row| Ok(Moment(row.try_get(13)?)))?.unwrap_or_default();
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        if row.try_get::<_, Option<i64>>(0)?.is_some() {
            found.push(hold(row)?);
        }
    }
    Ok(At { found, now })
}
