//! Entries: what a batch reads and writes of them, and what a door needs that lost its state.

use rules::entries::WaitingRoom;
use rules::event::{EventKnown, EventNeeds, EventWrites};
use rules::ids::EventId;
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::super::engine::exactly_one;
use super::super::queries;
use super::rows;
use crate::ledger::{LineBegun, TicketKey};

pub fn read(
    conn: &Connection,
    event: EventId,
    needs: &EventNeeds<'_>,
    known: &mut EventKnown,
    now: Moment,
) -> Result<()> {
    for user in &needs.entries {
        let mut statement = conn.prepare_cached(queries::ENTRY_OF)?;
        if let Some(entry) = statement.query_row(params![event.0, user.as_str()], rows::entry).optional()? {
            known.entries.insert((*user).clone(), entry);
        }
    }
    for number in &needs.numbers {
        let mut statement = conn.prepare_cached(queries::NUMBER_SPENT)?;
        if statement.query_row((event.0, number.0 as i64), |row| row.get(0))? {
            known.spent.insert(*number);
        }
    }
    if needs.lapsed_entries > 0 {
        let mut statement = conn.prepare_cached(queries::LAPSED_ENTRIES)?;
        let lapsed = statement.query_map((event.0, now.0, needs.lapsed_entries as i64), rows::entry)?;
        known.lapsed = lapsed.collect::<Result<_>>()?;
    }
    Ok(())
}

pub fn write(conn: &Connection, event: EventId, writes: &EventWrites) -> Result<()> {
    for new in &writes.entered {
        let entry = &new.entry;
        conn.prepare_cached(queries::ENTER)?.execute(params![
            event.0,
            entry.number.0 as i64,
            entry.user.as_str(),
            entry.token.0,
            entry.n as i64,
            entry.begins.0,
            entry.ends.0,
            entry.cap.0,
            new.nth,
            new.most,
        ])?;
    }
    for renewal in &writes.renewed {
        let mut statement = conn.prepare_cached(queries::RENEW_ENTRY)?;
        exactly_one(statement.execute((event.0, renewal.number.0 as i64, renewal.ends.0))?)?;
    }
    for over in &writes.over {
        let mut statement = conn.prepare_cached(queries::END_ENTRY)?;
        exactly_one(statement.execute((event.0, over.number.0 as i64, over.at.0))?)?;
    }
    Ok(())
}

/// The columns of a waiting room.
pub fn room(room: Option<&WaitingRoom>) -> [Option<i64>; 7] {
    let column = |value: fn(&WaitingRoom) -> i64| room.map(value);
    [
        column(|r| r.max_concurrent.into()),
        column(|r| r.token_ttl_ms),
        column(|r| r.token_max_age_ms),
        column(|r| r.idle_ms),
        column(|r| r.queue_most.into()),
        room.and_then(|r| r.gather_from).map(|from| from.0),
        room.and_then(|r| r.admit_per_minute).map(i64::from),
    ]
}

/// None: the event does not exist.
pub fn begin_line(conn: &Connection, event: EventId, now: Moment) -> Result<Option<LineBegun>> {
    let number = conn.query_row("SELECT n FROM event WHERE id = ?1", [event.0], |row| row.get::<_, i64>(0));
    let Some(n) = number.optional()? else { return Ok(None) };
    let used = conn.prepare_cached(queries::BEGIN_LINE)?.execute([event.0])? == 0;
    let mut statement = conn.prepare_cached(queries::LIVE_ENTRIES)?;
    let inside = statement.query_map((event.0, now.0), rows::entry)?.collect::<Result<_>>()?;
    Ok(Some(LineBegun { used, n: n as u64, at: now, inside }))
}

pub fn make_ticket_key(conn: &Connection, secret: &[u8; 32], now: Moment) -> Result<TicketKey> {
    let id = conn.prepare_cached(queries::MAKE_TICKET_KEY)?.query_row(params![secret, now.0], |row| row.get(0))?;
    conn.prepare_cached(queries::RETIRE_TICKET_KEYS)?.execute([id])?;
    Ok(TicketKey { id, secret: *secret })
}
