//! Holds of every kind of subject: conversion between rows and the type of the rules, and the hold methods of the port.

use rules::buyer::Metadata;
use rules::holds::{Hold, HoldState, On};
use rules::ids::{EventId, Seat, User};
use rules::subject::{HoldId, SubjectId};
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::engine::{Asked, SqliteSubject, exactly_one};
use super::trouble::unknown;
use super::{SqliteLedger, many, queries};
use crate::ledger::Answered;
use crate::ledger::holds::{At, HoldCensus, Holds, read_numbers, read_stock, write_numbers, write_stock};

pub fn hold(row: &Row<'_>) -> Result<Hold> {
    let (stock, state): (String, String) = (row.get(4)?, row.get(8)?);
    let reserved: Option<String> = row.get(10)?;
    Ok(Hold {
        id: HoldId { subject: SubjectId::of_row(row.get(0)?), n: row.get::<_, i64>(1)? as u64 },
        owner: User::stored(&row.get::<_, String>(2)?),
        key: row.get::<_, String>(3)?.into(),
        on: read_stock(&stock).ok_or_else(|| unknown(4, &stock))?,
        first_at: Moment(row.get(5)?),
        at: Moment(row.get(6)?),
        ends_at: Moment(row.get(7)?),
        state: HoldState::named(&state).ok_or_else(|| unknown(8, &state))?,
        ended_at: row.get::<_, Option<i64>>(9)?.map(Moment),
        reserved: match reserved {
            Some(numbers) => read_numbers(&numbers).ok_or_else(|| unknown(10, &numbers))?,
            None => Vec::new(),
        },
        metadata: row.get_ref(11)?.as_str_or_null()?.map(Metadata::stored),
        reason: row.get::<_, Option<String>>(12)?.map(Into::into),
    })
}

/// The oldest lapsed holds of a subject, up to a limit. True: there may be more.
pub fn read_lapsed(conn: &Connection, subject: i64, now: Moment, most: usize, holds: &mut Vec<Hold>) -> Result<bool> {
    let mut lapsed = conn.prepare_cached(queries::LAPSED)?;
    let before = holds.len();
    for found in lapsed.query_map((subject, now.0, most as i64), hold)? {
        holds.push(found?);
    }
    Ok(holds.len() - before == most)
}

/// What these users gave back within the cool-down.
pub fn read_given_back<S: SqliteSubject>(
    conn: &Connection,
    subject: i64,
    wanted: &[(&User, On)],
    asked: &Asked<'_, S>,
    holds: &mut Vec<Hold>,
) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let after = asked.now.0 - asked.terms.holds.again_after_ms;
    let mut given_back = conn.prepare_cached(queries::GIVEN_BACK)?;
    for (user, on) in wanted {
        let found = given_back.query_map(params![user.as_str(), write_stock(on), subject, after], hold)?;
        for found in found {
            holds.push(found?);
        }
    }
    Ok(())
}

pub fn change_holds(conn: &Connection, subject: i64, changed: &[Hold]) -> Result<()> {
    let mut change = conn.prepare_cached(queries::CHANGE_HOLD)?;
    for hold in changed {
        exactly_one(change.execute(params![
            subject,
            hold.id.n as i64,
            hold.state.as_str(),
            hold.ends_at.0,
            hold.ended_at.map(|at| at.0),
            reserved(hold),
            hold.reason.as_deref(),
        ])?)?;
    }
    Ok(())
}

pub fn begin_holds(conn: &Connection, subject: i64, begun: &[Hold]) -> Result<()> {
    many::BEGIN_HOLDS.insert(conn, begun, |row, hold| {
        let dates = match &hold.on {
            On::Nights(dates) => Some(*dates),
            On::Seats(_) => None,
        };
        row.give(subject)?;
        row.give(hold.id.n as i64)?;
        row.give(hold.owner.as_str())?;
        row.give(&*hold.key)?;
        row.give(write_stock(&hold.on))?;
        row.give(dates.map(|d| d.check_in.0))?;
        row.give(dates.map(|d| d.check_out.0))?;
        row.give(hold.first_at.0)?;
        row.give(hold.at.0)?;
        row.give(hold.ends_at.0)?;
        row.give(hold.state.as_str())?;
        row.give(hold.ended_at.map(|at| at.0))?;
        row.give(reserved(hold))?;
        row.give(hold.metadata.as_ref().map(Metadata::as_str))?;
        row.give(hold.reason.as_deref())
    })
}

fn reserved(hold: &Hold) -> Option<String> {
    (!hold.reserved.is_empty()).then(|| write_numbers(hold.reserved.iter().copied()))
}

impl Holds for SqliteLedger {
    fn hold_census(&self, most: usize) -> Answered<HoldCensus> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::HOLD_CENSUS)?;
            let count = |row: &Row<'_>, place| row.get::<_, i64>(place).map(|count| count as u64);
            let census = |row: &Row<'_>| Ok(HoldCensus { live: count(row, 0)?, lapsed: count(row, 1)? });
            statement.query_row((clock.now().0, most as i64), census)
        })
    }

    fn with_holds_ending(&self, within_ms: i64, limit: usize) -> Answered<Vec<SubjectId>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::WITH_HOLDS_ENDING)?;
            let until = clock.now().plus_ms(within_ms);
            let rows = statement.query_map((until.0, limit as i64), |row| row.get(0).map(SubjectId::of_row))?;
            rows.collect()
        })
    }

    fn held_seats(&self, event: EventId) -> Answered<At<Vec<(Seat, Moment)>>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::HELD_SEATS)?;
            let rows = statement.query_map([event.0], |row| Ok((Seat(row.get(0)?), Moment(row.get(1)?))))?;
            Ok(At { found: rows.collect::<Result<_>>()?, now: clock.now() })
        })
    }

    fn seat_is_held(&self, event: EventId, seat: Seat) -> Answered<bool> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::SEAT_IS_HELD)?;
            statement.query_row((event.0, seat.0, clock.now().0), |row| row.get(0))
        })
    }

    fn hold(&self, id: HoldId) -> Answered<At<Option<Hold>>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::HOLD)?;
            let found = statement.query_row((id.subject.row(), id.n as i64), hold).optional()?;
            Ok(At { found, now: clock.now() })
        })
    }

    fn holds_of(&self, user: User, after: Option<HoldId>, limit: usize) -> Answered<At<Vec<Hold>>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let now = clock.now();
            let (subject, n) = after.map_or((i64::MIN, 0), |id| (id.subject.row(), id.n as i64));
            let mut statement = conn.prepare_cached(queries::LIVE_HOLDS_OF)?;
            let row = (user.as_str(), now.0, subject, n, limit as i64);
            let found = statement.query_map(row, hold)?.collect::<Result<_>>()?;
            Ok(At { found, now })
        })
    }

    fn holds_in(&self, subject: SubjectId, after: u64, limit: usize) -> Answered<At<Vec<Hold>>> {
        let clock = self.clock.clone();
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::HOLDS_IN)?;
            let row = (subject.row(), after as i64, limit as i64);
            let found = statement.query_map(row, hold)?.collect::<Result<_>>()?;
            Ok(At { found, now: clock.now() })
        })
    }
}
