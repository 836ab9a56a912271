//! Every way in which three people can hold, confirm, give back, let lapse and crash their way
//! through two rooms on three nights: explored to the end, with the rules that the ledgers use.
//!
//! A batch takes the lock and decides, then it commits, or its server dies. Time passes whenever it
//! likes. Planted bugs show that the model would find what it looks for.

use std::collections::HashMap;

use rules::command::{Command as Asked, Terms};
use rules::decide::decide;
use rules::history::{Actor, RequestOrigin};
use rules::holds::{Ask, Hold, HoldState, HoldTerms, LapsedMark, On};
use rules::ids::{RequestName, User};
use rules::nights::{Dates, Night};
use rules::room_type::{NightRow, RoomAction as Wish, RoomCommand, RoomType, RoomTypeKnown, RoomTypeWrites, Stay};
use rules::subject::{HoldId, RoomTypeId, StayId, SubjectId};
use rules::time::Moment;
use stateright::{Checker, HasDiscoveries, Model, Property};

const ROOMS: u32 = 2;
const NIGHTS: i32 = 3;
const USERS: usize = 3;
const FIRST: i32 = 20_811;
const TICK_MS: i64 = 1_000;
/// The number of the newest history row; those of the slots lie below it.
const N: u64 = 100;

/// How the ledger is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// Two batches decide at once, and the rows refuse nothing.
    NoLock,
    /// Confirming is shown a live hold whatever became of it.
    ConfirmsWithoutState,
}

