//! The rules under random commands: invariants after every batch, and planted bugs that must show.

mod carts;
mod model;
mod table;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rules::command::{Buyer, Command, EventAction, Key, Terms};
use rules::event::{EventAmendment, Turn};
use rules::history::{Actor, AdminName, RequestOrigin};
use rules::ids::{Number, RequestName, Seat, User};
use table::{Bug, Table};

#[derive(Clone, Debug)]
enum Step {
    Batch(Vec<Ask>),
    Wait(i64),
}

#[derive(Clone, Debug)]
enum Ask {
    Reserve {
        user: u8,
        key: Option<(u8, u8)>,
    },
    Choose {
        user: u8,
        seat: u32,
    },
    Anonymous,
    /// Cancels one of the sales ever made, by anyone.
    Cancel {
        user: u8,
        which: usize,
    },
    AdminCancel {
        which: usize,
    },
    Turn(Turn),
    Limit(u32),
}

fn ask() -> impl Strategy<Value = Ask> {
    let key = proptest::option::weighted(0.3, (0..4u8, 0..2u8));
    prop_oneof![
        10 => (0..6u8, key).prop_map(|(user, key)| Ask::Reserve { user, key }),
        5 => (0..6u8, 0..17u32).prop_map(|(user, seat)| Ask::Choose { user, seat }),
        2 => Just(Ask::Anonymous),
        6 => (0..6u8, any::<prop::sample::Index>()).prop_map(|(user, i)| Ask::Cancel { user, which: i.index(64) }),
        2 => any::<prop::sample::Index>().prop_map(|i| Ask::AdminCancel { which: i.index(64) }),
        1 => prop_oneof![Just(Turn::Open), Just(Turn::Pause), Just(Turn::Resume), Just(Turn::Close), Just(Turn::Archive), Just(Turn::Unarchive)].prop_map(Ask::Turn),
        1 => (1..4u32).prop_map(Ask::Limit),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => vec(ask(), 1..12).prop_map(Step::Batch),
        1 => prop_oneof![1..2_000i64, Just(900_000), Just(86_400_000)].prop_map(Step::Wait),
    ];
    vec(step, 1..25)
}

/// Runs the steps on a table of rows kept as a ledger would; the first broken invariant, if any.
fn play(seats: u32, limit: u32, steps: &[Step], bug: Option<Bug>) -> Result<(), String> {
    let mut table = Table::new(seats, limit, bug);
    let mut next = 0;
    for step in steps {
        match step {
            Step::Wait(ms) => table.now = table.now.plus_ms(*ms),
            Step::Batch(asks) => {
                let commands: Vec<Command> = asks.iter().map(|ask| command(ask, &table, &mut next)).collect();
                table.commit(&commands, &Terms::default())?;
                table.check()?;
            }
        }
    }
    Ok(())
}

fn command(ask: &Ask, table: &Table, next: &mut u64) -> Command {
    *next += 1;
    let named = |user: u8| Actor::User(User::stored(&format!("u{user}")));
    let sale = |which: usize| table.ever_sold.get(which % table.ever_sold.len().max(1)).copied().unwrap_or(999);
    let reserve = EventAction::Reserve(Buyer::default());
    let (actor, action, key) = match ask {
        Ask::Reserve { user, key } => {
            let key = key.map(|(text, content)| Key { text: format!("k{text}").into(), content: [content; 32] });
            (named(*user), reserve, key)
        }
        Ask::Choose { user, seat } => {
            (named(*user), EventAction::ReserveSeat { seat: Seat(*seat), buyer: Buyer::default() }, None)
        }
        Ask::Anonymous => (Actor::Nobody, reserve, None),
        Ask::Cancel { user, which } => (named(*user), EventAction::Cancel { n: sale(*which) }, None),
        Ask::AdminCancel { which } => {
            (Actor::Admin(AdminName::default()), EventAction::Cancel { n: sale(*which) }, None)
        }
        Ask::Turn(turn) => (Actor::Admin(AdminName::default()), EventAction::Turn(*turn), None),
        Ask::Limit(most) => {
            let amendment = EventAmendment { max_per_user: Some(*most), ..EventAmendment::default() };
            (Actor::Admin(AdminName::default()), EventAction::Amend(amendment), None)
        }
    };
    let number = action.wants_a_seat().then_some(Number(*next));
    let origin = RequestOrigin::default();
    Command { actor, number, name: RequestName((*next).into()), key, entry: None, origin, action, details: None }
}

#[test]
fn random_commands_break_nothing() {
    let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
    let inputs = (0..14u32, 1..4u32, steps());
    let result = TestRunner::new(config)
        .run(&inputs, |(seats, limit, steps)| play(seats, limit, &steps, None).map_err(TestCaseError::fail));
    result.unwrap();
}

/// The same search, over rows that are kept wrongly: it must find each bug.
#[test]
fn planted_bugs_are_found() {
    for bug in Bug::ALL {
        let config = Config { cases: 2_000, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
        let inputs = (0..14u32, 1..4u32, steps());
        let found = TestRunner::new(config)
            .run(&inputs, |(seats, limit, steps)| play(seats, limit, &steps, Some(bug)).map_err(TestCaseError::fail));
        assert!(found.is_err(), "{bug:?} was not found in 2,000 cases");
    }
}
