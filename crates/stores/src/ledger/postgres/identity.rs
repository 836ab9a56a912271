//! The identity of the ledger: its id, and an epoch that changes when the database was restored from a backup. It is
//! checked on every new connection and once a second.
//!
//! Two cases are not detected: rows that were restored into the same tables (`pg_restore --data-only`), and a restored
//! data directory that has already written past the last log position seen before a server checked.

use tokio::sync::Mutex;
use tokio_postgres::{Client, Error};

use super::queries;
use crate::ledger::{LedgerName, random_secret};

pub struct Identity {
    pub name: LedgerName,
    /// Clears the caches of a ledger that was replaced.
    forget: Box<dyn Fn() + Send + Sync>,
    /// The location and log position of the last check. The lock is held during a check, so that positions are compared
    /// in the order in which they were read.
    seen: Mutex<Option<(String, i64)>>,
}

impl Identity {
    pub fn new(forget: impl Fn() + Send + Sync + 'static) -> Identity {
        Identity { name: LedgerName::default(), forget: Box::new(forget), seen: Mutex::default() }
    }

    /// Checks, and begins a new epoch if this is a restored ledger and no other server has done so.
    pub async fn look(&self, client: &Client) -> Result<(), Error> {
        let mut seen = self.seen.lock().await;
        let row = client.query_one(queries::IDENTITY, &[]).await?;
        if row.try_get("standby")? {
            return Ok(());
        }
        let system = if row.try_get("may_ask")? {
            client.query_one("SELECT system_identifier::text FROM pg_control_system()", &[]).await?.try_get(0)?
        } else {
            String::new()
        };
        let (timeline, flushed): (String, i64) = (row.try_get("timeline")?, row.try_get("flushed")?);
        let (database, made): (i64, i64) = (row.try_get("database")?, row.try_get("made")?);
        let place = format!("{system}.{timeline}.{database}.{made}");
        let (id, mut epoch): (String, String) = (row.try_get("id")?, row.try_get("epoch")?);
        let known: Option<String> = row.try_get("place")?;
        let went_back = seen.as_ref().is_some_and(|(there, position)| *there == place && *position > flushed);
        if known.as_ref() != Some(&place) || went_back {
            // A ledger of an older version has no location yet. It cannot be told whether it was restored.
            let new = if known.is_some() { uuid::Uuid::new_v4().simple().to_string() } else { epoch.clone() };
            client.execute(queries::NEW_EPOCH, &[&new, &place, &epoch, &known, &&random_secret()[..]]).await?;
            epoch = client.query_one("SELECT epoch FROM ledger", &[]).await?.try_get(0)?;
        }
        *seen = Some((place, flushed));
        let name = named(id, &epoch);
        let before = self.name.get();
        if before.as_deref() == Some(&*name) {
            return Ok(());
        }
        if before.is_some() {
            tracing::warn!("the database was restored or replaced: arrival numbers start a new generation");
            (self.forget)();
        }
        self.name.set(&name);
        Ok(())
    }
}

/// The first epoch has no name of its own.
pub fn named(id: String, epoch: &str) -> String {
    if epoch.is_empty() { id } else { format!("{id}.{epoch}") }
}
