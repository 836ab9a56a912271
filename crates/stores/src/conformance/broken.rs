//! Ledgers that are broken on purpose. The suite must notice each of them, or it proves nothing.

use std::sync::{Arc, Mutex};

use rules::command::{Action, Command};
use rules::decide::Answer;
use rules::event::{Event, NewEvent};
use rules::history::{Actor, Entry};
use rules::ids::{EventId, Number, ReservationId, Seat, User};
use rules::outcome::{Done, Outcome, Refusal, Reserved};
use rules::seats::Sale;
use rules::time::Moment;

use crate::ledger::{Answered, Batch, Committed, Ledger, Reservation, Snapshot};

/// How it is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Says "sold" to one in twenty and writes nothing: acknowledged before the commit.
    AcknowledgesTooEarly,
    /// Gives the last seat it sold to the next one who is told `sold_out`.
    SellsTwice,
    /// Forgets who asks, so that nobody ever reaches the limit.
    ForgetsTheLimit,
    /// Serves the highest number first.
    ServesTheLastFirst,
    /// Drops one row of the history.
    LosesHistory,
    /// Decides a repeated key anew.
    ForgetsKeys,
    /// The seat of a cancelled reservation is never sold again.
    KeepsCancelledSeats,
}

impl Bug {
    pub const ALL: [Bug; 7] = [
        Bug::AcknowledgesTooEarly,
        Bug::SellsTwice,
        Bug::ForgetsTheLimit,
        Bug::ServesTheLastFirst,
        Bug::LosesHistory,
        Bug::ForgetsKeys,
        Bug::KeepsCancelledSeats,
    ];
}

/// A good ledger with one bug in front of it.
pub struct Broken {
    pub bug: Bug,
    pub good: Arc<dyn Ledger>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    asked: u64,
    last_sold: Option<Reserved>,
}

impl Broken {
    pub fn new(bug: Bug, good: Arc<dyn Ledger>) -> Broken {
        Broken { bug, good, state: Arc::default() }
    }

    fn bend(&self, command: &Command, i: usize) -> Command {
        let mut command = command.clone();
        match (self.bug, &command.action) {
            (Bug::ForgetsTheLimit, Action::Reserve(_)) => {
                let mut state = self.state.lock().unwrap_or_else(|p| p.into_inner());
                state.asked += 1;
                command.actor = Actor::User(User::stored(&format!("somebody-{}", state.asked)));
            }
            (Bug::ServesTheLastFirst, Action::Reserve(_)) => {
                command.number = command.number.map(|n| Number(u64::MAX / 4 - n.0));
            }
            (Bug::ForgetsKeys, _) => command.key = None,
            (Bug::KeepsCancelledSeats, Action::Cancel { .. }) => {
                command.action = Action::Cancel { n: u64::MAX / 4 + i as u64 };
            }
            _ => {}
        }
        command
    }
}

/// What the bug makes of an answer.
fn twist(bug: Bug, state: &mut State, command: &Command, answer: Answer) -> Answer {
    if let Outcome::Done(Done::Reserved(reserved)) = &answer.outcome {
        state.last_sold = Some(reserved.clone());
    }
    match (bug, &command.action, &answer.outcome) {
        (Bug::SellsTwice, _, Outcome::Refused(Refusal::SoldOut)) => match state.last_sold.clone() {
            Some(reserved) => Outcome::Done(Done::Reserved(reserved)).into(),
            None => answer,
        },
        (Bug::KeepsCancelledSeats, Action::Cancel { .. }, _) => Outcome::Done(Done::Cancelled).into(),
        _ => answer,
    }
}

impl Ledger for Broken {
    fn commit(&self, batch: Batch) -> Answered<Committed> {
        let original = batch.commands.clone();
        let (good, bug, state) = (self.good.clone(), self.bug, self.state.clone());
        if bug == Bug::AcknowledgesTooEarly {
            let mut locked = state.lock().unwrap_or_else(|p| p.into_inner());
            locked.asked += 1;
            if locked.asked.is_multiple_of(20)
                && let [Command { action: Action::Reserve(_), .. }] = &original[..]
                && let Some(last) = locked.last_sold.clone()
            {
                drop(locked);
                return Box::pin(async move { acknowledge_unwritten(&*good, batch.event, last).await });
            }
        }
        let commands = Arc::new(batch.commands.iter().enumerate().map(|(i, c)| self.bend(c, i)).collect());
        Box::pin(async move {
            let mut committed = good.commit(Batch { commands, ..batch }).await?;
            let mut state = state.lock().unwrap_or_else(|p| p.into_inner());
            let answers = std::mem::take(&mut committed.answers);
            committed.answers =
                answers.into_iter().zip(&*original).map(|(a, c)| twist(bug, &mut state, c, a)).collect();
            Ok(committed)
        })
    }

    fn create_event(&self, new: NewEvent, id: Option<EventId>) -> Answered<Event> {
        self.good.create_event(new, id)
    }

    fn raise_generation(&self, event: EventId) -> Answered<u64> {
        self.good.raise_generation(event)
    }

    fn events(&self, after: Option<EventId>, limit: usize) -> Answered<Vec<Event>> {
        self.good.events(after, limit)
    }

    fn event(&self, id: EventId) -> Answered<Option<Event>> {
        self.good.event(id)
    }

    fn sale_of_seat(&self, event: EventId, seat: Seat) -> Answered<Option<Sale>> {
        self.good.sale_of_seat(event, seat)
    }

    fn snapshot(&self, event: EventId) -> Answered<Snapshot> {
        self.good.snapshot(event)
    }

    fn history(&self, event: EventId, after: u64, limit: usize) -> Answered<Vec<Entry>> {
        let history = self.good.history(event, after, limit);
        let loses = self.bug == Bug::LosesHistory;
        Box::pin(async move { Ok(history.await?.into_iter().filter(|entry| !loses || entry.n != 3).collect()) })
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

    fn now(&self) -> Moment {
        self.good.now()
    }

    fn ready(&self) -> Answered<()> {
        self.good.ready()
    }
}

/// A seat and a number that look right and are not there.
async fn acknowledge_unwritten(
    good: &dyn Ledger,
    event: EventId,
    last: Reserved,
) -> Result<Committed, crate::ledger::Fault> {
    let row = good.event(event).await?.ok_or(crate::ledger::Fault::NoSuchEvent)?;
    let seat = Seat(row.counts.cursor + 1);
    let reservation = ReservationId { event, n: row.counts.n + 1 };
    let answer = Outcome::Done(Done::Reserved(Reserved { reservation, seat, ..last })).into();
    Ok(Committed { answers: vec![answer], event: row })
}
