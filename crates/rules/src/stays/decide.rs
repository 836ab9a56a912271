//! One batch of commands for one room type: what must be read for it, and what is decided.
//!
//! First what has lapsed is turned, then what gives back, then the rest in the order in which it
//! came. Nights are changed by differences: the rows themselves refuse to go beyond their total.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{NightRow, RoomAction, RoomCommand, RoomRecord, RoomType, RoomTypeAmendment, Stay};
use crate::command::Terms;
use crate::decide::{Answer, Decision, KeptAnswer, NewAnswer, order};
use crate::history::{Actor, Happened};
use crate::holds::{Ask, Hold, HoldState, On, Repeat};
use crate::ids::User;
use crate::nights::{Dates, Night};
use crate::once::Once;
use crate::outcome::{Done, Forbidden, Outcome, Refusal};
use crate::subject::{HoldId, RoomTypeId, StayId, Subject, SubjectId, Writes};
use crate::time::Moment;

/// Lapsed holds of others that a batch turns at most, oldest first.
pub const LAPSED_MOST: usize = 1_000;

/// What must be read, after the lock was taken, to decide a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RoomTypeNeeds<'a> {
    /// Everything these users hold here: each once.
    pub users: Vec<&'a User>,
    /// What is held under these keys of clients: each once.
    pub hold_keys: Vec<&'a str>,
    /// Holds by the number they began with.
    pub holds: Vec<u64>,
    /// Stays that stand, by history number.
    pub stays: Vec<u64>,
    /// Answers kept for these keys: each pair once.
    pub keys: Vec<(&'a User, &'a str)>,
    /// From the first to behind the last night that somebody wants: what lapsed there is needed
    /// whole. None: nobody wants a night.
    pub hull: Option<Dates>,
}

pub fn needs(commands: &[RoomCommand]) -> RoomTypeNeeds<'_> {
    let mut needs = RoomTypeNeeds::default();
    let (mut users, mut hold_keys, mut keys) = (HashSet::new(), HashSet::new(), HashSet::new());
    for command in commands {
        if let (Some(user), Some(key)) = (command.actor.user(), &command.key)
            && keys.insert((user, &*key.text))
        {
            needs.keys.push((user, &key.text));
        }
        match &command.action {
            RoomAction::Hold { dates, key } => {
                if let Some(user) = command.actor.user()
                    && users.insert(user)
                {
                    needs.users.push(user);
                }
                if hold_keys.insert(&**key) {
                    needs.hold_keys.push(key);
                }
                widen(&mut needs.hull, *dates);
            }
            RoomAction::OnHold { n, .. } => needs.holds.push(*n),
            RoomAction::Cancel { n } => needs.stays.push(*n),
            // Every night from today on: none of them may be beyond the new total.
            RoomAction::Amend { amendment, today } if amendment.total.is_some() => {
                widen(&mut needs.hull, Dates { check_in: *today, check_out: Night(i32::MAX) });
            }
            RoomAction::Amend { .. } => {}
        }
    }
    needs
}

fn widen(hull: &mut Option<Dates>, dates: Dates) {
    let known = hull.get_or_insert(dates);
    known.check_in = known.check_in.min(dates.check_in);
    known.check_out = known.check_out.max(dates.check_out);
}

/// What the ledger found.
#[derive(Debug, Default)]
pub struct RoomTypeKnown {
    /// The rows of nights within the hull; the others were never touched.
    pub nights: HashMap<Night, NightRow>,
    /// Every hold that was asked for, and what has lapsed: by the number it began with.
    pub holds: HashMap<u64, Hold>,
    pub stays: HashMap<u64, Stay>,
    pub answers: HashMap<(User, Box<str>), KeptAnswer>,
}

/// What to write, in this order.
#[derive(Debug, Default)]
pub struct RoomTypeWrites {
    /// Rows of nights that nobody touched before.
    pub new_nights: Vec<Night>,
    pub shifts: Vec<Shift>,
    /// Holds that are not what they were: the ledger refuses to change one that is not held.
    pub changed: Vec<Hold>,
    pub begun: Vec<Hold>,
    pub stays: Vec<Stay>,
    /// Stays that end, by history number.
    pub ended: Vec<u64>,
    pub history: Vec<RoomRecord>,
    pub answers: Vec<NewAnswer>,
    /// The room type's description or total differ; with a total, all nights from here on.
    pub amended: Option<Night>,
}

impl Writes for RoomTypeWrites {
    fn is_empty(&self) -> bool {
        self.history.is_empty()
    }

    fn first_n(&self) -> Option<u64> {
        self.history.first().map(|record| record.n)
    }

