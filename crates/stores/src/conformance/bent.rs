//! A good ledger with something in front of it: for tests that need one to refuse, to stall or to
//! be wrong.

use std::sync::Arc;

use rules::entries::Entry as Entered;
use rules::event::{Event, NewEvent};
use rules::history::Entry;
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::seats::Sale;
use rules::time::Moment;

use crate::ledger::{Answered, Batch, Committed, Ledger, LineBegun, Reservation, Snapshot, TicketKey};

type Commit = Box<dyn Fn(&Arc<dyn Ledger>, Batch) -> Answered<Committed> + Send + Sync>;

pub struct Bent {
    good: Arc<dyn Ledger>,
    commit: Commit,
    /// Rows of the history that are hidden.
    hidden: fn(&Entry) -> bool,
}

impl Bent {
    pub fn new(
        good: Arc<dyn Ledger>,
        commit: impl Fn(&Arc<dyn Ledger>, Batch) -> Answered<Committed> + Send + Sync + 'static,
    ) -> Bent {
        Bent { good, commit: Box::new(commit), hidden: |_| false }
    }

    pub fn hiding(self, hidden: fn(&Entry) -> bool) -> Bent {
        Bent { hidden, ..self }
    }
}

impl Ledger for Bent {
    fn commit(&self, batch: Batch) -> Answered<Committed> {
        (self.commit)(&self.good, batch)
    }

    fn create_event(&self, new: NewEvent, id: Option<EventId>) -> Answered<Event> {
        self.good.create_event(new, id)
    }

    fn raise_generation(&self, event: EventId) -> Answered<u64> {
        self.good.raise_generation(event)
    }

    fn events(&self, after: Option<EventId>, limit: usize) -> Answered<Vec<Event>> {
        self.good.events(after, limit)
    }

    fn event(&self, id: EventId) -> Answered<Option<Event>> {
        self.good.event(id)
    }

    fn sale_of_seat(&self, event: EventId, seat: Seat) -> Answered<Option<Sale>> {
        self.good.sale_of_seat(event, seat)
    }

    fn snapshot(&self, event: EventId) -> Answered<Snapshot> {
        self.good.snapshot(event)
    }

    fn history(&self, event: EventId, after: u64, limit: usize) -> Answered<Vec<Entry>> {
        let (history, hidden) = (self.good.history(event, after, limit), self.hidden);
        Box::pin(async move { Ok(history.await?.into_iter().filter(|entry| !hidden(entry)).collect()) })
    }

    fn reservation(&self, id: ReservationId) -> Answered<Option<Reservation>> {
        self.good.reservation(id)
    }

    fn reservations_of(&self, user: User, after: Option<(EventId, Seat)>, limit: usize) -> Answered<Vec<Reservation>> {
        self.good.reservations_of(user, after, limit)
    }

    fn reservations_in(&self, event: EventId, after: Option<Seat>, limit: usize) -> Answered<Vec<Reservation>> {
        self.good.reservations_in(event, after, limit)
    }

    fn entry_of(&self, event: EventId, user: User) -> Answered<Option<Entered>> {
        self.good.entry_of(event, user)
    }

    fn number_spent(&self, event: EventId, number: Number) -> Answered<bool> {
        self.good.number_spent(event, number)
    }

    fn begin_line(&self, event: EventId) -> Answered<LineBegun> {
        self.good.begin_line(event)
    }

    fn ticket_keys(&self) -> Answered<Vec<TicketKey>> {
        self.good.ticket_keys()
    }

    fn rotate_ticket_key(&self, secret: [u8; 32]) -> Answered<TicketKey> {
        self.good.rotate_ticket_key(secret)
    }

    fn now(&self) -> Moment {
        self.good.now()
    }

    fn ready(&self) -> Answered<()> {
        self.good.ready()
    }
}
