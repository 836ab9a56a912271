//! One batch of commands for one event.

use std::collections::{HashMap, HashSet};

use super::Event;
use super::action::EventAction;
use super::stock::{SeatRow, Stock, Was};
use super::writes::{EventEffects, EventKnown, EventWrites, FreedSeat, HeldSeat, Holding};
use crate::buyer::Buyer;
use crate::command::Command;
use crate::decide::{Deciding, Opening};
use crate::entries::{Entry, Moved};
use crate::history::{Actor, Details, EventRecord, Happened};
use crate::holds::{CountStep, Hold, HoldTerms};
use crate::ids::{EventId, Number, ReservationId, Seat, User};
use crate::outcome::{Done, Forbidden, Limit, Refusal, Reserved};
use crate::seats::{Sale, Unit};
use crate::subject::{Subject, SubjectId};
use crate::time::Moment;

/// The working state of a batch of an event.
#[derive(Debug)]
pub struct EventDraft {
    pub(super) holdings: HashMap<User, Vec<Holding>>,
    pub(super) sales: HashMap<u64, Sale>,
    pub(super) stock: Stock,
    pub(super) entries: HashMap<User, Entry>,
    pub(super) spent: HashSet<Number>,
    pub(super) lapsed_entries: Vec<Entry>,
    pub(super) moved: Vec<Moved>,
    pub(super) first_end: Option<Moment>,
    pub(super) count: Option<CountStep<u32>>,
    /// Seats of a replaced hold that this batch had not written yet. The hold that replaces it writes them in the same
    /// way.
    pub(super) unwritten: Vec<HeldSeat>,
}

impl Subject for Event {
    type Id = EventId;
    type Action = EventAction;
    type Known = EventKnown;
    type Draft = EventDraft;
    type Writes = EventWrites;
    type Effects = EventEffects;

    fn subject(id: EventId) -> SubjectId {
        SubjectId::Event(id)
    }

    fn id(&self) -> EventId {
        self.id
    }

    fn deleted(&self) -> bool {
        self.deleted
    }

    fn newest(&self) -> u64 {
        self.counts.n
    }

    fn gives_back(action: &EventAction) -> bool {
        action.gives_back()
    }

    fn about_a_hold(action: &EventAction) -> bool {
        action.about_a_hold()
    }

    fn then(effects: &mut EventEffects, later: EventEffects) {
        effects.first_end = later.first_end;
        effects.moved.extend(later.moved);
    }

    fn hold_terms(&self, terms: HoldTerms) -> HoldTerms {
        HoldTerms { ttl_ms: self.hold_ttl_ms.unwrap_or(terms.ttl_ms), ..terms }
    }

    fn open(&self, known: EventKnown) -> Opening<EventDraft> {
        let backlog = CountStep::backlog(known.count.as_ref());
        let draft = EventDraft {
            holdings: known.holdings,
            sales: known.sales,
            stock: Stock::new(self.extent(), known.free, known.walk, known.rows),
            entries: known.entries,
            spent: known.spent,
            lapsed_entries: known.lapsed,
            moved: Vec::new(),
            first_end: known.first_end,
            count: known.count,
            unwritten: Vec::new(),
        };
        Opening { holds: known.holds, answers: known.answers, draft, backlog }
    }

    fn count_lapsed(deciding: &mut Deciding<Event>) {
        if let Some(step) = deciding.draft.count.take() {
            deciding.subject.counts.lapsed += step.found;
            deciding.subject.counts.counted = step.to;
        }
    }

    fn turn_lapsed(deciding: &mut Deciding<Event>) {
        // Evaluated before the first command, which may change the opening.
        deciding.end_draw();
        let lapsed = std::mem::take(&mut deciding.draft.lapsed_entries);
        deciding.turn_lapsed_entries(lapsed);
    }

