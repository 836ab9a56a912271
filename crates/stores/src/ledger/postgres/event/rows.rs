//! Converts rows of events to types of the rules. The column order is that of the query files.

use std::collections::HashMap;
use std::sync::Arc;

use rules::buyer::{AskedFields, Metadata};
use rules::entries::{Entry, EntryToken, QUEUE_MOST_DEFAULT, WaitingRoom};
use rules::event::Holding;
use rules::event::stock::{self, Gap, Walk};
use rules::event::{Counts, Event, Occasion, SaleTimes, State};
use rules::history::{EventRecord, Happened, RequestOrigin};
use rules::holds::LapsedMark;
use rules::ids::{EventId, Number, Seat, User};
use rules::price::Price;
use rules::seats::{Hall, Sale, Unit};
use rules::time::Moment;
use tokio_postgres::Row;

use super::super::trouble::{Trouble, unknown};
use crate::ledger::Reservation;
use crate::ledger::details::read_details;
use crate::ledger::records::admin;

/// An event's row, and the newest timestamp in it: the clock of another primary may be behind.
pub fn event(row: &Row, hall: Arc<Hall>) -> Result<(Event, Moment), Trouble> {
    let state: &str = row.try_get(4)?;
    let event = Event {
        id: EventId(row.try_get(0)?),
        name: row.try_get::<_, &str>(1)?.into(),
        hall,
        max_per_user: row.try_get::<_, i32>(2)? as u32,
        opens_at: row.try_get::<_, Option<i64>>(3)?.map(Moment),
        hold_ttl_ms: row.try_get("hold_ttl")?,
        buyer_fields: buyer_fields(row)?,
        price: price(row)?,
        rehearsal: row.try_get("rehearsal")?,
        archived_at: row.try_get::<_, Option<i64>>("archived_at")?.map(Moment),
        state: State::named(state).ok_or_else(|| unknown(state))?,
        deleted: row.try_get(5)?,
        created_at: Moment(row.try_get(6)?),
        counts: Counts {
            n: row.try_get::<_, i64>(7)? as u64,
            cursor: row.try_get::<_, i32>(8)? as u32,
            sold: row.try_get::<_, i32>(9)? as u32,
            held: row.try_get::<_, i32>(10)? as u32,
            came_back: row.try_get::<_, i32>(11)? as u32,
            inside: row.try_get::<_, i32>(12)? as u32,
            lapsed: row.try_get::<_, i32>("lapsed")? as u32,
            counted: LapsedMark {
                ends_at: Moment(row.try_get("counted_to")?),
                place: row.try_get::<_, i64>("counted_place")? as u64,
            },
        },
        waiting_room: room(row)?,
        gathered: row.try_get("gathered")?,
        occasion: Occasion {
            starts_at: row.try_get::<_, Option<i64>>("starts_at")?.map(Moment),
            time_zone: row.try_get::<_, Option<&str>>("time_zone")?.map(Into::into),
            place: row.try_get::<_, Option<&str>>("place")?.map(Into::into),
        },
        times: SaleTimes {
            first: row.try_get::<_, Option<i64>>("first_sold_at")?.map(Moment),
            sold_out: row.try_get::<_, Option<i64>>("sold_out_at")?.map(Moment),
        },
        oldest_key: row.try_get::<_, i32>(17)? as u32,
    };
    Ok((event, Moment(row.try_get("changed_at")?)))
}

fn buyer_fields(row: &Row) -> Result<AskedFields, Trouble> {
    match row.try_get::<_, Option<&str>>("buyer_fields")? {
        None => Ok(AskedFields::default()),
        Some(text) => AskedFields::read(text).ok_or_else(|| unknown(text)),
    }
}

fn price(row: &Row) -> Result<Option<Price>, Trouble> {
    let (amount, currency): (Option<&str>, Option<&str>) = (row.try_get("price")?, row.try_get("currency")?);
    Ok(amount.zip(currency).map(|(amount, currency)| Price { amount: amount.into(), currency: currency.into() }))
}

fn room(row: &Row) -> Result<Option<WaitingRoom>, Trouble> {
    let Some(most) = row.try_get::<_, Option<i32>>(13)? else { return Ok(None) };
    Ok(Some(WaitingRoom {
        max_concurrent: most as u32,
        token_ttl_ms: row.try_get(14)?,
        token_max_age_ms: row.try_get(15)?,
        idle_ms: row.try_get(16)?,
        queue_most: row.try_get::<_, Option<i32>>("room_queue_most")?.map_or(QUEUE_MOST_DEFAULT, |most| most as u32),
        gather_from: row.try_get::<_, Option<i64>>("room_gather_from")?.map(Moment),
        admit_per_minute: row.try_get::<_, Option<i32>>("room_admit_per_minute")?.map(|most| most as u32),
        gathered: row.try_get("gathered")?,
    }))
}

