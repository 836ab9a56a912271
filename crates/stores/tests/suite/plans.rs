//! Every statement on a PostgreSQL ledger probes the index that it is meant for, also on tables that are empty when it is
//! planned. A plan that reads a whole index for each command costs nothing then, and the night afterwards.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use stores::ledger::postgres::SETTINGS;
use testing::database::Database;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// Tables that grow with what is sold.
const GROWING: [&str; 7] = ["answer", "entry", "history", "hold", "night", "stay", "taken"];
/// Not one statement that has a plan.
const UNPLANNED: &str = "write_probe";

async fn connect(database: &Database) -> Client {
    let (client, connection) = tokio_postgres::connect(&database.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The columns of every index.
async fn indexes(client: &Client) -> BTreeMap<String, Vec<String>> {
    let query = "SELECT i.relname, a.attname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        JOIN pg_attribute a ON a.attrelid = i.oid ORDER BY i.relname, a.attnum";
    let mut indexes = BTreeMap::<String, Vec<String>>::new();
    for row in client.query(query, &[]).await.unwrap() {
        indexes.entry(row.get(0)).or_default().push(row.get(1));
    }
    indexes
}

/// Where a plan reads a growing table: the index, with its columns that are in the condition.
fn probes(node: &Value, indexes: &BTreeMap<String, Vec<String>>, found: &mut Vec<String>) {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    let (index, condition, table) = (text("Index Name"), text("Index Cond"), text("Relation Name"));
    if GROWING.contains(&index.split('_').next().unwrap_or_default()) {
        let words: Vec<&str> = condition.split(|c: char| !c.is_alphanumeric() && !"_.".contains(c)).collect();
        let columns: Vec<&str> =
            indexes[index].iter().map(String::as_str).filter(|column| words.contains(column)).collect();
        found.push(format!("{index}({})", columns.join(", ")));
    } else if GROWING.contains(&table) && text("Node Type") == "Seq Scan" {
        found.push(format!("all of {table}"));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        probes(child, indexes, found);
    }
}

/// How a statement is carried out, whatever its parameters are.
async fn plan(client: &Client, query: &str) -> String {
    let most = (1..30).rev().find(|n| query.contains(&format!("${n}"))).unwrap_or(0);
    let values = if most == 0 { String::new() } else { format!("({})", vec!["NULL"; most].join(", ")) };
    client.batch_execute(&format!("PREPARE planned AS {query}")).await.unwrap_or_else(|e| panic!("{query}: {e:?}"));
    let explained = client.simple_query(&format!("EXPLAIN (FORMAT JSON) EXECUTE planned{values}")).await.unwrap();
    client.batch_execute("DEALLOCATE planned").await.unwrap();
    let line = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    let json: String = explained.iter().filter_map(line).collect();
    let mut found = Vec::new();
    let plans: Value = serde_json::from_str(&json).unwrap();
    probes(&plans[0]["Plan"], &indexes(client).await, &mut found);
    found.join("; ")
}

async fn plans(client: &Client) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ledger/postgres/queries");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut lines = String::new();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        if name != UNPLANNED {
            let found = plan(client, &std::fs::read_to_string(&file).unwrap()).await;
            lines += &if found.is_empty() { String::new() } else { format!("{name}: {found}\n") };
        }
    }
    lines
}

/// `plans.txt` says which, for a reader to judge. A statement that reads a whole index is in no hurry, or has a limit.
#[tokio::test]
async fn statements_on_empty_tables_probe_the_index_they_are_meant_for() {
    for analysed in [false, true] {
        let client = connect(&Database::fresh().await).await;
        if analysed {
            client.batch_execute("VACUUM ANALYZE").await.unwrap();
        }
        client.batch_execute(SETTINGS).await.unwrap();
        let found = plans(&client).await;
        let meant = include_str!("plans.txt");
        let changed: Vec<&str> = found.lines().filter(|line| !meant.lines().any(|meant| meant == *line)).collect();
        assert!(found == meant, "analysed: {analysed}; if these are meant, change plans.txt: {changed:#?}");
    }
}

/// As it was once written: three indexes cost the same for an empty table.
#[tokio::test]
async fn planted_statement_that_leaves_the_choice_is_caught() {
    let client = connect(&Database::fresh().await).await;
    client.batch_execute(SETTINGS).await.unwrap();
    let ambiguous = "SELECT * FROM hold WHERE owner = $1 AND subject + 0 = $2::bigint AND state = 'held'";
    assert_ne!(plan(&client, ambiguous).await, "hold_owner(owner)");
}
