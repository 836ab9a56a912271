//! One transaction for the batches of one or several room types: BEGIN, the locks and every read in one
//! round trip; decide; every write and COMMIT in a second one. The same shape as a batch of an event.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::future::{try_join, try_join3, try_join4};
use rules::decide::{self, Answer, Decision};
use rules::nights::Night;
use rules::outcome::{Outcome, Refusal};
use rules::stays::RoomTypeKnown;
use rules::stays::{NightRow, RoomCommand, RoomType};
use rules::subject::{RoomTypeId, Subject, SubjectId, Writes};
use rules::time::Moment;
use tokio_postgres::Row;

use super::super::batch::{Tried, ended, finish};
use super::super::session::{Session, within};
use super::super::trouble::Trouble;
use super::super::{Inner, planted, resolve};
use super::known::{Asked, Reads};
use super::room_type;
use super::writes::{Page, Writer};
use crate::ledger::LedgerFault;
use crate::ledger::{Batch, Committed};

type Nights = HashMap<Night, NightRow>;

/// A batch, and nights that were seen before its lock was had: only where that bug is planted.
pub struct Wanted {
    pub batch: Batch<RoomType>,
    pub early: Option<Nights>,
}

/// How the rows of room types are locked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Of one room type: waited for.
    Wait,
    /// What somebody else has is left out.
    IfFree,
}

/// One room type alone: its lock is waited for, and if its batch is refused, its requests run one by
/// one.
pub async fn commit(ledger: &Inner, wanted: &Wanted) -> Result<Committed<RoomType>, LedgerFault> {
    let batch = &wanted.batch;
    let tried = match together(ledger, std::slice::from_ref(wanted), Lock::Wait).await {
        Err(Trouble::Lasting(why)) => {
            tracing::warn!(room_type = %batch.subject, why, "a batch was refused; its requests run one by one");
            one_by_one(ledger, wanted).await
        }
        other => other.map(|(_, tried)| tried),
    };
    let mut committed = match tried.map_err(Trouble::fault)? {
        Tried::Done(committed) => committed,
        Tried::NoSuchSubject => return Err(LedgerFault::NoSuchSubject),
        Tried::Unknown(unknown) => resolve::resolve(ledger, SubjectId::RoomType(batch.subject), unknown).await?,
    };
    committed.pop().flatten().ok_or(LedgerFault::NoSuchSubject)
}

/// For each batch what was committed, or none if its row was not to be had.
type Each = Vec<Option<Committed<RoomType>>>;

/// Batches of different room types in one transaction, and a subject that it wrote: what happened to
/// that one happened to all.
pub async fn together(ledger: &Inner, all: &[Wanted], lock: Lock) -> Result<(SubjectId, Tried<Each>), Trouble> {
    let ids: Vec<i64> = all.iter().map(|one| one.batch.subject.0).collect();
    let asked: Vec<Asked<'_>> = all.iter().map(|one| (one.batch.subject, one.batch.commands.as_slice())).collect();
    let mut subject = SubjectId::RoomType(RoomTypeId(ids[0]));
    let mut session = ledger.sessions.get().await?;
    let reads = Reads::prepare(&session).await?;
    let writer = Writer::prepare(&session).await?;
    session.dirty();
    let now = planted::room_now(ledger, &session, &reads).await?;
    let (rows, now, raw) = {
        let begin = session.batch_execute("BEGIN");
        let lock = async {
            match lock {
                Lock::Wait => session.query(&reads.lock, &[&ids[0]]).await,
                Lock::IfFree => session.query(&reads.lock_free, &[&ids]).await,
            }
        };
        let now = session.query_one(&now, &[]);
        let ((), rows, now, raw) = within(try_join4(begin, lock, now, reads.known(&session, &asked))).await??;
        (rows, now, raw)
    };
    if rows.is_empty() {
        return Ok((subject, ended(session, Tried::NoSuchSubject).await?));
    }
    let (mut known, mut before) = (raw.understand()?, HashMap::with_capacity(rows.len()));
    for row in &rows {
        let (room_type, now) = locked(ledger, row, &now)?;
        before.insert(room_type.id, (room_type, now));
    }
    let mut decisions = Vec::with_capacity(all.len());
    for Wanted { batch, early } in all {
        let decision = before.get(&batch.subject).map(|(before, now)| {
            let known = planted::seen(known.remove(&batch.subject).unwrap_or_default(), early.as_ref());
            decided(before, known, &batch.commands, batch, *now)
        });
        decisions.push(decision.transpose()?);
    }
    let pages: Vec<Page<'_>> = decisions
        .iter()
        .flatten()
        .filter(|decision| !decision.writes.is_empty())
        .filter_map(|Decision { writes, after, .. }| {
            before.get(&after.id).map(|(before, now)| Page { before, after, writes, now: *now })
        })
        .collect();
    let Some((first, n)) = pages.first().and_then(|page| Some((page.before.id, page.writes.history.first()?.n))) else {
        let each = decisions.into_iter().map(|decision| decision.map(Committed::from)).collect();
        return Ok((subject, ended(session, Tried::Done(each)).await?));
    };
    subject = SubjectId::RoomType(first);
    let id = uuid::Uuid::new_v4().to_string();
    let writing = writer.write(&session, &pages, ledger.key_ttl_ms, &id);
    let written = within(try_join(writing, session.batch_execute("COMMIT"))).await;
    drop(pages);
    let each = decisions.into_iter().map(|decision| decision.map(Committed::from)).collect();
    Ok((subject, finish(session, written.map(|result| result.map(|_| ())), each, n, id)?))
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
    known: RoomTypeKnown,
    commands: &[RoomCommand],
    batch: &Batch<RoomType>,
    now: Moment,
) -> Result<Decision<RoomType>, Trouble> {
    catch_unwind(AssertUnwindSafe(|| before.decide(known, commands, &batch.terms, now)))
        .map_err(|_| Trouble::Lasting("a rule panicked".into()))
}

