//! Decides one batch of commands for one subject of any kind, and lists what to write.
//!
//! The ledger reads what the batch needs under the subject's row lock; `decide` answers every command. It first marks
//! lapsed holds as expired. Then it decides the commands that give stock back, then the others by arrival number.
//! [`Subject`] has what differs between the kinds.

mod holds;

use std::collections::HashMap;

use crate::command::{Command, Terms};
use crate::history::RequestOrigin;
use crate::holds::Backlog;
use crate::holds::book::HoldBook;
use crate::once::Once;
use crate::outcome::{Outcome, Refusal};
use crate::subject::{Subject, Writes};
use crate::time::{Moment, Reading};

#[derive(Debug)]
pub struct Decision<S: Subject> {
    /// One answer per command, in the order of the commands.
    pub answers: Vec<Answer>,
    pub writes: S::Writes,
    /// The subject after the batch.
    pub after: S,
    pub effects: S::Effects,
    pub backlog: Backlog,
    /// Discard this result: more must be read first.
    pub short: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub outcome: Outcome,
    /// The outcome is that of an earlier request with the same key.
    pub replayed: bool,
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Answer { outcome, replayed: false }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Outcome::Refused(refusal).into()
    }
}

/// Decides a batch. `commands` may come in any order; the answers have the same order.
pub fn decide<S: Subject>(
    subject: &S,
    known: S::Known,
    commands: &[Command<S>],
    terms: &Terms,
    read: impl Into<Reading>,
) -> Decision<S> {
    let mut deciding = Deciding::new(subject, known, terms, read.into());
    if !subject.deleted() {
        deciding.turn_lapsed();
    }
    let mut answers: Vec<Option<Answer>> = vec![None; commands.len()];
    for i in order(commands) {
        answers[i] = Some(deciding.answer(&commands[i]));
    }
    deciding.finish(subject, answers.into_iter().flatten().collect())
}

/// The order in which a batch is decided: first the commands that give stock back, then the order of the queue.
/// Requests with arrival numbers are sorted by number among themselves. A request without one keeps its place between
/// them, so that it overtakes nobody who came before it.
pub fn order<S: Subject>(commands: &[Command<S>]) -> Vec<usize> {
    let (mut order, rest): (Vec<usize>, Vec<usize>) =
        (0..commands.len()).partition(|&i| S::gives_back(&commands[i].action));
    let mut numbered: Vec<usize> = rest.iter().copied().filter(|&i| commands[i].number.is_some()).collect();
    numbered.sort_by_key(|&i| commands[i].number);
    let mut numbered = numbered.into_iter();
    order.extend(rest.into_iter().map(|i| match commands[i].number {
        Some(_) => numbered.next().unwrap_or(i),
        None => i,
    }));
    order
}

/// A batch while it is being decided.
#[derive(Debug)]
pub struct Deciding<S: Subject> {
    /// The subject, with the commands decided so far applied.
    pub(crate) subject: S,
    pub(crate) holds: HoldBook,
    /// The rest of the working state, which differs by kind of subject.
    pub(crate) draft: S::Draft,
    pub(crate) writes: S::Writes,
    once: Once,
    pub(crate) backlog: Backlog,
    pub(crate) terms: Terms,
    pub(crate) now: Moment,
    /// The time that opening times are compared with.
    pub(crate) wall: Moment,
    /// The origin of the command that is being answered.
    pub(crate) origin: RequestOrigin,
}

impl<S: Subject> Deciding<S> {
    fn new(subject: &S, known: S::Known, terms: &Terms, Reading { now, wall }: Reading) -> Deciding<S> {
        let Opening { holds, answers, draft, backlog } = subject.open(known);
        Deciding {
            subject: subject.clone(),
            holds: HoldBook::new(holds, now),
            draft,
            writes: S::Writes::default(),
            once: Once::new(answers, terms.key_ttl_ms, now),
            backlog,
            terms: *terms,
            now,
            wall,
            origin: RequestOrigin::default(),
        }
    }

    fn answer(&mut self, command: &Command<S>) -> Answer {
        if let Some(before) = self.once.before(command) {
            return before;
        }
        self.origin = command.origin.clone();
        match S::perform(self, command) {
            Ok(done) => {
                self.once.keep(command, &done);
                Outcome::Done(done).into()
            }
            Err(refusal) => refusal.into(),
        }
    }

    fn finish(self, before: &S, answers: Vec<Answer>) -> Decision<S> {
        let Deciding { subject: mut after, holds, draft, mut writes, once, backlog, .. } = self;
        let short = S::short(&draft);
        let effects = S::close(before, &mut after, draft, &mut writes);
        writes.keep(holds.finish(), once.finish());
        Decision { answers, writes, after, effects, backlog, short }
    }
}

/// What the ledger read for a batch: the part that every kind of subject has, and the rest.
#[derive(Debug)]
pub struct Opening<D> {
    /// By the history number at which each began.
    pub holds: HashMap<u64, crate::holds::Hold>,
    pub answers: crate::once::KeptAnswers,
    pub draft: D,
    pub backlog: Backlog,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Buyer;
    use crate::event::{Event, EventAction};
    use crate::history::Actor;
    use crate::ids::{Number, RequestName, Seat, User};

    fn asks(number: Option<u64>, action: EventAction) -> Command<Event> {
        let actor = Actor::User(User::stored("a"));
        Command {
            actor,
            number: number.map(Number),
            name: RequestName(1),
            key: None,
            entry: None,
            action,
            origin: RequestOrigin::default(),
            details: None,
        }
    }

    fn reserve(number: u64) -> Command<Event> {
        asks(Some(number), EventAction::Reserve(Buyer::default()))
    }

    fn hold() -> Command<Event> {
        asks(None, EventAction::Hold { seats: vec![Seat(1)], key: "k".into() })
    }

    #[test]
    fn only_what_gives_back_is_served_out_of_turn() {
        let cancel = asks(None, EventAction::Cancel { n: 1 });
        assert_eq!(order(&[reserve(5), hold(), reserve(6), cancel]), [3, 0, 1, 2]);
    }

    #[test]
    fn a_hold_overtakes_no_reservation_that_came_before_it() {
        assert_eq!(order(&[reserve(7), hold()]), [0, 1]);
        assert_eq!(order(&[hold(), reserve(7)]), [0, 1]);
    }

    #[test]
    fn lower_numbers_come_first_among_the_numbered() {
        assert_eq!(order(&[reserve(9), hold(), reserve(4), reserve(6)]), [2, 1, 3, 0]);
    }
}
