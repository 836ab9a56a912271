//! Who the ledger is: its id, and an epoch that changes when the database was restored from a backup. It is
//! looked at on every new connection and once a second.
//!
//! What cannot be told: rows that were put back into the same tables (`pg_restore --data-only`), and a data
//! folder that was put back and has written more than was seen before, until a server looked.

use tokio::sync::Mutex;
use tokio_postgres::{Client, Error};

use super::queries;
use crate::ledger::{LedgerName, random_secret};

pub struct Identity {
    pub name: LedgerName,
    /// Forgets what was remembered of a ledger that was replaced.
    forget: Box<dyn Fn() + Send + Sync>,
    /// The place and log position of the last look. Held during a look, so that positions are compared in
    /// the order in which they were read.
    seen: Mutex<Option<(String, i64)>>,
}

impl Identity {
    pub fn new(forget: impl Fn() + Send + Sync + 'static) -> Identity {
        Identity { name: LedgerName::default(), forget: Box::new(forget), seen: Mutex::default() }
    }

    /// Looks, and begins a new epoch if this is a restored ledger and no other server has done so.
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
            // A ledger of an older version has no place yet, and was not restored as far as can be told.
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
