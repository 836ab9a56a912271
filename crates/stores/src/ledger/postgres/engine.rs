//! One engine for every kind of subject. A batch takes two round trips: BEGIN, the row lock and all reads in the first;
//! all writes and COMMIT in the second.

pub mod gather;
mod one_by_one;
mod resolve;
mod together;
mod unlocked;

use std::collections::HashMap;
use std::sync::Arc;

use rules::command::{Command, Terms};
use rules::subject::Subject;
use rules::time::Moment;
use tokio_postgres::{Error, Row};

use self::gather::Gathering;
use self::resolve::Unknown;
pub(super) use self::together::chain_head;
use self::together::{Lock, together};
use super::session::Session;
use super::trouble::Trouble;
use super::{Inner, PostgresLedger};
use crate::chain::{Chain, ChainedSubject};
use crate::ledger::{Answered, Batch, Commit, Committed, LedgerFault};
use crate::limited;

/// How a kind of subject is found, read and written in PostgreSQL.
pub(super) trait PostgresSubject: ChainedSubject {
    /// Reads one row by its id and locks it, waiting for the row lock. The id is the first column.
    const LOCK: &'static str;

    /// Reads the same row without a lock, and `ledger_now`. None: batches of this kind always take the row lock.
    const UNLOCKED: Option<&'static str> = None;

    /// What is known of a subject before its transaction begins.
    type Aside: Clone + Send + Sync + 'static;
    /// The statements that read. They are prepared before any of them is sent: nothing may come between the parts of a
    /// pipeline.
    type Reads: Send + Sync;
    /// Rows as they were received.
    type Found: Send + Sync;
    /// The statements that write.
    type Writer: Send + Sync + 'static;

    /// The id in the subject's own table.
    fn row_id(id: Self::Id) -> i64;

    /// None: the subject does not exist.
    fn aside(ledger: &Inner, batch: &Batch<Self>) -> impl Future<Output = Result<Option<Self::Aside>, Trouble>> + Send;

    /// The queue in which batches of several subjects wait to share a transaction, for kinds that share one.
    fn gathering(_: &Inner) -> Option<&Gathering<Self>> {
        None
    }

    /// Whether nothing seems to be left for this batch, so that it is first tried without the lock.
    fn seems_refused(_: &PreparedBatch<Self>) -> bool {
        false
    }

