//! Connections: the settings of each session, and a guard that keeps a connection with an open
//! transaction out of the pool.

use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, QueueMode, RecyclingMethod,
    Runtime, TimeoutType,
};
use futures_util::future::OptionFuture;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::address::PostgresAddress;
use super::identity::Identity;
use super::trouble::Trouble;
use crate::ledger::PoolFigures;

/// The first statements of every session. A batch is decided under one row lock, so READ COMMITTED is the right
/// isolation level: each later statement sees what was committed during the wait for the lock.
///
/// The last five concern plans. Every statement of a batch must probe an index once per element of an array, whatever
/// the planner estimates for a table that was empty a second ago and has not been analyzed yet: by default it reads the
/// whole table for each batch. If two indexes cost the same for an empty table, the statement itself must leave only
/// one usable; a test on the plans shows which.
pub const SETTINGS: &str = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET synchronous_commit = on;
    SET statement_timeout = '3s';
    SET lock_timeout = '1s';
    SET idle_in_transaction_session_timeout = '1s';
    SET client_min_messages = warning;
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET jit = off";

/// Timeout for a free connection, and for a new one.
const CONNECT_TIME: Duration = Duration::from_secs(2);

const UNMOVED: i64 = i64::MIN;

/// Longer than the server's own timeouts, so that only an unresponsive server reaches it.
pub const ROUND_TRIP: Duration = Duration::from_millis(3_500);

pub struct Sessions {
    pool: Pool,
    /// Set by tests only.
    clock_offset_ms: AtomicI64,
}

impl Sessions {
    pub fn figures(&self) -> PoolFigures {
        let status = self.pool.status();
        let idle = status.available;
        PoolFigures { idle, in_use: status.size.saturating_sub(idle), wanted: status.waiting }
    }

    pub fn new(address: &PostgresAddress, most: usize, identity: Arc<Identity>) -> Result<Sessions, String> {
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config.clone(), address.tls.clone(), config);
        let pool = Pool::builder(manager)
            .max_size(most)
            // The most recently used connection is warm: its plans and caches exist.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(CONNECT_TIME))
            .create_timeout(Some(CONNECT_TIME))
            .recycle_timeout(Some(CONNECT_TIME))
            .post_create(Hook::async_fn(move |client, _| {
                let identity = identity.clone();
                Box::pin(async move {
                    client.batch_execute(SETTINGS).await.map_err(HookError::Backend)?;
                    // A new connection may lead to a restored database. If the check fails, the statement that the
                    // connection is for will fail too.
                    if let Err(error) = identity.look(client).await {
                        tracing::debug!(%error, "a new connection did not say which ledger it leads to");
                    }
                    Ok(())
                })
            }))
            .build()
            .map_err(|e| e.to_string())?;
        Ok(Sessions { pool, clock_offset_ms: AtomicI64::new(UNMOVED) })
    }

    pub fn move_clock(&self, offset_ms: i64) {
        self.clock_offset_ms.store(offset_ms, Ordering::Release);
    }

    pub fn open(&self) -> usize {
        self.pool.status().size
    }

    pub async fn get(&self) -> Result<Session, Trouble> {
        let client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                match Trouble::from(error) {
                    // No transaction was begun, so nothing can be lost.
                    Trouble::Lost(why) | Trouble::Lasting(why) => Trouble::Unreachable(why),
                    other => other,
                }
            }
            PoolError::Timeout(TimeoutType::Wait) => Trouble::Unreachable("every connection is in use".into()),
            other => Trouble::Unreachable(other.to_string()),
        })?;
        let session = Session { client: Some(client), clean: true };
        let offset_ms = self.clock_offset_ms.load(Ordering::Acquire);
        if offset_ms != UNMOVED {
            session.batch_execute(&format!("SET tickettock.clock_offset_ms = {offset_ms}")).await?;
        }
        Ok(session)
    }
}

/// A connection from the pool. While it is dirty, dropping it closes the connection, and the server rolls back: a
/// failed, panicked or dropped transaction never goes back to the pool.
pub struct Session {
    client: Option<Object>,
    clean: bool,
}

impl Session {
    pub fn dirty(&mut self) {
        self.clean = false;
    }

    pub fn clean(&mut self) {
        self.clean = true;
    }

    pub async fn prepared(&self, query: &str) -> Result<Statement, Trouble> {
        Ok(within(self.prepare_cached(query)).await??)
    }
}

impl Deref for Session {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        // It is taken only in `drop`.
        self.client.as_ref().unwrap_or_else(|| unreachable!("a session has its client until it is dropped"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(client) = self.client.take()
            && !self.clean
        {
            drop(Object::take(client));
        }
    }
}

pub async fn execute(session: &Session, statement: &Statement, row: &[&(dyn ToSql + Sync)]) -> Result<(), Error> {
    session.execute(statement, row).await.map(|_| ())
}

/// The rows of a query, or none if there is nothing to query.
pub async fn rows_of(query: Option<impl Future<Output = Result<Vec<Row>, Error>>>) -> Result<Vec<Row>, Error> {
    OptionFuture::from(query).await.unwrap_or(Ok(Vec::new()))
}

/// A future that sends at its first poll.
pub type Sent<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// One round trip. If it takes too long, the connection counts as lost.
pub async fn within<T>(work: impl Future<Output = T>) -> Result<T, Trouble> {
    timeout(ROUND_TRIP, work).await.map_err(|_| Trouble::Lost("the database does not answer".into()))
}
