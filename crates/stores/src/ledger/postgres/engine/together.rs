//! One transaction for the batches of one or several subjects.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::future::{try_join, try_join4};
use rules::command::{Command, Terms};
use rules::decide::Decision;
use rules::event::SEATS_PER_EVENT;
use rules::event::stock::WALK_MOST;
use rules::subject::Writes;
use rules::time::{Moment, Reading};
use tokio_postgres::{Error, Row};

use super::super::session::{Session, within};
use super::super::trouble::Trouble;
use super::super::{Inner, planted, queries};
use super::resolve::Unknown;
use super::{DecidedBatch, Each, Mark, Portion, PostgresSubject, PreparedBatch, Tried};
use crate::chain::RowHash;
use crate::ledger::{Committed, DEEPER, LedgerStep};
use crate::limited;

/// How the rows of subjects are locked.
#[derive(Clone, Copy)]
pub enum Lock {
    /// One subject: wait for the row lock.
    Wait,
    /// Several subjects, with this statement: skip rows that are already locked.
    IfFree(&'static str),
}

pub async fn together<S: PostgresSubject>(
    ledger: &Inner,
    all: &[PreparedBatch<S>],
    lock: Lock,
) -> Result<Tried<S>, Trouble> {
    let portions: Vec<Portion<'_, S>> = all.iter().map(PreparedBatch::portion).collect();
    let mut session = ledger.sessions.get().await?;
    let reads = S::reads(&session, &portions).await?;
    let mut writer = S::writer(&session).await?;
    let statements = Locking::prepare::<S>(ledger, &session, lock).await?;
    session.dirty();
    let begin = begin(all.iter().find_map(|one| one.batch.traceparent.as_deref()));
    let (rows, now, mut found) = {
        let begin = session.batch_execute(&begin);
        let locked = statements.lock(&session, &portions);
        let now = session.query_one(&statements.now, &[]);
        let found = S::read(&reads, &session, &portions);
        let ((), rows, now, found) = within(try_join4(begin, locked, now, found)).await??;
        (rows, now, found)
    };
    if rows.is_empty() {
        let nothing = if matches!(lock, Lock::Wait) { Tried::NoSuchSubject } else { Tried::NoneFree };
        return ended(session, nothing).await;
    }
    let mut before = HashMap::with_capacity(rows.len());
    for row in &rows {
        let id: i64 = row.try_get(0)?;
        let Some(prepared) = all.iter().find(|one| S::row_id(one.batch.subject) == id) else { continue };
        let (subject, read) = locked::<S>(ledger, row, &now, &prepared.aside)?;
        let head = chain_head(row)?;
        if !subject.wholly_read(&found, read.now) {
            subject.read_rest(&reads, &session, &prepared.portion(), &mut found, read.now).await?;
        }
        before.insert(prepared.batch.subject, (subject, read, &prepared.aside, head));
    }
    let seen: Vec<(&S, &S::Aside)> = before.values().map(|(subject, _, aside, _)| (subject, *aside)).collect();
    let mut known = S::understand(&found, &seen)?;
    let mut decisions = Vec::with_capacity(all.len());
    for prepared in all {
        let id = prepared.batch.subject;
        let Some((before, read, ..)) = before.get(&id) else {
            decisions.push(None);
            continue;
        };
        prepared.batch.progress.reached(LedgerStep::Admitted);
        let known = known.remove(&id).unwrap_or_default();
        let portion = prepared.portion();
        let deciding = Deep { reads: &reads, session: &session, portion, before, read: *read };
        decisions.push(Some(deciding.decide(known, &mut found).await?));
        prepared.batch.progress.reached(LedgerStep::Decided);
    }
    let id = uuid::Uuid::new_v4().to_string();
    let mark = Mark { batch: &id };
    let to_write: Vec<DecidedBatch<'_, S>> = decisions
        .iter()
        .flatten()
        .filter(|decision| !decision.writes.is_empty())
        .filter_map(|Decision { writes, after, .. }| {
            let (before, read, _, head) = before.get(&after.id())?;
            let chain = before.chain(*head, writes, Some(mark.batch));
            Some(DecidedBatch { before, after, writes, now: read.now, chain })
        })
        .collect();
    S::complete(&mut writer, &session, &to_write).await?;
    let first = to_write.iter().find_map(|decided| Some((decided.before.id(), decided.writes.first_n()?)));
    let Some((subject, first)) = first else {
        if !to_write.is_empty() {
            within(S::write(&writer, &session, &to_write, mark)).await??;
        }
        drop(to_write);
        return ended(session, Tried::Done(each(decisions))).await;
    };
    #[cfg(feature = "planted")]
    if ledger.planted == planted::PlantedBug::AnswerBeforeCommit {
        planted::write_later(session, writer, &to_write, mark);
        drop(to_write);
        return Ok(Tried::Done(each(decisions)));
    }
    let writing = S::write(&writer, &session, &to_write, mark);
    let written = within(try_join(writing, session.batch_execute("COMMIT"))).await;
    drop(to_write);
    let unknown = Unknown { subject, first, id, committed: each(decisions) };
    finish(session, written.map(|result| result.map(drop)), unknown)
}

/// Begins a transaction. If it is traced, its span is set as `application_name`, visible in `pg_stat_activity` and in
/// PostgreSQL's log (`%a`). It is sent with BEGIN, so it costs no round trip, and ends with the transaction.
pub fn begin(traceparent: Option<&str>) -> Cow<'static, str> {
    let plain = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    match traceparent.filter(plain) {
        None => Cow::Borrowed("BEGIN"),
        Some(span) => Cow::Owned(format!("BEGIN; SET LOCAL application_name = '{span}'")),
    }
}

