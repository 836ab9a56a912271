//! One batch of any subject in an open transaction: read, decide with the rules, write.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rules::command::{Command, Terms};
use rules::decide::{self, Answer, Decision};
use rules::event::SEATS_PER_EVENT;
use rules::event::stock::WALK_MOST;
use rules::history::RequestOrigin;
use rules::holds::Backlog;
use rules::outcome::{Outcome, Refusal};
use rules::subject::Writes;
use rules::time::Moment;
use rusqlite::{Connection, Error, Result};

use super::job::{Care, Job, JobReply, LockTries, Transaction};
use super::many::Parameters;
use super::{SqliteLedger, trouble};
use crate::chain::{Chain, ChainedSubject, Link};
use crate::ledger::halls::HallCache;
use crate::ledger::{Answered, Batch, Commit, Committed, DEEPER, LedgerFault, LedgerStep};
use crate::limited;

/// The lanes withdraw their requests long before. Other callers, such as tests, get a fault after this long.
const BATCH_WAITS: Duration = Duration::from_secs(10);

/// How a subject is found, read and written in SQLite.
pub trait SqliteSubject: ChainedSubject {
    /// The newest hash of its history, by its id.
    const HEAD: &'static str;

    fn row_id(id: Self::Id) -> i64;

    fn find(conn: &Connection, halls: &HallCache, id: Self::Id) -> Result<Option<Self>>;

    /// What must be read to decide these commands. A search for free stock passes at most `depth` rows.
    fn read(&self, conn: &Connection, asked: &Asked<'_, Self>, depth: usize) -> Result<Self::Known>;

    /// Writes the decision, from `self` to `after`.
    fn write(&self, conn: &Connection, after: &Self, writes: &Self::Writes, chain: &Chain, now: Moment) -> Result<()>;
}

/// The commands of a batch, with the settings and the time for deciding them.
pub struct Asked<'a, S: SqliteSubject> {
    pub commands: &'a [Command<S>],
    pub terms: &'a Terms,
    pub now: Moment,
}

impl<S: SqliteSubject> Commit<S> for SqliteLedger {
    fn commit(&self, batch: Batch<S>) -> Answered<Committed<S>> {
        self.ask(|reply| Box::new(BatchJob { batch, done: None, reply, tries: LockTries::default() }))
    }
}

/// A batch on its way through the writer. While the database is locked its commands stay open, so that its caller can
/// withdraw the late ones.
struct BatchJob<S: SqliteSubject> {
    batch: Batch<S>,
    done: Option<Committed<S>>,
    reply: JobReply<Committed<S>>,
    tries: LockTries,
}

impl<S: SqliteSubject> Job for BatchJob<S> {
    fn perform(&mut self, transaction: &Transaction<'_>) -> Result<()> {
        if let Some(left) = self.batch.open.close() {
            self.batch.commands = Arc::new(left);
        }
        self.done = match transaction.care {
            Care::None => together(transaction, &self.batch)?,
            Care::EachAlone => with_savepoint(transaction, &self.batch)?,
        };
        Ok(())
    }

    fn keeps_waiting(&mut self) -> bool {
        self.batch.open.open(&self.batch.commands);
        !self.batch.open.nothing_left() && self.tries.again(BATCH_WAITS)
    }

    fn tell(self: Box<Self>) {
        let _ = self.reply.send(self.done.ok_or(LedgerFault::NoSuchSubject));
    }

    fn refuse(self: Box<Self>, fault: LedgerFault) {
        let _ = self.reply.send(Err(fault));
    }
}

/// Runs a batch in a savepoint. If the database rejects the writes permanently, every command runs alone, so that only
/// the failing one is refused.
fn with_savepoint<S: SqliteSubject>(transaction: &Transaction<'_>, batch: &Batch<S>) -> Result<Option<Committed<S>>> {
    match within_savepoint(transaction.conn, || together(transaction, batch)) {
        Err(error) if trouble::lasting(&error) => {
            limited!(warn, subject = %S::subject(batch.subject), %error, "a batch was refused; its requests run one by one");
            one_by_one(transaction, batch)
        }
        other => other,
    }
}

