//! One batch: BEGIN, the lock and every read in one round trip; decide; every write and COMMIT in
//! a second one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::future::{try_join, try_join3, try_join4};
use rules::command::Command;
use rules::decide::{self, Answer, Decision};
use rules::event::Event;
use rules::event::{EventEffects, EventKnown};
use rules::outcome::{Outcome, Refusal};
use rules::seats::Hall;
use rules::subject::SubjectId;
use rules::subject::{Subject, Writes};
use rules::time::Moment;
use tokio_postgres::Row;

use super::known::Reads;
use super::resolve::{self, Unknown};
use super::seat_holds::{HoldReads, HoldWrites};
use super::session::{Session, within};
use super::trouble::Trouble;
use super::writes::{Page, Writer};
use super::{Inner, planted, rows};
use crate::ledger::{Batch, Committed, LedgerFault};

/// How one attempt ended.
pub enum Tried<T = Committed<Event>> {
    Done(T),
    NoSuchSubject,
    /// COMMIT was sent, and nobody said how it ended.
    Unknown(Unknown<T>),
}

pub async fn commit(ledger: &Inner, batch: &Batch<Event>) -> Result<Committed<Event>, LedgerFault> {
    let Some(hall) = ledger.hall(batch.subject).await.map_err(Trouble::fault)? else {
        return Err(LedgerFault::NoSuchSubject);
    };
    let only_wanted = batch.commands.iter().all(|command| command.action.wants_a_seat());
    if only_wanted && ledger.hint(batch.subject).finished {
        let refused = refuse(ledger, batch, &hall).await.map_err(Trouble::fault)?;
        if let Some(refused) = refused {
            return Ok(refused);
        }
    }
    let tried = match together(ledger, batch, &hall).await {
        Err(Trouble::Lasting(why)) => {
            tracing::warn!(event = %batch.subject, why, "a batch was refused; its requests run one by one");
            one_by_one(ledger, batch, &hall).await
        }
        other => other,
    };
    let committed = match tried.map_err(Trouble::fault)? {
        Tried::Done(committed) => committed,
        Tried::NoSuchSubject => return Err(LedgerFault::NoSuchSubject),
        Tried::Unknown(unknown) => resolve::resolve(ledger, SubjectId::Event(batch.subject), unknown).await?,
    };
    ledger.learn(&committed.after);
    Ok(committed)
}

/// Without a lock: one snapshot, and if the rules would write nothing on it, its answers stand.
/// Anything free: none, and the lock is taken.
async fn refuse(ledger: &Inner, batch: &Batch<Event>, hall: &Arc<Hall>) -> Result<Option<Committed<Event>>, Trouble> {
    let mut session = ledger.sessions.get().await?;
    let reads = Reads::prepare(&session).await?;
    let hint = ledger.hint(batch.subject);
    let holds = HoldReads::where_wanted(&session, batch, hint.holds).await?;
    session.dirty();
    let begin = session.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    let event = async { session.query_opt(&reads.event, &[&batch.subject.0]).await };
    let known = reads.known(&session, batch.subject, &batch.commands, hint.stock, holds.as_ref());
    let end = session.batch_execute("COMMIT");
    let ((), event, raw, ()) = within(try_join4(begin, event, known, end)).await??;
    session.clean();
    let Some(row) = event else { return Ok(None) };
    let (event, newest) = rows::event(&row, hall.clone())?;
    let now = Moment(row.try_get("ledger_now")?).max(newest);
    ledger.learn(&event);
    if (event.counts.held > 0 && raw.holds.is_none()) || (!event.counts.in_order() && raw.stock.is_none()) {
        return Ok(None);
    }
    let decision = decided(&event, raw.understand(&event)?, &batch.commands, batch, now)?;
    Ok(decision.writes.is_empty().then(|| decision.into()))
}

