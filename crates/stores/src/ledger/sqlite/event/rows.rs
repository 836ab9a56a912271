//! Converts rows of events to types of the rules. The column order is that of the query files.

use std::sync::Arc;

use rules::buyer::{AskedFields, Metadata};
use rules::entries::{Entry, EntryToken, QUEUE_MOST_DEFAULT, WaitingRoom};
use rules::event::Holding;
use rules::event::stock;
use rules::event::{Counts, Event, Occasion, SaleTimes, State};
use rules::history::{EventRecord, Happened, RequestOrigin};
use rules::holds::LapsedMark;
use rules::ids::{EventId, Number, Seat, User};
use rules::price::Price;
use rules::seats::{Hall, Sale, Unit};
use rules::time::Moment;
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Result, Row};

use super::super::queries;
use super::super::trouble::unknown;
use crate::ledger::Reservation;
use crate::ledger::details::read_details;
use crate::ledger::halls::HallCache;
use crate::ledger::records::admin;

fn hall(conn: &Connection, halls: &HallCache, id: EventId) -> Result<Arc<Hall>> {
    if let Some(hall) = halls.known(id) {
        return Ok(hall);
    }
    let plan: String = conn.prepare_cached(queries::HALL)?.query_row([id.0], |row| row.get(0))?;
    halls.learn(id, &plan).map_err(|e| Error::FromSqlConversionFailure(0, Type::Text, Box::new(e)))
}

/// The event with this id, even if it is deleted.
pub fn event(conn: &Connection, halls: &HallCache, id: EventId) -> Result<Option<Event>> {
    let bare = conn.prepare_cached(queries::EVENT)?.query_row([id.0], bare_event).optional()?;
    match bare {
        // It may have no hall any more; the names of its seats are not needed.
        Some(bare) if bare.0.deleted => {
            let seats = conn.prepare_cached(queries::SEAT_COUNT)?.query_row([id.0], |row| row.get(0))?;
            bare.with(Arc::new(Hall::Count(seats))).map(Some)
        }
        Some(bare) => bare.with(hall(conn, halls, id)?).map(Some),
        None => Ok(None),
    }
}

pub fn events(
    conn: &Connection,
    halls: &HallCache,
    archived: bool,
    after: Option<EventId>,
    limit: usize,
) -> Result<Vec<Event>> {
    let mut statement = conn.prepare_cached(queries::EVENTS)?;
    let bare: Vec<BareEvent> = statement
        .query_map((after.map_or(i64::MIN, |id| id.0), limit as i64, archived), bare_event)?
        .collect::<Result<_>>()?;
    bare.into_iter()
        .map(|bare| {
            let id = bare.0.id;
            bare.with(hall(conn, halls, id)?)
        })
        .collect()
}

/// An event before its hall is looked up.
struct BareEvent(Event);

impl BareEvent {
    fn with(mut self, hall: Arc<Hall>) -> Result<Event> {
        self.0.hall = hall;
        Ok(self.0)
    }
}

fn bare_event(row: &Row<'_>) -> Result<BareEvent> {
    let state: String = row.get(4)?;
    Ok(BareEvent(Event {
        id: EventId(row.get(0)?),
        name: row.get::<_, String>(1)?.into(),
        hall: Arc::new(Hall::Count(0)),
        max_per_user: row.get(2)?,
        opens_at: row.get::<_, Option<i64>>(3)?.map(Moment),
        hold_ttl_ms: row.get("hold_ttl")?,
        buyer_fields: buyer_fields(row)?,
        price: price(row)?,
        rehearsal: row.get("rehearsal")?,
        archived_at: row.get::<_, Option<i64>>("archived_at")?.map(Moment),
        state: State::named(&state).ok_or_else(|| unknown(4, &state))?,
        deleted: row.get(5)?,
        created_at: Moment(row.get(6)?),
        counts: Counts {
            n: row.get::<_, i64>(7)? as u64,
            cursor: row.get(8)?,
            sold: row.get(9)?,
            held: row.get(10)?,
            came_back: row.get(11)?,
            inside: row.get(12)?,
            lapsed: row.get("lapsed")?,
            counted: LapsedMark {
                ends_at: Moment(row.get("counted_to")?),
                place: row.get::<_, i64>("counted_place")? as u64,
            },
        },
        waiting_room: room(row)?,
        gathered: row.get("gathered")?,
        occasion: Occasion {
            starts_at: row.get::<_, Option<i64>>("starts_at")?.map(Moment),
            time_zone: row.get::<_, Option<String>>("time_zone")?.map(Into::into),
            place: row.get::<_, Option<String>>("place")?.map(Into::into),
        },
        times: SaleTimes {
            first: row.get::<_, Option<i64>>("first_sold_at")?.map(Moment),
            sold_out: row.get::<_, Option<i64>>("sold_out_at")?.map(Moment),
        },
        oldest_key: row.get(17)?,
    }))
}

