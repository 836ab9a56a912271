//! With a door in the process, a database must have one server only. The claim is an advisory lock, held by a session
//! that does nothing else. When that session breaks, nothing is decided until the lock is taken again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio_postgres::Client;

use super::address::PostgresAddress;
use super::prepare::{LOCK_FAMILY, LOCK_ONLY_SERVER, NotPrepared, connect};

/// A session of ours that just ended may hold the lock for a moment longer.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(2);

const ANOTHER: &str = "another tickettock is using this database, and without REDIS_URL there can be only one: the door \
    is in the process. Stop the other one, or give all of them the same REDIS_URL";

#[derive(Debug, Default)]
pub struct Claim {
    taken: AtomicBool,
    lost: Arc<AtomicBool>,
    keeping: OnceLock<AbortHandle>,
}

/// The session ends with the ledger, so that the next server can take the claim.
impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(keeping) = self.keeping.get() {
            keeping.abort();
        }
    }
}

type OnChange = Box<dyn Fn(bool) + Send + Sync>;

impl Claim {
    pub fn lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub async fn take(&self, address: &PostgresAddress, on_change: OnChange) -> Result<(), NotPrepared> {
        if self.taken.load(Ordering::Acquire) {
            return Ok(());
        }
        let session = claim(address).await?;
        self.taken.store(true, Ordering::Release);
        let keeping = tokio::spawn(keep(self.lost.clone(), address.clone(), session, on_change));
        let _ = self.keeping.set(keeping.abort_handle());
        Ok(())
    }
}

async fn claim(address: &PostgresAddress) -> Result<Client, NotPrepared> {
    let client = connect(address).await?;
    if locked(&client).await? {
        return Ok(client);
    }
    Err(NotPrepared::Unfit(ANOTHER.into()))
}

/// Returns false if another session has it.
async fn locked(client: &Client) -> Result<bool, tokio_postgres::Error> {
    for _ in 0..TRIES {
        let row = client.query_one("SELECT pg_try_advisory_lock($1, $2)", &[&LOCK_FAMILY, &LOCK_ONLY_SERVER]).await?;
        if row.get(0) {
            return Ok(true);
        }
        tokio::time::sleep(BETWEEN).await;
    }
    Ok(false)
}

/// Ends only if another session has the lock. All other errors are retried: while a restore replaces this database,
/// there is none for a moment.
async fn renew(address: &PostgresAddress) -> Option<Client> {
    loop {
        let renewed = async {
            let client = connect(address).await?;
            Ok::<_, tokio_postgres::Error>(locked(&client).await?.then_some(client))
        };
        match renewed.await {
            Ok(session) => return session,
            Err(error) => tracing::debug!(%error, "the claim cannot be renewed yet"),
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn keep(lost: Arc<AtomicBool>, address: PostgresAddress, mut session: Client, on_change: OnChange) {
    loop {
        tokio::time::sleep(LOOK).await;
        let alive = tokio::time::timeout(ANSWER, session.simple_query("")).await;
        if matches!(alive, Ok(Ok(_))) {
            continue;
        }
        lost.store(true, Ordering::Release);
        tracing::warn!("the claim to be the only server broke; it is being renewed");
        let Some(renewed) = renew(&address).await else {
            tracing::error!(why = ANOTHER, "the claim is another's");
            return on_change(false);
        };
        session = renewed;
        on_change(true);
        lost.store(false, Ordering::Release);
    }
}