async fn together(ledger: &Inner, batch: &Batch<Event>, hall: &Arc<Hall>) -> Result<Tried, Trouble> {
    let mut session = ledger.sessions.get().await?;
    let reads = Reads::prepare(&session).await?;
    let writer = Writer::prepare(&session).await?;
    let hint = ledger.hint(batch.subject);
    let holds = HoldReads::where_wanted(&session, batch, hint.holds).await?;
    session.dirty();
    let (row, now, mut raw) = {
        let lock_statement = planted::lock(ledger, &session, &reads).await?;
        let begin = session.batch_execute("BEGIN");
        let lock = async { session.query_opt(&lock_statement, &[&batch.subject.0]).await };
        let now = session.query_one(&reads.now, &[]);
        let known = reads.known(&session, batch.subject, &batch.commands, hint.stock, holds.as_ref());
        let ((), row, now, raw) = within(try_join4(begin, lock, now, known)).await??;
        (row, now, raw)
    };
    let Some(row) = row else { return ended(session, Tried::NoSuchSubject).await };
    let (event, now) = locked(ledger, &row, &now, hall)?;
    if event.counts.held > 0 && raw.holds.is_none() {
        // Another server's holds: read under the same lock, in one more round trip.
        let needs = rules::event::needs(&batch.commands);
        let holds = HoldReads::prepare(&session).await?;
        raw.holds = Some(within(holds.read(&session, batch.subject, &needs)).await??);
    }
    if !event.counts.in_order() && raw.stock.is_none() {
        // What came back or was chosen elsewhere, likewise.
        let needs = rules::event::needs(&batch.commands);
        raw.stock = Some(within(reads.stock(&session, batch.subject, &needs)).await??);
    }
    let decision = decided(&event, raw.understand(&event)?, &batch.commands, batch, now)?;
    let id = uuid::Uuid::new_v4().to_string();
    let Decision { writes, after, .. } = &decision;
    let holds = HoldWrites::where_needed(&session, writes).await?;
    let (key_ttl_ms, batch) = (ledger.key_ttl_ms, &*id);
    let page = Page { before: &event, after, writes, holds: holds.as_ref(), now, key_ttl_ms, batch };
    let Some(first) = writes.history.first().map(|entry| entry.n) else {
        if !writes.is_empty() {
            within(writer.write(&session, &page)).await??;
        }
        return ended(session, Tried::Done(decision.into())).await;
    };
    #[cfg(feature = "planted")]
    if ledger.planted == planted::Bug::AnswerBeforeCommit {
        let after = after.clone();
        let writes = decision.writes.clone();
        let committed = decision.into();
        planted::write_later(session, writer, (event, after), writes, now, id);
        return Ok(Tried::Done(committed));
    }
    let written = within(try_join(writer.write(&session, &page), session.batch_execute("COMMIT"))).await;
    finish(session, written.map(|result| result.map(|_| ())), decision.into(), first, id)
}

/// What the answer to COMMIT, or its absence, says.
pub fn finish<T>(
    mut session: Session,
    written: Result<Result<(), tokio_postgres::Error>, Trouble>,
    committed: T,
    first: u64,
    id: String,
) -> Result<Tried<T>, Trouble> {
    match written {
        Ok(Ok(())) => {
            session.clean();
            Ok(Tried::Done(committed))
        }
        Ok(Err(error)) if Trouble::certain(&error) => Err(error.into()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the connection broke at COMMIT");
            Ok(Tried::Unknown(Unknown { committed, first, id }))
        }
        Err(_) => {
            tracing::warn!("COMMIT was not answered in time");
            Ok(Tried::Unknown(Unknown { committed, first, id }))
        }
    }
}

/// Nothing was written: the transaction only has to let go of its lock.
pub async fn ended<T>(mut session: Session, tried: Tried<T>) -> Result<Tried<T>, Trouble> {
    within(session.batch_execute("COMMIT")).await??;
    session.clean();
    Ok(tried)
}

fn locked(ledger: &Inner, row: &Row, now: &Row, hall: &Arc<Hall>) -> Result<(Event, Moment), Trouble> {
    let (event, newest) = rows::event(row, hall.clone())?;
    let now = Moment(now.try_get(0)?);
    ledger.clock.saw(now);
    // A new primary's clock may be behind: what happened later is not older.
    Ok((event, now.max(newest)))
}

