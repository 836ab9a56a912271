//! The event methods of the port, on PostgreSQL.

use std::sync::Arc;

use rules::entries::{Entry, InsideDigest};
use rules::event::{Event, EventWrites, NewEvent};
use rules::history::EventRecord;
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::seats::{Hall, Sale};
use rules::time::Moment;
use tokio_postgres::types::ToSql;

use super::super::session::{Session, within};
use super::super::trouble::Trouble;
use super::super::{Inner, PostgresLedger, Values, all, first, prepare, queries, seat_column, values};
use super::writes::append;
use super::{entries, rows};
use crate::chain::{Chain, ChainedSubject};
use crate::ledger::tidy::{Aged, Tidied};
use crate::ledger::{Answered, Ledger, LedgerFault, LineBegun, PoolFigures, Reservation, Snapshot, TicketKey};

impl Inner {
    pub(super) async fn hall(&self, id: EventId) -> Result<Option<Arc<Hall>>, Trouble> {
        if let Some(hall) = self.halls.known(id) {
            return Ok(Some(hall));
        }
        let rows = self.rows(queries::HALL, &[Box::new(id.0)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let hall = self.halls.learn(id, row.try_get(0)?);
        hall.map(Some).map_err(|e| Trouble::Broken(format!("hall of event {id}: {e}")))
    }

    async fn events_found(&self, query: &'static str, row: Values) -> Result<Vec<Event>, Trouble> {
        let mut events = Vec::new();
        for row in self.rows(query, &row).await? {
            self.clock.saw(Moment(row.try_get("ledger_now")?));
            // A deleted event may have no hall any more; the names of its seats are not needed.
            let hall = match row.try_get("deleted")? {
                true => Some(Arc::new(Hall::Count(row.try_get::<_, i32>("seat_count")? as u32))),
                false => self.hall(EventId(row.try_get(0)?)).await?,
            };
            if let Some(hall) = hall {
                events.push(rows::event(&row, hall)?.0);
            }
        }
        Ok(events)
    }

    async fn create_event(&self, new: &NewEvent, id: Option<EventId>) -> Result<Option<Event>, Trouble> {
        let plan = serde_json::to_string(&new.hall).map_err(|e| Trouble::Lasting(e.to_string()))?;
        let mut session = self.sessions.get().await?;
        session.dirty();
        let made = within(self.insert_event(&session, new, id, &plan)).await??;
        if made.is_some() {
            within(session.batch_execute("COMMIT")).await??;
            session.clean();
        }
        let Some(id) = made else { return Ok(None) };
        Ok(self.events_found(queries::EVENT, values![id]).await?.pop())
    }

    async fn insert_event(
        &self,
        session: &Session,
        new: &NewEvent,
        id: Option<EventId>,
        plan: &str,
    ) -> Result<Option<i64>, Trouble> {
        session.batch_execute("BEGIN").await?;
        let family = [&prepare::LOCK_FAMILY as &(dyn ToSql + Sync), &prepare::LOCK_NEW_EVENT];
        session.execute("SELECT pg_advisory_xact_lock($1, $2)", &family).await?;
        let statement = session.prepared(queries::CREATE_EVENT).await?;
        let ([most, queue, pace], [ttl, age, idle, gather]) = entries::room(new.waiting_room.as_ref());
        let row: [&(dyn ToSql + Sync); 19] = [
            &id.map(|id| id.0),
            &&*new.name,
            &(new.hall.seat_count() as i32),
            &(new.max_per_user as i32),
            &new.opens_at.map(|m| m.0),
            &most,
            &ttl,
            &age,
            &idle,
            &queue,
            &new.buyer_fields.written(),
            &new.price.as_ref().map(|price| &*price.amount),
            &new.price.as_ref().map(|price| &*price.currency),
            &new.rehearsal,
            &gather,
            &pace,
            &new.occasion.starts_at.map(|at| at.0),
            &new.occasion.time_zone.as_deref(),
            &new.occasion.place.as_deref(),
        ];
        let Some(made) = session.query_opt(&statement, &row).await? else { return Ok(None) };
        let (id, at): (i64, i64) = (made.try_get(0)?, made.try_get(1)?);
        if new.hold_ttl_ms.is_some() {
            session.execute(&session.prepared(queries::SET_HOLD_TTL).await?, &[&id, &new.hold_ttl_ms]).await?;
        }
        session.execute(&session.prepared(queries::CREATE_HALL).await?, &[&id, &plan]).await?;
        let created = EventWrites { history: vec![new.created(Moment(at))], ..EventWrites::default() };
        let chain = Chain::extend(None, Event::chain_rows(EventId(id), &created, None));
        let history = created.history.iter().zip(&chain.links).collect();
        append(session, &session.prepared(queries::APPEND_HISTORY).await?, id, history, None).await?;
        session.execute("UPDATE event SET head = $2 WHERE id = $1", &[&id, &chain.head()]).await?;
        Ok(Some(id))
    }
}

impl Ledger for PostgresLedger {
    fn create_event(&self, new: NewEvent) -> Answered<Event> {
        self.run(move |inner| async move {
            let made = inner.create_event(&new, None).await.map_err(Trouble::fault)?;
            made.ok_or_else(|| LedgerFault::Broken("a new id is taken".into()))
        })
    }

    fn create_event_as(&self, id: EventId, new: NewEvent) -> Answered<Option<Event>> {
        self.run(move |inner| async move { inner.create_event(&new, Some(id)).await.map_err(Trouble::fault) })
    }

    fn generation(&self, event: EventId) -> Answered<Option<u64>> {
        let found = self.read(queries::GENERATION, values![event.0], |_, rows| {
            first(&rows, |row| Ok(u64::try_from(row.try_get::<_, i64>(0)?).ok()))
        });
        Box::pin(async move { found.await?.ok_or(LedgerFault::NoSuchSubject) })
    }

    fn raise_generation(&self, event: EventId, known: Option<u64>) -> Answered<u64> {
        let known = known.map_or(-1, |generation| generation as i64);
        self.run(move |inner| async move {
            // The door is about to be opened with the ledger's name.
            inner.look().await.map_err(Trouble::fault)?;
            let row = values![event.0, known];
            let rows = inner.rows(queries::RAISE_GENERATION, &row).await.map_err(Trouble::fault)?;
            let raised = first(&rows, |row| Ok(row.try_get::<_, i64>(0)? as u64)).map_err(Trouble::fault)?;
            raised.ok_or(LedgerFault::NoSuchSubject)
        })
    }

    fn events(&self, archived: bool, after: Option<EventId>, limit: usize) -> Answered<Vec<Event>> {
        self.run(move |inner| async move {
            let row = values![after.map_or(i64::MIN, |id| id.0), limit as i64, archived];
            inner.events_found(queries::EVENTS, row).await.map_err(Trouble::fault)
        })
    }

    fn event(&self, id: EventId) -> Answered<Option<Event>> {
        self.run(move |inner| async move {
            let found = inner.events_found(queries::EVENT, values![id.0]).await;
            found.map(|mut events| events.pop()).map_err(Trouble::fault)
        })
    }

    fn sale_of_seat(&self, event: EventId, seat: Seat) -> Answered<Option<Sale>> {
        let row = values![event.0, seat_column(seat)];
        self.read(queries::SALE_OF_SEAT, row, |_, rows| first(&rows, rows::sale))
    }

    fn snapshot(&self, event: EventId) -> Answered<Snapshot> {
        let found = self.read(queries::SOLD_SEATS, values![event.0], |_, rows| {
            first(&rows, |row| {
                let sold: Vec<i32> = row.try_get(2)?;
                Ok(Snapshot {
                    n: row.try_get::<_, i64>(0)? as u64,
                    seat_count: row.try_get::<_, i32>(1)? as u32,
                    sold: sold.into_iter().map(|seat| Seat(seat as u32)).collect(),
                })
            })
        });
        Box::pin(async move { found.await?.ok_or(LedgerFault::NoSuchSubject) })
    }

    fn history(&self, event: EventId, after: u64, limit: usize) -> Answered<Vec<EventRecord>> {
        let row = values![event.0, after as i64, limit as i64];
        self.read(queries::HISTORY, row, |_, rows| all(&rows, rows::record))
    }

    fn reservation(&self, id: ReservationId) -> Answered<Option<Reservation>> {
        let row = values![id.event.0, vec![id.n as i64]];
        self.read(queries::SALES, row, move |_, rows| {
            first(&rows, |row| Ok(Reservation { event: id.event, sale: rows::sale(row)? }))
        })
    }

    fn reservations_of(&self, user: User, after: Option<(EventId, Seat)>, limit: usize) -> Answered<Vec<Reservation>> {
        let (event, seat) = after.map_or((i64::MIN, 0), |(event, seat)| (event.0, seat_column(seat)));
        let row = values![user.as_str().to_owned(), event, seat, limit as i64];
        self.read(queries::RESERVATIONS_OF, row, |_, rows| all(&rows, rows::reservation))
    }

    fn reservations_in(&self, event: EventId, after: Option<Seat>, limit: usize) -> Answered<Vec<Reservation>> {
        let row = values![event.0, after.map_or(0, seat_column), limit as i64];
        self.read(queries::RESERVATIONS_IN, row, |_, rows| all(&rows, rows::reservation))
    }

    fn entry_of(&self, event: EventId, user: User) -> Answered<Option<Entry>> {
        let row = values![event.0, vec![user.as_str().to_owned()]];
        self.read(queries::ENTRIES_OF, row, |_, rows| first(&rows, rows::entry))
    }

    fn number_spent(&self, event: EventId, number: Number) -> Answered<bool> {
        let row = values![event.0, vec![number.0 as i64]];
        self.read(queries::NUMBERS_SPENT, row, |_, rows| Ok(!rows.is_empty()))
    }

    fn begin_line(&self, event: EventId) -> Answered<LineBegun> {
        self.run(move |inner| async move {
            entries::begin_line(&inner, event).await.map_err(Trouble::fault)?.ok_or(LedgerFault::NoSuchSubject)
        })
    }

    fn inside(&self, event: EventId) -> Answered<InsideDigest> {
        self.read(queries::INSIDE, values![event.0], |_, rows| {
            let row = rows.first().ok_or_else(|| Trouble::Broken("a count without a row".into()))?;
            let (count, sum): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            Ok(InsideDigest { count: count as u64, sum: Some(sum as u64) })
        })
    }

    fn ticket_keys(&self) -> Answered<Vec<TicketKey>> {
        self.read(queries::TICKET_KEYS, values![], |_, rows| all(&rows, entries::ticket_key))
    }

    fn rotate_ticket_key(&self, secret: [u8; 32]) -> Answered<TicketKey> {
        let made = self.read(queries::MAKE_TICKET_KEY, values![secret.to_vec()], move |_, rows| {
            first(&rows, |row| Ok(TicketKey { id: row.try_get::<_, i32>(0)? as u32, secret }))
        });
        Box::pin(async move { made.await?.ok_or_else(|| LedgerFault::Broken("no key was made".into())) })
    }

    fn pool(&self) -> Option<PoolFigures> {
        Some(self.0.sessions.figures())
    }

    fn name(&self) -> Option<Arc<str>> {
        self.0.identity.name.get()
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
        self.0.event_hints.forget_all();
        self.0.halls.forget_unused()
    }

    fn secret(&self, fresh: [u8; 32]) -> Answered<[u8; 32]> {
        let found = self.read(queries::SECRET, values![fresh.to_vec()], |_, rows| {
            first(&rows, |row| Ok(row.try_get::<_, Vec<u8>>(0)?))
        });
        Box::pin(async move {
            let found = found.await?.and_then(|secret| secret.try_into().ok());
            found.ok_or_else(|| LedgerFault::Broken("the ledger's secret is not 32 bytes".into()))
        })
    }

    fn now(&self) -> Moment {
        self.0.clock.now()
    }

    /// PostgreSQL reads only the wall clock of its machine.
    fn wall(&self) -> Moment {
        self.0.clock.now()
    }

    fn ready(&self) -> Answered<()> {
        self.run(|inner| async move { inner.takes_writes().await })
    }
}
