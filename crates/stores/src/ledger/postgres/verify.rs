//! Checks the invariants on PostgreSQL, also while servers are using it.

use futures_util::TryStreamExt;
use rules::entries::InsideDigest;
use rules::ids::EventId;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, Row};

use super::address::PostgresAddress;
use super::identity::named;
use super::queries;
use super::records::chain_row;
use super::trouble::words;
use crate::chain::walk::{COLUMNS, ChainWalk, KeptHead, ROWS};
use crate::verify::reasons::{GIVEN_BACK, ReasonWalk};
use crate::verify::{Finding, INVARIANTS, LOOKED, Looked, POSTGRES_ONLY, SHOWN_MOST, chain_findings};

/// One read-only snapshot for all checks.
const ONE_MOMENT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Checks every invariant in one snapshot, and returns what breaks it.
pub async fn verify(url: &str) -> Result<(Looked, Vec<Finding>), String> {
    verify_with(url, &[]).await
}

/// The same, and checks whether the recorded heads still exist.
pub async fn verify_with(url: &str, kept: &[KeptHead]) -> Result<(Looked, Vec<Finding>), String> {
    verify_at(&PostgresAddress::read(url)?, kept).await
}

/// The same for a parsed address.
pub async fn verify_at(address: &PostgresAddress, kept: &[KeptHead]) -> Result<(Looked, Vec<Finding>), String> {
    let (client, connection) = Config::connect(&address.config, address.tls.clone()).await.map_err(|e| words(&e))?;
    // Ends when the client is dropped.
    tokio::spawn(connection);
    client.batch_execute(ONE_MOMENT).await.map_err(|e| words(&e))?;
    let looked = client.query_one(LOOKED, &[]).await.map_err(|e| format!("this is no ledger: {}", words(&e)))?;
    let count = |i| looked.get::<_, i64>(i) as u64;
    let mut looked = Looked { events: count(0), reservations: count(1), history: count(2), ..Looked::default() };
    let mut findings = Vec::with_capacity(INVARIANTS.len() + 1);
    for invariant in INVARIANTS.iter().chain(POSTGRES_ONLY) {
        // Unreadable data counts as broken too.
        let broken = apart(&client, sentences(&client, invariant.sql)).await;
        findings.push(Finding { name: invariant.name, broken: broken.unwrap_or_else(|error| vec![words(&error)]) });
    }
    let mut reasons = ReasonWalk::default();
    if let Err(error) = apart(&client, given_back(&client, &mut reasons)).await {
        reasons.unreadable(&words(&error));
    }
    findings.push(reasons.finish());
    let mut walk = ChainWalk::looking_for(kept);
    if let Err(error) = apart(&client, walked(&client, &mut walk)).await {
        walk.unreadable(&words(&error));
    }
    let (chain, of_chain) = chain_findings(walk, !kept.is_empty());
    looked.chain = chain;
    findings.extend(of_chain);
    Ok((looked, findings))
}

/// A savepoint per query: without it PostgreSQL would reject every query after a failed one.
async fn apart<T>(client: &Client, question: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    client.batch_execute("SAVEPOINT question").await?;
    let answer = question.await;
    match answer {
        Ok(_) => client.batch_execute("RELEASE question").await?,
        // If the connection is closed, the next query reports it.
        Err(_) => client.batch_execute("ROLLBACK TO question").await.unwrap_or_default(),
    }
    answer
}

async fn given_back(client: &Client, walk: &mut ReasonWalk) -> Result<(), Error> {
    let none: [&(dyn ToSql + Sync); 0] = [];
    let mut rows = std::pin::pin!(client.query_raw(GIVEN_BACK, none).await?);
    while let Some(row) = rows.try_next().await? {
        walk.step(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    }
    Ok(())
}

/// Row by row as they arrive: no row is kept in memory.
async fn walked(client: &Client, walk: &mut ChainWalk) -> Result<(), Error> {
    let query = format!("SELECT {COLUMNS}, h.batch {ROWS}");
    let none: [&(dyn ToSql + Sync); 0] = [];
    let mut rows = std::pin::pin!(client.query_raw(&query, none).await?);
    while let Some(row) = rows.try_next().await? {
        chain_row(&row, |row, stored| walk.step(row, stored))?;
    }
    Ok(())
}

/// The ledger's name, and who is inside each waiting room, without prepared statements.
pub async fn insiders(url: &str) -> Result<(String, Vec<(EventId, InsideDigest)>), String> {
    let address = PostgresAddress::read(url)?;
    let (client, connection) = Config::connect(&address.config, address.tls.clone()).await.map_err(|e| words(&e))?;
    tokio::spawn(connection);
    client.batch_execute(ONE_MOMENT).await.map_err(|e| words(&e))?;
    let row = client.query_one("SELECT id, epoch FROM ledger", &[]).await.map_err(|e| words(&e))?;
    let name = named(row.get(0), row.get(1));
    let rows = client.query(queries::INSIDE_ALL, &[]).await.map_err(|e| words(&e))?;
    let digest =
        |row: &Row| InsideDigest { count: row.get::<_, i64>(1) as u64, sum: Some(row.get::<_, i64>(2) as u64) };
    Ok((name, rows.iter().map(|row| (EventId(row.get(0)), digest(row))).collect()))
}

async fn sentences(client: &Client, sql: &str) -> Result<Vec<String>, Error> {
    let rows = client.query(sql, &[]).await?;
    Ok(rows.iter().take(SHOWN_MOST).map(|row| row.get(0)).collect())
}