/// Decides a batch with what was read, or reads more if that is too little.
pub struct Deep<'a, S: PostgresSubject> {
    pub reads: &'a S::Reads,
    pub session: &'a Session,
    pub portion: Portion<'a, S>,
    pub before: &'a S,
    pub read: Reading,
}

impl<S: PostgresSubject> Deep<'_, S> {
    pub async fn decide(&self, known: S::Known, found: &mut S::Found) -> Result<Decision<S>, Trouble> {
        let Deep { reads, session, portion, before, read } = self;
        let mut decision = decided(*before, known, portion.commands, &portion.terms, *read)?;
        let mut depth = WALK_MOST;
        while decision.short && depth < SEATS_PER_EVENT as usize {
            depth *= DEEPER;
            before.read_deeper(reads, session, portion, found, depth).await?;
            let known = S::understand(found, &[(before, portion.aside)])?.remove(&portion.id).unwrap_or_default();
            decision = decided(*before, known, portion.commands, &portion.terms, *read)?;
        }
        Ok(decision)
    }
}

fn each<S: PostgresSubject>(decisions: Vec<Option<Decision<S>>>) -> Each<S> {
    decisions.into_iter().map(|decision| decision.map(Committed::from)).collect()
}

/// The statements at the beginning of every transaction.
pub struct Locking {
    lock: Lock,
    statement: tokio_postgres::Statement,
    pub now: tokio_postgres::Statement,
}

impl Locking {
    pub async fn prepare<S: PostgresSubject>(
        ledger: &Inner,
        session: &Session,
        lock: Lock,
    ) -> Result<Locking, Trouble> {
        let query = match lock {
            Lock::Wait => planted::lock(ledger, S::LOCK),
            Lock::IfFree(query) => query,
        };
        let statement = session.prepared(query).await?;
        Ok(Locking { lock, statement, now: session.prepared(planted::now(ledger, queries::NOW)).await? })
    }

    pub async fn lock<S: PostgresSubject>(
        &self,
        session: &Session,
        portions: &[Portion<'_, S>],
    ) -> Result<Vec<Row>, Error> {
        let ids: Vec<i64> = portions.iter().map(|portion| S::row_id(portion.id)).collect();
        match self.lock {
            Lock::Wait => session.query(&self.statement, &[&ids[0]]).await,
            Lock::IfFree(_) => session.query(&self.statement, &[&ids]).await,
        }
    }
}

/// A subject as read from its locked row, and the time.
pub fn locked<S: PostgresSubject>(
    ledger: &Inner,
    row: &Row,
    now: &Row,
    aside: &S::Aside,
) -> Result<(S, Reading), Trouble> {
    let (subject, newest) = S::of_row(row, aside)?;
    let wall = Moment(now.try_get(0)?);
    ledger.clock.saw(wall);
    Ok((subject, no_older_than(newest, wall)))
}

/// The newest hash of a locked subject's history.
pub fn chain_head(row: &Row) -> Result<Option<RowHash>, Trouble> {
    let head: Option<&[u8]> = row.try_get("head")?;
    let another = |_| Trouble::Broken("a hash of another length".into());
    head.map(|head| RowHash::try_from(head).map_err(another)).transpose()
}

/// The database's wall clock may have been set back, or that of a new primary may be behind. The time of a batch is
/// therefore never earlier than the newest time in the subject's row. Opening times still use the wall clock.
pub fn no_older_than(newest: Moment, wall: Moment) -> Reading {
    Reading { now: wall.max(newest), wall }
}

/// A panic in a rule is handled like any other error.
pub fn decided<S: PostgresSubject>(
    subject: &S,
    known: S::Known,
    commands: &[Command<S>],
    terms: &Terms,
    read: Reading,
) -> Result<Decision<S>, Trouble> {
    catch_unwind(AssertUnwindSafe(|| subject.decide(known, commands, terms, read)))
        .map_err(|_| Trouble::Lasting("a rule panicked".into()))
}

/// Classifies the reply to COMMIT, or its absence.
pub fn finish<S: PostgresSubject>(
    mut session: Session,
    written: Result<Result<(), Error>, Trouble>,
    unknown: Unknown<S>,
) -> Result<Tried<S>, Trouble> {
    match written {
        Ok(Ok(())) => {
            session.clean();
            Ok(Tried::Done(unknown.committed))
        }
        Ok(Err(error)) if Trouble::certain(&error) => Err(error.into()),
        Ok(Err(error)) => {
            limited!(warn, %error, "the connection broke at COMMIT");
            Ok(Tried::Unknown(unknown))
        }
        Err(_) => {
            limited!(warn, "COMMIT was not answered in time");
            Ok(Tried::Unknown(unknown))
        }
    }
}

/// Everything was answered already, or nothing was written: the transaction only has to release its row lock.
pub async fn ended<S: PostgresSubject>(mut session: Session, tried: Tried<S>) -> Result<Tried<S>, Trouble> {
    within(session.batch_execute("COMMIT")).await??;
    session.clean();
    Ok(tried)
}
