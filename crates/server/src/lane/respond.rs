//! Respond: every request of a batch gets its answer.

use std::time::Instant;

use rules::decide::Answer;
use rules::outcome::{Outcome, Refusal};
use stores::ledger::Committed;

use super::Lane;
use super::served::{News, Served};
use super::waiter::Waiter;
use crate::telemetry::traces::batch::BatchSpan;

/// Requests whose answers are known.
pub(crate) struct Decided<S: Served> {
    pub waiters: Vec<Waiter>,
    pub answers: Answers,
    /// When the batch was durable.
    pub committed: Option<Instant>,
    /// The span of the batch, if it is traced: it ends with the answers.
    pub span: Option<BatchSpan>,
    /// What a committed batch changed, until it is published.
    pub news: Option<News<S>>,
}

pub(crate) enum Answers {
    /// One for each waiter, in order.
    Each(Vec<Answer>),
    All(Refusal),
}

impl<S: Served> Decided<S> {
    pub fn committed(
        waiters: Vec<Waiter>,
        committed: Committed<S>,
        at: Instant,
        span: Option<BatchSpan>,
    ) -> Decided<S> {
        let Committed { answers, after, holds, effects, .. } = committed;
        let news = Some(News { after, holds, effects });
        Decided { waiters, answers: Answers::Each(answers), committed: Some(at), span, news }
    }

    pub fn refused(waiters: Vec<Waiter>, refusal: Refusal) -> Decided<S> {
        Decided { waiters, answers: Answers::All(refusal), committed: None, span: None, news: None }
    }

    pub fn respond(self) {
        let now = Instant::now();
        // Before the answers: a client that looks up the trace of an answered request finds its batch.
        drop(self.span);
        match self.answers {
            Answers::Each(answers) => {
                for (mut waiter, answer) in self.waiters.into_iter().zip(answers) {
                    waiter.committed = self.committed;
                    waiter.answer(answer, now);
                }
            }
            Answers::All(refusal) => {
                for waiter in self.waiters {
                    waiter.answer(Outcome::from(refusal.clone()).into(), now);
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
