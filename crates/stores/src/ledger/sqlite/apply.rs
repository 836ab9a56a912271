//! One batch inside an open transaction: read, decide with the rules, write.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rules::decide::{self, Answer, Decision, KeptAnswer, Known, NewAnswer};
use rules::event::{Event, NewEvent, State};
use rules::history::Happened;
use rules::ids::{EventId, Seat, User};
use rules::outcome::{Outcome, Refusal};
use rules::seats::{Hall, Sale};
use rules::stock::Gap;
use rules::time::Moment;
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Result, params};

use super::many::{self, Parameters};
use super::rows::{self, Halls};
use super::{entries, queries, seat_holds, trouble};
use crate::ledger::{Batch, Committed, Holds};

/// Runs a batch in a savepoint. If the database refuses what was decided for a reason that lasts,
/// every command runs alone, so that only the guilty one fails.
pub fn batch(conn: &Connection, halls: &Halls, batch: &Batch, now: Moment) -> Result<Option<Committed>> {
    match within_savepoint(conn, || together(conn, halls, batch, now)) {
        Err(error) if trouble::lasting(&error) => {
            tracing::warn!(event = %batch.event, %error, "a batch was refused; its requests run one by one");
            one_by_one(conn, halls, batch, now)
        }
        other => other,
    }
}

