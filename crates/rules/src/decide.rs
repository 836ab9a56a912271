//! One batch of commands for one event: what must be read for it, and what is decided.
//!
//! `needs` names what to read, the ledger reads it under the event's lock, `decide` answers every
//! command and says what to write. In a batch what gives back comes first, then by number.

mod holds;
mod inside;
mod needs;
mod operate;

pub use self::needs::{EventNeeds, needs};

use std::collections::{HashMap, HashSet};

pub use self::holds::Confirmed;

use crate::command::{Buyer, Command, EventAction, Terms};
use crate::entries::{self, Moved};
use crate::event::Event;
use crate::history::{Actor, EventRecord, Happened};
use crate::holds::Hold;
use crate::ids::{EventId, Number, ReservationId, Seat, User};
use crate::once::Once;
use crate::outcome::{Done, Forbidden, Kept, Outcome, Refusal, Reserved};
use crate::seats::{Sale, Unit};
use crate::stock::{Gap, Row, Stock, Was};
use crate::subject::{Subject, SubjectId, Writes};
use crate::time::Moment;

/// What the ledger found.
#[derive(Debug, Default)]
pub struct EventKnown {
    /// Every seat each of those users has in this event.
    pub holdings: HashMap<User, Vec<Holding>>,
    pub answers: HashMap<(User, Box<str>), KeptAnswer>,
    /// Sales that still stand.
    pub sales: HashMap<u64, Sale>,
    /// The lowest seats that came back.
    pub free: Vec<Seat>,
    /// Of the seats that were asked about, those that have a row.
    pub rows: HashMap<Seat, Row>,
    /// The lowest gaps behind the cursor; fewer than were asked for: these are all. None: they were
    /// not asked for.
    pub gaps: Option<Vec<Gap>>,
    /// Entries that are not over.
    pub entries: HashMap<User, entries::Entry>,
    /// Of the numbers that were asked about, those that somebody has entered by.
    pub spent: HashSet<Number>,
    /// The oldest entries that have lapsed and are not over yet.
    pub lapsed: Vec<entries::Entry>,
    /// Read where anything is on hold: holds on the seats, of the users and under the keys that were
    /// asked for, and what has lapsed elsewhere, by the number they began with.
    pub holds: HashMap<u64, Hold>,
    /// When the first live hold ends.
    pub first_end: Option<Moment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub seat: Seat,
    pub n: u64,
    pub unit: u32,
    pub at: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub content: [u8; 32],
    pub at: Moment,
    pub kept: Kept,
}

#[derive(Debug)]
pub struct Decision<S: Subject> {
    /// One answer per command, in the order in which the commands were given.
    pub answers: Vec<Answer>,
    pub writes: S::Writes,
    /// The subject as the batch leaves it.
    pub after: S,
    pub effects: S::Effects,
}

/// What a batch of an event changed beside its rows.
#[derive(Debug, Default)]
pub struct EventEffects {
    /// When the first hold ends.
    pub first_end: Option<Moment>,
    /// Who is inside changed: for the door.
    pub moved: Vec<Moved>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub outcome: Outcome,
    /// The outcome is the one of an earlier request with the same key.
    pub replayed: bool,
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Answer { outcome, replayed: false }
    }
}

/// What to write, in this order: seats freed, freed seats sold again, seats sold for the first time;
/// then holds that changed, holds that began, seats on hold, seats that their hold sells; then
/// entries made, renewed, over.
#[derive(Clone, Debug, Default)]
pub struct EventWrites {
    pub freed: Vec<Freed>,
    pub resold: Vec<Sale>,
    pub sold: Vec<Sale>,
    /// The ledger refuses to change one that is not held.
    pub holds_changed: Vec<Hold>,
    pub holds_begun: Vec<Hold>,
    pub held: Vec<HeldSeat>,
    pub confirmed: Vec<Confirmed>,
    pub entered: Vec<NewEntry>,
    pub renewed: Vec<Renewal>,
    pub over: Vec<Over>,
    pub history: Vec<EventRecord>,
    pub answers: Vec<NewAnswer>,
    /// Name, limit, opening or state differ: more of the event's row is written than its counts.
    pub event_changed: bool,
    /// How many rows the cursor passed.
    pub cursor_moved: u32,
}

/// A batch that was refused still moves the cursor if the next one would have to read so many rows
/// again.
const CURSOR_FAR: u32 = 1_000;

impl Writes for EventWrites {
    fn is_empty(&self) -> bool {
        self.history.is_empty() && self.renewed.is_empty() && self.over.is_empty() && self.cursor_moved < CURSOR_FAR
    }

    fn first_n(&self) -> Option<u64> {
        self.history.first().map(|record| record.n)
    }

    fn holds(self) -> Vec<Hold> {
        self.holds_changed.into_iter().chain(self.holds_begun).collect()
    }
}

impl Subject for Event {
    type Id = EventId;
    type Action = EventAction;
    type Known = EventKnown;
    type Writes = EventWrites;
    type Effects = EventEffects;

