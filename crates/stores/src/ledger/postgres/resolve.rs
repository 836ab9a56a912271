//! The connection broke at COMMIT, and nobody said how it ended. The lock is taken again, which
//! waits for the first transaction to end, one way or the other; then its own first history row is
//! there, or it is not. A plain read would prove nothing while the first may still be running.

use std::time::Duration;

use futures_util::future::try_join4;
use rules::subject::SubjectId;

use super::session::within;
use super::trouble::Trouble;
use super::{Inner, planted, queries};
use crate::ledger::LedgerFault;

/// A batch whose end is not known.
pub struct Unknown<T> {
    pub committed: T,
    /// Its first history number, and the id that its row carries if it is there.
    pub first: u64,
    pub id: String,
}

/// Whoever waits is told after this that nothing is known.
const UNTIL: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(50);

pub async fn resolve<T>(ledger: &Inner, subject: SubjectId, unknown: Unknown<T>) -> Result<T, LedgerFault> {
    match tokio::time::timeout(UNTIL, looked_up(ledger, subject, unknown.first, &unknown.id)).await {
        Ok(true) => {
            tracing::info!(%subject, n = unknown.first, "the batch had been committed");
            Ok(unknown.committed)
        }
        Ok(false) => Err(LedgerFault::Passing("the connection broke before the commit".into())),
        Err(_) => {
            tracing::error!(%subject, n = unknown.first, "whether a batch was committed is not known");
            Err(LedgerFault::Unreachable("the connection broke at the commit".into()))
        }
    }
}

/// Asks until there is an answer.
async fn looked_up(ledger: &Inner, subject: SubjectId, first: u64, id: &str) -> bool {
    loop {
        match happened(ledger, subject, first, id).await {
            Ok(happened) => return happened,
            Err(trouble) => tracing::warn!(%subject, ?trouble, "not known yet"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn happened(ledger: &Inner, subject: SubjectId, first: u64, id: &str) -> Result<bool, Trouble> {
    let mut session = ledger.sessions.get().await?;
    let bare = planted::reads_back_without_lock(ledger);
    let (lock, row) = match subject {
        SubjectId::Event(event) if bare => (queries::EVENT, event.0),
        SubjectId::Event(event) => (queries::LOCK_EVENT, event.0),
        SubjectId::RoomType(room_type) => (queries::LOCK_ROOM_TYPE, room_type.0),
    };
    let lock = session.prepared(lock).await?;
    let committed = session.prepared(queries::BATCH_COMMITTED).await?;
    session.dirty();
    let (first, history) = (first as i64, subject.row());
    let begin = session.batch_execute("BEGIN");
    let locked = async { session.query_opt(&lock, &[&row]).await };
    let found = async { session.query_one(&committed, &[&history, &first, &id]).await };
    let end = session.batch_execute("COMMIT");
    let ((), _, found, ()) = within(try_join4(begin, locked, found, end)).await??;
    session.clean();
    Ok(found.try_get(0)?)
}
