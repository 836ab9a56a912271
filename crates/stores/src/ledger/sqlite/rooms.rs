//! One batch of a room type inside an open transaction: read, decide with the rules, write. And
//! what is read of room types, nights and holds otherwise.

mod port;

use rules::history::Happened;
use rules::holds::LAPSED_MOST;
use rules::holds::{Hold, HoldState, On};
use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::stays::{NewRoomType, NightRow, RoomCommand, RoomRecord, RoomType, Stay};
use rules::stays::{RoomTypeKnown, RoomTypeWrites};
use rules::subject::{HoldId, RoomTypeId, StayId, SubjectId};
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::apply::{keep_answers, kept_answer};
use super::engine::{Stored, exactly_one};
use super::rows::{Halls, unknown};
use super::{many, queries};
use crate::ledger::holds::{read_numbers, read_stock, write_numbers, write_stock};
use crate::ledger::rooms::Availability;

impl Stored for RoomType {
    fn find(conn: &Connection, _: &Halls, id: RoomTypeId) -> Result<Option<RoomType>> {
        room_type(conn, id)
    }

    fn read(&self, conn: &Connection, commands: &[RoomCommand], now: Moment) -> Result<RoomTypeKnown> {
        let needs = rules::room_type::needs(commands);
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
            known.nights = nights.query_map((id, check_in.0, check_out.0), night)?.collect::<Result<_>>()?;
        }
        known.holds = holds.into_iter().map(|hold| (hold.id.n, hold)).collect();
        for n in needs.stays {
            if let Some(stay) = conn.prepare_cached(queries::STAY)?.query_row((id, n as i64), stay).optional()? {
                known.stays.insert(n, stay);
            }
        }
        for (user, key) in needs.keys {
            let mut answer = conn.prepare_cached(queries::ANSWER)?;
            let found = answer.query_row(params![subject, user.as_str(), key], kept_answer).optional()?;
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
        keep_answers(conn, subject, &writes.answers)?;
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
        row.give(reserved(hold))
    })
}

fn reserved(hold: &Hold) -> Option<String> {
    (!hold.reserved.is_empty()).then(|| write_numbers(hold.reserved.iter().copied()))
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
pub fn create(conn: &Connection, new: &NewRoomType, now: Moment) -> Result<Option<RoomType>> {
    let row = params![&*new.name, new.description.as_deref(), new.price.as_deref(), &*new.time_zone, new.total, now.0];
    let id = conn.prepare_cached(queries::CREATE_ROOM_TYPE)?.query_row(row, |row| row.get(0).map(RoomTypeId))?;
    let (what, hold, dates, owner) = (Happened::Created, None, None, None);
    let created = RoomRecord { n: 1, what, hold, dates, owner, by_admin: true, at: now };
    append(conn, SubjectId::RoomType(id).row(), &[created])?;
    room_type(conn, id)
}

pub fn room_type(conn: &Connection, id: RoomTypeId) -> Result<Option<RoomType>> {
    conn.prepare_cached(queries::ROOM_TYPE)?.query_row([id.0], read_room_type).optional()
}

pub fn read_room_type(row: &Row<'_>) -> Result<RoomType> {
    Ok(RoomType {
        id: RoomTypeId(row.get(0)?),
        name: row.get::<_, String>(1)?.into(),
        description: row.get::<_, Option<String>>(2)?.map(Into::into),
        price: row.get::<_, Option<String>>(3)?.map(Into::into),
        time_zone: row.get::<_, String>(4)?.into(),
        total: row.get(5)?,
        created_at: Moment(row.get(6)?),
        n: row.get::<_, i64>(7)? as u64,
    })
}

fn night(row: &Row<'_>) -> Result<(Night, NightRow)> {
    Ok((Night(row.get(0)?), NightRow { total: row.get(1)?, reserved: row.get(2)?, held: row.get(3)? }))
}

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
    })
}

pub fn stay(row: &Row<'_>) -> Result<Stay> {
    Ok(Stay {
        id: StayId { room_type: RoomTypeId(row.get(6)?), n: row.get::<_, i64>(0)? as u64 },
        owner: User::stored(&row.get::<_, String>(1)?),
        dates: Dates { check_in: Night(row.get(2)?), check_out: Night(row.get(3)?) },
        hold: row.get::<_, i64>(4)? as u64,
        at: Moment(row.get(5)?),
    })
}

pub fn entry(row: &Row<'_>) -> Result<RoomRecord> {
    let what: String = row.get(1)?;
    let dates: (Option<i32>, Option<i32>) = (row.get(6)?, row.get(7)?);
    Ok(RoomRecord {
        n: row.get::<_, i64>(0)? as u64,
        what: Happened::named(&what).ok_or_else(|| unknown(1, &what))?,
        owner: row.get::<_, Option<String>>(2)?.map(|o| User::stored(&o)),
        by_admin: row.get(3)?,
        at: Moment(row.get(4)?),
        hold: row.get::<_, Option<i64>>(5)?.map(|n| n as u64),
        dates: dates.0.zip(dates.1).map(|(i, o)| Dates { check_in: Night(i), check_out: Night(o) }),
    })
}

/// One transaction: counts and what has lapsed are of the same moment.
pub fn availability(conn: &Connection, id: RoomTypeId, dates: Dates, now: Moment) -> Result<Option<Availability>> {
    let moment = conn.unchecked_transaction()?;
    let Some(room_type) = room_type(&moment, id)? else { return Ok(None) };
    let (from, to) = (dates.check_in.0, dates.check_out.0);
    let mut nights = moment.prepare_cached(queries::NIGHTS)?;
    let rows: Vec<_> = nights.query_map((id.0, from, to), night)?.collect::<Result<_>>()?;
    let mut counts = moment.prepare_cached(queries::LAPSED_COUNTS)?;
    let lapsed = counts.query_map((SubjectId::RoomType(id).row(), now.0, from, to), |row| {
        Ok((Dates { check_in: Night(row.get(0)?), check_out: Night(row.get(1)?) }, row.get::<_, u32>(2)?))
    })?;
    let lapsed: Vec<_> = lapsed.collect::<Result<_>>()?;
    Ok(Some(Availability::of(room_type, dates, &rows, &lapsed)))
}
