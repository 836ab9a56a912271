//! Events in PostgreSQL: how one is found, read and written, and what is guessed about it beforehand.

mod entries;
mod port;
mod reads;
mod rows;
mod seat_holds;
mod writes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rules::event::{Event, EventKnown};
use rules::ids::EventId;
use rules::seats::Hall;
use rules::time::Moment;
use tokio_postgres::{Error, Row};

use self::reads::{EventReads, EventsFound};
use self::writes::EventWriter;
use super::engine::{DecidedBatch, Mark, Portion, PostgresSubject, PreparedBatch};
use super::session::Session;
use super::trouble::Trouble;
use super::{Inner, queries};
use crate::ledger::Batch;

/// The last seen state of an event. Other servers change it too, so it is only a hint.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventHint {
    /// Nothing was left: the next batch is first tried without the row lock.
    finished: bool,
    /// Something was on hold: the first round trip reads holds.
    holds: bool,
    /// Seats were freed or sold out of order: the first round trip reads them.
    stock: bool,
}

impl EventHint {
    fn of(event: &Event, now: Moment) -> EventHint {
        let finished = event.remaining() == 0 || event.shut(now).is_some();
        EventHint { finished, holds: event.counts.held > 0, stock: !event.counts.in_order() }
    }
}

#[derive(Debug, Default)]
pub struct EventHints(Mutex<HashMap<EventId, EventHint>>);

impl EventHints {
    fn get(&self, event: EventId) -> EventHint {
        self.0.lock().unwrap_or_else(|p| p.into_inner()).get(&event).copied().unwrap_or_default()
    }

    /// A batch without a hint takes the row lock, and reads what is missing in a second round trip.
    pub(super) fn forget_all(&self) {
        *self.0.lock().unwrap_or_else(|p| p.into_inner()) = HashMap::new();
    }

    fn learn(&self, event: EventId, hint: EventHint) {
        self.0.lock().unwrap_or_else(|p| p.into_inner()).insert(event, hint);
    }
}

#[derive(Clone)]
pub struct EventAside {
    /// It never changes.
    hall: Arc<Hall>,
    hint: EventHint,
}

impl PostgresSubject for Event {
    const LOCK: &'static str = queries::LOCK_EVENT;
    const UNLOCKED: Option<&'static str> = Some(queries::EVENT);

    type Aside = EventAside;
    type Reads = EventReads;
    type Found = EventsFound;
    type Writer = EventWriter;

    fn row_id(id: EventId) -> i64 {
        id.0
    }

    async fn aside(ledger: &Inner, batch: &Batch<Event>) -> Result<Option<EventAside>, Trouble> {
        let hall = ledger.hall(batch.subject).await?;
        Ok(hall.map(|hall| EventAside { hall, hint: ledger.event_hints.get(batch.subject) }))
    }

    fn seems_refused(prepared: &PreparedBatch<Event>) -> bool {
        prepared.aside.hint.finished && prepared.batch.commands.iter().all(|command| command.action.wants_a_seat())
    }

    async fn reads(session: &Session, portions: &[Portion<'_, Event>]) -> Result<EventReads, Trouble> {
        EventReads::prepare(session, portions).await
    }

    async fn read(
        reads: &EventReads,
        session: &Session,
        portions: &[Portion<'_, Event>],
    ) -> Result<EventsFound, Error> {
        reads.read(session, portions).await
    }

    fn of_row(row: &Row, aside: &EventAside) -> Result<(Event, Moment), Trouble> {
        rows::event(row, aside.hall.clone())
    }

    fn refresh(&self, aside: &mut EventAside) {
        aside.hint.holds = self.counts.held > 0;
        aside.hint.stock = !self.counts.in_order();
    }

    fn wholly_read(&self, found: &EventsFound, now: Moment) -> bool {
        found.get(&self.id).is_some_and(|found| found.whole(self, now))
    }

    async fn read_rest(
        &self,
        reads: &EventReads,
        session: &Session,
        portion: &Portion<'_, Event>,
        found: &mut EventsFound,
        now: Moment,
    ) -> Result<(), Trouble> {
        match found.get_mut(&self.id) {
            Some(found) => reads.read_rest(session, self, portion, found, now).await,
            None => Ok(()),
        }
    }

    async fn read_deeper(
        &self,
        reads: &EventReads,
        session: &Session,
        portion: &Portion<'_, Event>,
        found: &mut EventsFound,
        depth: usize,
    ) -> Result<(), Trouble> {
        match found.get_mut(&self.id) {
            Some(found) => reads.read_deeper(session, portion, found, depth).await,
            None => Ok(()),
        }
    }

    fn understand(
        found: &EventsFound,
        locked: &[(&Event, &EventAside)],
    ) -> Result<HashMap<EventId, EventKnown>, Trouble> {
        let read = locked.iter().filter_map(|(event, _)| Some((event, found.get(&event.id)?)));
        read.map(|(event, rows)| Ok((event.id, rows.understand(event)?))).collect()
    }

    async fn writer(session: &Session) -> Result<EventWriter, Trouble> {
        EventWriter::prepare(session).await
    }

    async fn complete(
        writer: &mut EventWriter,
        session: &Session,
        decided: &[DecidedBatch<'_, Event>],
    ) -> Result<(), Trouble> {
        writer.complete(session, decided).await
    }

    async fn write(
        writer: &EventWriter,
        session: &Session,
        decided: &[DecidedBatch<'_, Event>],
        mark: Mark<'_>,
    ) -> Result<(), Error> {
        writer.write(session, decided, mark).await
    }

    fn learn(&self, ledger: &Inner) {
        ledger.event_hints.learn(self.id, EventHint::of(self, ledger.clock.now()));
    }
}