/// Every command in a savepoint of its own, so that only the guilty one fails.
async fn one_by_one(ledger: &Inner, Wanted { batch, early }: &Wanted) -> Result<Tried<Each>, Trouble> {
    let mut session = ledger.sessions.get().await?;
    let reads = Reads::prepare(&session).await?;
    let writer = Writer::prepare(&session).await?;
    session.dirty();
    let (row, now) = {
        let begin = session.batch_execute("BEGIN");
        let lock = async { session.query_opt(&reads.lock, &[&batch.subject.0]).await };
        let now = session.query_one(&reads.now, &[]);
        let ((), row, now) = within(try_join3(begin, lock, now)).await??;
        (row, now)
    };
    let Some(row) = row else { return ended(session, Tried::NoSuchSubject).await };
    let (mut room_type, now) = locked(ledger, &row, &now)?;
    let id = uuid::Uuid::new_v4().to_string();
    let (mut first, mut holds) = (None, Vec::new());
    let mut answers: Vec<Answer> = vec![Outcome::from(Refusal::Internal).into(); batch.commands.len()];
    for i in decide::order(&batch.commands) {
        within(session.batch_execute("SAVEPOINT request")).await??;
        let one = One {
            ledger,
            session: &session,
            reads: &reads,
            writer: &writer,
            batch,
            early: early.as_ref(),
            now,
            id: &id,
        };
        match one.alone(&room_type, &batch.commands[i]).await {
            Ok(Decision { answers: mut answer, writes, after, effects: () }) => {
                within(session.batch_execute("RELEASE request")).await??;
                first = first.or(writes.first_n());
                room_type = after;
                holds.extend(writes.holds());
                answers[i] = answer.pop().unwrap_or(answers[i].clone());
            }
            Err(Trouble::Lasting(why)) => {
                tracing::error!(room_type = %batch.subject, why, "a request was refused by the database");
                within(session.batch_execute("ROLLBACK TO request")).await??;
            }
            Err(trouble) => return Err(trouble),
        }
    }
    let committed = vec![Some(Committed { answers, after: room_type, holds, effects: () })];
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
    batch: &'a Batch<RoomType>,
    early: Option<&'a Nights>,
    now: Moment,
    id: &'a str,
}

impl One<'_> {
    async fn alone(&self, before: &RoomType, command: &RoomCommand) -> Result<Decision<RoomType>, Trouble> {
        let command = std::slice::from_ref(command);
        let raw = within(self.reads.known(self.session, &[(before.id, command)])).await??;
        let known = planted::seen(raw.understand()?.remove(&before.id).unwrap_or_default(), self.early);
        let decision = decided(before, known, command, self.batch, self.now)?;
        if !decision.writes.is_empty() {
            let Decision { writes, after, .. } = &decision;
            let page = Page { before, after, writes, now: self.now };
            within(self.writer.write(self.session, &[page], self.ledger.key_ttl_ms, self.id)).await??;
        }
        Ok(decision)
    }
}
