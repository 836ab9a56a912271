//! Ledgers that are broken on purpose. The suite must find every bug, or it proves nothing.

use std::sync::{Arc, Mutex, MutexGuard};

use rules::command::{Command, EventAction};
use rules::decide::Answer;
use rules::entries::Entry;
use rules::event::Event;
use rules::event::EventEffects;
use rules::history::Actor;
use rules::holds::Backlog;
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::outcome::{Done, Outcome, Refusal, Reserved};
use rules::time::Moment;

use super::bent::Bent;
use crate::ledger::{Answered, Batch, Committed, Ledger};

/// The planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerBug {
    /// Answers "sold" to one in twenty and writes nothing: acknowledged before the commit.
    AcknowledgesTooEarly,
    /// Gives the last sold seat to the next request that should get `sold_out`.
    SellsTwice,
    /// Forgets the user, so that nobody ever reaches the limit.
    ForgetsTheLimit,
    /// Serves the highest number first.
    ServesTheLastFirst,
    /// Drops one row of the history.
    LosesHistory,
    /// Decides a repeated key again.
    ForgetsKeys,
    /// The seat of a cancelled reservation is never sold again.
    KeepsCancelledSeats,
    /// A request for a chosen seat gets the lowest one.
    IgnoresTheChoice,
    /// A request for a chosen seat that is taken is answered as if it got the seat.
    GivesTakenSeats,
    /// Lets every user in, however many are inside.
    LetsTooManyIn,
    /// A number that was already used to enter admits again.
    ForgetsSpentNumbers,
    /// Any entry token allows booking.
    BelievesAnyToken,
}

impl LedgerBug {
    pub const ALL: [LedgerBug; 12] = [
        LedgerBug::AcknowledgesTooEarly,
        LedgerBug::SellsTwice,
        LedgerBug::ForgetsTheLimit,
        LedgerBug::ServesTheLastFirst,
        LedgerBug::LosesHistory,
        LedgerBug::ForgetsKeys,
        LedgerBug::KeepsCancelledSeats,
        LedgerBug::IgnoresTheChoice,
        LedgerBug::GivesTakenSeats,
        LedgerBug::LetsTooManyIn,
        LedgerBug::ForgetsSpentNumbers,
        LedgerBug::BelievesAnyToken,
    ];
}

#[derive(Default)]
struct State {
    asked: u64,
    last_sold: Option<Reserved>,
}

