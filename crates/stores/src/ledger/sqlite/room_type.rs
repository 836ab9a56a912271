//! Room types in SQLite: what a batch of one reads and writes.

mod port;
mod rows;

use rules::history::Happened;
use rules::holds::{Hold, LAPSED_MOST};
use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::room_type::{NewRoomType, RoomCommand, RoomRecord, RoomType, RoomTypeKnown, RoomTypeWrites, needs};
use rules::subject::{RoomTypeId, SubjectId};
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::engine::{SqliteSubject, exactly_one};
use super::holds::{begin_holds, change_holds, hold};
use super::{answers, many, queries};
use crate::ledger::halls::HallCache;
use crate::ledger::rooms::Availability;

impl SqliteSubject for RoomType {
    fn find(conn: &Connection, _: &HallCache, id: RoomTypeId) -> Result<Option<RoomType>> {
        room_type(conn, id)
    }

    fn read(&self, conn: &Connection, commands: &[RoomCommand], now: Moment) -> Result<RoomTypeKnown> {
        let needs = needs(commands);
        let (id, subject) = (self.id.0, SubjectId::RoomType(self.id).row());
        let mut known = RoomTypeKnown::default();
        let mut holds: Vec<Hold> = Vec::new();
        for n in needs.holds {
            holds.extend(conn.prepare_cached(queries::HOLD)?.query_row((subject, n as i64), hold).optional()?);
        }
        let mut of_owner = conn.prepare_cached(queries::HOLDS_OF_OWNER)?;
        for user in needs.users {
            let mine = of_owner.query_map(params![user.as_str(), subject], hold)?;
            holds.extend(mine.collect::<Result<Vec<_>>>()?);
        }
        let mut by_key = conn.prepare_cached(queries::HOLDS_BY_KEY)?;
        for key in needs.hold_keys {
            holds.extend(by_key.query_map(params![subject, key], hold)?.collect::<Result<Vec<_>>>()?);
        }
        let mut lapsed = conn.prepare_cached(queries::LAPSED)?;
        holds.extend(lapsed.query_map((subject, now.0, LAPSED_MOST as i64), hold)?.collect::<Result<Vec<_>>>()?);
        if let Some(Dates { check_in, check_out }) = needs.hull {
            let mut lapsed = conn.prepare_cached(queries::LAPSED_ON)?;
            let on = lapsed.query_map((subject, now.0, check_in.0, check_out.0), hold)?;
            holds.extend(on.collect::<Result<Vec<_>>>()?);
            let mut nights = conn.prepare_cached(queries::NIGHTS)?;
            known.nights = nights.query_map((id, check_in.0, check_out.0), rows::night)?.collect::<Result<_>>()?;
        }
        known.holds = holds.into_iter().map(|hold| (hold.id.n, hold)).collect();
        for n in needs.stays {
            if let Some(stay) = conn.prepare_cached(queries::STAY)?.query_row((id, n as i64), rows::stay).optional()? {
                known.stays.insert(n, stay);
            }
        }
        for (user, key) in needs.keys {
            let mut answer = conn.prepare_cached(queries::ANSWER)?;
            let found = answer.query_row(params![subject, user.as_str(), key], answers::kept).optional()?;
            known.answers.extend(found.map(|found| ((user.clone(), key.into()), found)));
        }
        Ok(known)
    }

