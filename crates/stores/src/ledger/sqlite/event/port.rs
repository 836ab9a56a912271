//! The event methods of the port, on SQLite.

use rules::entries::{Entry, InsideDigest};
use rules::event::{Event, NewEvent};
use rules::history::EventRecord;
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::seats::Sale;
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension};

use super::super::flusher::Fatal;
use super::super::generations::Generations;
use super::super::job::Close;
use super::super::{SqliteLedger, queries};
use super::{create_event, entries, rows, seat_holds};
use crate::ledger::tidy::{Aged, Tidied};
use crate::ledger::{Answered, Ledger, LedgerFault, LineBegun, Reservation, Snapshot, TicketKey};

fn raise_generation(conn: &Connection, event: EventId, known: Option<u64>) -> rusqlite::Result<Option<u64>> {
    let mut raise = conn.prepare_cached(queries::RAISE_GENERATION)?;
    raise
        .query_row((event.0, known.map_or(-1, |g| g as i64)), |row| {
            row.get::<_, i64>(0).map(|generation| generation as u64)
        })
        .optional()
}

impl Ledger for SqliteLedger {
    /// One batch is decided while the other is flushed.
    fn overlap(&self) -> usize {
        2
    }

    fn create_event(&self, new: NewEvent) -> Answered<Event> {
        self.write(move |tx| create_event(tx.conn, tx.halls, &new, None, tx.read.now))
    }

    fn create_event_as(&self, id: EventId, new: NewEvent) -> Answered<Option<Event>> {
        self.write(move |tx| create_event(tx.conn, tx.halls, &new, Some(id), tx.read.now).map(Some))
    }

