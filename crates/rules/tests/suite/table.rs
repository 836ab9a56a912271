//! Rows as a ledger keeps them, in memory, with every invariant checked after every batch.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use rules::buyer::AskedFields;
use rules::command::{Command, EventAction, Terms};
use rules::decide::{Decision, decide};
use rules::event::stock::{Gap, SeatRow, Walk};
use rules::event::{Counts, Event, EventKnown, Holding, State, needs};
use rules::history::{AdminName, EventRecord, Happened, RequestOrigin};
use rules::ids::{EventId, Seat, User};
use rules::once::KeptAnswer;
use rules::outcome::{Done, Outcome, Refusal};
use rules::seats::{Hall, Sale};
use rules::time::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A user's seats are not read, so that the limit is never met.
    ForgetsHoldings,
    /// Seats that came back are not read: they are lost for ever.
    ForgetsFreeSeats,
    /// Cancelled sales are still found.
    KeepsCancelledSales,
    /// Kept answers are not read.
    ForgetsAnswers,
    /// The cursor passes a seat that has no row: it is lost for ever.
    MovesTheCursorTooFar,
    /// Rows behind the cursor are not seen: it walks over chosen seats.
    ForgetsChosenSeats,
    /// The row of a seat that is chosen is not read.
    ForgetsRows,
}

impl Bug {
    pub const ALL: [Bug; 7] = [
        Bug::ForgetsHoldings,
        Bug::ForgetsFreeSeats,
        Bug::KeepsCancelledSales,
        Bug::ForgetsAnswers,
        Bug::MovesTheCursorTooFar,
        Bug::ForgetsChosenSeats,
        Bug::ForgetsRows,
    ];
}

pub struct Table {
    pub now: Moment,
    pub ever_sold: Vec<u64>,
    event: Event,
    /// Every seat at or below the cursor, and those that were chosen behind it; none: free.
    rows: BTreeMap<Seat, Option<Sale>>,
    history: Vec<EventRecord>,
    answers: HashMap<(User, Box<str>), KeptAnswer>,
    cancelled: HashMap<u64, Sale>,
    bug: Option<Bug>,
}

macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}

impl Table {
    pub fn new(seats: u32, max_per_user: u32, bug: Option<Bug>) -> Table {
        let event = Event {
            id: EventId(1),
            name: "Test".into(),
            hall: Arc::new(Hall::Count(seats)),
            max_per_user,
            opens_at: None,
            occasion: Default::default(),
            waiting_room: None,
            gathered: false,
            oldest_key: 0,
            hold_ttl_ms: None,
            buyer_fields: AskedFields::default(),
            price: None,
            rehearsal: false,
            archived_at: None,
            state: State::Open,
            deleted: false,
            created_at: Moment(0),
            counts: Counts { n: 1, ..Counts::default() },
            times: Default::default(),
        };
        let created = EventRecord {
            n: 1,
            what: Happened::Created,
            seat: None,
            owner: None,
            admin: Some(AdminName::default()),
            number: None,
            at: Moment(0),
            hold: None,
            origin: RequestOrigin::default(),
            details: None,
        };
        Table {
            now: Moment(1_000_000),
            ever_sold: Vec::new(),
            event,
            rows: BTreeMap::new(),
            history: vec![created],
            answers: HashMap::new(),
            cancelled: HashMap::new(),
            bug,
        }
    }

    fn standing(&self) -> impl Iterator<Item = &Sale> {
        self.rows.values().flatten()
    }