    fn write(&self, conn: &Connection, after: &RoomType, writes: &RoomTypeWrites, now: Moment) -> Result<()> {
        let (id, subject) = (self.id.0, SubjectId::RoomType(self.id).row());
        let mut new = conn.prepare_cached(queries::NEW_NIGHT)?;
        for night in &writes.new_nights {
            new.execute((id, night.0, after.total))?;
        }
        let from = writes.amended.map_or(i32::MAX, |night| night.0);
        let mut shift = conn.prepare_cached(queries::SHIFT_NIGHT)?;
        for s in &writes.shifts {
            exactly_one(shift.execute((id, s.night.0, s.reserved, s.held, from, after.total))?)?;
        }
        if writes.amended.is_some() {
            conn.prepare_cached(queries::AMEND_NIGHTS)?.execute((id, from, after.total))?;
        }
        change_holds(conn, subject, &writes.changed)?;
        begin_holds(conn, subject, &writes.begun)?;
        for stay in &writes.stays {
            let Dates { check_in, check_out } = stay.dates;
            let row = params![
                id,
                stay.id.n as i64,
                stay.owner.as_str(),
                check_in.0,
                check_out.0,
                stay.hold as i64,
                stay.at.0
            ];
            conn.prepare_cached(queries::BOOK_STAY)?.execute(row)?;
        }
        for n in &writes.ended {
            exactly_one(conn.prepare_cached(queries::END_STAY)?.execute((id, *n as i64, now.0))?)?;
        }
        append(conn, subject, &writes.history)?;
        answers::keep(conn, subject, &writes.answers)?;
        exactly_one(conn.prepare_cached(queries::MOVE_ROOM_TYPE)?.execute(params![
            id,
            self.n as i64,
            after.n as i64,
            now.0,
            &*after.name,
            after.description.as_deref(),
            after.price.as_deref(),
            &*after.time_zone,
            after.total,
        ])?)
    }
}

fn append(conn: &Connection, subject: i64, history: &[RoomRecord]) -> Result<()> {
    many::APPEND_ROOM_HISTORY.insert(conn, history, |row, entry| {
        row.give(subject)?;
        row.give(entry.n as i64)?;
        row.give(entry.what.as_str())?;
        row.give(entry.owner.as_ref().map(User::as_str))?;
        row.give(entry.by_admin)?;
        row.give(entry.at.0)?;
        row.give(entry.hold.map(|n| n as i64))?;
        row.give(entry.dates.map(|d| d.check_in.0))?;
        row.give(entry.dates.map(|d| d.check_out.0))
    })
}

/// Makes a room type with its history row number 1.
fn create(conn: &Connection, new: &NewRoomType, now: Moment) -> Result<Option<RoomType>> {
    let row = params![&*new.name, new.description.as_deref(), new.price.as_deref(), &*new.time_zone, new.total, now.0];
    let id = conn.prepare_cached(queries::CREATE_ROOM_TYPE)?.query_row(row, |row| row.get(0).map(RoomTypeId))?;
    let (what, hold, dates, owner) = (Happened::Created, None, None, None);
    let created = RoomRecord { n: 1, what, hold, dates, owner, by_admin: true, at: now };
    append(conn, SubjectId::RoomType(id).row(), &[created])?;
    room_type(conn, id)
}

fn room_type(conn: &Connection, id: RoomTypeId) -> Result<Option<RoomType>> {
    conn.prepare_cached(queries::ROOM_TYPE)?.query_row([id.0], rows::room_type).optional()
}

/// One transaction: counts and what has lapsed are of the same moment.
fn availability(conn: &Connection, id: RoomTypeId, dates: Dates, now: Moment) -> Result<Option<Availability>> {
    let moment = conn.unchecked_transaction()?;
    let Some(room_type) = room_type(&moment, id)? else { return Ok(None) };
    let (from, to) = (dates.check_in.0, dates.check_out.0);
    let mut nights = moment.prepare_cached(queries::NIGHTS)?;
    let rows: Vec<_> = nights.query_map((id.0, from, to), rows::night)?.collect::<Result<_>>()?;
    let mut counts = moment.prepare_cached(queries::LAPSED_COUNTS)?;
    let lapsed = counts.query_map((SubjectId::RoomType(id).row(), now.0, from, to), |row| {
        Ok((Dates { check_in: Night(row.get(0)?), check_out: Night(row.get(1)?) }, row.get::<_, u32>(2)?))
    })?;
    let lapsed: Vec<_> = lapsed.collect::<Result<_>>()?;
    Ok(Some(Availability::of(room_type, dates, &rows, &lapsed)))
}
