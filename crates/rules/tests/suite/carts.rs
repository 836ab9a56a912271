//! Seats on hold under random commands: rows kept as a ledger keeps them, with every invariant
//! checked after every batch, and planted bugs that must show.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rules::buyer::AskedFields;
use rules::command::{Buyer, Command, EventAction, Terms};
use rules::decide::{Decision, decide};
use rules::event::stock::{Gap, SeatRow, Walk, Was};
use rules::event::{Counts, Event, EventKnown, Holding, State, needs};
use rules::history::{Actor, Happened, RequestOrigin};
use rules::holds::{Ask, Hold, HoldState, HoldTerms, On};
use rules::ids::{EventId, Number, RequestName, Seat, User};
use rules::outcome::{Done, Outcome, Refusal};
use rules::seats::{Hall, Sale};
use rules::time::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// What has lapsed is not read: it is held for ever.
    ForgetsLapsed,
    /// The holds of a user are not read.
    ForgetsHolds,
    /// Holds that have ended are shown as held.
    KeepsEndedHolds,
    /// The row of a seat that is wanted is not read.
    ForgetsRows,
}

const BUGS: [Bug; 4] = [Bug::ForgetsLapsed, Bug::ForgetsHolds, Bug::KeepsEndedHolds, Bug::ForgetsRows];

#[derive(Clone, Debug)]
enum Wish {
    Hold { user: u8, seats: Vec<u32>, key: u8 },
    OnHold { user: u8, which: usize, ask: Ask },
    Reserve { user: u8 },
    Choose { user: u8, seat: u32 },
    Cancel { user: u8, which: usize },
}

#[derive(Clone, Debug)]
enum Step {
    Batch(Vec<Wish>),
    Wait(i64),
}

fn ask() -> impl Strategy<Value = Wish> {
    let seats = btree_set(1..9u32, 1..4).prop_map(|seats| seats.into_iter().collect());
    let way = prop_oneof![Just(Ask::Confirm), Just(Ask::Cancel), Just(Ask::Extend)];
    prop_oneof![
        8 => (0..5u8, seats, 0..3u8).prop_map(|(user, seats, key)| Wish::Hold { user, seats, key }),
        6 => (0..5u8, 0..64usize, way).prop_map(|(user, which, ask)| Wish::OnHold { user, which, ask }),
        3 => (0..5u8).prop_map(|user| Wish::Reserve { user }),
        2 => (0..5u8, 1..9u32).prop_map(|(user, seat)| Wish::Choose { user, seat }),
        2 => (0..5u8, 0..64usize).prop_map(|(user, which)| Wish::Cancel { user, which }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => vec(ask(), 1..8).prop_map(Step::Batch),
        2 => prop_oneof![Just(1), Just(300_000), Just(599_999), Just(600_000), Just(1_200_000)].prop_map(Step::Wait),
    ];
    vec(step, 1..20)
}

#[derive(Clone, Debug)]
enum Kept {
    Free,
    Sold(Sale),
    Held { owner: User, unit: u32, n: u64, hold: u64, ends_at: Moment },
}

struct Cinema {
    now: Moment,
    terms: Terms,
    event: Event,
    rows: BTreeMap<Seat, Kept>,
    holds: BTreeMap<u64, Hold>,
    ever_sold: Vec<u64>,
    bug: Option<Bug>,
}

macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}

/// A small cinema, and what one person may have in it.
#[derive(Clone, Debug)]
struct House {
    seats: u32,
    limit: u32,
    holds: u32,
}

impl House {
    fn any() -> impl Strategy<Value = House> {
        (3..9u32, 1..5u32, 1..4u32).prop_map(|(seats, limit, holds)| House { seats, limit, holds })
    }

    fn terms(&self) -> Terms {
        Terms { holds: HoldTerms { per_user: self.holds, ..HoldTerms::default() }, ..Terms::default() }
    }
}

fn user(i: u8) -> User {
    User::stored(&format!("u{i}"))
}

