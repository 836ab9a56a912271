//! Ledgers whose room types are broken on purpose, in the way of the specifications' own designs. The suite
//! must find every bug, or it proves nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::decide::Answer;
use rules::holds::{Ask, Hold, HoldState, On};
use rules::nights::Night;
use rules::outcome::{Done, Outcome, Refusal};
use rules::room_type::{RoomAction, RoomCommand, RoomType};
use rules::subject::RoomTypeId;
use rules::time::Moment;

use super::bent::Bent;
use crate::ledger::rooms::Availability;
use crate::ledger::{Answered, Ledger};
use crate::ledger::{Batch, Committed};

/// The planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomBug {
    /// A counter per night with one expiry for all: every new hold keeps the expired ones alive.
    CounterWithTtl,
    /// Confirming ignores the state: a second confirmation succeeds again.
    ConfirmsWithoutState,
    /// An expired hold can still be confirmed.
    ConfirmsTheExpired,
    /// Answers "held" when the last room is gone.
    HoldsTwice,
    /// Acknowledges a cancellation and does nothing.
    KeepsWhatIsGivenBack,
    /// Decides a repeated key again.
    ForgetsKeys,
}

impl RoomBug {
    pub const ALL: [RoomBug; 6] = [
        RoomBug::CounterWithTtl,
        RoomBug::ConfirmsWithoutState,
        RoomBug::ConfirmsTheExpired,
        RoomBug::HoldsTwice,
        RoomBug::KeepsWhatIsGivenBack,
        RoomBug::ForgetsKeys,
    ];
}

#[derive(Default)]
struct State {
    holds: HashMap<(RoomTypeId, u64), Hold>,
    last: Option<Hold>,
    /// The seed's counter: the count, and the one expiry that the newest hold set.
    counters: HashMap<(RoomTypeId, Night), (u32, Moment)>,
}

/// A good ledger with one bug in front of it.
pub fn broken(bug: RoomBug, good: Arc<dyn Ledger>) -> Arc<dyn Ledger> {
    let state = Arc::new(Mutex::new(State::default()));
    let (seen, clock) = (state.clone(), good.clone());
    let bent = Bent::of_rooms(good, move |good, batch| commit(bug, &state, good, batch));
    if bug != RoomBug::CounterWithTtl {
        return Arc::new(bent);
    }
    Arc::new(bent.showing(move |shown| counted(&locked(&seen), shown, clock.now())))
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn counted(state: &State, mut shown: Availability, now: Moment) -> Availability {
    for (night, row) in &mut shown.nights {
        let counter = state.counters.get(&(shown.room_type.id, *night)).filter(|(_, end)| *end > now);
        row.held = counter.map_or(0, |(count, _)| *count);
    }
    shown
}

fn commit(
    bug: RoomBug,
    state: &Arc<Mutex<State>>,
    good: &Arc<dyn Ledger>,
    batch: Batch<RoomType>,
) -> Answered<Committed<RoomType>> {
    let (good, state, original) = (good.clone(), state.clone(), batch.commands.clone());
    let commands = original.iter().map(|command| bend(bug, command)).collect();
    let batch = Batch { commands: Arc::new(commands), ..batch };
    Box::pin(async move {
        let room_type = batch.subject;
        let mut committed = good.commit(batch).await?;
        let mut state = locked(&state);
        let answers = std::mem::take(&mut committed.answers).into_iter().zip(&*original);
        committed.answers =
            answers.map(|(answer, command)| twist(bug, &mut state, room_type, command, answer)).collect();
        Ok(committed)
    })
}

/// How the bug changes a command.
fn bend(bug: RoomBug, command: &RoomCommand) -> RoomCommand {
    let mut command = command.clone();
    match (bug, &command.action) {
        (RoomBug::ForgetsKeys, _) => command.key = None,
        (RoomBug::KeepsWhatIsGivenBack, RoomAction::OnHold { ask: Ask::Cancel, .. }) => {
            command.action = RoomAction::OnHold { n: u64::MAX / 4, ask: Ask::Cancel };
        }
        _ => {}
    }
    command
}

/// How the bug changes an answer.
fn twist(bug: RoomBug, state: &mut State, room_type: RoomTypeId, command: &RoomCommand, answer: Answer) -> Answer {
    if let Outcome::Done(Done::Held { hold, fresh: true, .. }) = &answer.outcome {
        state.holds.insert((room_type, hold.id.n), (**hold).clone());
        state.last = Some((**hold).clone());
        if let On::Nights(dates) = hold.on {
            for night in dates.nights() {
                let counter = state.counters.entry((room_type, night)).or_insert((0, hold.ends_at));
                *counter = (if counter.1 > hold.at { counter.0 + 1 } else { 1 }, hold.ends_at);
            }
        }
    }
    let again = |n: &u64| {
        state.holds.get(&(room_type, *n)).cloned().map(|mut hold| {
            hold.state = HoldState::Confirmed;
            hold.reserved = vec![1];
            Outcome::Done(Done::Confirmed { hold: Box::new(hold) }).into()
        })
    };
    match (bug, &command.action, &answer.outcome) {
        (
            RoomBug::ConfirmsWithoutState,
            RoomAction::OnHold { n, ask: Ask::Confirm },
            Outcome::Refused(Refusal::HoldProcessed { .. }),
        )
        | (
            RoomBug::ConfirmsTheExpired,
            RoomAction::OnHold { n, ask: Ask::Confirm },
            Outcome::Refused(Refusal::HoldExpired),
        ) => again(n).unwrap_or(answer),
        (RoomBug::HoldsTwice, _, Outcome::Refused(Refusal::NotAvailable { .. })) => match state.last.clone() {
            Some(hold) => Outcome::Done(Done::Held { now: hold.at, hold: Box::new(hold), fresh: true }).into(),
            None => answer,
        },
        (RoomBug::KeepsWhatIsGivenBack, RoomAction::OnHold { ask: Ask::Cancel, .. }, _) => {
            Outcome::Done(Done::Released).into()
        }
        _ => answer,
    }
}
