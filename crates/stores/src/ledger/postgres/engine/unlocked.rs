//! A batch that can only be refused takes no row lock: it is decided on one snapshot, and if the rules write nothing,
//! its answers are final.

use futures_util::future::try_join4;
use rules::subject::Writes;
use rules::time::Moment;

use super::super::Inner;
use super::super::session::within;
use super::super::trouble::Trouble;
use super::together::{decided, no_older_than};
use super::{PostgresSubject, PreparedBatch};
use crate::ledger::{Committed, LedgerStep};

/// None: stock may be free, so the lock must be taken.
pub async fn refuse<S: PostgresSubject>(
    ledger: &Inner,
    prepared: &mut PreparedBatch<S>,
    query: &str,
) -> Result<Option<Committed<S>>, Trouble> {
    let (row, found) = {
        let portions = [prepared.portion()];
        let mut session = ledger.sessions.get().await?;
        let reads = S::reads(&session, &portions).await?;
        let unlocked = session.prepared(query).await?;
        let id = S::row_id(prepared.batch.subject);
        session.dirty();
        let begin = session.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        let row = async { session.query_opt(&unlocked, &[&id]).await };
        let found = S::read(&reads, &session, &portions);
        let end = session.batch_execute("COMMIT");
        let ((), row, found, ()) = within(try_join4(begin, row, found, end)).await??;
        session.clean();
        (row, found)
    };
    let Some(row) = row else { return Ok(None) };
    let PreparedBatch { batch, aside } = prepared;
    let (subject, newest) = S::of_row(&row, aside)?;
    let read = no_older_than(newest, Moment(row.try_get("ledger_now")?));
    subject.learn(ledger);
    subject.refresh(aside);
    if !subject.wholly_read(&found, read.now) {
        return Ok(None);
    }
    batch.progress.reached(LedgerStep::Admitted);
    let known = S::understand(&found, &[(&subject, aside)])?.remove(&batch.subject).unwrap_or_default();
    let decision = decided(&subject, known, &batch.commands, &batch.terms, read)?;
    batch.progress.reached(LedgerStep::Decided);
    Ok((decision.writes.is_empty() && !decision.short).then(|| decision.into()))
}