fn one_by_one(conn: &Connection, halls: &Halls, batch: &Batch, now: Moment) -> Result<Option<Committed>> {
    let mut answers: Vec<Answer> = vec![Outcome::from(Refusal::Internal).into(); batch.commands.len()];
    let mut moved = Vec::new();
    let mut holds = Holds::default();
    for i in decide::order(&batch.commands) {
        let alone =
            Batch { event: batch.event, commands: Arc::new(vec![batch.commands[i].clone()]), terms: batch.terms };
        match within_savepoint(conn, || together(conn, halls, &alone, now)) {
            Ok(Some(committed)) => {
                answers[i] = committed.answers.into_iter().next().unwrap_or(answers[i].clone());
                moved.extend(committed.moved);
                holds.first_end = committed.holds.first_end;
                holds.changed.extend(committed.holds.changed);
            }
            Ok(None) => return Ok(None),
            Err(error) if trouble::lasting(&error) => {
                tracing::error!(event = %batch.event, %error, "a request was refused by the database");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(rows::event(conn, halls, batch.event)?.map(|event| Committed { answers, event, moved, holds }))
}

/// All of `work` or none of it.
pub fn within_savepoint<T>(conn: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    conn.prepare_cached("SAVEPOINT step")?.execute([])?;
    let result = work();
    // Some errors end the whole transaction; then there is no savepoint to go back to.
    if result.is_err() && !conn.is_autocommit() {
        conn.prepare_cached("ROLLBACK TO step")?.execute([])?;
    }
    if !conn.is_autocommit() {
        conn.prepare_cached("RELEASE step")?.execute([])?;
    }
    result
}

/// Runs a batch as it is. A panic in a rule is an error like any other: the writer lives on.
pub fn together(conn: &Connection, halls: &Halls, batch: &Batch, now: Moment) -> Result<Option<Committed>> {
    catch_unwind(AssertUnwindSafe(|| read_decide_write(conn, halls, batch, now)))
        .unwrap_or_else(|_| Err(Error::ToSqlConversionFailure("a rule panicked".into())))
}

fn read_decide_write(conn: &Connection, halls: &Halls, batch: &Batch, now: Moment) -> Result<Option<Committed>> {
    let Some(event) = rows::event(conn, halls, batch.event)? else { return Ok(None) };
    let known = read(conn, &event, batch, now)?;
    let Decision { answers, writes, after, moved, first_end } =
        decide::decide(&event, known, &batch.commands, &batch.terms, now);
    if !writes.is_empty() {
        write(conn, &event, &after, &writes, now)?;
    }
    let changed = writes.holds_changed.into_iter().chain(writes.holds_begun).collect();
    Ok(Some(Committed { answers, event: after, moved, holds: Holds { first_end, changed } }))
}

fn read(conn: &Connection, found: &Event, batch: &Batch, now: Moment) -> Result<Known> {
    let needs = decide::needs(&batch.commands);
    let event = batch.event.0;
    let (holds, first_end) = seat_holds::known(conn, found, &needs, now)?;
    let mut known = Known { holds, first_end, holdings: HashMap::with_capacity(needs.users.len()), ..Known::default() };
    entries::read(conn, batch.event, &needs, &mut known, now)?;
    let owner = |row: &mut Parameters<'_, '_>, user: &&User| row.give(user.as_str());
    many::HOLDINGS.find(conn, &needs.users, event, owner, |row| {
        let user = User::stored(row.get_ref(4)?.as_str()?);
        known.holdings.entry(user).or_default().push(rows::holding(row)?);
        Ok(())
    })?;
    if !needs.keys.is_empty() {
        let mut answer = conn.prepare_cached(queries::ANSWER)?;
        for (user, key) in needs.keys {
            let found = answer.query_row(params![event, user.as_str(), key], kept_answer).optional()?;
            if let Some(found) = found {
                known.answers.insert((user.clone(), key.into()), found);
            }
        }
    }
    for n in needs.sales {
        if let Some(sale) = conn.prepare_cached(queries::SALE)?.query_row((event, n as i64), rows::sale).optional()? {
            known.sales.insert(n, sale);
        }
    }
    for seat in needs.seats {
        let row = conn.prepare_cached(queries::ROW_OF_SEAT)?.query_row((event, seat.0), rows::seat_row).optional()?;
        known.rows.extend(row.map(|row| (seat, row)));
    }
    if needs.gaps > 0 {
        known.gaps = Some(gaps(conn, found, needs.gaps)?);
    }
    if needs.free_seats > 0 && found.counts.came_back > 0 {
        let mut free = conn.prepare_cached(queries::FREE_SEATS)?;
        known.free =
            free.query_map((event, needs.free_seats as i64), |row| row.get(0).map(Seat))?.collect::<Result<_>>()?;
    }
    Ok(known)
}

/// The lowest gaps behind the cursor. Where nobody chose a seat there is one, and nothing to read.
fn gaps(conn: &Connection, event: &Event, most: usize) -> Result<Vec<Gap>> {
    let mut gaps = Vec::new();
    let mut before = event.counts.cursor;
    if event.counts.chosen_ahead() {
        let mut statement = conn.prepare_cached(queries::ROWS_AHEAD)?;
        let mut rows = statement.query((event.id.0, before))?;
        while let Some(row) = rows.next()? {
            let seat: u32 = row.get(0)?;
            if seat > before + 1 {
                gaps.push(Gap { first: Seat(before + 1), last: Seat(seat - 1) });
                if gaps.len() == most {
                    return Ok(gaps);
                }
            }
            before = seat;
        }
    }
    gaps.extend(event.behind(before));
    Ok(gaps)
}

pub fn kept_answer(row: &rusqlite::Row<'_>) -> Result<KeptAnswer> {
    let kept: String = row.get(2)?;
    Ok(KeptAnswer {
        content: row.get(0)?,
        at: Moment(row.get(1)?),
        kept: serde_json::from_str(&kept).map_err(|e| Error::FromSqlConversionFailure(2, Type::Text, Box::new(e)))?,
    })
}

fn write(conn: &Connection, before: &Event, after: &Event, writes: &decide::Writes, now: Moment) -> Result<()> {
    let id = before.id;
    for freed in &writes.freed {
        let mut statement = conn.prepare_cached(queries::FREE_SEAT)?;
        exactly_one(statement.execute(params![id.0, freed.seat.0, freed.n as i64, now.0])?)?;
    }
    let mut resell = conn.prepare_cached(queries::RESELL_SEAT)?;
    for sale in &writes.resold {
        give_sale(&mut Parameters::of(&mut resell), id, sale)?;
        exactly_one(resell.raw_execute()?)?;
    }
    let hall_seats = before.seat_count();
    many::SELL_SEATS.insert(conn, &writes.sold, |row, sale| {
        give_sale(row, id, sale)?;
        row.give(hall_seats)
    })?;
    seat_holds::write(conn, id, hall_seats, writes)?;
    entries::write(conn, id, writes)?;
    many::APPEND_HISTORY.insert(conn, &writes.history, |row, entry| {
        row.give(id.0)?;
        row.give(entry.n as i64)?;
        row.give(entry.what.as_str())?;
        row.give(entry.seat.map(|s| s.0))?;
        row.give(entry.owner.as_ref().map(User::as_str))?;
        row.give(entry.by_admin)?;
        row.give(entry.number.map(|n| n.0 as i64))?;
        row.give(entry.at.0)?;
        row.give(entry.hold.map(|n| n as i64))
    })?;
    keep_answers(conn, id.0, &writes.answers)?;
    if before.hold_ttl_ms != after.hold_ttl_ms {
        conn.prepare_cached(queries::SET_HOLD_TTL)?.execute(params![id.0, after.hold_ttl_ms])?;
    }
    if writes.event_changed {
        let [most, ttl, age, idle] = entries::room(after.room.as_ref());
        conn.prepare_cached(queries::AMEND_EVENT)?.execute(params![
            id.0,
            &*after.name,
            after.max_per_user,
            after.opens_at.map(|m| m.0),
            after.state.as_str(),
            after.deleted,
            most,
            ttl,
            age,
            idle,
        ])?;
    }
    let counts = after.counts;
    let mut statement = conn.prepare_cached(queries::MOVE_COUNTS)?;
    exactly_one(statement.execute(params![
        id.0,
        before.counts.n as i64,
        counts.n as i64,
        counts.cursor,
        counts.sold,
        counts.held,
        counts.came_back,
        counts.inside,
        now.0
    ])?)
}

pub fn keep_answers(conn: &Connection, subject: i64, answers: &[NewAnswer]) -> Result<()> {
    for new in answers {
        let kept = serde_json::to_string(&new.answer.kept).map_err(|e| Error::ToSqlConversionFailure(Box::new(e)))?;
        conn.prepare_cached(queries::KEEP_ANSWER)?.execute(params![
            subject,
            new.user.as_str(),
            &*new.key,
            new.answer.content,
            new.answer.at.0,
            kept
        ])?;
    }
    Ok(())
}

/// The first ten parameters of both statements that sell.
fn give_sale(row: &mut Parameters<'_, '_>, id: EventId, sale: &Sale) -> Result<()> {
    let owner = sale.owner.as_ref();
    row.give(id.0)?;
    row.give(sale.seat.0)?;
    row.give(owner.map(|o| o.user.as_str()))?;
    row.give(owner.map(|o| o.unit))?;
    row.give(owner.map(|o| o.limit))?;
    row.give(sale.n as i64)?;
    row.give(sale.at.0)?;
    row.give(sale.number.map(|n| n.0 as i64))?;
    row.give(sale.buyer_name.as_deref())?;
    row.give(sale.phone.as_deref())
}

/// A guarded write that hit anything but its one row means that the rules and the rows disagree.
pub fn exactly_one(changed: usize) -> Result<()> {
    if changed == 1 { Ok(()) } else { Err(Error::StatementChangedRows(changed)) }
}

/// Makes an event with its history row number 1. None: the id is taken.
pub fn create_event(
    conn: &Connection,
    halls: &Halls,
    new: &NewEvent,
    id: Option<EventId>,
    now: Moment,
) -> Result<Option<Event>> {
    if let Some(id) = id
        && rows::event(conn, halls, id)?.is_some()
    {
        return Ok(None);
    }
    let waits = new.opens_at.is_some_and(|opens| opens > now);
    let state = if waits { State::Scheduled } else { State::Open };
    let [most, ttl, age, idle] = entries::room(new.room.as_ref());
    let id: i64 = conn.prepare_cached(queries::CREATE_EVENT)?.query_row(
        params![
            id.map(|id| id.0),
            &*new.name,
            new.hall.seat_count(),
            new.max_per_user,
            new.opens_at.map(|m| m.0),
            state.as_str(),
            now.0,
            most,
            ttl,
            age,
            idle,
        ],
        |row| row.get(0),
    )?;
    if new.hold_ttl_ms.is_some() {
        conn.prepare_cached(queries::SET_HOLD_TTL)?.execute(params![id, new.hold_ttl_ms])?;
    }
    let plan = plan(&new.hall)?;
    conn.prepare_cached("INSERT INTO hall (event, plan) VALUES (?1, ?2)")?.execute(params![id, plan])?;
    conn.prepare_cached(queries::APPEND_HISTORY)?.execute(params![
        id,
        1,
        Happened::Created.as_str(),
        None::<u32>,
        None::<&str>,
        true,
        None::<i64>,
        now.0,
        None::<i64>
    ])?;
    rows::event(conn, halls, EventId(id))
}

fn plan(hall: &Hall) -> Result<String> {
    serde_json::to_string(hall).map_err(|e| Error::ToSqlConversionFailure(Box::new(e)))
}
