//! One batch of a room type: BEGIN, the lock and every read in one round trip; decide; every write
//! and COMMIT in a second one. The same shape as a batch of an event.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::future::{try_join, try_join3, try_join4};
use rules::decide::Answer;
use rules::nights::Night;
use rules::outcome::{Outcome, Refusal};
use rules::stays::decide::{self, Decision, Known};
use rules::stays::{Command, NightRow, RoomType};
use rules::subject::Subject;
use rules::time::Moment;
use tokio_postgres::Row;

use super::super::batch::{Tried, ended, finish};
use super::super::session::{Session, within};
use super::super::trouble::Trouble;
use super::super::{Inner, planted, resolve};
use super::known::Reads;
use super::room_type;
use super::writes::{Page, Writer};
use crate::ledger::Fault;
use crate::ledger::rooms::{RoomBatch, RoomsCommitted};

type Nights = HashMap<Night, NightRow>;

pub async fn commit(ledger: &Inner, batch: &RoomBatch) -> Result<RoomsCommitted, Fault> {
    let early = planted::nights_before_lock(ledger, batch).await.map_err(Trouble::fault)?;
    let tried = match together(ledger, batch, early.as_ref()).await {
        Err(Trouble::Lasting(why)) => {
            tracing::warn!(room_type = %batch.room_type, why, "a batch was refused; its requests run one by one");
            one_by_one(ledger, batch, early.as_ref()).await
        }
        other => other,
    };
    match tried.map_err(Trouble::fault)? {
        Tried::Done(committed) => Ok(committed),
        Tried::NoSuchEvent => Err(Fault::NoSuchEvent),
        Tried::Unknown(unknown) => resolve::resolve(ledger, Subject::RoomType(batch.room_type), unknown).await,
    }
}

async fn together(ledger: &Inner, batch: &RoomBatch, early: Option<&Nights>) -> Result<Tried<RoomsCommitted>, Trouble> {
    let mut session = ledger.sessions.get().await?;
    let reads = Reads::prepare(&session).await?;
    let writer = Writer::prepare(&session).await?;
    session.dirty();
    let now = planted::room_now(ledger, &session, &reads).await?;
    let (row, now, raw) = {
        let begin = session.batch_execute("BEGIN");
        let lock = async { session.query_opt(&reads.lock, &[&batch.room_type.0]).await };
        let now = session.query_one(&now, &[]);
        let known = reads.known(&session, batch.room_type, &batch.commands);
        let ((), row, now, raw) = within(try_join4(begin, lock, now, known)).await??;
        (row, now, raw)
    };
    let Some(row) = row else { return ended(session, Tried::NoSuchEvent).await };
    let (before, now) = locked(ledger, &row, &now)?;
    let known = planted::seen(raw.understand()?, early);
    let Decision { answers, writes, after } = decided(&before, known, &batch.commands, batch, now)?;
    let first = writes.history.first().map(|entry| entry.n);
    let Some(first) = first else {
        let committed = RoomsCommitted { answers, room_type: after, holds: Vec::new() };
        return ended(session, Tried::Done(committed)).await;
    };
    let id = uuid::Uuid::new_v4().to_string();
    let page = Page { before: &before, after: &after, writes: &writes, now, key_ttl_ms: ledger.key_ttl_ms, batch: &id };
    let written = within(try_join(writer.write(&session, &page), session.batch_execute("COMMIT"))).await;
    let holds = writes.changed.into_iter().chain(writes.begun).collect();
    let committed = RoomsCommitted { answers, room_type: after, holds };
    finish(session, written.map(|result| result.map(|_| ())), committed, first, id)
}

fn locked(ledger: &Inner, row: &Row, now: &Row) -> Result<(RoomType, Moment), Trouble> {
    let (room_type, newest) = room_type(row, 0)?;
    let now = Moment(now.try_get(0)?);
    ledger.clock.saw(now);
    // A new primary's clock may be behind: what happened later is not older.
    Ok((room_type, now.max(newest)))
}

/// A panic in a rule is an error like any other.
fn decided(
    before: &RoomType,
    known: Known,
    commands: &[Command],
    batch: &RoomBatch,
    now: Moment,
) -> Result<Decision, Trouble> {
    catch_unwind(AssertUnwindSafe(|| decide::decide(before, known, commands, &batch.terms, now)))
        .map_err(|_| Trouble::Lasting("a rule panicked".into()))
}

/// Every command in a savepoint of its own, so that only the guilty one fails.
async fn one_by_one(
    ledger: &Inner,
    batch: &RoomBatch,
    early: Option<&Nights>,
) -> Result<Tried<RoomsCommitted>, Trouble> {
    let mut session = ledger.sessions.get().await?;
    let reads = Reads::prepare(&session).await?;
    let writer = Writer::prepare(&session).await?;
    session.dirty();
    let (row, now) = {
        let begin = session.batch_execute("BEGIN");
        let lock = async { session.query_opt(&reads.lock, &[&batch.room_type.0]).await };
        let now = session.query_one(&reads.now, &[]);
        let ((), row, now) = within(try_join3(begin, lock, now)).await??;
        (row, now)
    };
    let Some(row) = row else { return ended(session, Tried::NoSuchEvent).await };
    let (mut room_type, now) = locked(ledger, &row, &now)?;
    let id = uuid::Uuid::new_v4().to_string();
    let (mut first, mut holds) = (None, Vec::new());
    let mut answers: Vec<Answer> = vec![Outcome::from(Refusal::Internal).into(); batch.commands.len()];
    for i in decide::order(&batch.commands) {
        within(session.batch_execute("SAVEPOINT request")).await??;
        let one = One { ledger, session: &session, reads: &reads, writer: &writer, batch, early, now, id: &id };
        match one.alone(&room_type, &batch.commands[i]).await {
            Ok(Decision { answers: mut answer, writes, after }) => {
                within(session.batch_execute("RELEASE request")).await??;
                first = first.or(writes.history.first().map(|entry| entry.n));
                room_type = after;
                holds.extend(writes.changed.into_iter().chain(writes.begun));
                answers[i] = answer.pop().unwrap_or(answers[i].clone());
            }
            Err(Trouble::Lasting(why)) => {
                tracing::error!(room_type = %batch.room_type, why, "a request was refused by the database");
                within(session.batch_execute("ROLLBACK TO request")).await??;
            }
            Err(trouble) => return Err(trouble),
        }
    }
    let committed = RoomsCommitted { answers, room_type, holds };
    let Some(first) = first else { return ended(session, Tried::Done(committed)).await };
    let written = within(session.batch_execute("COMMIT")).await;
    finish(session, written, committed, first, id)
}

/// One request of a batch, with everything that the batch has.
struct One<'a> {
    ledger: &'a Inner,
    session: &'a Session,
    reads: &'a Reads,
    writer: &'a Writer,
    batch: &'a RoomBatch,
    early: Option<&'a Nights>,
    now: Moment,
    id: &'a str,
}

impl One<'_> {
    async fn alone(&self, before: &RoomType, command: &Command) -> Result<Decision, Trouble> {
        let command = std::slice::from_ref(command);
        let raw = within(self.reads.known(self.session, before.id, command)).await??;
        let decision = decided(before, planted::seen(raw.understand()?, self.early), command, self.batch, self.now)?;
        if !decision.writes.is_empty() {
            let Decision { writes, after, .. } = &decision;
            let (now, key_ttl_ms, batch) = (self.now, self.ledger.key_ttl_ms, self.id);
            let page = Page { before, after, writes, now, key_ttl_ms, batch };
            within(self.writer.write(self.session, &page)).await??;
        }
        Ok(decision)
    }
}
