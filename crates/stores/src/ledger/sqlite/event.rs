//! Events in SQLite: what a batch reads and writes.

mod entries;
mod port;
mod rows;
mod seat_holds;

use std::collections::HashMap;

use rules::buyer::Metadata;
use rules::event::stock::{Gap, WALK_MOST, Walk};
use rules::event::{Event, EventKnown, EventWrites, NewEvent, State, needs};
use rules::history::{AdminName, EventRecord};
use rules::ids::{EventId, Seat, User};
use rules::seats::{Hall, Sale};
use rules::time::Moment;
use rusqlite::{Connection, Error, OptionalExtension, Result, params};

pub(super) use self::entries::make_ticket_key;
use super::engine::{Asked, SqliteSubject, exactly_one, give_link};
use super::many::{self, Parameters};
use super::{answers, queries};
use crate::chain::{Chain, ChainedSubject};
use crate::ledger::halls::HallCache;

impl SqliteSubject for Event {
    const HEAD: &'static str = "SELECT head FROM event WHERE id = ?1";

    fn row_id(id: EventId) -> i64 {
        id.0
    }

    fn find(conn: &Connection, halls: &HallCache, id: EventId) -> Result<Option<Event>> {
        rows::event(conn, halls, id)
    }

    fn read(&self, conn: &Connection, asked: &Asked<'_, Event>, depth: usize) -> Result<EventKnown> {
        let (needs, now) = (needs(asked.commands, asked.terms), asked.now);
        let event = self.id.0;
        let mut known = EventKnown { holdings: HashMap::with_capacity(needs.users.len()), ..EventKnown::default() };
        seat_holds::read(conn, self, &needs, &mut known, asked)?;
        entries::read(conn, self.id, &needs, &mut known, now)?;
        let owner = |row: &mut Parameters<'_, '_>, user: &&User| row.give(user.as_str());
        many::HOLDINGS.find(conn, &needs.users, event, owner, |row| {
            let user = User::stored(row.get_ref(4)?.as_str()?);
            known.holdings.entry(user).or_default().push(rows::holding(row)?);
            Ok(())
        })?;
        if !needs.keys.is_empty() {
            let mut answer = conn.prepare_cached(queries::ANSWER)?;
            for (user, key) in needs.keys {
                let found = answer.query_row(params![event, user.as_str(), key], answers::kept).optional()?;
                if let Some(found) = found {
                    known.answers.insert((user.clone(), key.into()), found);
                }
            }
        }
        for n in needs.sales {
            if let Some(sale) =
                conn.prepare_cached(queries::SALE)?.query_row((event, n as i64), rows::sale).optional()?
            {
                known.sales.insert(n, sale);
            }
        }
        for seat in needs.seats {
            let row =
                conn.prepare_cached(queries::ROW_OF_SEAT)?.query_row((event, seat.0), rows::seat_row).optional()?;
            known.rows.extend(row.map(|row| (seat, row)));
        }
        // A command of this batch may open the sale. Then the first walk is short.
        if needs.gaps > 0 && (self.shut(now).is_none() || depth > WALK_MOST) {
            known.walk = Some(walk(conn, self, needs.gaps, depth)?);
        }
        if needs.free_seats > 0 && self.counts.came_back > 0 {
            let mut free = conn.prepare_cached(queries::FREE_SEATS)?;
            known.free =
                free.query_map((event, needs.free_seats as i64), |row| row.get(0).map(Seat))?.collect::<Result<_>>()?;
        }
        Ok(known)
    }

    fn write(&self, conn: &Connection, after: &Event, writes: &EventWrites, chain: &Chain, now: Moment) -> Result<()> {
        let id = self.id;
        for freed in &writes.freed {
            let mut statement = conn.prepare_cached(queries::FREE_SEAT)?;
            exactly_one(statement.execute(params![id.0, freed.seat.0, freed.n as i64, now.0])?)?;
        }
        let mut resell = conn.prepare_cached(queries::RESELL_SEAT)?;
        for sale in &writes.resold {
            give_sale(&mut Parameters::of(&mut resell), id, sale, chain)?;
            exactly_one(resell.raw_execute()?)?;
        }
        let hall_seats = self.seat_count();
        many::SELL_SEATS.insert(conn, &writes.sold, |row, sale| {
            give_sale(row, id, sale, chain)?;
            row.give(hall_seats)
        })?;
        seat_holds::write(conn, id, hall_seats, writes, chain)?;
        entries::write(conn, id, writes)?;
        append(conn, id, &writes.history, chain)?;
        answers::keep(conn, id.0, &writes.answers)?;
        if self.hold_ttl_ms != after.hold_ttl_ms {
            conn.prepare_cached(queries::SET_HOLD_TTL)?.execute(params![id.0, after.hold_ttl_ms])?;
        }
        if writes.event_changed {
            let [most, ttl, age, idle, queue, gather, pace] = entries::room(after.waiting_room.as_ref());
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
                queue,
                after.buyer_fields.written(),
                after.price.as_ref().map(|price| &*price.amount),
                after.price.as_ref().map(|price| &*price.currency),
                after.archived_at.map(|at| at.0),
                gather,
                pace,
                after.gathered,
                after.occasion.starts_at.map(|at| at.0),
                after.occasion.time_zone.as_deref(),
                after.occasion.place.as_deref(),
            ])?;
        }
        let counts = after.counts;
        let mut statement = conn.prepare_cached(queries::MOVE_COUNTS)?;
        exactly_one(statement.execute(params![
            id.0,
            self.counts.n as i64,
            counts.n as i64,
            counts.cursor,
            counts.sold,
            counts.held,
            counts.came_back,
            counts.inside,
            now.0,
            counts.lapsed,
            counts.counted.ends_at.0,
            counts.counted.place as i64,
            chain.head(),
        ])?)
    }
}

