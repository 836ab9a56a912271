//! A good ledger behind a wrapper, for tests that need a ledger to refuse, to stall or to be wrong.

mod webhooks;

use std::sync::Arc;

use rules::entries::{Entry as Entered, InsideDigest};
use rules::event::{Event, NewEvent};
use rules::history::EventRecord;
use rules::holds::Hold;
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::nights::Dates;
use rules::room_type::{NewRoomType, RoomRecord, RoomType, Stay};
use rules::seats::Sale;
use rules::subject::{HoldId, RoomTypeId, StayId, SubjectId};
use rules::time::Moment;

use crate::ledger::admin_tokens::{AdminDigest, AdminToken, AdminTokens, EndedTokens, NewAdminToken};
use crate::ledger::holds::{At, HoldCensus, Holds};
use crate::ledger::personal::{ErasedBeside, ErasedRows, PersonalData, PersonalRows};
use crate::ledger::records::{HistoryHead, LedgerNote, LedgerRecord, Records};
use crate::ledger::rooms::{Availability, Rooms};
use crate::ledger::{Answered, Batch, Commit, Committed, Ledger, LineBegun, Reservation, Snapshot, TicketKey};
use crate::verify::{Finding, Looked};

type Show = Arc<dyn Fn(Availability) -> Availability + Send + Sync>;
type CommitRooms = Box<dyn Fn(&Arc<dyn Ledger>, Batch<RoomType>) -> Answered<Committed<RoomType>> + Send + Sync>;
type CommitSeats = Box<dyn Fn(&Arc<dyn Ledger>, Batch<Event>) -> Answered<Committed<Event>> + Send + Sync>;

/// A read that a test may count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BentRead {
    Event,
    NumberSpent,
}

pub struct Bent {
    good: Arc<dyn Ledger>,
    commit: CommitSeats,
    commit_rooms: CommitRooms,
    show: Show,
    /// Rows of the history that are hidden.
    hidden: fn(&EventRecord) -> bool,
    told: Box<dyn Fn(BentRead) + Send + Sync>,
}

impl Bent {
    pub fn new(
        good: Arc<dyn Ledger>,
        commit: impl Fn(&Arc<dyn Ledger>, Batch<Event>) -> Answered<Committed<Event>> + Send + Sync + 'static,
    ) -> Bent {
        Bent {
            good,
            commit: Box::new(commit),
            commit_rooms: Box::new(|good, batch| good.commit(batch)),
            show: Arc::new(|shown| shown),
            hidden: |_| false,
            told: Box::new(|_| {}),
        }
    }

    /// Tells of reads that begin.
    pub fn telling(self, told: impl Fn(BentRead) + Send + Sync + 'static) -> Bent {
        Bent { told: Box::new(told), ..self }
    }

    pub fn hiding(self, hidden: fn(&EventRecord) -> bool) -> Bent {
        Bent { hidden, ..self }
    }

    /// Changes the availability that it shows.
    pub fn showing(self, show: impl Fn(Availability) -> Availability + Send + Sync + 'static) -> Bent {
        Bent { show: Arc::new(show), ..self }
    }

    /// Changes only the batches of room types.
    pub fn of_rooms(
        good: Arc<dyn Ledger>,
        commit: impl Fn(&Arc<dyn Ledger>, Batch<RoomType>) -> Answered<Committed<RoomType>> + Send + Sync + 'static,
    ) -> Bent {
        Bent { commit_rooms: Box::new(commit), ..Bent::new(good, |good, batch| good.commit(batch)) }
    }
}

impl Commit<RoomType> for Bent {
    fn commit(&self, batch: Batch<RoomType>) -> Answered<Committed<RoomType>> {
        (self.commit_rooms)(&self.good, batch)
    }
}

impl Holds for Bent {
    fn hold_census(&self, most: usize) -> Answered<HoldCensus> {
        self.good.hold_census(most)
    }

    fn with_holds_ending(&self, within_ms: i64, limit: usize) -> Answered<Vec<SubjectId>> {
        self.good.with_holds_ending(within_ms, limit)
    }

    fn held_seats(&self, event: EventId) -> Answered<At<Vec<(Seat, Moment)>>> {
        self.good.held_seats(event)
    }

    fn seat_is_held(&self, event: EventId, seat: Seat) -> Answered<bool> {
        self.good.seat_is_held(event, seat)
    }

    fn hold(&self, id: HoldId) -> Answered<At<Option<Hold>>> {
        self.good.hold(id)
    }

    fn holds_of(&self, user: User, after: Option<HoldId>, limit: usize) -> Answered<At<Vec<Hold>>> {
        self.good.holds_of(user, after, limit)
    }

    fn holds_in(&self, subject: SubjectId, after: u64, limit: usize) -> Answered<At<Vec<Hold>>> {
        self.good.holds_in(subject, after, limit)
    }
}

impl Rooms for Bent {
    fn create_room_type(&self, new: NewRoomType) -> Answered<RoomType> {
        self.good.create_room_type(new)
    }

    fn room_types(&self, after: Option<RoomTypeId>, limit: usize) -> Answered<Vec<RoomType>> {
        self.good.room_types(after, limit)
    }

    fn room_type(&self, id: RoomTypeId) -> Answered<Option<RoomType>> {
        self.good.room_type(id)
    }