    fn known(&self, commands: &[Command], depth: usize) -> EventKnown {
        let needs = needs(commands, &Terms::default());
        let mut known = EventKnown::default();
        for user in needs.users.iter().filter(|_| self.bug != Some(Bug::ForgetsHoldings)) {
            let mine = self.standing().filter(|s| s.owner.as_ref().is_some_and(|o| o.user == **user));
            let mine =
                mine.map(|s| Holding { seat: s.seat, n: s.n, unit: s.owner.as_ref().map_or(0, |o| o.unit), at: s.at });
            known.holdings.insert((*user).clone(), mine.collect());
        }
        for (user, key) in needs.keys.iter().filter(|_| self.bug != Some(Bug::ForgetsAnswers)) {
            let place = ((*user).clone(), Box::from(*key));
            if let Some(answer) = self.answers.get(&place) {
                known.answers.insert(place, answer.clone());
            }
        }
        for n in needs.sales {
            let stands = self.standing().find(|s| s.n == n).cloned();
            let ghost = || self.cancelled.get(&n).filter(|_| self.bug == Some(Bug::KeepsCancelledSales)).cloned();
            if let Some(sale) = stands.or_else(ghost) {
                known.sales.insert(n, sale);
            }
        }
        if self.bug != Some(Bug::ForgetsFreeSeats) {
            let free = self.rows.iter().filter(|(_, row)| row.is_none()).map(|(seat, _)| *seat);
            known.free = free.take(needs.free_seats).collect();
        }
        known.walk = (needs.gaps > 0).then(|| self.walk(depth));
        for seat in needs.seats.iter().filter(|_| self.bug != Some(Bug::ForgetsRows)) {
            if let Some(row) = self.rows.get(seat) {
                let owner = |sale: &Sale| sale.owner.as_ref().map(|o| o.user.clone());
                let row = row.as_ref().map_or(SeatRow::Free, |sale| SeatRow::Sold { owner: owner(sale) });
                known.rows.insert(*seat, row);
            }
        }
        known
    }

    /// Passes at most `depth` rows behind the cursor.
    fn walk(&self, depth: usize) -> Walk {
        let mut gaps: Vec<Gap> = Vec::new();
        let (mut passed, mut seen) = (0, self.event.counts.cursor);
        let blind = self.bug == Some(Bug::ForgetsChosenSeats);
        for seat in (self.event.counts.cursor + 1..=self.event.seat_count()).map(Seat) {
            if self.rows.contains_key(&seat) && !blind {
                passed += 1;
                if passed > depth {
                    gaps.retain(|gap| gap.first.0 <= seen);
                    return Walk { gaps, seen };
                }
                seen = seat.0;
                continue;
            }
            match gaps.last_mut() {
                Some(gap) if gap.last.0 + 1 == seat.0 => gap.last = seat,
                _ => gaps.push(Gap { first: seat, last: seat }),
            }
        }
        Walk { gaps, seen: self.event.seat_count() }
    }

    /// Alone in its batch, a request gets the lowest seat that is free.
    fn lowest_is_given(&self, commands: &[Command], decision: &Decision<Event>) -> Result<(), String> {
        let ([Command { action: EventAction::Reserve(_), .. }], [answer]) = (commands, &decision.answers[..]) else {
            return Ok(());
        };
        if let Outcome::Done(Done::Reserved(reserved)) = &answer.outcome
            && !answer.replayed
        {
            let free = |seat: &Seat| self.rows.get(seat).is_none_or(Option::is_none);
            let lowest = (1..=self.event.seat_count()).map(Seat).find(free);
            ensure!(lowest == Some(reserved.seat), "{:?} was given, {lowest:?} was free", reserved.seat);
        }
        Ok(())
    }

    /// One batch, with the guards that a database has.
    pub fn commit(&mut self, commands: &[Command], terms: &Terms) -> Result<(), String> {
        let free_before = self.event.remaining();
        // As a ledger does: a walk that was short is walked again, further.
        let decision = [0, 1, 3, usize::MAX]
            .iter()
            .map(|depth| decide(&self.event, self.known(commands, *depth), commands, terms, self.now));
        let decision = { decision }.find(|decision| !decision.short).ok_or("short of seats that are not there")?;
        ensure!(decision.answers.len() == commands.len(), "{} answers", decision.answers.len());
        self.no_seat_refused_in_vain(&decision, free_before)?;
        self.replays_repeat(commands, &decision, terms)?;
        self.lowest_is_given(commands, &decision)?;
        for freed in &decision.writes.freed {
            let row = self.rows.get_mut(&freed.seat).ok_or("freed a seat without a row")?;
            ensure!(row.as_ref().is_some_and(|s| s.n == freed.n), "freed {freed:?}, which is not sold so");
            if let Some(sale) = row.take() {
                self.cancelled.insert(sale.n, sale);
            }
        }
        for sale in &decision.writes.resold {
            let row = self.rows.get_mut(&sale.seat).ok_or("resold a seat without a row")?;
            ensure!(row.is_none(), "resold seat {:?}, which is sold", sale.seat);
            *row = Some(sale.clone());
        }
        for sale in &decision.writes.sold {
            let before = self.rows.insert(sale.seat, Some(sale.clone()));
            ensure!(before.is_none(), "sold seat {:?} for the first time again", sale.seat);
        }
        self.ever_sold.extend(decision.writes.history.iter().filter(|e| e.what == Happened::Reserved).map(|e| e.n));
        self.history.extend(decision.writes.history);
        for new in decision.writes.answers {
            self.answers.insert((new.user, new.key), new.answer);
        }
        self.event = decision.after;
        if self.bug == Some(Bug::MovesTheCursorTooFar) && self.event.counts.cursor < self.event.seat_count() {
            self.event.counts.cursor += 1;
        }
        Ok(())
    }