fn buyer_fields(row: &Row<'_>) -> Result<AskedFields> {
    match row.get_ref("buyer_fields")?.as_str_or_null()? {
        None => Ok(AskedFields::default()),
        Some(text) => AskedFields::read(text).ok_or_else(|| unknown(0, text)),
    }
}

fn price(row: &Row<'_>) -> Result<Option<Price>> {
    let (amount, currency): (Option<String>, Option<String>) = (row.get("price")?, row.get("currency")?);
    Ok(amount.zip(currency).map(|(amount, currency)| Price { amount: amount.into(), currency: currency.into() }))
}

pub fn holding(row: &Row<'_>) -> Result<Holding> {
    Ok(Holding { seat: Seat(row.get(0)?), n: row.get::<_, i64>(1)? as u64, unit: row.get(2)?, at: Moment(row.get(3)?) })
}

fn room(row: &Row<'_>) -> Result<Option<WaitingRoom>> {
    let Some(max_concurrent) = row.get(13)? else { return Ok(None) };
    Ok(Some(WaitingRoom {
        max_concurrent,
        token_ttl_ms: row.get(14)?,
        token_max_age_ms: row.get(15)?,
        idle_ms: row.get(16)?,
        queue_most: row.get::<_, Option<u32>>("room_queue_most")?.unwrap_or(QUEUE_MOST_DEFAULT),
        gather_from: row.get::<_, Option<i64>>("room_gather_from")?.map(Moment),
        admit_per_minute: row.get("room_admit_per_minute")?,
        gathered: row.get("gathered")?,
    }))
}

/// The entry of a user who is or was inside.
pub fn entry(row: &Row<'_>) -> Result<Entry> {
    Ok(Entry {
        number: Number(row.get::<_, i64>(0)? as u64),
        user: User::stored(&row.get::<_, String>(1)?),
        token: EntryToken(row.get(2)?),
        n: row.get::<_, i64>(3)? as u64,
        begins: Moment(row.get(4)?),
        ends: Moment(row.get(5)?),
        cap: Moment(row.get(6)?),
    })
}

/// A seat's row: kind, owner, end.
pub fn seat_row(row: &Row<'_>) -> Result<stock::SeatRow> {
    let kind: String = row.get(0)?;
    let owner = row.get::<_, Option<String>>(1)?.map(|owner| User::stored(&owner));
    match (kind.as_str(), owner, row.get(2)?) {
        ("free", ..) => Ok(stock::SeatRow::Free),
        ("sold", owner, _) => Ok(stock::SeatRow::Sold { owner }),
        ("held", Some(owner), Some(ends_at)) => Ok(stock::SeatRow::Held { owner, ends_at: Moment(ends_at) }),
        _ => Err(unknown(0, &kind)),
    }
}

pub fn sale(row: &Row<'_>) -> Result<Sale> {
    let owner: Option<String> = row.get(2)?;
    let unit: (Option<u32>, Option<u32>) = (row.get(3)?, row.get(4)?);
    Ok(Sale {
        seat: Seat(row.get(0)?),
        n: row.get::<_, i64>(1)? as u64,
        owner: match (owner, unit) {
            (Some(owner), (Some(unit), Some(limit))) => Some(Unit { user: User::stored(&owner), unit, limit }),
            _ => None,
        },
        buyer_name: row.get::<_, Option<String>>(5)?.map(Into::into),
        phone: row.get::<_, Option<String>>(6)?.map(Into::into),
        number: row.get::<_, Option<i64>>(7)?.map(|n| Number(n as u64)),
        at: Moment(row.get(8)?),
        email: row.get::<_, Option<String>>(9)?.map(Into::into),
        metadata: row.get_ref(10)?.as_str_or_null()?.map(Metadata::stored),
    })
}

pub fn reservation(row: &Row<'_>) -> Result<Reservation> {
    Ok(Reservation { event: EventId(row.get(11)?), sale: sale(row)? })
}

pub fn record(row: &Row<'_>) -> Result<EventRecord> {
    let what: String = row.get(1)?;
    Ok(EventRecord {
        n: row.get::<_, i64>(0)? as u64,
        what: Happened::named(&what).ok_or_else(|| unknown(1, &what))?,
        seat: row.get::<_, Option<u32>>(2)?.map(Seat),
        owner: row.get::<_, Option<String>>(3)?.map(|o| User::stored(&o)),
        admin: admin(row.get(4)?, row.get_ref(8)?.as_str_or_null()?),
        number: row.get::<_, Option<i64>>(5)?.map(|n| Number(n as u64)),
        at: Moment(row.get(6)?),
        hold: row.get::<_, Option<i64>>(7)?.map(|n| n as u64),
        origin: RequestOrigin::default(),
        details: read_details(row.get_ref(9)?.as_str_or_null()?),
    })
}