    fn availability(&self, id: RoomTypeId, dates: Dates) -> Answered<Option<Availability>> {
        let (found, show) = (self.good.availability(id, dates), self.show.clone());
        Box::pin(async move { Ok(found.await?.map(|found| show(found))) })
    }

    fn stay(&self, id: StayId) -> Answered<Option<Stay>> {
        self.good.stay(id)
    }

    fn stays_of(&self, user: User, after: Option<StayId>, limit: usize) -> Answered<Vec<Stay>> {
        self.good.stays_of(user, after, limit)
    }

    fn stays_in(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<Stay>> {
        self.good.stays_in(id, after, limit)
    }

    fn room_history(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<RoomRecord>> {
        self.good.room_history(id, after, limit)
    }
}

impl Records for Bent {
    fn records(
        &self,
        of: Option<SubjectId>,
        after: Option<(SubjectId, u64)>,
        limit: usize,
    ) -> Answered<Vec<LedgerRecord>> {
        self.good.records(of, after, limit)
    }

    fn positions(&self, subjects: Vec<SubjectId>) -> Answered<Vec<(SubjectId, u64)>> {
        self.good.positions(subjects)
    }

    fn head(&self, of: SubjectId) -> Answered<Option<HistoryHead>> {
        self.good.head(of)
    }

    fn note(&self, note: LedgerNote) -> Answered<()> {
        self.good.note(note)
    }

    fn audit(&self) -> Answered<(Looked, Vec<Finding>)> {
        self.good.audit()
    }
}

impl PersonalData for Bent {
    fn personal_rows(&self, of: User, after: Option<(SubjectId, u64)>) -> Answered<PersonalRows> {
        self.good.personal_rows(of, after)
    }

    fn erase_rows(&self, rows: Vec<(SubjectId, u64)>) -> Answered<ErasedRows> {
        self.good.erase_rows(rows)
    }

    fn end_erasure(&self, of: User, note: LedgerNote) -> Answered<ErasedBeside> {
        self.good.end_erasure(of, note)
    }
}

impl AdminTokens for Bent {
    fn admin_tokens(&self) -> Answered<Vec<AdminToken>> {
        self.good.admin_tokens()
    }

    fn make_admin_token(&self, new: NewAdminToken) -> Answered<bool> {
        self.good.make_admin_token(new)
    }

    fn replace_admin_token(&self, new: NewAdminToken, ends_at: Moment, retired: Vec<AdminDigest>) -> Answered<()> {
        self.good.replace_admin_token(new, ends_at, retired)
    }

    fn end_admin_tokens(&self, ending: EndedTokens) -> Answered<u64> {
        self.good.end_admin_tokens(ending)
    }
}

impl Commit<Event> for Bent {
    fn commit(&self, batch: Batch<Event>) -> Answered<Committed<Event>> {
        (self.commit)(&self.good, batch)
    }
}

impl Ledger for Bent {
    fn create_event(&self, new: NewEvent) -> Answered<Event> {
        self.good.create_event(new)
    }

    fn create_event_as(&self, id: EventId, new: NewEvent) -> Answered<Option<Event>> {
        self.good.create_event_as(id, new)
    }

    fn generation(&self, event: EventId) -> Answered<Option<u64>> {
        self.good.generation(event)
    }

    fn raise_generation(&self, event: EventId, known: Option<u64>) -> Answered<u64> {
        self.good.raise_generation(event, known)
    }

    fn events(&self, archived: bool, after: Option<EventId>, limit: usize) -> Answered<Vec<Event>> {
        self.good.events(archived, after, limit)
    }

    fn event(&self, id: EventId) -> Answered<Option<Event>> {
        (self.told)(BentRead::Event);
        self.good.event(id)
    }

    fn sale_of_seat(&self, event: EventId, seat: Seat) -> Answered<Option<Sale>> {
        self.good.sale_of_seat(event, seat)
    }

    fn snapshot(&self, event: EventId) -> Answered<Snapshot> {
        self.good.snapshot(event)
    }

    fn history(&self, event: EventId, after: u64, limit: usize) -> Answered<Vec<EventRecord>> {
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
        (self.told)(BentRead::NumberSpent);
        self.good.number_spent(event, number)
    }

    fn begin_line(&self, event: EventId) -> Answered<LineBegun> {
        self.good.begin_line(event)
    }

    fn inside(&self, event: EventId) -> Answered<InsideDigest> {
        self.good.inside(event)
    }

    fn ticket_keys(&self) -> Answered<Vec<TicketKey>> {
        self.good.ticket_keys()
    }

    fn rotate_ticket_key(&self, secret: [u8; 32]) -> Answered<TicketKey> {
        self.good.rotate_ticket_key(secret)
    }

    fn name(&self) -> Option<Arc<str>> {
        self.good.name()
    }

    fn secret(&self, fresh: [u8; 32]) -> Answered<[u8; 32]> {
        self.good.secret(fresh)
    }

    fn now(&self) -> Moment {
        self.good.now()
    }

    fn wall(&self) -> Moment {
        self.good.wall()
    }

    fn shift_ms(&self) -> i64 {
        self.good.shift_ms()
    }

    fn ready(&self) -> Answered<()> {
        self.good.ready()
    }
}
