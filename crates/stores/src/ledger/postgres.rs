//! The ledger in PostgreSQL, for any number of servers. One row lock per event puts batches in
//! order; constraints have the last word.
//!
//! Whatever opens a transaction runs in a task of its own: a waiter that goes away neither stops
//! it nor leaves it open.

mod address;
mod batch;
mod claim;
mod clock;
mod entries;
mod known;
mod planted;
mod prepare;
mod queries;
mod resolve;
mod rooms;
mod rows;
mod seat_holds;
mod session;
mod trouble;
mod verify;
mod writes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use rules::entries::Entry as Entered;
use rules::event::{Event, NewEvent};
use rules::history::{EventRecord, Happened};
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::seats::{Hall, Sale};
use rules::time::{Clock, Moment};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use self::address::Address;
use self::clock::LastWord;
pub use self::planted::Bug;
pub use self::prepare::{NotPrepared, format};
use self::rows::Halls;
use self::session::{Session, Sessions, within};
use self::trouble::Trouble;
pub use self::verify::verify;
use super::{Answered, Batch, Commit, Committed, Ledger, LedgerFault, LineBegun, Reservation, Snapshot, TicketKey};

pub struct PostgresLedger(Arc<Inner>);

struct Inner {
    address: Address,
    sessions: Sessions,
    halls: Halls,
    clock: LastWord,
    /// Known once the database was reached and its tables are those of this version.
    id: Arc<OnceLock<String>>,
    hints: Mutex<HashMap<EventId, Hint>>,
    /// Batches of room types on their way into one transaction.
    gathering: rooms::Gathering,
    key_ttl_ms: i64,
    planted: Bug,
    /// Lost: another server may be selling with a door of its own.
    claim: claim::Claim,
}

/// What an event was like when last seen. Other servers change it too: a guess, never the truth.
#[derive(Clone, Copy, Default)]
struct Hint {
    /// It had nothing left: asked without a lock first.
    finished: bool,
    /// Something was on hold: holds are read in the first round trip.
    holds: bool,
    /// Seats had come back, or were chosen out of order: so are they.
    stock: bool,
}

/// What the ledger is given from outside.
#[derive(Clone)]
pub struct PostgresConfig {
    pub url: String,
    /// Connections at most.
    pub pool: usize,
    pub key_ttl_ms: i64,
    /// A clock that runs on, to tell how long ago the database was asked for its own.
    pub clock: Arc<dyn Clock>,
    pub planted: Bug,
}

impl PostgresLedger {
    /// Connects to nothing yet: the database may come later than this process.
    pub fn new(place: &PostgresConfig) -> Result<PostgresLedger, String> {
        let address = Address::read(&place.url)?;
        Ok(PostgresLedger(Arc::new(Inner {
            sessions: Sessions::new(&address, place.pool)?,
            address,
            halls: Halls::default(),
            clock: LastWord::new(place.clock.clone()),
            id: Arc::default(),
            hints: Mutex::default(),
            gathering: rooms::Gathering::default(),
            key_ttl_ms: place.key_ttl_ms,
            planted: place.planted,
            claim: claim::Claim::default(),
        })))
    }

    /// Makes the tables, or brings them up to this version. To be called until it succeeds.
    pub async fn prepare(&self) -> Result<(), NotPrepared> {
        let id = prepare::prepare(&self.0.address).await?;
        let _ = self.0.id.set(id);
        Ok(())
    }

    /// This database is ours alone from now on: with a door in the process a second server would
    /// give out the same numbers. `on_change` is called when the claim was lost and had again
    /// (true), or is another's now (false).
    pub async fn claim(&self, on_change: impl Fn(bool) + Send + Sync + 'static) -> Result<(), NotPrepared> {
        self.0.claim.take(&self.0.address, Box::new(on_change)).await
    }

    /// Known once `prepare` succeeded.
    pub fn id(&self) -> Arc<OnceLock<String>> {
        self.0.id.clone()
    }

    /// Moves this ledger's clock, for tests.
    pub fn move_clock(&self, offset_ms: i64) {
        self.0.sessions.move_clock(offset_ms);
    }

