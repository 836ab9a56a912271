//! Seats on hold in a batch of their event: what is read of holds, and what is written.

use rules::buyer::Metadata;
use rules::event::Event;
use rules::event::stock::Was;
use rules::event::{EventKnown, EventNeeds, EventWrites, HeldSeat};
use rules::holds::{COUNTED_MOST, CountStep, Hold, HoldState, LapsedMark, On};
use rules::ids::EventId;
use rules::subject::SubjectId;
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::super::engine::{Asked, exactly_one};
use super::super::holds::{begin_holds, change_holds, hold, read_given_back, read_lapsed};
use super::super::queries;
use crate::chain::Chain;
use crate::ledger::holds::write_stock;

/// If no seat is on hold, only the holds that are requested by number are read.
pub fn read(
    conn: &Connection,
    event: &Event,
    needs: &EventNeeds<'_>,
    known: &mut EventKnown,
    asked: &Asked<'_, Event>,
) -> Result<()> {
    let now = asked.now;
    let mut holds: Vec<Hold> = Vec::new();
    let subject = SubjectId::Event(event.id).row();
    for n in &needs.holds {
        holds.extend(conn.prepare_cached(queries::HOLD)?.query_row((subject, *n as i64), hold).optional()?);
    }
    read_given_back(conn, subject, &needs.given_back, asked, &mut holds)?;
    if event.counts.held > 0 {
        let mut on_seat = conn.prepare_cached(queries::HOLD_ON_SEAT)?;
        for seat in &needs.seats {
            holds.extend(on_seat.query_row((subject, seat.0), hold).optional()?);
        }
        let mut of_owner = conn.prepare_cached(queries::HOLDS_OF_OWNER)?;
        for user in &needs.users {
            let mine = of_owner.query_map(params![user.as_str(), subject], hold)?;
            holds.extend(mine.collect::<Result<Vec<_>>>()?);
        }
        let mut by_key = conn.prepare_cached(queries::HOLD_BY_KEY)?;
        for (key, on) in &needs.hold_keys {
            holds.extend(by_key.query_row(params![subject, key, write_stock(on)], hold).optional()?);
        }
        if read_lapsed(conn, subject, now, needs.lapsed_holds(), &mut holds)? {
            known.count = Some(count(conn, event, now)?);
        }
        let mut first = conn.prepare_cached(queries::FIRST_END)?;
        known.first_end = first.query_row((subject, now.0), |row| row.get::<_, Option<i64>>(0))?.map(Moment);
    }
    known.holds = holds.into_iter().map(|hold| (hold.id.n, hold)).collect();
    Ok(())
}

/// Lapsed seats beyond the event's mark, up to the limit of a step.
fn count(conn: &Connection, event: &Event, now: Moment) -> Result<CountStep<u32>> {
    let mut to = event.counts.counted;
    let mut step = conn.prepare_cached(queries::COUNT_LAPSED_SEATS)?;
    let mut rows = step.query((event.id.0, to.ends_at.0, to.place as i64, now.0, COUNTED_MOST as i64))?;
    let mut found = 0;
    while let Some(row) = rows.next()? {
        found += 1;
        to = LapsedMark { ends_at: Moment(row.get(0)?), place: row.get::<_, i64>(1)? as u64 };
    }
    Ok(CountStep { found, to, more: found as usize == COUNTED_MOST })
}

/// Runs after the freed and sold seats are written.
pub fn write(conn: &Connection, id: EventId, hall_seats: u32, writes: &EventWrites, chain: &Chain) -> Result<()> {
    let subject = SubjectId::Event(id).row();
    change_holds(conn, subject, &writes.holds_changed)?;
    begin_holds(conn, subject, &writes.holds_begun)?;
    for held in &writes.held {
        put(conn, id, hall_seats, held)?;
    }
    for hold in writes.holds_changed.iter().filter(|hold| hold.state == HoldState::Held) {
        let On::Seats(seats) = &hold.on else { continue };
        for seat in seats {
            let mut extend = conn.prepare_cached(queries::EXTEND_SEAT)?;
            exactly_one(extend.execute((id.0, seat.0, hold.id.n as i64, hold.ends_at.0))?)?;
        }
    }
    for sold in &writes.confirmed {
        let mut confirm = conn.prepare_cached(queries::CONFIRM_SEAT)?;
        let metadata = sold.metadata.as_ref().map(Metadata::as_str);
        exactly_one(confirm.execute(params![
            id.0,
            sold.seat.0,
            sold.hold as i64,
            sold.n as i64,
            sold.at.0,
            metadata,
            sold.buyer_name.as_deref(),
            sold.phone.as_deref(),
            sold.email.as_deref(),
            chain.contact_salt(sold.n),
        ])?)?;
    }
    Ok(())
}

fn put(conn: &Connection, id: EventId, hall_seats: u32, held: &HeldSeat) -> Result<()> {
    let HeldSeat { seat, n, unit, hold, at, ends_at, was } = held;
    let (owner, n, hold) = (unit.user.as_str(), *n as i64, *hold as i64);
    match was {
        Was::Untouched => {
            let row = params![id.0, seat.0, owner, unit.unit, unit.limit, n, at.0, hold, ends_at.0, hall_seats];
            exactly_one(conn.prepare_cached(queries::HOLD_SEAT)?.execute(row)?)
        }
        Was::Free => {
            let row = params![id.0, seat.0, owner, unit.unit, unit.limit, n, at.0, hold, ends_at.0];
            exactly_one(conn.prepare_cached(queries::HOLD_SEAT_AGAIN)?.execute(row)?)
        }
    }
}

/// For display: lapsed holds count as free, even if no batch has ended them yet.
pub fn count_lapsed(conn: &Connection, event: &mut Event, now: Moment) -> Result<()> {
    if event.counts.held > 0 {
        let mut count = conn.prepare_cached(queries::LAPSED_SEATS)?;
        let LapsedMark { ends_at, place } = event.counts.counted;
        let uncounted: u32 = count.query_row((event.id.0, now.0, ends_at.0, place as i64), |row| row.get(0))?;
        event.counts.lapsed += uncounted;
    }
    Ok(())
}