/// A panic in a rule is an error like any other.
fn decided(
    event: &Event,
    known: EventKnown,
    commands: &[Command],
    batch: &Batch<Event>,
    now: Moment,
) -> Result<Decision<Event>, Trouble> {
    catch_unwind(AssertUnwindSafe(|| event.decide(known, commands, &batch.terms, now)))
        .map_err(|_| Trouble::Lasting("a rule panicked".into()))
}

/// Every command in a savepoint of its own, so that only the guilty one fails.
async fn one_by_one(ledger: &Inner, batch: &Batch<Event>, hall: &Arc<Hall>) -> Result<Tried, Trouble> {
    let mut session = ledger.sessions.get().await?;
    let reads = Reads::prepare(&session).await?;
    let writer = Writer::prepare(&session).await?;
    session.dirty();
    let (row, now) = {
        let begin = session.batch_execute("BEGIN");
        let lock_statement = planted::lock(ledger, &session, &reads).await?;
        let lock = async { session.query_opt(&lock_statement, &[&batch.subject.0]).await };
        let now = session.query_one(&reads.now, &[]);
        let ((), row, now) = within(try_join3(begin, lock, now)).await??;
        (row, now)
    };
    let Some(row) = row else { return ended(session, Tried::NoSuchSubject).await };
    let (mut event, now) = locked(ledger, &row, &now, hall)?;
    let id = uuid::Uuid::new_v4().to_string();
    let (mut first, mut effects, mut holds) = (None, EventEffects::default(), Vec::new());
    let mut answers: Vec<Answer> = vec![Outcome::from(Refusal::Internal).into(); batch.commands.len()];
    for i in decide::order(&batch.commands) {
        let command = std::slice::from_ref(&batch.commands[i]);
        within(session.batch_execute("SAVEPOINT request")).await??;
        let alone = alone(ledger, &session, &reads, &writer, &event, command, batch, now, &id).await;
        match alone {
            Ok(Decision { answers: mut answer, writes, after, effects: more }) => {
                Event::then(&mut effects, more);
                within(session.batch_execute("RELEASE request")).await??;
                first = first.or(writes.first_n());
                event = after;
                holds.extend(writes.holds());
                answers[i] = answer.pop().unwrap_or(answers[i].clone());
            }
            Err(Trouble::Lasting(why)) => {
                tracing::error!(event = %batch.subject, why, "a request was refused by the database");
                within(session.batch_execute("ROLLBACK TO request")).await??;
            }
            Err(trouble) => return Err(trouble),
        }
    }
    let committed = Committed { answers, after: event, holds, effects };
    let Some(first) = first else { return ended(session, Tried::Done(committed)).await };
    let written = within(session.batch_execute("COMMIT")).await;
    finish(session, written, committed, first, id)
}

#[expect(clippy::too_many_arguments, reason = "one request of a batch, with everything that the batch has")]
async fn alone(
    ledger: &Inner,
    session: &Session,
    reads: &Reads,
    writer: &Writer,
    event: &Event,
    command: &[Command],
    batch: &Batch<Event>,
    now: Moment,
    id: &str,
) -> Result<Decision<Event>, Trouble> {
    let holds = HoldReads::where_wanted(session, batch, event.counts.held > 0).await?;
    let raw = within(reads.known(session, batch.subject, command, !event.counts.in_order(), holds.as_ref())).await??;
    let decision = decided(event, raw.understand(event)?, command, batch, now)?;
    if !decision.writes.is_empty() {
        let Decision { writes, after, .. } = &decision;
        let holds = HoldWrites::where_needed(session, writes).await?;
        let (key_ttl_ms, batch) = (ledger.key_ttl_ms, id);
        let page = Page { before: event, after, writes, holds: holds.as_ref(), now, key_ttl_ms, batch };
        within(writer.write(session, &page)).await??;
    }
    Ok(decision)
}