    fn perform(deciding: &mut Deciding<Event>, command: &Command) -> Result<Done, Refusal> {
        if deciding.subject.deleted {
            return Err(Refusal::NotFound);
        }
        match &command.action {
            EventAction::Reserve(buyer) => deciding.reserve(command, None, buyer),
            EventAction::ReserveSeat { seat, buyer } => deciding.reserve(command, Some(*seat), buyer),
            EventAction::Hold { seats, key } => deciding.hold_seats(command, seats, key),
            EventAction::OnHold { n, ask } => deciding.on_hold(command, *n, *ask),
            EventAction::ConfirmWith { n, buyer } => deciding.confirm_with(command, *n, Some(buyer)),
            EventAction::ConfirmFor { n, owner: _, buyer } => deciding.confirm_with(command, *n, buyer.as_deref()),
            EventAction::Cancel { n } => deciding.cancel(command, *n),
            EventAction::Enter { number, token } => deciding.enter(command, *number, *token),
            EventAction::Leave => deciding.leave(command),
            EventAction::Renew => deciding.renew(command),
            EventAction::Turn(turn) => deciding.turn(*turn, &command.actor),
            EventAction::Amend(amendment) => deciding.amend(amendment, &command.actor),
            EventAction::Delete => deciding.delete(&command.actor),
            EventAction::DeleteSold => deciding.delete_sold(&command.actor),
        }
    }

    fn take_stock(deciding: &mut Deciding<Event>, hold: &Hold, actor: &Actor) {
        deciding.hold_each_seat(hold, actor);
    }

    fn return_stock(deciding: &mut Deciding<Event>, hold: &Hold, why: Happened, actor: Option<&Actor>) {
        deciding.free_each_seat(hold, why, actor);
    }

    fn sell_stock(deciding: &mut Deciding<Event>, hold: &Hold, actor: &Actor) -> Vec<u64> {
        deciding.sell_each_seat(hold, actor)
    }

    fn record_extension(deciding: &mut Deciding<Event>, hold: &Hold, actor: &Actor) {
        deciding.extend_each_seat(hold, actor);
    }

    fn short(draft: &EventDraft) -> bool {
        draft.stock.short()
    }

    fn close(before: &Event, after: &mut Event, draft: EventDraft, writes: &mut EventWrites) -> EventEffects {
        let EventDraft { stock, first_end, moved, .. } = draft;
        after.counts.cursor = stock.cursor();
        after.counts.came_back = stock.came_back();
        writes.counted = after.counts.counted != before.counts.counted;
        writes.cursor_moved = stock.cursor().saturating_sub(before.counts.cursor);
        EventEffects { first_end: first_end.filter(|_| after.counts.live() > 0), moved }
    }
}

impl Deciding<Event> {
    /// The chosen seat, or the lowest free one.
    fn reserve(&mut self, command: &Command, chosen: Option<Seat>, buyer: &Buyer) -> Result<Done, Refusal> {
        if chosen.is_some_and(|seat| !self.subject.has_seat(seat)) {
            return Err(Refusal::NotFound);
        }
        let taken = self.subject.buyer_fields.or(buyer.otherwise).take(buyer)?;
        if let Some(refusal) = self.subject.shut(self.wall) {
            return Err(refusal);
        }
        let owner = match command.actor.user() {
            Some(user) => Some(self.next_unit(user)?),
            None => None,
        };
        if let Some(seat) = chosen
            && owner.as_ref().is_some_and(|owner| self.is_of(seat, &owner.user))
        {
            return Err(Refusal::AlreadyReserved { seat });
        }
        self.needs_entry(command)?;
        let row = || SeatRow::Sold { owner: owner.as_ref().map(|unit| unit.user.clone()) };
        let (seat, was) = match chosen {
            Some(seat) => (seat, self.draft.stock.take(seat, row).ok_or(Refusal::SeatTaken)?),
            None => self.draft.stock.take_lowest(row).ok_or_else(|| self.nothing_free())?,
        };
        self.subject.counts.sold += 1;
        let whose = owner.as_ref().map(|o| o.user.clone());
        let n = self.happened(Happened::Reserved, command, Some(seat), whose, Details::of(command.metadata(), None));
        if let Some(unit) = &owner {
            let holding = Holding { seat, n, unit: unit.unit, at: self.now };
            self.draft.holdings.entry(unit.user.clone()).or_default().push(holding);
            self.entry_served(&unit.user);
        }
        let sale = Sale {
            seat,
            n,
            owner,
            buyer_name: taken.name.map(Into::into),
            phone: taken.phone.map(Into::into),
            email: taken.email.map(Into::into),
            metadata: command.metadata().cloned(),
            number: command.number,
            at: self.now,
        };
        match was {
            Was::Free => self.writes.resold.push(sale),
            Was::Untouched => self.writes.sold.push(sale),
        }
        Ok(Done::Reserved(Reserved {
            reservation: ReservationId { event: self.subject.id, n },
            seat,
            remaining: self.subject.remaining(),
            user_ttl_s: self.user_ttl_s(),
            number: command.number,
        }))
    }

