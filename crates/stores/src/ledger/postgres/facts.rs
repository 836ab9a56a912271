//! The facts about a PostgreSQL before a sale: its settings, its standbys, its clock, and the latency of a flushed
//! transaction. No statement is prepared and no row is written.

use tokio_postgres::Client;

use super::address::PostgresAddress;
use super::prepare::connect;
use super::queries;
use super::trouble::words;

pub struct PostgresProbe {
    client: Client,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresFacts {
    /// 150004 is 15.4.
    pub version: i32,
    pub fsync: bool,
    pub full_page_writes: bool,
    pub autovacuum: bool,
    pub synchronous_commit: String,
    pub synchronous_standbys: String,
    /// Without the connections reserved for superusers.
    pub connections_most: i32,
    pub connections: i32,
    /// It does not accept writes.
    pub standby: bool,
    pub replicas: Vec<ReplicaFacts>,
    /// Standbys may exist that this role cannot see.
    pub hidden: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaFacts {
    /// `sync`, `quorum`, `potential` or `async`.
    pub sync_state: String,
    /// None: there is no lag.
    pub lag_ms: Option<i64>,
}

impl PostgresProbe {
    pub async fn connect(url: &str) -> Result<PostgresProbe, String> {
        let client = connect(&PostgresAddress::read(url)?).await.map_err(|e| words(&e))?;
        Ok(PostgresProbe { client })
    }

    pub async fn facts(&self) -> Result<PostgresFacts, String> {
        let rows = self.client.query(queries::FACTS, &[]).await.map_err(|e| words(&e))?;
        let first = rows.first().ok_or("PostgreSQL says nothing about itself")?;
        let replica = |row: &tokio_postgres::Row| {
            Some(ReplicaFacts { sync_state: row.get::<_, Option<String>>("sync_state")?, lag_ms: row.get("lag_ms") })
        };
        Ok(PostgresFacts {
            version: first.get("version"),
            fsync: first.get("fsync"),
            full_page_writes: first.get("full_page_writes"),
            autovacuum: first.get("autovacuum"),
            synchronous_commit: first.get("synchronous_commit"),
            synchronous_standbys: first.get("synchronous_standbys"),
            connections_most: first.get("connections_most"),
            connections: first.get("connections"),
            standby: first.get("standby"),
            replicas: rows.iter().filter_map(replica).collect(),
            hidden: rows.iter().filter(|row| row.get::<_, Option<bool>>("hidden") == Some(true)).count(),
        })
    }

    /// Its wall clock, in milliseconds since 1970.
    pub async fn clock_ms(&self) -> Result<i64, String> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        self.client.query_one(sql, &[]).await.map(|row| row.get(0)).map_err(|e| words(&e))
    }

    /// A transaction that writes to the WAL only, flushed like a sale.
    pub async fn commit(&self) -> Result<(), String> {
        let sql = "SET synchronous_commit = on; SELECT pg_logical_emit_message(true, 'tickettock', 'doctor')";
        self.client.batch_execute(sql).await.map_err(|e| words(&e))
    }
}