    /// Connections that are open, in use or not.
    pub fn connections(&self) -> usize {
        self.0.sessions.open()
    }

    /// Runs to its end even if nobody waits any more.
    fn run<T, W>(&self, work: impl FnOnce(Arc<Inner>) -> W) -> Answered<T>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, LedgerFault>> + Send + 'static,
    {
        let work = work(self.0.clone());
        let prepared = self.0.prepared();
        let task = tokio::spawn(async move {
            prepared?;
            work.await
        });
        Box::pin(async move {
            task.await.unwrap_or_else(|_| Err(LedgerFault::Broken("the ledger's task has ended".into())))
        })
    }

    fn read<T: Send + 'static>(
        &self,
        query: &'static str,
        row: Vec<Box<dyn ToSql + Sync + Send>>,
        understand: impl Fn(&Inner, Vec<Row>) -> Result<T, Trouble> + Send + 'static,
    ) -> Answered<T> {
        self.run(|inner| async move {
            let rows = inner.rows(query, &row).await.map_err(Trouble::fault)?;
            understand(&inner, rows).map_err(Trouble::fault)
        })
    }
}

impl Inner {
    fn prepared(&self) -> Result<(), LedgerFault> {
        if self.id.get().is_none() {
            return Err(LedgerFault::Unreachable("PostgreSQL has not been reached yet".into()));
        }
        if self.claim.lost() {
            return Err(LedgerFault::Unreachable("the claim to be the only server is being renewed".into()));
        }
        Ok(())
    }

    /// One statement, one snapshot. A connection that turns out to be dead is tried once more with
    /// a new one: reading twice does no harm.
    async fn rows(&self, query: &str, row: &[Box<dyn ToSql + Sync + Send>]) -> Result<Vec<Row>, Trouble> {
        match self.rows_once(query, row).await {
            Err(Trouble::Lost(_) | Trouble::Passing(_)) => self.rows_once(query, row).await,
            other => other,
        }
    }

    async fn rows_once(&self, query: &str, row: &[Box<dyn ToSql + Sync + Send>]) -> Result<Vec<Row>, Trouble> {
        let mut session = self.sessions.get().await?;
        let statement = session.prepared(query).await?;
        let row: Vec<&(dyn ToSql + Sync)> = row.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        session.dirty();
        let rows = within(session.query(&statement, &row)).await??;
        session.clean();
        Ok(rows)
    }

    async fn hall(&self, id: EventId) -> Result<Option<Arc<Hall>>, Trouble> {
        if let Some(hall) = self.halls.known(id) {
            return Ok(Some(hall));
        }
        let rows = self.rows(queries::HALL, &[Box::new(id.0)]).await?;
        rows.first().map(|row| self.halls.learn(id, row.try_get(0)?)).transpose()
    }

    async fn events(&self, query: &'static str, row: Vec<Box<dyn ToSql + Sync + Send>>) -> Result<Vec<Event>, Trouble> {
        let mut events = Vec::new();
        for row in self.rows(query, &row).await? {
            self.clock.saw(Moment(row.try_get("ledger_now")?));
            if let Some(hall) = self.hall(EventId(row.try_get(0)?)).await? {
                let mut event = rows::event(&row, hall)?.0;
                event.counts.lapsed = row.try_get::<_, i32>("lapsed")? as u32;
                events.push(event);
            }
        }
        Ok(events)
    }

    fn hint(&self, event: EventId) -> Hint {
        self.hints.lock().unwrap_or_else(|p| p.into_inner()).get(&event).copied().unwrap_or_default()
    }

    fn learn(&self, event: &Event) {
        let finished = event.remaining() == 0 || event.shut(self.clock.now()).is_some();
        let hint = Hint { finished, holds: event.counts.held > 0, stock: !event.counts.in_order() };
        self.hints.lock().unwrap_or_else(|p| p.into_inner()).insert(event.id, hint);
    }

