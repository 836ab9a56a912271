//! Room types in SQLite: what a batch reads and writes.

mod port;
mod rows;

use std::collections::HashMap;

use rules::buyer::Metadata;
use rules::history::AdminName;
use rules::holds::{COUNTED_MOST, CountStep, Hold, LAPSED_MOST, LapsedMark};
use rules::ids::User;
use rules::nights::{Dates, NIGHTS_MOST, Night};
use rules::room_type::{
    NewRoomType, NightShift, RoomRecord, RoomType, RoomTypeKnown, RoomTypeWrites, needs, short_nights,
};
use rules::subject::{RoomTypeId, SubjectId};
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::engine::{Asked, SqliteSubject, exactly_one, give_link};
use super::holds::{begin_holds, change_holds, hold, read_given_back, read_lapsed};
use super::{answers, many, queries};
use crate::chain::{Chain, ChainedSubject};
use crate::ledger::halls::HallCache;
use crate::ledger::holds::write_stock;
use crate::ledger::rooms::Availability;

impl SqliteSubject for RoomType {
    const HEAD: &'static str = "SELECT head FROM room_type WHERE id = ?1";

    fn row_id(id: RoomTypeId) -> i64 {
        id.0
    }

    fn find(conn: &Connection, _: &HallCache, id: RoomTypeId) -> Result<Option<RoomType>> {
        room_type(conn, id)
    }

    fn read(&self, conn: &Connection, asked: &Asked<'_, RoomType>, _: usize) -> Result<RoomTypeKnown> {
        let (needs, now) = (needs(asked.commands, asked.terms), asked.now);
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
        let mut by_key = conn.prepare_cached(queries::HOLD_BY_KEY)?;
        for (key, on) in needs.hold_keys {
            holds.extend(by_key.query_row(params![subject, key, write_stock(&on)], hold).optional()?);
        }
        read_given_back(conn, subject, &needs.given_back, asked, &mut holds)?;
        if read_lapsed(conn, subject, now, LAPSED_MOST, &mut holds)? {
            known.count = Some(count(conn, self, now)?);
        }
        if let Some(Dates { check_in, check_out }) = needs.hull {
            let mut nights = conn.prepare_cached(queries::NIGHTS)?;
            known.nights = nights.query_map((id, check_in.0, check_out.0), rows::night)?.collect::<Result<_>>()?;
        }
        known.holds = holds.into_iter().map(|hold| (hold.id.n, hold)).collect();
        for (night, needed) in short_nights(self, &known, asked.commands, now) {
            let on = lapsed_on(conn, subject, night, needed as usize, now)?;
            known.holds.extend(on.into_iter().map(|hold| (hold.id.n, hold)));
        }
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

    fn write(
        &self,
        conn: &Connection,
        after: &RoomType,
        writes: &RoomTypeWrites,
        chain: &Chain,
        now: Moment,
    ) -> Result<()> {
        let (id, subject) = (self.id.0, SubjectId::RoomType(self.id).row());
        let mut new = conn.prepare_cached(queries::NEW_NIGHT)?;
        for (night, total) in &writes.new_nights {
            new.execute((id, night.0, total))?;
        }
        let mut totals = writes.totals.clone();
        let mut shift = conn.prepare_cached(queries::SHIFT_NIGHT)?;
        for s in &writes.shifts {
            let NightShift { reserved, held, lapsed } = s.by;
            exactly_one(shift.execute((id, s.night.0, reserved, held, lapsed, totals.remove(&s.night)))?)?;
        }
        for (night, total) in totals {
            exactly_one(conn.prepare_cached(queries::AMEND_NIGHT)?.execute((id, night.0, total))?)?;
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
                stay.at.0,
                stay.metadata.as_ref().map(Metadata::as_str)
            ];
            conn.prepare_cached(queries::BOOK_STAY)?.execute(row)?;
        }
        for n in &writes.ended {
            exactly_one(conn.prepare_cached(queries::END_STAY)?.execute((id, *n as i64, now.0))?)?;
        }
        append(conn, subject, &writes.history, chain)?;
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
            after.counted.ends_at.0,
            after.counted.place as i64,
            after.currency.as_deref(),
            chain.head(),
        ])?)
    }
}