    fn subject(id: EventId) -> SubjectId {
        SubjectId::Event(id)
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

    fn decide(&self, known: EventKnown, commands: &[Command], terms: &Terms, now: Moment) -> Decision<Event> {
        decide(self, known, commands, terms, now)
    }
}

/// A seat that is put on hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSeat {
    pub seat: Seat,
    pub n: u64,
    pub unit: Unit,
    pub hold: u64,
    pub at: Moment,
    pub ends_at: Moment,
    pub was: Was,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freed {
    pub seat: Seat,
    /// The sale or hold it ends: the ledger refuses to free any other.
    pub n: u64,
}

/// An entry that was made, with what the database holds it against: it is the nth inside of at
/// most so many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pub entry: entries::Entry,
    pub nth: u32,
    pub most: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    pub number: Number,
    pub ends: Moment,
}

/// An entry that is over: given back, or lapsed and noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    pub number: Number,
    pub at: Moment,
}

#[derive(Clone, Debug)]
pub struct NewAnswer {
    pub user: User,
    pub key: Box<str>,
    pub answer: KeptAnswer,
}

/// Decides a batch. `commands` may come in any order; the answers come in the same.
pub fn decide(event: &Event, known: EventKnown, commands: &[Command], terms: &Terms, now: Moment) -> Decision<Event> {
    let mut known = known;
    let lapsed = std::mem::take(&mut known.lapsed);
    let mut session = Session::new(event.clone(), known, *terms, now);
    session.turn_lapsed();
    session.turn_lapsed_entries(lapsed);
    let mut answers: Vec<Option<Answer>> = vec![None; commands.len()];
    for i in order(commands) {
        answers[i] = Some(session.answer(&commands[i]));
    }
    session.finish(event.counts.cursor, answers.into_iter().flatten().collect())
}

/// The order in which a batch is served: what gives back, then by number.
pub fn order<S: Subject>(commands: &[Command<S>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..commands.len()).collect();
    order.sort_by_key(|&i| (!S::gives_back(&commands[i].action), commands[i].number));
    order
}

struct Session {
    event: Event,
    holdings: HashMap<User, Vec<Holding>>,
    once: Once,
    sales: HashMap<u64, Sale>,
    stock: Stock,
    entries: HashMap<User, entries::Entry>,
    spent: HashSet<Number>,
    moved: Vec<Moved>,
    holds: HashMap<u64, Hold>,
    /// What each user holds now.
    live: HashMap<User, Vec<u64>>,
    /// Holds that changed, in that order, and those of them that began in this batch.
    touched: Vec<u64>,
    begun: HashSet<u64>,
    first_end: Option<Moment>,
    terms: Terms,
    now: Moment,
    writes: EventWrites,
}

impl Session {
    fn new(event: Event, known: EventKnown, terms: Terms, now: Moment) -> Session {
        let stock = Stock::new(event.extent(), known.free, known.gaps, known.rows);
        Session {
            event,
            holdings: known.holdings,
            once: Once::new(known.answers, terms.key_ttl_ms, now),
            sales: known.sales,
            stock,
            entries: known.entries,
            spent: known.spent,
            moved: Vec::new(),
            holds: known.holds,
            live: HashMap::new(),
            touched: Vec::new(),
            begun: HashSet::new(),
            first_end: known.first_end,
            terms,
            now,
            writes: EventWrites::default(),
        }
    }

    fn answer(&mut self, command: &Command) -> Answer {
        if let Some(before) = self.once.before(command) {
            return before;
        }
        let outcome = match self.perform(command) {
            Ok(done) => {
                self.once.keep(command, &done);
                Outcome::Done(done)
            }
            Err(refusal) => Outcome::Refused(refusal),
        };
        outcome.into()
    }

    fn perform(&mut self, command: &Command) -> Result<Done, Refusal> {
        if self.event.deleted {
            return Err(Refusal::NotFound);
        }
        match &command.action {
            EventAction::Reserve(buyer) => self.reserve(command, None, buyer),
            EventAction::ReserveSeat { seat, buyer } => self.reserve(command, Some(*seat), buyer),
            EventAction::Hold { seats, key } => self.hold_seats(command, seats, key),
            EventAction::OnHold { n, ask } => self.on_hold(command, *n, *ask),
            EventAction::Cancel { n } => self.cancel(command, *n),
            EventAction::Enter { number, token } => self.enter(command, *number, *token),
            EventAction::Leave => self.leave(command),
            EventAction::Renew => self.renew(command),
            EventAction::Turn(turn) => self.turn(*turn),
            EventAction::Amend(amendment) => self.amend(amendment),
            EventAction::Delete => self.delete(),
        }
    }

