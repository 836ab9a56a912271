//! Whoever changes the metadata or the reason of an order is found, on both ledgers; and so is an erasure that left some.

use rules::buyer::Metadata;
use rules::history::Details;
use rules::holds::Ask;
use rules::room_type::RoomCommand;
use stores::conformance::Stand;
use stores::conformance::erasure::{erase_everything, some_orders};
use stores::conformance::hotel::{Hotel, client_key, expect_held, nights};
use stores::ledger::{postgres, sqlite};
use stores::verify::reasons::REASONS;
use stores::verify::{Finding, ORDERS};
use testing::database::Database;
use testing::stands::{SqliteStand, postgres_stand};

/// What was done, how, and the invariant that finds it. Of Grace everything is there, Henry was erased.
const LIES: &[(&str, &str, &str)] = &[
    (
        "another order of a sale",
        r#"UPDATE taken SET metadata = replace(metadata, 'sold', 'sole') WHERE owner = 'grace' AND hold IS NULL"#,
        ORDERS,
    ),
    (
        "metadata of one of two seats that were held",
        r#"UPDATE taken SET metadata = '{"order":"x"}' WHERE owner = 'grace' AND kind = 'sold' AND seat = 7"#,
        ORDERS,
    ),
    (
        "a sale without its metadata",
        "UPDATE taken SET metadata = NULL WHERE owner = 'grace' AND kind = 'sold' AND seat = 6",
        ORDERS,
    ),
    (
        "a live hold of seats with other metadata",
        r#"UPDATE hold SET metadata = '{"order":"x"}' WHERE owner = 'grace' AND state = 'held' AND subject > 0"#,
        ORDERS,
    ),
    (
        "a paid hold of nights with other metadata",
        r#"UPDATE hold SET metadata = '{"order":"x"}' WHERE owner = 'grace' AND state = 'confirmed' AND subject < 0"#,
        ORDERS,
    ),
    (
        "a stay with other metadata",
        r#"UPDATE stay SET metadata = '{"order":"x"}' WHERE owner = 'grace' AND cancelled_at IS NULL"#,
        ORDERS,
    ),
    (
        "a cancelled stay without metadata",
        "UPDATE stay SET metadata = NULL WHERE owner = 'grace' AND cancelled_at IS NOT NULL",
        ORDERS,
    ),
    (
        "another reason",
        "UPDATE hold SET reason = 'well' WHERE owner = 'grace' AND state = 'cancelled' AND subject > 0",
        REASONS,
    ),
    (
        "no reason",
        "UPDATE hold SET reason = NULL WHERE owner = 'grace' AND state = 'cancelled' AND subject < 0",
        REASONS,
    ),
    (
        "an erasure that forgot a hold",
        r#"UPDATE hold SET metadata = '{"order":"seats"}' WHERE owner = 'henry' AND state = 'cancelled'"#,
        ORDERS,
    ),
    (
        "an erasure that forgot a stay",
        r#"UPDATE stay SET metadata = '{"order":"nights"}' WHERE owner = 'henry' AND cancelled_at IS NULL"#,
        ORDERS,
    ),
    (
        "an erasure that forgot a cancelled stay",
        r#"UPDATE stay SET metadata = '{"order":"nights"}' WHERE owner = 'henry' AND cancelled_at IS NOT NULL"#,
        ORDERS,
    ),
];

fn broken(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().filter(|finding| !finding.holds()).map(|finding| finding.name).collect()
}