    /// The lowest unit that this user does not have. Refuses a user at the limit.
    pub(super) fn next_unit(&self, user: &User) -> Result<Unit, Refusal> {
        let limit = self.subject.max_per_user;
        let mine = self.draft.holdings.get(user).map(Vec::as_slice).unwrap_or_default();
        if mine.len() >= limit as usize {
            return Err(self.at_the_limit(user, 1));
        }
        let unit = (1..=limit).find(|u| mine.iter().all(|h| h.unit != *u)).ok_or(Refusal::Internal)?;
        Ok(Unit { user: user.clone(), unit, limit })
    }

    /// Names the newest seat that the user bought. A user without one reached the limit by holds alone.
    pub(super) fn at_the_limit(&self, user: &User, asked: usize) -> Refusal {
        let held = self.held_by(user);
        let mine = self.draft.holdings.get(user).map(Vec::as_slice).unwrap_or_default();
        let bought = mine.iter().filter(|holding| !held.contains(&holding.seat));
        let Some(newest) = bought.max_by_key(|holding| holding.n) else {
            let limit = self.seats_limit(asked, mine.len());
            return Refusal::LimitReached { seats: held, limit };
        };
        if self.terms.user_ttl_ms == 0 {
            return Refusal::Duplicate { seat: newest.seat, user_ttl_s: None };
        }
        let end = newest.at.plus_ms(self.terms.user_ttl_ms);
        if end > self.now {
            Refusal::Duplicate { seat: newest.seat, user_ttl_s: Some(self.now.seconds_until(end)) }
        } else {
            Refusal::AlreadyReserved { seat: newest.seat }
        }
    }

    pub(super) fn seats_limit(&self, asked: usize, has: usize) -> Limit {
        let count = |seats: usize| u32::try_from(seats).unwrap_or(u32::MAX);
        Limit::Seats { asked: count(asked), has: count(has), most: self.subject.max_per_user }
    }

    fn user_ttl_s(&self) -> Option<u64> {
        (self.terms.user_ttl_ms > 0).then(|| (self.terms.user_ttl_ms as u64).div_ceil(1000))
    }

    fn is_of(&self, seat: Seat, user: &User) -> bool {
        match self.draft.stock.row(seat) {
            Some(SeatRow::Sold { owner }) => owner.as_ref() == Some(user),
            Some(SeatRow::Held { owner, .. }) => owner == user,
            Some(SeatRow::Free) | None => false,
        }
    }

    fn cancel(&mut self, command: &Command, n: u64) -> Result<Done, Refusal> {
        let sale = self.draft.sales.get(&n).ok_or(Refusal::NotFound)?;
        let mine = match &command.actor {
            Actor::Admin(_) => true,
            Actor::User(user) => sale.owner.as_ref().is_some_and(|o| o.user == *user),
            Actor::Nobody => false,
        };
        if !mine {
            return Err(Refusal::Forbidden(Forbidden::Anothers));
        }
        let seat = sale.seat;
        let owner = sale.owner.as_ref().map(|o| o.user.clone());
        let details = Details::of_cancelled(n, sale.metadata.as_ref(), command.reason());
        self.draft.sales.remove(&n);
        if let Some(holdings) = owner.as_ref().and_then(|user| self.draft.holdings.get_mut(user)) {
            holdings.retain(|h| h.n != n);
        }
        self.subject.counts.sold -= 1;
        self.draft.stock.give_back(seat);
        self.writes.freed.push(FreedSeat { seat, n });
        self.happened(Happened::Cancelled, command, Some(seat), owner, details);
        Ok(Done::Cancelled)
    }

    pub(super) fn happened(
        &mut self,
        what: Happened,
        command: &Command,
        seat: Option<Seat>,
        owner: Option<User>,
        details: Option<Box<Details>>,
    ) -> u64 {
        self.subject.counts.n += 1;
        let n = self.subject.counts.n;
        let admin = command.actor.admin().cloned();
        let (number, at) = (command.number, self.now);
        self.writes.history.push(EventRecord {
            n,
            what,
            seat,
            owner,
            admin,
            number,
            at,
            hold: None,
            origin: self.origin.clone(),
            details,
        });
        n
    }
}
