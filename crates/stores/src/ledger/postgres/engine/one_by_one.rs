//! A batch that the database rejects permanently: every command runs in its own savepoint, so that only the failing one
//! is refused.

use futures_util::future::try_join3;
use rules::decide::{Answer, Decision, order};
use rules::holds::Backlog;
use rules::outcome::{Outcome, Refusal};
use rules::subject::Writes;
use rules::time::Reading;

use super::super::Inner;
use super::super::session::{Session, within};
use super::super::trouble::Trouble;
use super::resolve::Unknown;
use super::together::{Deep, Lock, Locking, begin, chain_head, ended, finish, locked};
use super::{DecidedBatch, Mark, Portion, PostgresSubject, PreparedBatch, Tried};
use crate::chain::RowHash;
use crate::ledger::{Committed, LedgerStep};
use crate::limited;

pub async fn one_by_one<S: PostgresSubject>(ledger: &Inner, prepared: PreparedBatch<S>) -> Result<Tried<S>, Trouble> {
    let PreparedBatch { batch, mut aside } = prepared;
    let mut session = ledger.sessions.get().await?;
    let mut writer = S::writer(&session).await?;
    let statements = Locking::prepare::<S>(ledger, &session, Lock::Wait).await?;
    session.dirty();
    let begin = begin(batch.traceparent.as_deref());
    let (rows, now) = {
        let portions = [Portion { id: batch.subject, commands: &batch.commands, terms: batch.terms, aside: &aside }];
        let begin = session.batch_execute(&begin);
        let lock = statements.lock::<S>(&session, &portions);
        let now = session.query_one(&statements.now, &[]);
        let ((), rows, now) = within(try_join3(begin, lock, now)).await??;
        (rows, now)
    };
    let Some(row) = rows.first() else { return ended(session, Tried::NoSuchSubject).await };
    let (mut subject, read) = locked::<S>(ledger, row, &now, &aside)?;
    let mut head = chain_head(row)?;
    batch.progress.reached(LedgerStep::Admitted);
    let id = uuid::Uuid::new_v4().to_string();
    let mark = Mark { batch: &id };
    let (mut first, mut effects, mut holds, mut backlog) = (None, S::Effects::default(), Vec::new(), Backlog::None);
    let mut answers: Vec<Answer> = vec![Outcome::from(Refusal::Internal).into(); batch.commands.len()];
    for i in order(&batch.commands) {
        within(session.batch_execute("SAVEPOINT request")).await??;
        subject.refresh(&mut aside);
        let commands = std::slice::from_ref(&batch.commands[i]);
        let command = Portion { id: batch.subject, commands, terms: batch.terms, aside: &aside };
        let one = One { session: &session, portion: command, before: &subject, read, mark, head };
        match one.run(&mut writer).await {
            Ok((Decision { answers: mut answer, writes, after, effects: later, backlog: left, .. }, newest)) => {
                within(session.batch_execute("RELEASE request")).await??;
                S::then(&mut effects, later);
                backlog = left;
                first = first.or(writes.first_n());
                (subject, head) = (after, newest);
                holds.extend(writes.holds());
                answers[i] = answer.pop().unwrap_or(answers[i].clone());
            }
            Err(Trouble::Lasting(why)) => {
                limited!(error, subject = %S::subject(batch.subject), why, "a request was refused by the database");
                within(session.batch_execute("ROLLBACK TO request")).await??;
            }
            Err(trouble) => return Err(trouble),
        }
    }
    batch.progress.reached(LedgerStep::Decided);
    let committed = vec![Some(Committed { answers, after: subject, holds, effects, backlog })];
    let Some(first) = first else { return ended(session, Tried::Done(committed)).await };
    let written = within(session.batch_execute("COMMIT")).await;
    finish(session, written, Unknown { subject: batch.subject, first, id, committed })
}

/// One command, with the context of its transaction.
struct One<'a, S: PostgresSubject> {
    session: &'a Session,
    portion: Portion<'a, S>,
    before: &'a S,
    read: Reading,
    mark: Mark<'a>,
    head: Option<RowHash>,
}

impl<S: PostgresSubject> One<'_, S> {
    /// The decision, and the newest hash after it.
    async fn run(&self, writer: &mut S::Writer) -> Result<(Decision<S>, Option<RowHash>), Trouble> {
        let One { session, ref portion, before, read, mark, mut head } = *self;
        let portions = std::slice::from_ref(portion);
        let reads = S::reads(session, portions).await?;
        let mut found = within(S::read(&reads, session, portions)).await??;
        if !before.wholly_read(&found, read.now) {
            before.read_rest(&reads, session, portion, &mut found, read.now).await?;
        }
        let known = S::understand(&found, &[(before, portion.aside)])?.remove(&portion.id).unwrap_or_default();
        let portion = Portion { ..*portion };
        let deciding = Deep { reads: &reads, session, portion, before, read };
        let decision = deciding.decide(known, &mut found).await?;
        if !decision.writes.is_empty() {
            let Decision { writes, after, .. } = &decision;
            let chain = before.chain(head, writes, Some(mark.batch));
            head = chain.head;
            let to_write = [DecidedBatch { before, after, writes, now: read.now, chain }];
            S::complete(writer, session, &to_write).await?;
            within(S::write(writer, session, &to_write, mark)).await??;
        }
        Ok((decision, head))
    }
}