/// A hold that was given back because of an illness, with metadata that an earlier version let through: PostgreSQL cannot
/// take this JSON apart.
async fn odd_order(stand: &Stand) {
    let hotel = Hotel::open(stand, 5).await.unwrap();
    let odd = Details::of(Some(&Metadata::stored(r#"{"a":"\u0000"}"#)), None);
    let wants = RoomCommand { details: odd, ..hotel.wants("ivy", nights(0, 2), &client_key(1)) };
    let held = expect_held(&hotel.one(wants).await.unwrap()).unwrap();
    let ill = Details::of(None, Some("ill"));
    hotel.one(RoomCommand { details: ill, ..hotel.asks("ivy", held.id.n, Ask::Cancel) }).await.unwrap();
}

const ANOTHER_REASON: &str = "UPDATE hold SET reason = 'well' WHERE owner = 'ivy' AND state = 'cancelled'";

#[tokio::test(flavor = "multi_thread")]
async fn reasons_beside_odd_metadata_are_compared_in_sqlite() {
    let ground = SqliteStand::fresh();
    odd_order(&ground.stand).await;
    let (_, findings) = sqlite::verify(&ground.data()).unwrap();
    assert_eq!(broken(&findings), Vec::<&str>::new(), "{findings:?}");
    let db = rusqlite::Connection::open(ground.database()).unwrap();
    db.execute_batch("DROP TRIGGER hold_ends_once").unwrap();
    assert_eq!(db.execute(ANOTHER_REASON, []).unwrap(), 1);
    let (_, findings) = sqlite::verify(&ground.data()).unwrap();
    assert_eq!(broken(&findings), [REASONS], "{findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reasons_beside_odd_metadata_are_compared_in_postgres() {
    let database = Database::fresh().await;
    odd_order(&postgres_stand(&database).await).await;
    let (_, findings) = postgres::verify(&database.url).await.unwrap();
    assert_eq!(broken(&findings), Vec::<&str>::new(), "{findings:?}");
    let client = database.connect().await;
    client.batch_execute("ALTER TABLE hold DISABLE TRIGGER USER").await.unwrap();
    assert_eq!(client.execute(ANOTHER_REASON, &[]).await.unwrap(), 1);
    let (_, findings) = postgres::verify(&database.url).await.unwrap();
    assert_eq!(broken(&findings), [REASONS], "{findings:?}");
}

async fn orders(stand: &Stand) {
    some_orders(stand, "grace").await.unwrap();
    some_orders(stand, "henry").await.unwrap();
    erase_everything(stand, "henry").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_an_order_is_found_in_sqlite() {
    let ground = SqliteStand::fresh();
    orders(&ground.stand).await;
    for (lie, sql, invariant) in [("nothing", "", "")].iter().chain(LIES) {
        let copy = tempfile::tempdir().unwrap();
        let file = copy.path().join("tickettock.db");
        let db = rusqlite::Connection::open(ground.database()).unwrap();
        db.execute("VACUUM INTO ?1", [file.to_str().unwrap()]).unwrap();
        let db = rusqlite::Connection::open(file).unwrap();
        db.execute_batch("DROP TRIGGER hold_ends_once; DROP TRIGGER stay_ends_once").unwrap();
        let expected = if sql.is_empty() {
            vec![]
        } else {
            assert!(db.execute(sql, []).unwrap() > 0, "{lie}: nothing was changed");
            vec![*invariant]
        };
        let (_, findings) = sqlite::verify(copy.path()).unwrap();
        assert_eq!(broken(&findings), expected, "{lie}: {findings:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_an_order_is_found_in_postgres() {
    let database = Database::fresh().await;
    orders(&postgres_stand(&database).await).await;
    let (_, findings) = postgres::verify(&database.url).await.unwrap();
    assert_eq!(broken(&findings), Vec::<&str>::new(), "{findings:?}");
    let client = database.connect().await;
    let tables = ["taken", "hold", "stay"];
    for table in tables {
        let aside = format!("ALTER TABLE {table} DISABLE TRIGGER USER; CREATE TABLE aside_{table} AS TABLE {table}");
        client.batch_execute(&aside).await.unwrap();
    }
    for (lie, sql, invariant) in LIES {
        assert!(client.execute(*sql, &[]).await.unwrap() > 0, "{lie}: nothing was changed");
        let (_, findings) = postgres::verify(&database.url).await.unwrap();
        assert_eq!(broken(&findings), [*invariant], "{lie}: {findings:?}");
        for table in tables {
            let back = format!("DELETE FROM {table}; INSERT INTO {table} TABLE aside_{table}");
            client.batch_execute(&back).await.unwrap();
        }
    }
}