    fn reads(
        session: &Session,
        portions: &[Portion<'_, Self>],
    ) -> impl Future<Output = Result<Self::Reads, Trouble>> + Send;

    /// Sends every read at its first poll, so that the reads follow the lock statement in one pipeline.
    fn read(
        reads: &Self::Reads,
        session: &Session,
        portions: &[Portion<'_, Self>],
    ) -> impl Future<Output = Result<Self::Found, Error>> + Send;

    /// A subject's row, and the newest timestamp in it: the clock of another primary may be behind.
    fn of_row(row: &Row, aside: &Self::Aside) -> Result<(Self, Moment), Trouble>;

    /// Called when the row was read: it replaces what was guessed before.
    fn refresh(&self, _: &mut Self::Aside) {}

    /// Whether the row shows that nothing else must be read.
    fn wholly_read(&self, found: &Self::Found, now: Moment) -> bool;

    /// Reads what `wholly_read` misses, under the same row lock.
    fn read_rest(
        &self,
        reads: &Self::Reads,
        session: &Session,
        portion: &Portion<'_, Self>,
        found: &mut Self::Found,
        now: Moment,
    ) -> impl Future<Output = Result<(), Trouble>> + Send;

    /// Reads again for a batch that lacks stock, passing at most `depth` rows.
    fn read_deeper(
        &self,
        _reads: &Self::Reads,
        _session: &Session,
        _portion: &Portion<'_, Self>,
        _found: &mut Self::Found,
        _depth: usize,
    ) -> impl Future<Output = Result<(), Trouble>> + Send {
        async { Ok(()) }
    }

    /// What is known of the locked subjects, for those of which anything is known.
    fn understand(
        found: &Self::Found,
        locked: &[(&Self, &Self::Aside)],
    ) -> Result<HashMap<Self::Id, Self::Known>, Trouble>;

    fn writer(session: &Session) -> impl Future<Output = Result<Self::Writer, Trouble>> + Send;

    /// Prepares statements that only some batches use, before anything is sent.
    fn complete(
        _writer: &mut Self::Writer,
        _session: &Session,
        _decided: &[DecidedBatch<'_, Self>],
    ) -> impl Future<Output = Result<(), Trouble>> + Send {
        async { Ok(()) }
    }

    /// Sends everything at its first poll. Only the first error counts.
    fn write(
        writer: &Self::Writer,
        session: &Session,
        decided: &[DecidedBatch<'_, Self>],
        mark: Mark<'_>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// The last seen state of the subject, for the next guess.
    fn learn(&self, _: &Inner) {}
}

/// A batch, and what was known of its subject before the transaction.
pub struct PreparedBatch<S: PostgresSubject> {
    pub batch: Batch<S>,
    pub aside: S::Aside,
}

impl<S: PostgresSubject> PreparedBatch<S> {
    fn portion(&self) -> Portion<'_, S> {
        let Batch { subject, commands, terms, .. } = &self.batch;
        Portion { id: *subject, commands, terms: *terms, aside: &self.aside }
    }
}

/// What one transaction reads for one subject.
pub struct Portion<'a, S: PostgresSubject> {
    pub id: S::Id,
    pub commands: &'a [Command<S>],
    pub terms: Terms,
    pub aside: &'a S::Aside,
}

/// The decision for one subject, not yet written.
pub struct DecidedBatch<'a, S: Subject> {
    pub before: &'a S,
    pub after: &'a S,
    pub writes: &'a S::Writes,
    pub now: Moment,
    pub chain: Chain,
}

/// What a transaction writes besides the decisions.
#[derive(Clone, Copy)]
pub struct Mark<'a> {
    /// The transaction's own id, written into the first history row of each subject.
    pub batch: &'a str,
}

/// What was committed for each batch of a transaction. None: its row could not be locked.
type Each<S> = Vec<Option<Committed<S>>>;

/// The outcome of one attempt.
enum Tried<S: PostgresSubject> {
    Done(Each<S>),
    NoSuchSubject,
    /// Other transactions have locked all the rows, or the rows do not exist.
    NoneFree,
    /// COMMIT was sent, and its result is unknown.
    Unknown(Unknown<S>),
}

impl<S: PostgresSubject> Commit<S> for PostgresLedger {
    fn commit(&self, batch: Batch<S>) -> Answered<Committed<S>> {
        self.run(|inner| async move {
            let committed = commit(inner.clone(), batch).await;
            inner.failed_write.note(&committed);
            committed
        })
    }
}

async fn commit<S: PostgresSubject>(ledger: Arc<Inner>, batch: Batch<S>) -> Result<Committed<S>, LedgerFault> {
    let aside = S::aside(&ledger, &batch).await.map_err(Trouble::fault)?;
    let prepared = PreparedBatch { batch, aside: aside.ok_or(LedgerFault::NoSuchSubject)? };
    if S::gathering(&ledger).is_some() {
        gather::commit(ledger, prepared).await
    } else {
        alone(&ledger, prepared).await
    }
}

/// One subject alone: it waits for the row lock, and if its batch fails, its commands run one by one.
async fn alone<S: PostgresSubject>(
    ledger: &Inner,
    mut prepared: PreparedBatch<S>,
) -> Result<Committed<S>, LedgerFault> {
    if let Some(query) = S::UNLOCKED
        && S::seems_refused(&prepared)
        && let Some(refused) = unlocked::refuse(ledger, &mut prepared, query).await.map_err(Trouble::fault)?
    {
        return Ok(refused);
    }
    let tried = match together(ledger, std::slice::from_ref(&prepared), Lock::Wait).await {
        Err(Trouble::Lasting(why)) => {
            let subject = S::subject(prepared.batch.subject);
            limited!(warn, %subject, why, "a batch was refused; its requests run one by one");
            one_by_one::one_by_one(ledger, prepared).await
        }
        other => other,
    };
    let each = match tried.map_err(Trouble::fault)? {
        Tried::Done(each) => each,
        Tried::NoSuchSubject | Tried::NoneFree => return Err(LedgerFault::NoSuchSubject),
        Tried::Unknown(unknown) => resolve::resolve(ledger, unknown).await?,
    };
    let committed = each.into_iter().next().flatten().ok_or(LedgerFault::NoSuchSubject)?;
    committed.after.learn(ledger);
    Ok(committed)
}
