//! Respond: every request of a batch gets its answer.

use rules::decide::Answer;
use rules::outcome::{Outcome, Refusal};
use stores::ledger::Committed;

use super::Lane;
use super::served::{News, Served};
use super::waiter::Waiter;

/// Requests whose answers are known.
pub(crate) struct Decided<S: Served> {
    pub waiters: Vec<Waiter>,
    pub answers: Answers,
    /// What a committed batch changed, until it is published.
    pub news: Option<News<S>>,
}

pub(crate) enum Answers {
    /// One for each waiter, in order.
    Each(Vec<Answer>),
    All(Refusal),
}

impl<S: Served> Decided<S> {
    pub fn committed(waiters: Vec<Waiter>, committed: Committed<S>) -> Decided<S> {
        let Committed { answers, after, holds, effects, .. } = committed;
        Decided { waiters, answers: Answers::Each(answers), news: Some(News { after, holds, effects }) }
    }

    pub fn refused(waiters: Vec<Waiter>, refusal: Refusal) -> Decided<S> {
        Decided { waiters, answers: Answers::All(refusal), news: None }
    }

    pub fn respond(self) {
        match self.answers {
            Answers::Each(answers) => {
                for (waiter, answer) in self.waiters.into_iter().zip(answers) {
                    waiter.answer(answer);
                }
            }
            Answers::All(refusal) => {
                for waiter in self.waiters {
                    waiter.answer(Outcome::from(refusal.clone()).into());
                }
            }
        }
    }
}

impl<S: Served> Lane<S> {
    /// Refuses requests that leave the path early.
    pub(super) async fn give_up(&self, waiters: Vec<Waiter>, refusal: Refusal) {
        if !waiters.is_empty() {
            self.publish(Decided::refused(waiters, refusal)).await.respond();
        }
    }
}
