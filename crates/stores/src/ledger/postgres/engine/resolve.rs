//! The connection broke at COMMIT, so the result is unknown. Taking the row lock again waits until the first
//! transaction has ended, either way. Then its first history row exists or it does not. A plain read would prove
//! nothing while the first transaction may still be in progress.

use std::time::Duration;

use futures_util::future::try_join4;

use super::super::session::within;
use super::super::trouble::Trouble;
use super::super::{Inner, planted, queries};
use super::{Each, PostgresSubject};
use crate::ledger::LedgerFault;
use crate::limited;

/// A transaction whose result is unknown. The result for one of its subjects is the result for all.
pub struct Unknown<S: PostgresSubject> {
    /// One of its subjects, with its first history number, and the id that this row contains if it exists.
    pub subject: S::Id,
    pub first: u64,
    pub id: String,
    pub committed: Each<S>,
}

/// After this long the waiting requests get a fault: the result remains unknown.
const UNTIL: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(50);

pub async fn resolve<S: PostgresSubject>(ledger: &Inner, unknown: Unknown<S>) -> Result<Each<S>, LedgerFault> {
    let (subject, n) = (S::subject(unknown.subject), unknown.first);
    match tokio::time::timeout(UNTIL, looked_up(ledger, &unknown)).await {
        Ok(true) => {
            tracing::info!(%subject, n, "the batch had been committed");
            Ok(unknown.committed)
        }
        Ok(false) => Err(LedgerFault::Passing("the connection broke before the commit".into())),
        Err(_) => {
            limited!(error, %subject, n, "whether a batch was committed is not known");
            Err(LedgerFault::Unreachable("the connection broke at the commit".into()))
        }
    }
}

/// Retries until there is an answer.
async fn looked_up<S: PostgresSubject>(ledger: &Inner, unknown: &Unknown<S>) -> bool {
    loop {
        match happened(ledger, unknown).await {
            Ok(happened) => return happened,
            Err(trouble) => limited!(warn, subject = %S::subject(unknown.subject), ?trouble, "not known yet"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn happened<S: PostgresSubject>(ledger: &Inner, unknown: &Unknown<S>) -> Result<bool, Trouble> {
    let mut session = ledger.sessions.get().await?;
    let lock = session.prepared(planted::lock_to_resolve::<S>(ledger)).await?;
    let committed = session.prepared(queries::BATCH_COMMITTED).await?;
    session.dirty();
    let (row, history) = (S::row_id(unknown.subject), S::subject(unknown.subject).row());
    let (first, id) = (unknown.first as i64, &unknown.id);
    let begin = session.batch_execute("BEGIN");
    let locked = async { session.query_opt(&lock, &[&row]).await };
    let found = async { session.query_one(&committed, &[&history, &first, id]).await };
    let end = session.batch_execute("COMMIT");
    let ((), _, found, ()) = within(try_join4(begin, locked, found, end)).await??;
    session.clean();
    Ok(found.try_get(0)?)
}
