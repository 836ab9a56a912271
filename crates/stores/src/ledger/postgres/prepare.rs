//! Checks before the first batch: the server is recent enough, the tables have this version, the ledger has an id.

use std::fmt;
use std::time::Duration;

use futures_util::TryFutureExt;
use tokio_postgres::Client;

use super::address::PostgresAddress;
use super::identity::Identity;
use super::trouble::{Trouble, words};

mod migrations {
    refinery::embed_migrations!("src/ledger/postgres/migrations");
}

/// Our advisory locks; the first key identifies Tickettock.
pub const LOCK_FAMILY: i32 = 0x7469_636b;
pub const LOCK_MIGRATION: i32 = 1;
pub const LOCK_NEW_EVENT: i32 = 2;
pub const LOCK_ONLY_SERVER: i32 = 3;
pub const LOCK_NEW_ROOM_TYPE: i32 = 4;

const OLDEST_SERVER: i32 = 150_000;

/// While a migration waits for an exclusive lock, every later statement waits behind it. So it waits briefly, lets the
/// others pass, and retries.
const LOCK_TRY_MS: u64 = 100;
const LOCK_TRIES: u32 = 300;

/// Why the ledger cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPrepared {
    /// A retry may succeed.
    Unreachable(String),
    /// A retry will not help: the operator must act.
    Unfit(String),
}

impl fmt::Display for NotPrepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotPrepared::Unreachable(why) => write!(f, "PostgreSQL cannot be reached: {why}"),
            NotPrepared::Unfit(why) => f.write_str(why),
        }
    }
}

impl From<tokio_postgres::Error> for NotPrepared {
    fn from(error: tokio_postgres::Error) -> Self {
        let why = words(&error);
        let code = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
        match code.as_str() {
            // A wrong password, a missing role or database, or no permission to create tables.
            "28P01" | "28000" | "3D000" | "42501" => NotPrepared::Unfit(format!("PostgreSQL refuses us: {why}")),
            _ => match Trouble::from(error) {
                Trouble::Broken(why) => NotPrepared::Unfit(format!("PostgreSQL cannot be prepared: {why}")),
                _ => NotPrepared::Unreachable(why),
            },
        }
    }
}

/// Identifies a version of the tables.
pub fn format() -> u64 {
    let migrations = migrations::migrations::runner();
    migrations.get_migrations().iter().fold(0, |all, one| all.rotate_left(1) ^ one.checksum())
}

/// A separate connection, outside the pool and without its timeouts.
pub async fn connect(address: &PostgresAddress) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = address.config.connect(address.tls.clone()).await?;
    tokio::spawn(connection.map_err(|error| tracing::debug!(%error, "a connection ended")));
    Ok(client)
}

/// Migrates under an advisory lock, because several servers may start at once on an empty database. After that the
/// ledger has an id.
pub async fn prepare(address: &PostgresAddress, identity: &Identity) -> Result<(), NotPrepared> {
    let mut client = connect(address).await?;
    let version: i32 = client.query_one("SELECT current_setting('server_version_num')::integer", &[]).await?.get(0);
    if version < OLDEST_SERVER {
        return Err(NotPrepared::Unfit(format!("PostgreSQL 15 or later is needed; this is {}", version / 10_000)));
    }
    client.batch_execute("SET lock_timeout = '60s'; SET statement_timeout = 0; SET synchronous_commit = on").await?;
    client.execute("SELECT pg_advisory_lock($1, $2)", &[&LOCK_FAMILY, &LOCK_MIGRATION]).await?;
    migrate(&mut client).await?;
    let id = uuid::Uuid::new_v4().to_string();
    client.execute("INSERT INTO ledger (only_row, id) VALUES (1, $1) ON CONFLICT DO NOTHING", &[&id]).await?;
    identity.look(&client).await?;
    client.execute("SELECT pg_advisory_unlock($1, $2)", &[&LOCK_FAMILY, &LOCK_MIGRATION]).await?;
    Ok(())
}

/// Each migration is one transaction. If it did not get a lock in time, it was rolled back and is retried.
async fn migrate(client: &mut Client) -> Result<(), NotPrepared> {
    client.batch_execute(&format!("SET lock_timeout = '{LOCK_TRY_MS}ms'")).await?;
    let mut tries = 0;
    let failed = loop {
        let Err(error) = migrations::migrations::runner().run_async(client).await else { break None };
        tries += 1;
        if !lock_timeout(&error) || tries == LOCK_TRIES {
            break Some(error);
        }
        tracing::debug!(tries, "the migration waits for a lock");
        tokio::time::sleep(Duration::from_millis(LOCK_TRY_MS)).await;
    };
    client.batch_execute("SET lock_timeout = '60s'").await?;
    let Some(error) = failed else { return Ok(()) };
    if lock_timeout(&error) {
        let why = "the tables are locked by somebody else, the migration waits: see pg_stat_activity";
        return Err(NotPrepared::Unreachable(why.to_owned()));
    }
    let why = "the database has a format that this version does not know, or cannot be migrated";
    Err(NotPrepared::Unfit(format!("{why}: {error}")))
}

fn lock_timeout(error: &refinery::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(this) = cause {
        if let Some(error) = this.downcast_ref::<tokio_postgres::Error>() {
            return error.code() == Some(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE);
        }
        cause = this.source();
    }
    false
}
