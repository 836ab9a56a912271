//! One batch of commands for one subject of any kind: what is decided, and what is to be written.
//!
//! The ledger reads what the batch needs under the subject's lock; `decide` answers every command.
//! Lapsed holds are turned before anything else. Then come the commands that give back, then the
//! others by arrival number. What differs between the kinds is in [`Subject`].

mod holds;

use std::collections::HashMap;

use crate::command::{Command, Terms};
use crate::holds::book::HoldBook;
use crate::once::Once;
use crate::outcome::{Outcome, Refusal};
use crate::subject::{Subject, Writes};
use crate::time::Moment;

#[derive(Debug)]
pub struct Decision<S: Subject> {
    /// One answer per command, in the order in which the commands were given.
    pub answers: Vec<Answer>,
    pub writes: S::Writes,
    /// The subject as the batch leaves it.
    pub after: S,
    pub effects: S::Effects,
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

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Outcome::Refused(refusal).into()
    }
}

/// Decides a batch. `commands` may come in any order; the answers come in the same.
pub fn decide<S: Subject>(
    subject: &S,
    known: S::Known,
    commands: &[Command<S>],
    terms: &Terms,
    now: Moment,
) -> Decision<S> {
    let mut deciding = Deciding::new(subject, known, terms, now);
    deciding.turn_lapsed();
    let mut answers: Vec<Option<Answer>> = vec![None; commands.len()];
    for i in order(commands) {
        answers[i] = Some(deciding.answer(&commands[i]));
    }
    deciding.finish(subject, answers.into_iter().flatten().collect())
}

/// The order in which a batch is served: what gives back, then by arrival number.
pub fn order<S: Subject>(commands: &[Command<S>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..commands.len()).collect();
    order.sort_by_key(|&i| (!S::gives_back(&commands[i].action), commands[i].number));
    order
}

/// A batch while it is being decided.
#[derive(Debug)]
pub struct Deciding<S: Subject> {
    /// The subject, with the commands decided so far applied.
    pub(crate) subject: S,
    pub(crate) holds: HoldBook,
    /// The rest of the working state, which differs by kind.
    pub(crate) draft: S::Draft,
    pub(crate) writes: S::Writes,
    once: Once,
    pub(crate) terms: Terms,
    pub(crate) now: Moment,
}

impl<S: Subject> Deciding<S> {
    fn new(subject: &S, known: S::Known, terms: &Terms, now: Moment) -> Deciding<S> {
        let Opening { holds, answers, draft } = subject.open(known);
        Deciding {
            subject: subject.clone(),
            holds: HoldBook::new(holds, now),
            draft,
            writes: S::Writes::default(),
            once: Once::new(answers, terms.key_ttl_ms, now),
            terms: *terms,
            now,
        }
    }

    fn answer(&mut self, command: &Command<S>) -> Answer {
        if let Some(before) = self.once.before(command) {
            return before;
        }
        match S::perform(self, command) {
            Ok(done) => {
                self.once.keep(command, &done);
                Outcome::Done(done).into()
            }
            Err(refusal) => refusal.into(),
        }
    }

    fn finish(self, before: &S, answers: Vec<Answer>) -> Decision<S> {
        let Deciding { subject: mut after, holds, draft, mut writes, once, .. } = self;
        let effects = S::close(before, &mut after, draft, &mut writes);
        writes.keep(holds.finish(), once.finish());
        Decision { answers, writes, after, effects }
    }
}

/// What the ledger read for a batch, split into what every kind of subject has and the rest.
#[derive(Debug)]
pub struct Opening<D> {
    /// By the history number each began with.
    pub holds: HashMap<u64, crate::holds::Hold>,
    pub answers: crate::once::KeptAnswers,
    pub draft: D,
}