    fn holds(self) -> Vec<Hold> {
        self.changed.into_iter().chain(self.begun).collect()
    }
}

impl Subject for RoomType {
    type Id = RoomTypeId;
    type Action = RoomAction;
    type Known = RoomTypeKnown;
    type Writes = RoomTypeWrites;
    type Effects = ();

    fn subject(id: RoomTypeId) -> SubjectId {
        SubjectId::RoomType(id)
    }

    fn gives_back(action: &RoomAction) -> bool {
        action.gives_back()
    }

    fn about_a_hold(action: &RoomAction) -> bool {
        action.about_a_hold()
    }

    fn then(_: &mut (), (): ()) {}

    fn decide(&self, known: RoomTypeKnown, commands: &[RoomCommand], terms: &Terms, now: Moment) -> Decision<RoomType> {
        decide(self, known, commands, terms, now)
    }
}

/// By how much a night's counts change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    pub night: Night,
    pub reserved: i32,
    pub held: i32,
}

/// Decides a batch. `commands` may come in any order; the answers come in the same.
pub fn decide(
    room_type: &RoomType,
    known: RoomTypeKnown,
    commands: &[RoomCommand],
    terms: &Terms,
    now: Moment,
) -> Decision<RoomType> {
    let mut session = Session {
        room_type: room_type.clone(),
        nights: known.nights,
        live: HashMap::new(),
        holds: known.holds,
        touched: Vec::new(),
        begun: HashSet::new(),
        stays: known.stays,
        once: Once::new(known.answers, terms.key_ttl_ms, now),
        shifts: BTreeMap::new(),
        terms: *terms,
        now,
        writes: RoomTypeWrites::default(),
    };
    session.turn_lapsed();
    let mut answers: Vec<Option<Answer>> = vec![None; commands.len()];
    for i in order(commands) {
        answers[i] = Some(session.answer(&commands[i]));
    }
    let answers = answers.into_iter().flatten().collect();
    session.finish(answers)
}

struct Session {
    room_type: RoomType,
    nights: HashMap<Night, NightRow>,
    holds: HashMap<u64, Hold>,
    /// What each user holds now.
    live: HashMap<User, Vec<u64>>,
    /// Holds that changed, in that order, and those of them that began in this batch.
    touched: Vec<u64>,
    begun: HashSet<u64>,
    stays: HashMap<u64, Stay>,
    once: Once,
    shifts: BTreeMap<Night, (i32, i32)>,
    terms: Terms,
    now: Moment,
    writes: RoomTypeWrites,
}

impl Session {
    /// What ended by the clock becomes history, oldest end first; the rest is live.
    fn turn_lapsed(&mut self) {
        let now = self.now;
        let mut lapsed: Vec<(Moment, u64)> =
            self.holds.iter().filter(|(_, hold)| hold.lapsed(now)).map(|(n, hold)| (hold.ends_at, *n)).collect();
        lapsed.sort_unstable();
        for (_, n) in lapsed {
            self.end(n, HoldState::Expired, Happened::Expired, None);
        }
        for (n, hold) in self.holds.iter().filter(|(_, hold)| hold.live(now)) {
            self.live.entry(hold.owner.clone()).or_default().push(*n);
        }
    }