    fn generation(&self, event: EventId) -> Answered<Option<u64>> {
        let found = self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::GENERATION)?;
            statement.query_row([event.0], |row| row.get::<_, i64>(0)).optional()
        });
        Box::pin(async move { Ok(u64::try_from(found.await?.ok_or(LedgerFault::NoSuchSubject)?).ok()) })
    }

    fn raise_generation(&self, event: EventId, known: Option<u64>) -> Answered<u64> {
        let raised = self.write(move |tx| {
            let raised = raise_generation(tx.conn, event, known)?;
            let all = Generations::read(tx.conn)?;
            Ok(raised.map(|raised| (raised, all)))
        });
        let file = self.generations.clone();
        Box::pin(async move {
            let (raised, all) = raised.await?;
            let _ = tokio::task::spawn_blocking(move || file.keep(all)).await;
            Ok(raised)
        })
    }

    fn events(&self, archived: bool, after: Option<EventId>, limit: usize) -> Answered<Vec<Event>> {
        let (halls, clock) = (self.halls.clone(), self.clock.clone());
        self.readers.read(move |conn| {
            let mut events = rows::events(conn, &halls, archived, after, limit)?;
            events.iter_mut().try_for_each(|event| seat_holds::count_lapsed(conn, event, clock.now()))?;
            Ok(events)
        })
    }

    fn event(&self, id: EventId) -> Answered<Option<Event>> {
        let (halls, clock) = (self.halls.clone(), self.clock.clone());
        self.readers.read(move |conn| {
            let mut event = rows::event(conn, &halls, id)?;
            event.iter_mut().try_for_each(|event| seat_holds::count_lapsed(conn, event, clock.now()))?;
            Ok(event)
        })
    }

    fn sale_of_seat(&self, event: EventId, seat: Seat) -> Answered<Option<Sale>> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::SALE_OF_SEAT)?.query_row((event.0, seat.0), rows::sale).optional()
        })
    }

    fn snapshot(&self, event: EventId) -> Answered<Snapshot> {
        let halls = self.halls.clone();
        let found = self.readers.read(move |conn| {
            // One transaction, so the number and the seats are from one snapshot.
            let moment = conn.unchecked_transaction()?;
            let Some(event) = rows::event(&moment, &halls, event)? else { return Ok(None) };
            let mut statement = moment.prepare_cached(queries::SOLD_SEATS)?;
            let sold = statement.query_map([event.id.0], |row| row.get(0).map(Seat))?.collect::<Result<_, _>>()?;
            Ok(Some(Snapshot { n: event.counts.n, seat_count: event.seat_count(), sold }))
        });
        Box::pin(async move { found.await?.ok_or(LedgerFault::NoSuchSubject) })
    }

    fn history(&self, event: EventId, after: u64, limit: usize) -> Answered<Vec<EventRecord>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::HISTORY)?;
            statement.query_map((event.0, after as i64, limit as i64), rows::record)?.collect()
        })
    }

    fn reservation(&self, id: ReservationId) -> Answered<Option<Reservation>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::SALE)?;
            let sale = statement.query_row((id.event.0, id.n as i64), rows::sale).optional()?;
            Ok(sale.map(|sale| Reservation { event: id.event, sale }))
        })
    }

    fn reservations_of(&self, user: User, after: Option<(EventId, Seat)>, limit: usize) -> Answered<Vec<Reservation>> {
        self.readers.read(move |conn| {
            let (event, seat) = after.map_or((i64::MIN, 0), |(event, seat)| (event.0, seat.0));
            let mut statement = conn.prepare_cached(queries::RESERVATIONS_OF)?;
            statement.query_map((user.as_str(), event, seat, limit as i64), rows::reservation)?.collect()
        })
    }

    fn reservations_in(&self, event: EventId, after: Option<Seat>, limit: usize) -> Answered<Vec<Reservation>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::RESERVATIONS_IN)?;
            statement.query_map((event.0, after.map_or(0, |s| s.0), limit as i64), rows::reservation)?.collect()
        })
    }

    fn entry_of(&self, event: EventId, user: User) -> Answered<Option<Entry>> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::ENTRY_OF)?.query_row((event.0, user.as_str()), rows::entry).optional()
        })
    }

    fn number_spent(&self, event: EventId, number: Number) -> Answered<bool> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::NUMBER_SPENT)?.query_row((event.0, number.0 as i64), |row| row.get(0))
        })
    }

    fn begin_line(&self, event: EventId) -> Answered<LineBegun> {
        self.write(move |tx| entries::begin_line(tx.conn, event, tx.read.now))
    }

    fn inside(&self, event: EventId) -> Answered<InsideDigest> {
        let now = self.clock.now();
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::INSIDE)?.query_row((event.0, now.0), |row| {
                let (count, sum): (i64, i64) = (row.get(0)?, row.get(1)?);
                Ok(InsideDigest { count: count as u64, sum: Some(sum as u64) })
            })
        })
    }

    fn ticket_keys(&self) -> Answered<Vec<TicketKey>> {
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::TICKET_KEYS)?;
            statement.query_map([], |row| Ok(TicketKey { id: row.get(0)?, secret: row.get(1)? }))?.collect()
        })
    }

    fn rotate_ticket_key(&self, secret: [u8; 32]) -> Answered<TicketKey> {
        self.write(move |tx| entries::make_ticket_key(tx.conn, &secret, tx.read.now).map(Some))
    }

    fn secret(&self, fresh: [u8; 32]) -> Answered<[u8; 32]> {
        self.write(move |tx| {
            let mut statement = tx.conn.prepare_cached(queries::SECRET)?;
            statement.query_row([&fresh[..]], |row| row.get(0)).map(Some)
        })
    }

    fn close(&self) -> Answered<()> {
        self.ask(|reply| Box::new(Close(reply)))
    }

    fn tidy(&self, what: Aged, keep_ms: i64, most: usize) -> Answered<Tidied> {
        self.tidy_aged(what, keep_ms, most)
    }

    fn deleted_events(&self, keep_ms: i64, most: usize) -> Answered<Vec<EventId>> {
        self.to_tidy(keep_ms, most)
    }

    fn tidy_event(&self, event: EventId, most: usize) -> Answered<Tidied> {
        self.tidy_deleted(event, most)
    }

    fn forget_unused(&self) -> usize {
        self.halls.forget_unused()
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn wall(&self) -> Moment {
        self.clock.wall()
    }

    fn shift_ms(&self) -> i64 {
        self.clock.shift_ms()
    }

    fn ready(&self) -> Answered<()> {
        let ready = if self.fatal.dead() { Err(Fatal::fault()) } else { self.health.ready() };
        Box::pin(async move { ready })
    }
}