    /// The chosen seat, or the lowest free one.
    fn reserve(&mut self, command: &Command, chosen: Option<Seat>, buyer: &Buyer) -> Result<Done, Refusal> {
        if chosen.is_some_and(|seat| !self.event.has_seat(seat)) {
            return Err(Refusal::NotFound);
        }
        if let Some(refusal) = self.event.shut(self.now) {
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
        let row = || Row::Sold { owner: owner.as_ref().map(|unit| unit.user.clone()) };
        let (seat, was) = match chosen {
            Some(seat) => (seat, self.stock.take(seat, row).ok_or(Refusal::SeatTaken)?),
            None => self.stock.take_lowest(row).ok_or_else(|| self.nothing_free())?,
        };
        self.event.counts.sold += 1;
        let n = self.happened(Happened::Reserved, command, Some(seat), owner.as_ref().map(|o| o.user.clone()));
        if let Some(unit) = &owner {
            let holding = Holding { seat, n, unit: unit.unit, at: self.now };
            self.holdings.entry(unit.user.clone()).or_default().push(holding);
            self.entry_served(&unit.user);
        }
        let sale = Sale {
            seat,
            n,
            owner,
            buyer_name: buyer.name.clone(),
            phone: buyer.phone.clone(),
            number: command.number,
            at: self.now,
        };
        match was {
            Was::Free => self.writes.resold.push(sale),
            Was::Untouched => self.writes.sold.push(sale),
        }
        Ok(Done::Reserved(Reserved {
            reservation: ReservationId { event: self.event.id, n },
            seat,
            remaining: self.event.remaining(),
            user_ttl_s: self.user_ttl_s(),
            number: command.number,
        }))
    }

    /// The first unit this user does not have yet, or the refusal of one who is at the limit.
    fn next_unit(&self, user: &User) -> Result<Unit, Refusal> {
        let limit = self.event.max_per_user;
        let mine = self.holdings.get(user).map(Vec::as_slice).unwrap_or_default();
        if mine.len() >= limit as usize {
            return Err(self.at_the_limit(user));
        }
        let unit = (1..=limit).find(|u| mine.iter().all(|h| h.unit != *u)).ok_or(Refusal::Internal)?;
        Ok(Unit { user: user.clone(), unit, limit })
    }

    /// The newest seat that was bought; who has none has reached the limit by holding alone.
    fn at_the_limit(&self, user: &User) -> Refusal {
        let held = self.held_by(user);
        let mine = self.holdings.get(user).map(Vec::as_slice).unwrap_or_default();
        let bought = mine.iter().filter(|holding| !held.contains(&holding.seat));
        let Some(newest) = bought.max_by_key(|holding| holding.n) else {
            return Refusal::LimitReached { seats: held };
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

    fn user_ttl_s(&self) -> Option<u64> {
        (self.terms.user_ttl_ms > 0).then(|| (self.terms.user_ttl_ms as u64).div_ceil(1000))
    }

    fn is_of(&self, seat: Seat, user: &User) -> bool {
        match self.stock.row(seat) {
            Some(Row::Sold { owner }) => owner.as_ref() == Some(user),
            Some(Row::Held { owner, .. }) => owner == user,
            Some(Row::Free) | None => false,
        }
    }

    fn cancel(&mut self, command: &Command, n: u64) -> Result<Done, Refusal> {
        let sale = self.sales.get(&n).ok_or(Refusal::NotFound)?;
        let mine = match &command.actor {
            Actor::Admin => true,
            Actor::User(user) => sale.owner.as_ref().is_some_and(|o| o.user == *user),
            Actor::Nobody => false,
        };
        if !mine {
            return Err(Refusal::Forbidden(Forbidden::Anothers));
        }
        let seat = sale.seat;
        let owner = sale.owner.as_ref().map(|o| o.user.clone());
        self.sales.remove(&n);
        if let Some(holdings) = owner.as_ref().and_then(|user| self.holdings.get_mut(user)) {
            holdings.retain(|h| h.n != n);
        }
        self.event.counts.sold -= 1;
        self.stock.give_back(seat);
        self.writes.freed.push(Freed { seat, n });
        self.happened(Happened::Cancelled, command, Some(seat), owner);
        Ok(Done::Cancelled)
    }

    fn happened(&mut self, what: Happened, command: &Command, seat: Option<Seat>, owner: Option<User>) -> u64 {
        self.event.counts.n += 1;
        let n = self.event.counts.n;
        let by_admin = command.actor == Actor::Admin;
        let (number, at) = (command.number, self.now);
        self.writes.history.push(EventRecord { n, what, seat, owner, by_admin, number, at, hold: None });
        n
    }

    fn finish(mut self, cursor: u32, answers: Vec<Answer>) -> Decision<Event> {
        let mut seen = HashSet::new();
        for n in self.touched.into_iter().filter(|n| seen.insert(*n)) {
            let Some(hold) = self.holds.remove(&n) else { continue };
            let changed = !self.begun.contains(&n);
            if changed { &mut self.writes.holds_changed } else { &mut self.writes.holds_begun }.push(hold);
        }
        self.event.counts.cursor = self.stock.cursor();
        self.event.counts.came_back = self.stock.came_back();
        self.writes.cursor_moved = self.stock.cursor().saturating_sub(cursor);
        self.writes.answers = self.once.new;
        let first_end = self.first_end.filter(|_| self.event.counts.held > 0);
        Decision {
            answers,
            writes: self.writes,
            after: self.event,
            effects: EventEffects { first_end, moved: self.moved },
        }
    }
}