    fn answer(&mut self, command: &RoomCommand) -> Answer {
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

    fn perform(&mut self, command: &RoomCommand) -> Result<Done, Refusal> {
        match &command.action {
            RoomAction::Hold { dates, key } => self.hold(command, *dates, key),
            RoomAction::OnHold { n, ask } => self.on_hold(command, *n, *ask),
            RoomAction::Cancel { n } => self.cancel(command, *n),
            RoomAction::Amend { amendment, today } => self.amend(amendment, *today),
        }
    }

    /// In the order of the contract: repeat, conflict of keys, limit, stock.
    fn hold(&mut self, command: &RoomCommand, dates: Dates, key: &str) -> Result<Done, Refusal> {
        let user = command.actor.user().ok_or(Refusal::MissingUser)?;
        let on = On::Nights(dates);
        let mine = self.live.get(user).map(Vec::as_slice).unwrap_or_default();
        let same = mine.iter().copied().find(|n| self.holds[n].on == on);
        if let Some(same) = same.map(|n| &self.holds[&n])
            && &*same.key == key
            && self.terms.holds.repeat == Repeat::Same
        {
            return Ok(Done::Held { hold: Box::new(same.clone()), now: self.now, fresh: false });
        }
        let anothers = |hold: &Hold| hold.live(self.now) && &*hold.key == key && hold.owner != *user && hold.on == on;
        if self.holds.values().any(anothers) {
            return Err(Refusal::HoldKeyConflict);
        }
        if mine.len() - usize::from(same.is_some()) >= self.terms.holds.per_user as usize {
            return Err(Refusal::LimitReached { seats: Vec::new() });
        }
        self.room_on(dates, same.is_some())?;
        let first_at = match same {
            Some(n) => {
                let first_at = self.holds[&n].first_at;
                self.end(n, HoldState::Replaced, Happened::Replaced, Some(&command.actor));
                first_at
            }
            None => self.now,
        };
        Ok(self.begin(command, user, dates, key, first_at))
    }

    /// Whether every night has a room; one's own hold on them counts as one.
    fn room_on(&self, dates: Dates, own: bool) -> Result<(), Refusal> {
        let full = |night: &Night| {
            let row = self.nights.get(night).copied().unwrap_or(NightRow::untouched(self.room_type.total));
            row.free() + u32::from(own) == 0
        };
        let nights: Vec<Night> = dates.nights().filter(full).collect();
        if nights.is_empty() { Ok(()) } else { Err(Refusal::NotAvailable { nights, seats: Vec::new() }) }
    }

    fn begin(&mut self, command: &RoomCommand, user: &User, dates: Dates, key: &str, first_at: Moment) -> Done {
        for night in dates.nights() {
            let total = self.room_type.total;
            let (nights, new) = (&mut self.nights, &mut self.writes.new_nights);
            nights.entry(night).or_insert_with(|| {
                new.push(night);
                NightRow::untouched(total)
            });
        }
        self.shift(dates, 0, 1);
        let n = self.room_type.n + 1;
        self.happened(Happened::Held, Some(n), Some(dates), Some(user.clone()), Some(&command.actor));
        let mut hold = Hold {
            id: HoldId { subject: SubjectId::RoomType(self.room_type.id), n },
            owner: user.clone(),
            key: key.into(),
            on: On::Nights(dates),
            first_at,
            at: self.now,
            ends_at: self.now,
            state: HoldState::Held,
            ended_at: None,
            reserved: Vec::new(),
        };
        hold.ends_at = hold.extended(&self.terms.holds, self.now);
        self.holds.insert(n, hold.clone());
        self.live.entry(user.clone()).or_default().push(n);
        self.touched.push(n);
        self.begun.insert(n);
        Done::Held { hold: Box::new(hold), now: self.now, fresh: true }
    }

    fn on_hold(&mut self, command: &RoomCommand, n: u64, ask: Ask) -> Result<Done, Refusal> {
        let whose = match &command.actor {
            Actor::Admin => None,
            Actor::User(user) => Some(user),
            Actor::Nobody => return Err(Refusal::MissingUser),
        };
        let hold = self.holds.get(&n).ok_or(Refusal::HoldNotFound)?;
        hold.open_to(whose, self.now)?;
        match ask {
            Ask::Confirm => Ok(self.confirm(command, n)),
            Ask::Cancel => {
                self.end(n, HoldState::Cancelled, Happened::Released, Some(&command.actor));
                Ok(Done::Released)
            }
            Ask::Extend => self.extend(command, n),
        }
    }

    /// One change of the hold's own state, in the transaction that books what it held.
    fn confirm(&mut self, command: &RoomCommand, n: u64) -> Done {
        let Some(hold) = self.holds.get_mut(&n) else { return Done::Released };
        let On::Nights(dates) = hold.on else { return Done::Released };
        let reserved = self.room_type.n + 1;
        hold.state = HoldState::Confirmed;
        hold.ended_at = Some(self.now);
        hold.reserved = vec![reserved];
        let hold = hold.clone();
        self.let_go(&hold);
        self.shift(dates, 1, -1);
        let owner = hold.owner.clone();
        self.happened(Happened::Reserved, Some(n), Some(dates), Some(owner.clone()), Some(&command.actor));
        let id = StayId { room_type: self.room_type.id, n: reserved };
        self.writes.stays.push(Stay { id, owner, dates, hold: n, at: self.now });
        Done::Confirmed { hold: Box::new(hold) }
    }

    fn extend(&mut self, command: &RoomCommand, n: u64) -> Result<Done, Refusal> {
        let (terms, now) = (self.terms.holds, self.now);
        let hold = self.holds.get_mut(&n).ok_or(Refusal::HoldNotFound)?;
        let end = hold.extended(&terms, now);
        if end <= hold.ends_at {
            return Err(Refusal::LimitReached { seats: Vec::new() });
        }
        hold.ends_at = end;
        let hold = hold.clone();
        self.touched.push(n);
        let On::Nights(dates) = hold.on else { return Err(Refusal::Internal) };
        self.happened(Happened::Extended, Some(n), Some(dates), Some(hold.owner.clone()), Some(&command.actor));
        Ok(Done::Extended { hold: Box::new(hold), now })
    }

    /// The hold ends without a stay: its nights come back.
    fn end(&mut self, n: u64, state: HoldState, what: Happened, actor: Option<&Actor>) {
        let Some(hold) = self.holds.get_mut(&n) else { return };
        let On::Nights(dates) = hold.on else { return };
        hold.state = state;
        hold.ended_at = Some(self.now);
        let hold = hold.clone();
        self.let_go(&hold);
        self.shift(dates, 0, -1);
        self.happened(what, Some(n), Some(dates), Some(hold.owner), actor);
    }

    fn let_go(&mut self, hold: &Hold) {
        self.touched.push(hold.id.n);
        if let Some(mine) = self.live.get_mut(&hold.owner) {
            mine.retain(|n| *n != hold.id.n);
        }
    }

    fn cancel(&mut self, command: &RoomCommand, n: u64) -> Result<Done, Refusal> {
        let stay = self.stays.get(&n).ok_or(Refusal::NotFound)?;
        if command.actor != Actor::Admin && command.actor.user() != Some(&stay.owner) {
            return Err(Refusal::Forbidden(Forbidden::Anothers));
        }
        let (dates, owner, hold) = (stay.dates, stay.owner.clone(), stay.hold);
        self.stays.remove(&n);
        self.writes.ended.push(n);
        self.shift(dates, -1, 0);
        self.happened(Happened::Cancelled, Some(hold), Some(dates), Some(owner), Some(&command.actor));
        Ok(Done::Cancelled)
    }

    fn amend(&mut self, amendment: &RoomTypeAmendment, today: Night) -> Result<Done, Refusal> {
        if let Some(total) = amendment.total {
            let coming = self.nights.iter().filter(|(night, _)| **night >= today);
            let least = coming.map(|(_, row)| row.reserved + row.held).max().unwrap_or(0);
            if total < least {
                return Err(Refusal::RoomsInUse { least });
            }
            self.room_type.total = total;
            self.nights.iter_mut().filter(|(night, _)| **night >= today).for_each(|(_, row)| row.total = total);
        }
        let room_type = &mut self.room_type;
        let set = |field: &mut Box<str>, new: &Option<Box<str>>| {
            if let Some(new) = new {
                *field = new.clone();
            }
        };
        set(&mut room_type.name, &amendment.name);
        set(&mut room_type.time_zone, &amendment.time_zone);
        if let Some(description) = &amendment.description {
            room_type.description = description.clone();
        }
        if let Some(price) = &amendment.price {
            room_type.price = price.clone();
        }
        self.writes.amended = Some(self.writes.amended.map_or(today, |from| from.min(today)));
        self.happened(Happened::Amended, None, None, None, Some(&Actor::Admin));
        Ok(Done::RoomsChanged(Box::new(self.room_type.clone())))
    }

    fn shift(&mut self, dates: Dates, reserved: i32, held: i32) {
        for night in dates.nights() {
            let shift = self.shifts.entry(night).or_default();
            *shift = (shift.0 + reserved, shift.1 + held);
            // Nights that nobody in this batch wants were not read.
            if let Some(row) = self.nights.get_mut(&night) {
                row.reserved = row.reserved.saturating_add_signed(reserved);
                row.held = row.held.saturating_add_signed(held);
            }
        }
    }

    fn happened(
        &mut self,
        what: Happened,
        hold: Option<u64>,
        dates: Option<Dates>,
        owner: Option<User>,
        actor: Option<&Actor>,
    ) {
        self.room_type.n += 1;
        let by_admin = actor.is_some_and(RoomRecord::by);
        let entry = RoomRecord { n: self.room_type.n, what, hold, dates, owner, by_admin, at: self.now };
        self.writes.history.push(entry);
    }

    fn finish(mut self, answers: Vec<Answer>) -> Decision<RoomType> {
        let mut seen = HashSet::new();
        for n in self.touched.into_iter().filter(|n| seen.insert(*n)) {
            let Some(hold) = self.holds.remove(&n) else { continue };
            if self.begun.contains(&n) { &mut self.writes.begun } else { &mut self.writes.changed }.push(hold);
        }
        let shifts = self.shifts.into_iter().filter(|(_, shift)| *shift != (0, 0));
        self.writes.shifts = shifts.map(|(night, (reserved, held))| Shift { night, reserved, held }).collect();
        self.writes.answers = self.once.new;
        Decision { answers, writes: self.writes, after: self.room_type, effects: () }
    }
}