/// What a user has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Slot {
    Nothing,
    /// Ticks that are left; 0 has lapsed and was not turned yet.
    Held {
        dates: (i32, i32),
        left: u8,
    },
    Stay {
        dates: (i32, i32),
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rows {
    slots: [Slot; USERS],
    /// Reserved and held, as the rows of the nights count them.
    nights: [(i32, i32); NIGHTS as usize],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    rows: Rows,
    /// Batches that have decided and not committed, with the rows that they saw.
    deciding: Vec<(Step, Rows)>,
    /// The rows refused what the rules had decided.
    refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Hold { user: usize, dates: (i32, i32) },
    Confirm { user: usize },
    GiveBack { user: usize },
    Cancel { user: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Decide(Step),
    Commit(usize),
    Crash(usize),
    Tick,
}

struct Hotel(Bug);

fn user(i: usize) -> User {
    User::stored(&format!("user-{i}"))
}

fn span(dates: (i32, i32)) -> Dates {
    Dates { check_in: Night(FIRST + dates.0), check_out: Night(FIRST + dates.1) }
}

impl Hotel {
    fn known(&self, rows: &Rows) -> RoomTypeKnown {
        let mut known = RoomTypeKnown::default();
        for (i, (reserved, held)) in rows.nights.iter().enumerate() {
            let row = NightRow { total: ROOMS, reserved: *reserved as u32, held: *held as u32, lapsed: 0 };
            known.nights.insert(Night(FIRST + i as i32), row);
        }
        for (i, slot) in rows.slots.iter().enumerate() {
            let n = i as u64 + 1;
            let (dates, left, state) = match slot {
                Slot::Nothing => continue,
                Slot::Held { dates, left } => (*dates, i64::from(*left), HoldState::Held),
                Slot::Stay { dates } => {
                    let id = StayId { room_type: RoomTypeId(7), n };
                    let stay = Stay { id, owner: user(i), dates: span(*dates), hold: n, at: Moment(0), metadata: None };
                    known.stays.insert(n, stay);
                    (*dates, 1, HoldState::Confirmed)
                }
            };
            let state = if self.0 == Bug::ConfirmsWithoutState { HoldState::Held } else { state };
            let hold = Hold {
                id: HoldId { subject: SubjectId::RoomType(RoomTypeId(7)), n },
                owner: user(i),
                key: format!("key-{i}").into(),
                on: On::Nights(span(dates)),
                first_at: Moment(0),
                at: Moment(0),
                ends_at: Moment(left * TICK_MS),
                state,
                ended_at: None,
                reserved: vec![],
                metadata: None,
                reason: None,
            };
            known.holds.insert(n, hold);
        }
        known
    }

    fn decided(&self, step: Step, seen: &Rows) -> RoomTypeWrites {
        let (i, action) = match step {
            Step::Hold { user, dates } => (user, Wish::Hold { dates: span(dates), key: format!("key-{user}").into() }),
            Step::Confirm { user } => (user, Wish::OnHold { n: user as u64 + 1, ask: Ask::Confirm }),
            Step::GiveBack { user } => (user, Wish::OnHold { n: user as u64 + 1, ask: Ask::Cancel }),
            Step::Cancel { user } => (user, Wish::Cancel { n: user as u64 + 1 }),
        };
        let command: RoomCommand = Asked {
            actor: Actor::User(user(i)),
            number: None,
            name: RequestName(0),
            key: None,
            entry: None,
            action,
            origin: RequestOrigin::default(),
            details: None,
        };
        let room_type = RoomType {
            id: RoomTypeId(7),
            name: "x".into(),
            description: None,
            price: None,
            currency: None,
            time_zone: "UTC".into(),
            total: ROOMS,
            created_at: Moment(0),
            n: N,
            counted: LapsedMark::default(),
        };
        let holds = HoldTerms { ttl_ms: TICK_MS, max_age_ms: TICK_MS, ..HoldTerms::default() };
        let terms = Terms { holds, ..Terms::default() };
        decide(&room_type, self.known(seen), &[command], &terms, Moment(0)).writes
    }

    /// What the database does: all of it, or none if a row refuses.
    fn write(&self, rows: &Rows, writes: &RoomTypeWrites) -> Option<Rows> {
        let mut after = rows.clone();
        let guarded = self.0 != Bug::NoLock;
        for shift in &writes.shifts {
            let night = &mut after.nights[(shift.night.0 - FIRST) as usize];
            *night = (night.0 + shift.by.reserved, night.1 + shift.by.held);
            let (reserved, held) = *night;
            if guarded && self.0 == Bug::None && (reserved < 0 || held < 0 || reserved + held > ROOMS as i32) {
                return None;
            }
        }
        for hold in &writes.changed {
            let slot = &mut after.slots[hold.id.n as usize - 1];
            if guarded && self.0 == Bug::None && !matches!(slot, Slot::Held { .. }) {
                return None;
            }
            let On::Nights(dates) = hold.on else { return None };
            let dates = (dates.check_in.0 - FIRST, dates.check_out.0 - FIRST);
            *slot = if hold.state == HoldState::Confirmed { Slot::Stay { dates } } else { Slot::Nothing };
        }
        for n in &writes.ended {
            after.slots[*n as usize - 1] = Slot::Nothing;
        }
        let slots: HashMap<User, usize> = (0..USERS).map(|i| (user(i), i)).collect();
        for hold in &writes.begun {
            let On::Nights(dates) = hold.on else { return None };
            let dates = (dates.check_in.0 - FIRST, dates.check_out.0 - FIRST);
            after.slots[slots[&hold.owner]] = Slot::Held { dates, left: 1 };
        }
        Some(after)
    }
}

/// What stands on a night, counted from what people have.
fn standing(rows: &Rows, night: i32) -> (i32, i32, i32) {
    let (mut stays, mut held, mut live) = (0, 0, 0);
    for slot in &rows.slots {
        match *slot {
            Slot::Stay { dates } if (dates.0..dates.1).contains(&night) => stays += 1,
            Slot::Held { dates, left } if (dates.0..dates.1).contains(&night) => {
                held += 1;
                live += i32::from(left > 0);
            }
            _ => {}
        }
    }
    (stays, held, live)
}

impl Model for Hotel {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        let rows = Rows { slots: [Slot::Nothing; USERS], nights: [(0, 0); NIGHTS as usize] };
        vec![State { rows, deciding: vec![], refused: false }]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        moves.push(Move::Tick);
        for i in 0..state.deciding.len() {
            moves.extend([Move::Commit(i), Move::Crash(i)]);
        }
        let most = if self.0 == Bug::NoLock { 2 } else { 1 };
        if state.deciding.len() >= most {
            return;
        }
        for (user, slot) in state.rows.slots.iter().enumerate() {
            match slot {
                Slot::Nothing => {
                    for from in 0..NIGHTS {
                        moves
                            .extend((from + 1..=NIGHTS).map(|to| Move::Decide(Step::Hold { user, dates: (from, to) })));
                    }
                }
                Slot::Held { .. } => {
                    moves.extend([Move::Decide(Step::Confirm { user }), Move::Decide(Step::GiveBack { user })]);
                }
                Slot::Stay { .. } => {
                    moves.extend([Move::Decide(Step::Confirm { user }), Move::Decide(Step::Cancel { user })]);
                }
            }
        }
    }

    fn next_state(&self, last: &State, action: Move) -> Option<State> {
        let mut state = last.clone();
        match action {
            Move::Tick => {
                for slot in &mut state.rows.slots {
                    if let Slot::Held { left, .. } = slot {
                        *left = left.saturating_sub(1);
                    }
                }
                if state.rows == last.rows {
                    return None;
                }
            }
            Move::Decide(step) => state.deciding.push((step, state.rows.clone())),
            Move::Crash(i) => drop(state.deciding.remove(i)),
            Move::Commit(i) => {
                let (step, seen) = state.deciding.remove(i);
                match self.write(&state.rows, &self.decided(step, &seen)) {
                    Some(rows) => state.rows = rows,
                    None => state.refused = true,
                }
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no night is beyond its total", |_, state: &State| {
                (0..NIGHTS).all(|night| {
                    let (stays, _, live) = standing(&state.rows, night);
                    stays + live <= ROOMS as i32
                })
            }),
            Property::always("rows count what stands", |_, state: &State| {
                (0..NIGHTS).all(|night| {
                    let (stays, held, _) = standing(&state.rows, night);
                    state.rows.nights[night as usize] == (stays, held)
                })
            }),
            Property::always("the rows never have to refuse", |_, state: &State| !state.refused),
            Property::sometimes("every room is sold on every night", |_, state: &State| {
                (0..NIGHTS).all(|night| standing(&state.rows, night).0 == ROOMS as i32)
            }),
            Property::sometimes("all three have something", |_, state: &State| {
                state.rows.slots.iter().all(|slot| *slot != Slot::Nothing)
            }),
            Property::sometimes("a lapsed hold stands beside a stay that took its place", |_, state: &State| {
                (0..NIGHTS).any(|night| {
                    let (stays, held, live) = standing(&state.rows, night);
                    stays == 1 && held == 1 && live == 0
                })
            }),
        ]
    }
}

#[test]
fn heavy_model_of_two_waiting_rooms_holds() {
    let checker = Hotel(Bug::None).checker().threads(2).spawn_bfs().join();
    assert!(checker.is_done(), "the end was not reached");
    checker.assert_properties();
    println!("{} states", checker.unique_state_count());
    assert!(checker.unique_state_count() > 20_000, "{} states", checker.unique_state_count());
}

#[test]
fn planted_bugs_are_found_by_the_model() {
    for (bug, property) in
        [(Bug::NoLock, "no night is beyond its total"), (Bug::ConfirmsWithoutState, "rows count what stands")]
    {
        // With a bug the counts may run away: the search ends with what it looks for.
        let found = HasDiscoveries::AnyOf([property].into());
        let checker = Hotel(bug).checker().threads(2).finish_when(found).target_state_count(500_000);
        let path = checker.spawn_bfs().join().assert_any_discovery(property);
        println!("{bug:?}: {:?}", path.into_actions());
    }
}