/// Lapsed holds beyond the mark by their dates, up to the limit of a step.
fn count(conn: &Connection, room_type: &RoomType, now: Moment) -> Result<CountStep<Vec<(Dates, u32)>>> {
    let (subject, mut to) = (SubjectId::RoomType(room_type.id).row(), room_type.counted);
    let mut step = conn.prepare_cached(queries::COUNT_LAPSED)?;
    let mut rows = step.query((subject, to.ends_at.0, to.place as i64, now.0, COUNTED_MOST as i64))?;
    let (mut all, mut found) = (0, HashMap::new());
    while let Some(row) = rows.next()? {
        all += 1;
        to = LapsedMark { ends_at: Moment(row.get(0)?), place: row.get::<_, i64>(1)? as u64 };
        let dates = Dates { check_in: Night(row.get(2)?), check_out: Night(row.get(3)?) };
        *found.entry(dates).or_default() += 1;
    }
    Ok(CountStep { found: found.into_iter().collect(), to, more: all == COUNTED_MOST })
}

/// As many lapsed holds on a night as are needed: first those that begin on it, then those of the day before, and so
/// on.
fn lapsed_on(conn: &Connection, subject: i64, night: Night, needed: usize, now: Moment) -> Result<Vec<Hold>> {
    let mut found = Vec::new();
    let mut on = conn.prepare_cached(queries::LAPSED_ON)?;
    for day in (0..NIGHTS_MOST as i32).map(|back| night.0 - back) {
        let left = needed - found.len();
        if left == 0 {
            break;
        }
        for hold in on.query_map((subject, day, night.0, now.0, left as i64), hold)? {
            found.push(hold?);
        }
    }
    Ok(found)
}

fn append(conn: &Connection, subject: i64, history: &[RoomRecord], chain: &Chain) -> Result<()> {
    let rows: Vec<_> = history.iter().zip(&chain.links).collect();
    many::APPEND_ROOM_HISTORY.insert(conn, &rows, |row, (entry, link)| {
        row.give(subject)?;
        row.give(entry.n as i64)?;
        row.give(entry.what.as_str())?;
        row.give(entry.owner.as_ref().map(User::as_str))?;
        row.give(entry.admin.is_some())?;
        row.give(entry.admin.as_ref().map(AdminName::as_str))?;
        row.give(entry.at.0)?;
        row.give(entry.hold.map(|n| n as i64))?;
        row.give(entry.dates.map(|d| d.check_in.0))?;
        row.give(entry.dates.map(|d| d.check_out.0))?;
        give_link(row, &entry.origin, link)
    })
}

/// Creates a room type with its history row number 1.
fn create(conn: &Connection, new: &NewRoomType, now: Moment) -> Result<Option<RoomType>> {
    let (description, price, currency) = (new.description.as_deref(), new.price.as_deref(), new.currency.as_deref());
    let row = params![&*new.name, description, price, currency, &*new.time_zone, new.total, now.0];
    let id = conn.prepare_cached(queries::CREATE_ROOM_TYPE)?.query_row(row, |row| row.get(0).map(RoomTypeId))?;
    let created = RoomTypeWrites { history: vec![new.created(now)], ..RoomTypeWrites::default() };
    let chain = Chain::extend(None, RoomType::chain_rows(id, &created, None));
    append(conn, SubjectId::RoomType(id).row(), &created.history, &chain)?;
    conn.prepare_cached("UPDATE room_type SET head = ?2 WHERE id = ?1")?.execute(params![id.0, chain.head()])?;
    room_type(conn, id)
}

fn room_type(conn: &Connection, id: RoomTypeId) -> Result<Option<RoomType>> {
    conn.prepare_cached(queries::ROOM_TYPE)?.query_row([id.0], rows::room_type).optional()
}

/// One transaction, so the counts and the lapsed holds are from one snapshot.
fn availability(conn: &Connection, id: RoomTypeId, dates: Dates, now: Moment) -> Result<Option<Availability>> {
    let moment = conn.unchecked_transaction()?;
    let Some(room_type) = room_type(&moment, id)? else { return Ok(None) };
    let (from, to) = (dates.check_in.0, dates.check_out.0);
    let mut nights = moment.prepare_cached(queries::NIGHTS)?;
    let rows: Vec<_> = nights.query_map((id.0, from, to), rows::night)?.collect::<Result<_>>()?;
    let mut counts = moment.prepare_cached(queries::LAPSED_COUNTS)?;
    let LapsedMark { ends_at, place } = room_type.counted;
    let behind = (SubjectId::RoomType(id).row(), now.0, from, to, ends_at.0, place as i64);
    let lapsed = counts.query_map(behind, |row| {
        Ok((Dates { check_in: Night(row.get(0)?), check_out: Night(row.get(1)?) }, row.get::<_, u32>(2)?))
    })?;
    let lapsed: Vec<_> = lapsed.collect::<Result<_>>()?;
    Ok(Some(Availability::of(room_type, dates, &rows, &lapsed)))
}