    async fn create(&self, new: &NewEvent, id: Option<EventId>) -> Result<Option<Event>, Trouble> {
        let plan = serde_json::to_string(&new.hall).map_err(|e| Trouble::Lasting(e.to_string()))?;
        let mut session = self.sessions.get().await?;
        session.dirty();
        let made = within(self.insert_event(&session, new, id, &plan)).await??;
        if made.is_some() {
            within(session.batch_execute("COMMIT")).await??;
            session.clean();
        }
        let Some(id) = made else { return Ok(None) };
        Ok(self.events(queries::EVENT, vec![Box::new(id)]).await?.pop())
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
        let (most, [ttl, age, idle]) = entries::room(new.waiting_room.as_ref());
        let row: [&(dyn ToSql + Sync); 9] = [
            &id.map(|id| id.0),
            &&*new.name,
            &(new.hall.seat_count() as i32),
            &(new.max_per_user as i32),
            &new.opens_at.map(|m| m.0),
            &most,
            &ttl,
            &age,
            &idle,
        ];
        let Some(made) = session.query_opt(&statement, &row).await? else { return Ok(None) };
        let (id, at): (i64, i64) = (made.try_get(0)?, made.try_get(1)?);
        if new.hold_ttl_ms.is_some() {
            session.execute(&session.prepared(queries::SET_HOLD_TTL).await?, &[&id, &new.hold_ttl_ms]).await?;
        }
        session.execute(&session.prepared(queries::CREATE_HALL).await?, &[&id, &plan]).await?;
        let created = Happened::Created.as_str();
        let none: [Option<i32>; 1] = [None];
        let (nobody, no_number): ([Option<&str>; 1], [Option<i64>; 1]) = ([None], [None]);
        let history: [&(dyn ToSql + Sync); 11] = [
            &id,
            &&[1i64][..],
            &&[created][..],
            &&none[..],
            &&nobody[..],
            &&[true][..],
            &&no_number[..],
            &&[at][..],
            &&no_number[..],
            &None::<i64>,
            &None::<&str>,
        ];
        session.execute(&session.prepared(queries::APPEND_HISTORY).await?, &history).await?;
        Ok(Some(id))
    }

    async fn fit(&self) -> Result<(), LedgerFault> {
        let rows = self.rows(queries::READY, &[]).await.map_err(Trouble::fault)?;
        let read_only: bool = rows.first().is_none_or(|row| row.try_get(0).unwrap_or(true));
        if read_only { Err(LedgerFault::Unreachable("PostgreSQL does not take writes here".into())) } else { Ok(()) }
    }
}

fn first<T>(rows: &[Row], understand: impl Fn(&Row) -> Result<T, Trouble>) -> Result<Option<T>, Trouble> {
    rows.first().map(understand).transpose()
}

fn all<T>(rows: &[Row], understand: impl Fn(&Row) -> Result<T, Trouble>) -> Result<Vec<T>, Trouble> {
    rows.iter().map(understand).collect()
}

impl Commit<Event> for PostgresLedger {
    fn commit(&self, batch: Batch<Event>) -> Answered<Committed<Event>> {
        self.run(|inner| async move { batch::commit(&inner, &batch).await })
    }
}

impl Ledger for PostgresLedger {
    fn create_event(&self, new: NewEvent, id: Option<EventId>) -> Answered<Event> {
        self.run(move |inner| async move {
            inner.create(&new, id).await.map_err(Trouble::fault)?.ok_or(LedgerFault::NoSuchSubject)
        })
    }

    fn raise_generation(&self, event: EventId) -> Answered<u64> {
        let raised = self.read(queries::RAISE_GENERATION, vec![Box::new(event.0)], |_, rows| {
            first(&rows, |row| Ok(row.try_get::<_, i64>(0)? as u64))
        });
        Box::pin(async move { raised.await?.ok_or(LedgerFault::NoSuchSubject) })
    }

    fn events(&self, after: Option<EventId>, limit: usize) -> Answered<Vec<Event>> {
        self.run(move |inner| async move {
            let row: Vec<Box<dyn ToSql + Sync + Send>> =
                vec![Box::new(after.map_or(i64::MIN, |id| id.0)), Box::new(limit as i64)];
            inner.events(queries::EVENTS, row).await.map_err(Trouble::fault)
        })
    }