fn append(conn: &Connection, id: EventId, history: &[EventRecord], chain: &Chain) -> Result<()> {
    let rows: Vec<_> = history.iter().zip(&chain.links).collect();
    many::APPEND_HISTORY.insert(conn, &rows, |row, (entry, link)| {
        row.give(id.0)?;
        row.give(entry.n as i64)?;
        row.give(entry.what.as_str())?;
        row.give(entry.seat.map(|s| s.0))?;
        row.give(entry.owner.as_ref().map(User::as_str))?;
        row.give(entry.admin.is_some())?;
        row.give(entry.admin.as_ref().map(AdminName::as_str))?;
        row.give(entry.number.map(|n| n.0 as i64))?;
        row.give(entry.at.0)?;
        row.give(entry.hold.map(|n| n as i64))?;
        row.give(link.contact.as_ref().map(|digest| &digest[..]))?;
        give_link(row, &entry.origin, link)
    })
}

/// The lowest gaps beyond the cursor, until they contain as many seats as requested or `depth` rows were passed.
fn walk(conn: &Connection, event: &Event, wanted: usize, depth: usize) -> Result<Walk> {
    if let Some(known) = event.walk_unread() {
        return Ok(known);
    }
    let enough = wanted.min(event.untouched() as usize);
    let (mut gaps, mut found, mut seen) = (Vec::new(), 0, event.counts.cursor);
    let mut statement = conn.prepare_cached(queries::ROWS_AHEAD)?;
    let mut rows = statement.query((event.id.0, seen, depth as i64))?;
    let mut passed = 0;
    while let Some(row) = rows.next()? {
        let seat: u32 = row.get(0)?;
        passed += 1;
        if seat > seen + 1 {
            gaps.push(Gap { first: Seat(seen + 1), last: Seat(seat - 1) });
            found += (seat - 1 - seen) as usize;
        }
        seen = seat;
        if found >= enough {
            return Ok(Walk { gaps, seen });
        }
    }
    if passed < depth {
        gaps.extend(event.behind(seen));
        seen = event.seat_count();
    }
    Ok(Walk { gaps, seen })
}

/// The first thirteen parameters of both statements that sell.
fn give_sale(row: &mut Parameters<'_, '_>, id: EventId, sale: &Sale, chain: &Chain) -> Result<()> {
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
    row.give(sale.phone.as_deref())?;
    row.give(sale.email.as_deref())?;
    row.give(sale.metadata.as_ref().map(Metadata::as_str))?;
    row.give(chain.contact_salt(sale.n))
}

/// Creates an event with its history row number 1. None: the id is taken.
fn create_event(
    conn: &Connection,
    halls: &HallCache,
    new: &NewEvent,
    id: Option<EventId>,
    now: Moment,
) -> Result<Option<Event>> {
    if let Some(id) = id
        && rows::event(conn, halls, id)?.is_some()
    {
        return Ok(None);
    }
    let state = new.opens_at.map_or(State::Open, |_| State::Scheduled);
    let [most, ttl, age, idle, queue, gather, pace] = entries::room(new.waiting_room.as_ref());
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
            queue,
            new.buyer_fields.written(),
            new.price.as_ref().map(|price| &*price.amount),
            new.price.as_ref().map(|price| &*price.currency),
            new.rehearsal,
            gather,
            pace,
            new.occasion.starts_at.map(|at| at.0),
            new.occasion.time_zone.as_deref(),
            new.occasion.place.as_deref(),
        ],
        |row| row.get(0),
    )?;
    if new.hold_ttl_ms.is_some() {
        conn.prepare_cached(queries::SET_HOLD_TTL)?.execute(params![id, new.hold_ttl_ms])?;
    }
    let plan = plan(&new.hall)?;
    conn.prepare_cached("INSERT INTO hall (event, plan) VALUES (?1, ?2)")?.execute(params![id, plan])?;
    let created = EventWrites { history: vec![new.created(now)], ..EventWrites::default() };
    let chain = Chain::extend(None, Event::chain_rows(EventId(id), &created, None));
    append(conn, EventId(id), &created.history, &chain)?;
    conn.prepare_cached("UPDATE event SET head = ?2 WHERE id = ?1")?.execute(params![id, chain.head()])?;
    rows::event(conn, halls, EventId(id))
}

fn plan(hall: &Hall) -> Result<String> {
    serde_json::to_string(hall).map_err(|e| Error::ToSqlConversionFailure(Box::new(e)))
}