impl Cinema {
    fn new(house: &House, bug: Option<Bug>) -> Cinema {
        let event = Event {
            id: EventId(1),
            name: "x".into(),
            hall: Arc::new(Hall::Count(house.seats)),
            max_per_user: house.limit,
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
        let (rows, holds) = Default::default();
        Cinema { now: Moment(1_000), terms: house.terms(), event, rows, holds, ever_sold: vec![], bug }
    }

    fn known(&self, commands: &[Command]) -> EventKnown {
        let needs = needs(commands, &self.terms);
        let mut known = EventKnown::default();
        for user in &needs.users {
            let mine = self.rows.iter().filter_map(|(seat, row)| match row {
                Kept::Sold(sale) => {
                    let unit = sale.owner.as_ref().filter(|o| o.user == **user)?.unit;
                    Some(Holding { seat: *seat, n: sale.n, unit, at: sale.at })
                }
                Kept::Held { owner, unit, n, .. } if owner == *user => {
                    Some(Holding { seat: *seat, n: *n, unit: *unit, at: self.now })
                }
                _ => None,
            });
            known.holdings.insert((*user).clone(), mine.collect());
        }
        let sales = self.rows.values().filter_map(|row| if let Kept::Sold(sale) = row { Some(sale) } else { None });
        known.sales = sales.filter(|sale| needs.sales.contains(&sale.n)).map(|sale| (sale.n, sale.clone())).collect();
        let free = self.rows.iter().filter(|(_, row)| matches!(row, Kept::Free)).map(|(seat, _)| *seat);
        known.free = free.take(needs.free_seats).collect();
        let mut gaps: Vec<Gap> = Vec::new();
        for seat in (self.event.counts.cursor + 1..=self.event.seat_count()).map(Seat) {
            match gaps.last_mut() {
                _ if self.rows.contains_key(&seat) => {}
                Some(gap) if gap.last.0 + 1 == seat.0 => gap.last = seat,
                _ => gaps.push(Gap { first: seat, last: seat }),
            }
        }
        known.walk = (needs.gaps > 0).then_some(Walk { gaps, seen: self.event.seat_count() });
        for seat in needs.seats.iter().filter(|_| self.bug != Some(Bug::ForgetsRows)) {
            let row = match self.rows.get(seat) {
                None => continue,
                Some(Kept::Free) => SeatRow::Free,
                Some(Kept::Sold(sale)) => SeatRow::Sold { owner: sale.owner.as_ref().map(|o| o.user.clone()) },
                Some(Kept::Held { owner, ends_at, .. }) => SeatRow::Held { owner: owner.clone(), ends_at: *ends_at },
            };
            known.rows.insert(*seat, row);
        }
        for (n, hold) in &self.holds {
            let On::Seats(seats) = &hold.on else { continue };
            let held = hold.state == HoldState::Held;
            let on_seats = held && seats.iter().any(|seat| needs.seats.contains(seat));
            let of_users = held && needs.users.contains(&&hold.owner) && self.bug != Some(Bug::ForgetsHolds);
            let under_key = held && needs.hold_keys.contains(&(&*hold.key, hold.on.clone()));
            let lapsed = hold.lapsed(self.now);
            let forgotten = lapsed && self.bug == Some(Bug::ForgetsLapsed);
            if !forgotten && (needs.holds.contains(n) || on_seats || of_users || under_key || lapsed) {
                let mut hold = hold.clone();
                if self.bug == Some(Bug::KeepsEndedHolds) && hold.state != HoldState::Held {
                    (hold.state, hold.ends_at) = (HoldState::Held, self.now.plus_ms(1));
                }
                known.holds.insert(*n, hold);
            }
        }
        let live = self.holds.values().filter(|hold| hold.live(self.now));
        known.first_end = live.map(|hold| hold.ends_at).min();
        known
    }

    /// One batch, with the guards that a database has.
    fn commit(&mut self, commands: &[Command]) -> Result<(), String> {
        let decision = decide(&self.event, self.known(commands), commands, &self.terms, self.now);
        self.told_rightly(commands, &decision)?;
        let writes = &decision.writes;
        for freed in &writes.freed {
            let row = self.rows.get_mut(&freed.seat).ok_or("freed a seat without a row")?;
            let n = match row {
                Kept::Sold(sale) => sale.n,
                Kept::Held { n, .. } => *n,
                Kept::Free => 0,
            };
            ensure!(n == freed.n, "freed {freed:?}, which stands by number {n}");
            *row = Kept::Free;
        }
        for sale in &writes.resold {
            let before = self.rows.insert(sale.seat, Kept::Sold(sale.clone()));
            ensure!(matches!(before, Some(Kept::Free)), "resold seat {:?}, which was {before:?}", sale.seat);
        }
        for sale in &writes.sold {
            let before = self.rows.insert(sale.seat, Kept::Sold(sale.clone()));
            ensure!(before.is_none(), "sold seat {:?} for the first time again", sale.seat);
        }
        for hold in &writes.holds_changed {
            let before = self.holds.insert(hold.id.n, hold.clone());
            ensure!(before.is_some_and(|h| h.state == HoldState::Held), "a hold ended twice: {hold:?}");
        }
        for hold in &writes.holds_begun {
            ensure!(self.holds.insert(hold.id.n, hold.clone()).is_none(), "a hold began twice: {hold:?}");
        }
        for held in &writes.held {
            let (owner, unit) = (held.unit.user.clone(), held.unit.unit);
            let row = Kept::Held { owner, unit, n: held.n, hold: held.hold, ends_at: held.ends_at };
            let before = self.rows.insert(held.seat, row);
            let fits = match held.was {
                Was::Untouched => before.is_none(),
                Was::Free => matches!(before, Some(Kept::Free)),
            };
            ensure!(fits, "{held:?} took the place of {before:?}");
            ensure!(unit >= 1 && unit <= held.unit.limit, "{held:?} is beyond its limit");
        }
        for hold in writes.holds_changed.iter().filter(|hold| hold.state == HoldState::Held) {
            for row in self.rows.values_mut() {
                if let Kept::Held { hold: by, ends_at, .. } = row
                    && *by == hold.id.n
                {
                    *ends_at = hold.ends_at;
                }
            }
        }
        for sold in &writes.confirmed {
            let row = self.rows.get_mut(&sold.seat).ok_or("confirmed a seat without a row")?;
            let Kept::Held { owner, unit, hold, .. } = row.clone() else { return Err(format!("{sold:?} of {row:?}")) };
            ensure!(hold == sold.hold, "{sold:?} is on hold {hold}");
            let unit = rules::seats::Unit { user: owner, unit, limit: u32::MAX };
            let (seat, n, at) = (sold.seat, sold.n, sold.at);
            *row = Kept::Sold(Sale {
                seat,
                n,
                owner: Some(unit),
                buyer_name: None,
                phone: None,
                email: None,
                metadata: None,
                number: None,
                at,
            });
        }
        let history = writes.history.iter();
        self.ever_sold.extend(history.filter(|e| e.what == Happened::Reserved).map(|e| e.n));
        self.event = decision.after;
        Ok(())
    }

    /// Nobody is refused in vain, and nobody pays for what has ended.
    fn told_rightly(&self, commands: &[Command], decision: &Decision<rules::event::Event>) -> Result<(), String> {
        for (command, answer) in commands.iter().zip(&decision.answers) {
            match (&command.action, &answer.outcome) {
                (EventAction::OnHold { n, ask: Ask::Confirm }, Outcome::Done(Done::Confirmed { .. })) => {
                    let hold = self.holds.get(n).ok_or("confirmed what is not there")?;
                    ensure!(hold.live(self.now), "confirmed what has ended: {hold:?}");
                }
                // Alone in its batch, what is refused is refused for a reason that the rows have.
                (_, Outcome::Refused(Refusal::SoldOut)) if commands.len() == 1 => {
                    ensure!(self.free_now() == 0 && self.live() == 0, "sold_out with something left");
                }
                (_, Outcome::Refused(Refusal::HeldOut { .. })) if commands.len() == 1 => {
                    ensure!(self.free_now() == 0 && self.live() > 0, "held_out with something free");
                }
                (EventAction::Hold { .. }, Outcome::Refused(Refusal::NotAvailable { seats, .. }))
                    if commands.len() == 1 =>
                {
                    let taken = |seat: &Seat| match self.rows.get(seat) {
                        Some(Kept::Sold(_)) => true,
                        Some(Kept::Held { ends_at, .. }) => *ends_at > self.now,
                        Some(Kept::Free) | None => false,
                    };
                    ensure!(seats.iter().all(taken), "{seats:?} are not all taken");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn live(&self) -> usize {
        let live = |row: &&Kept| matches!(row, Kept::Held { ends_at, .. } if *ends_at > self.now);
        self.rows.values().filter(live).count()
    }

    fn free_now(&self) -> usize {
        let sold = self.rows.values().filter(|row| matches!(row, Kept::Sold(_))).count();
        self.event.seat_count() as usize - sold - self.live()
    }

    fn check(&self) -> Result<(), String> {
        let counts = self.event.counts;
        let count = |of: fn(&Kept) -> bool| self.rows.values().filter(|row| of(row)).count() as u32;
        let kinds = (
            count(|row| matches!(row, Kept::Sold(_))),
            count(|row| matches!(row, Kept::Held { .. })),
            count(|row| matches!(row, Kept::Free)),
        );
        ensure!((counts.sold, counts.held, counts.came_back) == kinds, "{counts:?} over {kinds:?}");
        let below = self.rows.range(..=Seat(counts.cursor)).count();
        ensure!(counts.cursor as usize == below, "cursor {} over {below} rows", counts.cursor);
        let mut on_hold: HashMap<u64, Vec<Seat>> = HashMap::new();
        let (mut units, mut stocks) = (HashSet::new(), HashSet::new());
        for (seat, row) in &self.rows {
            let (owner, unit) = match row {
                Kept::Free => continue,
                Kept::Sold(sale) => match &sale.owner {
                    Some(unit) => (unit.user.clone(), unit.unit),
                    None => continue,
                },
                Kept::Held { owner, unit, hold, .. } => {
                    on_hold.entry(*hold).or_default().push(*seat);
                    (owner.clone(), *unit)
                }
            };
            ensure!(units.insert((owner.clone(), unit)), "{owner:?} has unit {unit} twice");
            ensure!(unit <= self.event.max_per_user, "{owner:?} has unit {unit}");
        }
        for hold in self.holds.values().filter(|hold| hold.state == HoldState::Held) {
            let On::Seats(seats) = &hold.on else { return Err("nights in a cinema".into()) };
            ensure!(on_hold.remove(&hold.id.n).as_ref() == Some(seats), "{hold:?} does not have its seats");
            ensure!(stocks.insert((hold.owner.clone(), seats.clone())), "two holds of the same: {hold:?}");
        }
        let live = self.holds.values().filter(|hold| hold.live(self.now));
        let mut per_user: HashMap<&User, u32> = HashMap::new();
        live.for_each(|hold| *per_user.entry(&hold.owner).or_default() += 1);
        ensure!(per_user.values().all(|live| *live <= self.terms.holds.per_user), "too many holds: {per_user:?}");
        ensure!(on_hold.is_empty(), "seats on holds that have ended: {on_hold:?}");
        Ok(())
    }
}

fn command(ask: &Wish, cinema: &Cinema, next: &mut u64) -> Command {
    *next += 1;
    let hold = |which: usize| cinema.holds.keys().nth(which % cinema.holds.len().max(1)).copied().unwrap_or(999);
    let sale = |which: usize| cinema.ever_sold.get(which % cinema.ever_sold.len().max(1)).copied().unwrap_or(999);
    let seats_in = |seats: &[u32]| seats.iter().map(|seat| Seat(*seat)).collect();
    let (who, action) = match ask {
        Wish::Hold { user, seats, key } => {
            (*user, EventAction::Hold { seats: seats_in(seats), key: format!("k{}", key + user / 3).into() })
        }
        Wish::OnHold { user, which, ask } => (*user, EventAction::OnHold { n: hold(*which), ask: *ask }),
        Wish::Reserve { user } => (*user, EventAction::Reserve(Buyer::default())),
        Wish::Choose { user, seat } => (*user, EventAction::ReserveSeat { seat: Seat(*seat), buyer: Buyer::default() }),
        Wish::Cancel { user, which } => (*user, EventAction::Cancel { n: sale(*which) }),
    };
    let number = action.wants_a_seat().then_some(Number(*next));
    Command {
        actor: Actor::User(user(who)),
        number,
        name: RequestName((*next).into()),
        key: None,
        entry: None,
        action,
        origin: RequestOrigin::default(),
        details: None,
    }
}

fn play(house: &House, steps: &[Step], bug: Option<Bug>) -> Result<(), String> {
    let (mut cinema, mut next) = (Cinema::new(house, bug), 0);
    for step in steps {
        match step {
            Step::Wait(ms) => cinema.now = cinema.now.plus_ms(*ms),
            Step::Batch(asks) => {
                let commands: Vec<Command> = asks.iter().map(|ask| command(ask, &cinema, &mut next)).collect();
                cinema.commit(&commands)?;
                cinema.check()?;
            }
        }
    }
    Ok(())
}

fn search(cases: u32, bug: Option<Bug>) -> Result<(), String> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    TestRunner::new(config)
        .run(&(House::any(), steps()), |(house, steps)| play(&house, &steps, bug).map_err(TestCaseError::fail))
        .map_err(|found| found.to_string())
}

#[test]
fn random_carts_break_nothing() {
    search(1_500, None).unwrap();
}

/// The same search, over rows that are kept wrongly: it must find each bug. It ends with the first
/// case that shows it, mostly within a few hundred.
#[test]
fn planted_bugs_of_carts_are_found() {
    for bug in BUGS {
        assert!(search(10_000, Some(bug)).is_err(), "{bug:?} was not found in 10,000 cases");
    }
}