fn one_by_one<S: SqliteSubject>(transaction: &Transaction<'_>, batch: &Batch<S>) -> Result<Option<Committed<S>>> {
    let mut answers: Vec<Answer> = vec![Outcome::from(Refusal::Internal).into(); batch.commands.len()];
    let (mut holds, mut effects, mut backlog) = (Vec::new(), S::Effects::default(), Backlog::None);
    for i in decide::order(&batch.commands) {
        let commands = Arc::new(vec![batch.commands[i].clone()]);
        let alone = Batch { commands, ..batch.clone() };
        match within_savepoint(transaction.conn, || together(transaction, &alone)) {
            Ok(Some(mut committed)) => {
                answers[i] = committed.answers.pop().unwrap_or(answers[i].clone());
                holds.append(&mut committed.holds);
                S::then(&mut effects, committed.effects);
                backlog = committed.backlog;
            }
            Ok(None) => return Ok(None),
            Err(error) if trouble::lasting(&error) => {
                limited!(error, subject = %S::subject(batch.subject), %error, "a request was refused by the database");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(S::find(transaction.conn, transaction.halls, batch.subject)?.map(|after| Committed {
        answers,
        after,
        holds,
        effects,
        backlog,
    }))
}

/// Runs `work` in a savepoint: all of it or none.
fn within_savepoint<T>(conn: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    conn.prepare_cached("SAVEPOINT step")?.execute([])?;
    let result = work();
    // Some errors roll back the whole transaction; then there is no savepoint to roll back to.
    if result.is_err() && !conn.is_autocommit() {
        conn.prepare_cached("ROLLBACK TO step")?.execute([])?;
    }
    if !conn.is_autocommit() {
        conn.prepare_cached("RELEASE step")?.execute([])?;
    }
    result
}

/// Runs a batch without a savepoint. A panic in a rule is handled like any other error, so that the writer keeps
/// running.
fn together<S: SqliteSubject>(transaction: &Transaction<'_>, batch: &Batch<S>) -> Result<Option<Committed<S>>> {
    catch_unwind(AssertUnwindSafe(|| read_decide_write(transaction, batch)))
        .unwrap_or_else(|_| Err(Error::ToSqlConversionFailure("a rule panicked".into())))
}

fn read_decide_write<S: SqliteSubject>(
    transaction: &Transaction<'_>,
    batch: &Batch<S>,
) -> Result<Option<Committed<S>>> {
    let Transaction { conn, halls, read, .. } = *transaction;
    let Some(before) = S::find(conn, halls, batch.subject)? else { return Ok(None) };
    let mut depth = WALK_MOST;
    let asked = Asked { commands: &batch.commands, terms: &batch.terms, now: read.now };
    let decide = |depth| -> Result<Decision<S>> {
        let known = before.read(conn, &asked, depth)?;
        batch.progress.reached(LedgerStep::Admitted);
        Ok(before.decide(known, &batch.commands, &batch.terms, read))
    };
    let mut decision = decide(depth)?;
    while decision.short && depth < SEATS_PER_EVENT as usize {
        depth *= DEEPER;
        decision = decide(depth)?;
    }
    batch.progress.reached(LedgerStep::Decided);
    if !decision.writes.is_empty() {
        let head = conn.prepare_cached(S::HEAD)?.query_row([S::row_id(batch.subject)], |row| row.get(0))?;
        let chain = before.chain(head, &decision.writes, None);
        before.write(conn, &decision.after, &decision.writes, &chain, read.now)?;
    }
    Ok(Some(decision.into()))
}

/// A guarded write that changed anything but its one row means that the rules and the rows disagree.
pub fn exactly_one(changed: usize) -> Result<()> {
    if changed == 1 { Ok(()) } else { Err(Error::StatementChangedRows(changed)) }
}

/// The last columns of the history, the same for every kind of subject.
pub fn give_link(row: &mut Parameters<'_, '_>, origin: &RequestOrigin, link: &Link) -> Result<()> {
    row.give(origin.trace.as_deref())?;
    row.give(link.details.as_deref())?;
    row.give(link.address.as_deref())?;
    row.give(link.salt.as_ref().map(|salt| &salt[..]))?;
    row.give(&link.hash[..])
}