    /// `sold_out` only when nothing was left for that number: the seats sold in this batch and
    /// those before it are all there are.
    fn no_seat_refused_in_vain(&self, decision: &Decision<Event>, free_before: u32) -> Result<(), String> {
        let sold_out = decision.answers.iter().any(|a| a.outcome == Outcome::Refused(Refusal::SoldOut));
        let sold = decision.writes.sold.len() + decision.writes.resold.len();
        let free = free_before as usize + decision.writes.freed.len();
        ensure!(!sold_out || sold == free, "sold_out while {} were free", free - sold);
        Ok(())
    }

    fn replays_repeat(&self, commands: &[Command], decision: &Decision<Event>, terms: &Terms) -> Result<(), String> {
        for (command, answer) in commands.iter().zip(&decision.answers) {
            let (Some(user), Some(key)) = (command.actor.user(), &command.key) else {
                ensure!(!answer.replayed, "replayed without a key");
                continue;
            };
            let Some(kept) = self.answers.get(&(user.clone(), key.text.clone())) else { continue };
            if kept.at.plus_ms(terms.key_ttl_ms) <= self.now {
                continue;
            }
            let expected = if kept.content == key.content {
                Outcome::Done(Done::from(kept.kept.clone()))
            } else {
                Outcome::Refused(Refusal::KeyMismatch)
            };
            ensure!(answer.outcome == expected, "a key was answered {:?}, before {expected:?}", answer.outcome);
        }
        Ok(())
    }

    pub fn check(&self) -> Result<(), String> {
        let counts = self.event.counts;
        let standing = self.standing().count();
        ensure!(counts.sold as usize == standing, "{} counted, {standing} stand", counts.sold);
        ensure!(counts.rows() as usize == self.rows.len(), "{counts:?} over {} rows", self.rows.len());
        ensure!(counts.cursor <= self.event.seat_count(), "the cursor left the hall");
        let below = self.rows.range(..=Seat(counts.cursor)).count();
        ensure!(counts.cursor as usize == below, "cursor {} over {below} rows", counts.cursor);
        ensure!(self.rows.keys().all(|seat| self.event.has_seat(*seat)), "a row outside the hall");
        let mut units = HashSet::new();
        for unit in self.standing().filter_map(|s| s.owner.as_ref()) {
            ensure!(unit.unit >= 1 && unit.unit <= unit.limit, "{unit:?} is beyond its limit");
            ensure!(units.insert((unit.user.clone(), unit.unit)), "{unit:?} stands twice");
        }
        self.history_explains_the_rows()
    }

    fn history_explains_the_rows(&self) -> Result<(), String> {
        let mut sold: HashMap<Seat, u64> = HashMap::new();
        for (i, entry) in self.history.iter().enumerate() {
            ensure!(entry.n == i as u64 + 1, "history number {} at place {i}", entry.n);
            match (entry.what, entry.seat) {
                (Happened::Reserved, Some(seat)) => {
                    ensure!(sold.insert(seat, entry.n).is_none(), "{seat:?} was sold while sold");
                }
                (Happened::Cancelled, Some(seat)) => {
                    ensure!(sold.remove(&seat).is_some(), "{seat:?} was given back while free");
                }
                _ => {}
            }
        }
        let stands: HashMap<Seat, u64> = self.standing().map(|s| (s.seat, s.n)).collect();
        ensure!(sold == stands, "the history says {sold:?}, the rows {stands:?}");
        ensure!(self.event.counts.n == self.history.len() as u64, "n is {}", self.event.counts.n);
        Ok(())
    }
}