/// The entry of a user who is or was inside.
pub fn entry(row: &Row) -> Result<Entry, Trouble> {
    let token: &[u8] = row.try_get(2)?;
    Ok(Entry {
        number: Number(row.try_get::<_, i64>(0)? as u64),
        user: User::stored(row.try_get(1)?),
        token: EntryToken(token.try_into().map_err(|_| Trouble::Broken("a token of another length".into()))?),
        n: row.try_get::<_, i64>(3)? as u64,
        begins: Moment(row.try_get(4)?),
        ends: Moment(row.try_get(5)?),
        cap: Moment(row.try_get(6)?),
    })
}

pub fn holdings(rows: &[Row]) -> Result<HashMap<User, Vec<Holding>>, Trouble> {
    let mut holdings: HashMap<User, Vec<Holding>> = HashMap::new();
    for row in rows {
        holdings.entry(User::stored(row.try_get(0)?)).or_default().push(Holding {
            seat: Seat(row.try_get::<_, i32>(1)? as u32),
            n: row.try_get::<_, i64>(2)? as u64,
            unit: row.try_get::<_, i32>(3)? as u32,
            at: Moment(row.try_get(4)?),
        });
    }
    Ok(holdings)
}

pub fn seats(rows: &[Row]) -> Result<Vec<Seat>, Trouble> {
    rows.iter().map(|row| Ok(Seat(row.try_get::<_, i32>(0)? as u32))).collect()
}

/// Seats with their kind, owner and end.
pub fn seat_rows(rows: &[Row]) -> Result<HashMap<Seat, stock::SeatRow>, Trouble> {
    rows.iter()
        .map(|row| {
            let kind: &str = row.try_get(1)?;
            let owner = row.try_get::<_, Option<&str>>(2)?.map(User::stored);
            let found = match (kind, owner, row.try_get(3)?) {
                ("free", ..) => stock::SeatRow::Free,
                ("sold", owner, _) => stock::SeatRow::Sold { owner },
                ("held", Some(owner), Some(ends_at)) => stock::SeatRow::Held { owner, ends_at: Moment(ends_at) },
                _ => return Err(unknown(kind)),
            };
            Ok((Seat(row.try_get::<_, i32>(0)? as u32), found))
        })
        .collect()
}

/// What a scan of at most `depth` rows found beyond the cursor.
pub fn walk(rows: &[Row], event: &Event, depth: usize) -> Result<Walk, Trouble> {
    if let Some(known) = event.walk_unread() {
        return Ok(known);
    }
    let (mut gaps, mut seen, mut passed) = (Vec::new(), event.counts.cursor, 0);
    for row in rows {
        let (a, b): (Option<i32>, i32) = (row.try_get(0)?, row.try_get(1)?);
        if row.try_get(2)? {
            (seen, passed) = (a.map_or(seen, |seat| seat as u32), b as usize);
        } else if let Some(first) = a {
            gaps.push(Gap { first: Seat(first as u32), last: Seat(b as u32) });
        }
    }
    gaps.sort_unstable_by_key(|gap| gap.first);
    if passed < depth {
        gaps.extend(event.behind(seen));
        seen = event.seat_count();
    }
    Ok(Walk { gaps, seen })
}

pub fn sale(row: &Row) -> Result<Sale, Trouble> {
    let owner: Option<&str> = row.try_get(2)?;
    let unit: (Option<i32>, Option<i32>) = (row.try_get(3)?, row.try_get(4)?);
    Ok(Sale {
        seat: Seat(row.try_get::<_, i32>(0)? as u32),
        n: row.try_get::<_, i64>(1)? as u64,
        owner: match (owner, unit) {
            (Some(owner), (Some(unit), Some(limit))) => {
                Some(Unit { user: User::stored(owner), unit: unit as u32, limit: limit as u32 })
            }
            _ => None,
        },
        buyer_name: row.try_get::<_, Option<&str>>(5)?.map(Into::into),
        phone: row.try_get::<_, Option<&str>>(6)?.map(Into::into),
        number: row.try_get::<_, Option<i64>>(7)?.map(|n| Number(n as u64)),
        at: Moment(row.try_get(8)?),
        email: row.try_get::<_, Option<&str>>(9)?.map(Into::into),
        metadata: row.try_get::<_, Option<&str>>(10)?.map(Metadata::stored),
    })
}

pub fn reservation(row: &Row) -> Result<Reservation, Trouble> {
    Ok(Reservation { event: EventId(row.try_get(11)?), sale: sale(row)? })
}

pub fn record(row: &Row) -> Result<EventRecord, Trouble> {
    let what: &str = row.try_get(1)?;
    Ok(EventRecord {
        n: row.try_get::<_, i64>(0)? as u64,
        what: Happened::named(what).ok_or_else(|| unknown(what))?,
        seat: row.try_get::<_, Option<i32>>(2)?.map(|s| Seat(s as u32)),
        owner: row.try_get::<_, Option<&str>>(3)?.map(User::stored),
        admin: admin(row.try_get(4)?, row.try_get(8)?),
        number: row.try_get::<_, Option<i64>>(5)?.map(|n| Number(n as u64)),
        at: Moment(row.try_get(6)?),
        hold: row.try_get::<_, Option<i64>>(7)?.map(|n| n as u64),
        origin: RequestOrigin::default(),
        details: read_details(row.try_get(9)?),
    })
}