/// A good ledger with one bug in front of it.
pub fn broken(bug: LedgerBug, good: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
    let state = Arc::new(Mutex::new(State::default()));
    let bent = Bent::new(good, move |good, batch| commit(bug, &state, good, batch));
    Arc::new(if bug == LedgerBug::LosesHistory { bent.hiding(|entry| entry.n == 3) } else { bent })
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn commit(
    bug: LedgerBug,
    state: &Arc<Mutex<State>>,
    good: &Arc<dyn Ledger>,
    batch: Batch<Event>,
) -> Answered<Committed<Event>> {
    let (good, state, original) = (good.clone(), state.clone(), batch.commands.clone());
    if bug == LedgerBug::AcknowledgesTooEarly
        && let Some(last) = one_in_twenty(&mut locked(&state), &original)
    {
        return Box::pin(async move { acknowledge_unwritten(&*good, batch.subject, last).await });
    }
    let mut commands: Vec<Command> =
        original.iter().enumerate().map(|(i, c)| bend(bug, &mut locked(&state), c, i)).collect();
    Box::pin(async move {
        for command in commands.iter_mut().filter(|c| bug == LedgerBug::BelievesAnyToken && c.entry.is_some()) {
            if let Some(user) = command.actor.user()
                && let Some(entry) = good.entry_of(batch.subject, user.clone()).await?
            {
                command.entry = Some(entry.token);
            }
        }
        let batch = Batch { commands: Arc::new(commands), ..batch };
        let mut committed = good.commit(batch).await?;
        let mut state = locked(&state);
        let answers = std::mem::take(&mut committed.answers).into_iter().zip(&*original);
        committed.answers = answers.map(|(answer, command)| twist(bug, &mut state, command, answer)).collect();
        Ok(committed)
    })
}

fn one_in_twenty(state: &mut State, commands: &[Command]) -> Option<Reserved> {
    state.asked += 1;
    let reserves = matches!(commands, [Command { action: EventAction::Reserve(_), .. }]);
    if state.asked.is_multiple_of(20) && reserves { state.last_sold.clone() } else { None }
}

/// How the bug changes a command.
fn bend(bug: LedgerBug, state: &mut State, command: &Command, i: usize) -> Command {
    let mut command = command.clone();
    match (bug, &command.action) {
        (LedgerBug::ForgetsTheLimit, action) if action.wants_a_seat() => {
            state.asked += 1;
            command.actor = Actor::User(User::stored(&format!("somebody-{}", state.asked)));
        }
        (LedgerBug::ServesTheLastFirst, action) if action.wants_a_seat() => {
            command.number = command.number.map(|n| Number(u64::MAX / 4 - n.0));
        }
        (LedgerBug::IgnoresTheChoice, EventAction::ReserveSeat { buyer, .. }) => {
            command.action = EventAction::Reserve(buyer.clone())
        }
        (LedgerBug::ForgetsSpentNumbers, EventAction::Enter { number: Some(number), token }) => {
            let number = Some(Number(number.0 + 1_000_000 * state.asked));
            state.asked += 1;
            command.action = EventAction::Enter { number, token: *token };
        }
        (LedgerBug::ForgetsKeys, _) => command.key = None,
        (LedgerBug::KeepsCancelledSeats, EventAction::Cancel { .. }) => {
            command.action = EventAction::Cancel { n: u64::MAX / 4 + i as u64 };
        }
        _ => {}
    }
    command
}

/// How the bug changes an answer.
fn twist(bug: LedgerBug, state: &mut State, command: &Command, answer: Answer) -> Answer {
    if let Outcome::Done(Done::Reserved(reserved)) = &answer.outcome {
        state.last_sold = Some(reserved.clone());
    }
    match (bug, &command.action, &answer.outcome) {
        (LedgerBug::SellsTwice, _, Outcome::Refused(Refusal::SoldOut)) => match state.last_sold.clone() {
            Some(reserved) => Outcome::Done(Done::Reserved(reserved)).into(),
            None => answer,
        },
        (LedgerBug::GivesTakenSeats, EventAction::ReserveSeat { seat, .. }, Outcome::Refused(Refusal::SeatTaken)) => {
            match state.last_sold.clone() {
                Some(last) => Outcome::Done(Done::Reserved(Reserved { seat: *seat, ..last })).into(),
                None => answer,
            }
        }
        (
            LedgerBug::LetsTooManyIn,
            EventAction::Enter { number: Some(number), token },
            Outcome::Refused(Refusal::NotReady { .. }),
        ) => {
            let user = command.actor.user().cloned().unwrap_or_else(|| User::stored("nobody"));
            let (begins, ends) = (Moment(0), Moment(i64::MAX / 4));
            let entry = Entry { number: *number, user, token: *token, n: 0, begins, ends, cap: ends };
            Outcome::Done(Done::Entered(Box::new(entry))).into()
        }
        (LedgerBug::KeepsCancelledSeats, EventAction::Cancel { .. }, _) => Outcome::Done(Done::Cancelled).into(),
        _ => answer,
    }
}

/// A plausible seat and number that do not exist.
async fn acknowledge_unwritten(
    good: &dyn Ledger,
    event: EventId,
    last: Reserved,
) -> Result<Committed<Event>, crate::ledger::LedgerFault> {
    let row = good.event(event).await?.ok_or(crate::ledger::LedgerFault::NoSuchSubject)?;
    let seat = Seat(row.counts.cursor + 1);
    let reservation = ReservationId { event, n: row.counts.n + 1 };
    let answer = Outcome::Done(Done::Reserved(Reserved { reservation, seat, ..last })).into();
    Ok(Committed {
        answers: vec![answer],
        after: row,
        holds: Vec::new(),
        effects: EventEffects::default(),
        backlog: Backlog::None,
    })
}