    fn event(&self, id: EventId) -> Answered<Option<Event>> {
        self.run(move |inner| async move {
            let found = inner.events(queries::EVENT, vec![Box::new(id.0)]).await;
            found.map(|mut events| events.pop()).map_err(Trouble::fault)
        })
    }

    fn sale_of_seat(&self, event: EventId, seat: Seat) -> Answered<Option<Sale>> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> = vec![Box::new(event.0), Box::new(seat.0 as i32)];
        self.read(queries::SALE_OF_SEAT, row, |_, rows| first(&rows, rows::sale))
    }

    fn snapshot(&self, event: EventId) -> Answered<Snapshot> {
        let found = self.read(queries::SOLD_SEATS, vec![Box::new(event.0)], |_, rows| {
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
        let row: Vec<Box<dyn ToSql + Sync + Send>> =
            vec![Box::new(event.0), Box::new(after as i64), Box::new(limit as i64)];
        self.read(queries::HISTORY, row, |_, rows| all(&rows, rows::entry))
    }

    fn reservation(&self, id: ReservationId) -> Answered<Option<Reservation>> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> = vec![Box::new(id.event.0), Box::new(vec![id.n as i64])];
        self.read(queries::SALES, row, move |_, rows| {
            first(&rows, |row| Ok(Reservation { event: id.event, sale: rows::sale(row)? }))
        })
    }

    fn reservations_of(&self, user: User, after: Option<(EventId, Seat)>, limit: usize) -> Answered<Vec<Reservation>> {
        let (event, seat) = after.map_or((i64::MIN, 0), |(event, seat)| (event.0, seat.0));
        let row: Vec<Box<dyn ToSql + Sync + Send>> =
            vec![Box::new(user.as_str().to_owned()), Box::new(event), Box::new(seat as i32), Box::new(limit as i64)];
        self.read(queries::RESERVATIONS_OF, row, |_, rows| all(&rows, rows::reservation))
    }

    fn reservations_in(&self, event: EventId, after: Option<Seat>, limit: usize) -> Answered<Vec<Reservation>> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> =
            vec![Box::new(event.0), Box::new(after.map_or(0, |s| s.0) as i32), Box::new(limit as i64)];
        self.read(queries::RESERVATIONS_IN, row, |_, rows| all(&rows, rows::reservation))
    }

    fn entry_of(&self, event: EventId, user: User) -> Answered<Option<Entered>> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> = vec![Box::new(event.0), Box::new(vec![user.as_str().to_owned()])];
        self.read(queries::ENTRIES_OF, row, |_, rows| first(&rows, rows::inside))
    }

    fn number_spent(&self, event: EventId, number: Number) -> Answered<bool> {
        let row: Vec<Box<dyn ToSql + Sync + Send>> = vec![Box::new(event.0), Box::new(vec![number.0 as i64])];
        self.read(queries::NUMBERS_SPENT, row, |_, rows| Ok(!rows.is_empty()))
    }

    fn begin_line(&self, event: EventId) -> Answered<LineBegun> {
        self.run(move |inner| async move {
            entries::begin_line(&inner, event).await.map_err(Trouble::fault)?.ok_or(LedgerFault::NoSuchSubject)
        })
    }

    fn ticket_keys(&self) -> Answered<Vec<TicketKey>> {
        self.read(queries::TICKET_KEYS, vec![], |_, rows| all(&rows, entries::ticket_key))
    }

    fn rotate_ticket_key(&self, secret: [u8; 32]) -> Answered<TicketKey> {
        let made = self.read(queries::MAKE_TICKET_KEY, vec![Box::new(secret.to_vec())], move |_, rows| {
            first(&rows, |row| Ok(TicketKey { id: row.try_get::<_, i32>(0)? as u32, secret }))
        });
        Box::pin(async move { made.await?.ok_or_else(|| LedgerFault::Broken("no key was made".into())) })
    }

    fn now(&self) -> Moment {
        self.0.clock.now()
    }

    fn ready(&self) -> Answered<()> {
        self.run(|inner| async move { inner.fit().await })
    }
}
