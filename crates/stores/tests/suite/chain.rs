//! Whoever changes the history of a ledger is found, on both ledgers.

use std::path::Path;

use rules::subject::SubjectId;
use stores::chain::planted::{ChainBug, plant};
use stores::chain::walk::KeptHead;
use stores::conformance::Stand;
use stores::conformance::chain::every_kind_of_row;
use stores::ledger::{postgres, sqlite};
use stores::verify::{CHAINED, Finding, HEADS_KEPT};
use testing::database::Database;
use testing::stands::{SqliteStand, postgres_stand};

const HEADS: &str = "every head is the hash of the newest row";

/// What was done, how, and the invariant that finds it.
const LIES: &[(&str, &str, &str)] = &[
    ("another owner", "UPDATE history SET owner = 'thief' WHERE event = 1 AND n = 5", CHAINED),
    ("another digest", "UPDATE history SET contact = hash WHERE event = 1 AND n = 5", CHAINED),
    ("another address", "UPDATE history SET address = '10.9.9.9' WHERE event = 1 AND n = 5", CHAINED),
    (
        "another salt",
        "UPDATE history SET salt = (SELECT salt FROM history WHERE event = 1 AND n = 6) WHERE event = 1 AND n = 5",
        CHAINED,
    ),
    ("another time", "UPDATE history SET at = at + 1 WHERE event = 1 AND n = 5", CHAINED),
    ("another seat", "UPDATE history SET seat = 19 WHERE event = 1 AND n = 5", CHAINED),
    ("another kind", "UPDATE history SET what = 'resumed' WHERE what = 'paused'", CHAINED),
    ("another operator", "UPDATE history SET by_name = 'nobody' WHERE what = 'paused'", CHAINED),
    ("another trace", "UPDATE history SET trace = 'x' WHERE event = 1 AND n = 5", CHAINED),
    ("another number", "UPDATE history SET number = number + 1000 WHERE event = 1 AND n = 5", CHAINED),
    ("a detail", "UPDATE history SET detail = 'by mistake' WHERE event = 1 AND n = 5", CHAINED),
    ("other dates", "UPDATE history SET check_out = check_out + 1 WHERE event = -1 AND what = 'held'", CHAINED),
    ("a row of the first that is not its own", "UPDATE history SET owner = 'x' WHERE event = 1 AND n = 1", CHAINED),
    ("erased without a salt", "UPDATE history SET address = NULL, salt = NULL WHERE event = 1 AND n = 5", CHAINED),
    ("a removed row", "DELETE FROM history WHERE event = 1 AND n = 5", CHAINED),
    ("the newest row removed", "DELETE FROM history WHERE event = 1 AND n = (SELECT n FROM event WHERE id = 1)", HEADS),
    ("swapped rows", "UPDATE history SET n = 9 - n WHERE event = 1 AND n IN (4, 5)", CHAINED),
    ("rows of another event", "UPDATE history SET event = 99 WHERE event = 1", CHAINED),
    (
        "an appended row",
        "INSERT INTO history (event, n, what, seat, owner, by_admin, at, hash)
         SELECT event, n + 1, what, 20, 'thief', by_admin, at, hash FROM history
         WHERE event = 1 AND n = (SELECT n FROM event WHERE id = 1)",
        CHAINED,
    ),
    ("a chain that begins later", "UPDATE history SET hash = NULL WHERE event = 1 AND n <= 3", CHAINED),
    ("a row without its hash", "UPDATE history SET hash = NULL WHERE event = 1 AND n = 5", CHAINED),
    ("a sale in another name", "UPDATE taken SET buyer = 'Thief' WHERE event = 1 AND seat = 2", CHAINED),
    ("a sale whose name has no salt", "UPDATE taken SET salt = NULL WHERE event = 1 AND seat = 2", CHAINED),
    ("a sale with another phone", "UPDATE taken SET phone = NULL WHERE event = 1 AND seat = 2", CHAINED),
];

/// The newest rows are gone, and the event agrees: only who kept a later head can tell.
const CUT_OFF: &str = "
    DELETE FROM history WHERE event = 1 AND n > 5;
    UPDATE event SET n = 5, head = (SELECT hash FROM history WHERE event = 1 AND n = 5) WHERE id = 1";

fn broken(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().filter(|finding| !finding.holds()).map(|finding| finding.name).collect()
}

async fn told(stand: &Stand) -> Vec<KeptHead> {
    let event = every_kind_of_row(stand).await.unwrap();
    assert_eq!(event.0, 1);
    let subject = SubjectId::Event(event);
    let rows = stand.ledger.records(Some(subject), None, 1_000).await.unwrap();
    let head = stand.ledger.head(subject).await.unwrap().unwrap();
    let kept = |n: u64, hash: Option<[u8; 32]>| KeptHead { subject, n, hash: hash.unwrap() };
    vec![kept(4, rows[3].hash), kept(head.n, head.hash)]
}

fn unguarded_copy(database: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let file = copy.path().join("tickettock.db");
    let db = rusqlite::Connection::open(database).unwrap();
    db.execute("VACUUM INTO ?1", [file.to_str().unwrap()]).unwrap();
    let db = rusqlite::Connection::open(file).unwrap();
    let loose = "CREATE TABLE loose AS SELECT * FROM history; DROP TABLE history; ALTER TABLE loose RENAME TO history;
        DROP TRIGGER taken_one_owner";
    db.execute_batch(loose).unwrap();
    copy
}

/// The changes that `verify` does not find.
fn unfound_in_sqlite(ground: &SqliteStand) -> Vec<&'static str> {
    let unfound = LIES.iter().filter(|(lie, sql, invariant)| {
        let copy = unguarded_copy(&ground.database());
        let db = rusqlite::Connection::open(copy.path().join("tickettock.db")).unwrap();
        assert!(db.execute(sql, []).unwrap() > 0, "{lie}: nothing was changed");
        let (_, findings) = sqlite::verify(copy.path()).unwrap();
        !broken(&findings).contains(invariant)
    });
    unfound.map(|(lie, ..)| *lie).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_digest_without_the_phone_is_caught() {
    plant(ChainBug::PhoneNotCovered);
    let ground = SqliteStand::fresh();
    told(&ground.stand).await;
    assert_eq!(unfound_in_sqlite(&ground), ["a sale with another phone"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_hash_without_the_row_before_is_caught() {
    plant(ChainBug::LinkNotCovered);
    let ground = SqliteStand::fresh();
    told(&ground.stand).await;
    assert_eq!(unfound_in_sqlite(&ground), ["a chain that begins later"]);
}

/// The same, in PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn planted_digest_without_the_phone_is_caught_in_postgres() {
    plant(ChainBug::PhoneNotCovered);
    let database = Database::fresh().await;
    told(&postgres_stand(&database).await).await;
    let client = database.connect().await;
    client.batch_execute(UNGUARDED).await.unwrap();
    let (_, sql, _) = LIES.iter().find(|(lie, ..)| *lie == "a sale with another phone").unwrap();
    assert_eq!(client.execute(*sql, &[]).await.unwrap(), 1);
    let (_, findings) = postgres::verify(&database.url).await.unwrap();
    assert!(!broken(&findings).contains(&CHAINED), "the bug is not planted: {findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_the_history_is_found_in_sqlite() {
    let ground = SqliteStand::fresh();
    let kept = told(&ground.stand).await;
    let copy = unguarded_copy(&ground.database());
    let (looked, findings) = sqlite::verify_with(copy.path(), &kept).unwrap();
    assert_eq!(broken(&findings), Vec::<&str>::new(), "{findings:?}");
    assert_eq!((looked.chain.chained, looked.chain.before), (looked.history, 0));
    assert_eq!(unfound_in_sqlite(&ground), Vec::<&str>::new());
    let copy = unguarded_copy(&ground.database());
    rusqlite::Connection::open(copy.path().join("tickettock.db")).unwrap().execute_batch(CUT_OFF).unwrap();
    let (_, findings) = sqlite::verify_with(copy.path(), &kept[..1]).unwrap();
    assert!(!broken(&findings).iter().any(|name| [CHAINED, HEADS, HEADS_KEPT].contains(name)), "{findings:?}");
    let (_, findings) = sqlite::verify_with(copy.path(), &kept).unwrap();
    assert!(broken(&findings).contains(&HEADS_KEPT), "{findings:?}");
}

const UNGUARDED: &str = "ALTER TABLE history DISABLE TRIGGER USER; ALTER TABLE taken DISABLE TRIGGER USER;
    ALTER TABLE history DROP CONSTRAINT history_pkey, DROP CONSTRAINT history_chained";

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_the_history_is_found_in_postgres() {
    let database = Database::fresh().await;
    let kept = told(&postgres_stand(&database).await).await;
    let (looked, findings) = postgres::verify_with(&database.url, &kept).await.unwrap();
    assert_eq!(broken(&findings), Vec::<&str>::new(), "{findings:?}");
    assert_eq!((looked.chain.chained, looked.chain.before), (looked.history, 0));
    let client = database.connect().await;
    client.batch_execute(UNGUARDED).await.unwrap();
    let tables = ["history", "taken"];
    for table in tables {
        client.batch_execute(&format!("CREATE TABLE aside_{table} AS TABLE {table}")).await.unwrap();
    }
    let batch = ("another batch", "UPDATE history SET batch = 'x' WHERE event = 1 AND n = 5", CHAINED);
    for (lie, sql, invariant) in LIES.iter().chain([&batch]) {
        assert!(client.execute(*sql, &[]).await.unwrap() > 0, "{lie}: nothing was changed");
        let (_, findings) = postgres::verify(&database.url).await.unwrap();
        assert!(broken(&findings).contains(invariant), "{lie}: {findings:?}");
        for table in tables {
            let back = format!("DELETE FROM {table}; INSERT INTO {table} TABLE aside_{table}");
            client.batch_execute(&back).await.unwrap();
        }
    }
    client.batch_execute(CUT_OFF).await.unwrap();
    let (_, findings) = postgres::verify_with(&database.url, &kept[..1]).await.unwrap();
    assert!(!broken(&findings).iter().any(|name| [CHAINED, HEADS, HEADS_KEPT].contains(name)), "{findings:?}");
    let (_, findings) = postgres::verify_with(&database.url, &kept).await.unwrap();
    assert!(broken(&findings).contains(&HEADS_KEPT), "{findings:?}");
}

/// A server of an earlier version writes no hash: the database refuses its rows, and the chain stays whole.
#[tokio::test(flavor = "multi_thread")]
async fn rows_without_a_hash_are_refused_by_postgres() {
    let database = Database::fresh().await;
    told(&postgres_stand(&database).await).await;
    let client = database.connect().await;
    let old = "INSERT INTO history (event, n, what, at) SELECT 1, n + 1, 'paused', 0 FROM event WHERE id = 1";
    let refused = client.execute(old, &[]).await.unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("23514"));
}

/// What a role needs that sells and does not own the tables, as docs/operating.md prints it.
fn grants(role: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, sql) = page.split_once("**A role that cannot change history**").expect("the page has the role");
    let (_, sql) = sql.split_once("```sql\n").expect("the page has its grants");
    let (sql, _) = sql.split_once("```").unwrap();
    assert_eq!(sql.matches("tickettock_app").count(), 3, "{sql}");
    sql.replace("tickettock_app", role)
}

/// A role that does not own the tables sells and erases, and cannot change history otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn role_of_the_servers_cannot_change_history() {
    let database = Database::fresh().await;
    let owner = database.connect().await;
    let name: String = owner.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
    let role = format!("sells_in_{name}");
    owner.batch_execute(&format!("CREATE ROLE {role} LOGIN")).await.unwrap();
    owner.batch_execute(&grants(&role)).await.unwrap();
    let (_, place) = database.url.split_once('@').expect("a URL with a role");
    let url = format!("postgres://{role}@{place}");
    let ledger = std::sync::Arc::new(testing::stands::prepared(&url, Default::default()).await);
    let clock = std::sync::Arc::new(testing::clock::FixtureClock::default());
    let door = stores::door::local::LocalDoor::new(clock, Default::default());
    let stand = Stand::new(ledger, std::sync::Arc::new(door), std::sync::Arc::new(|_| {}));
    let event = every_kind_of_row(&stand).await.unwrap();
    let erased = stand.ledger.erase_rows(vec![(SubjectId::Event(event), 2)]).await.unwrap();
    assert_eq!(erased.history, 1);
    stores::conformance::chain::is_whole(&stand).await.unwrap();
    for change in [
        "UPDATE history SET owner = 'thief' WHERE n = 3",
        "UPDATE history SET address = NULL, salt = NULL, erased = hash WHERE n = 3",
        "DELETE FROM history WHERE n = 3",
        "TRUNCATE history",
        "ALTER TABLE history DISABLE TRIGGER USER",
    ] {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let refused = client.batch_execute(change).await.unwrap_err();
        assert_eq!(refused.code().map(|code| code.code()), Some("42501"), "{change}");
    }
    // The owner is held back by triggers, also where it erases more than personal data.
    for change in [
        "UPDATE history SET address = NULL, salt = NULL, erased = hash, owner = 'thief' WHERE event = 1 AND n = 3",
        "UPDATE history SET address = '10.9.9.9' WHERE event = 1 AND n = 3",
        "DELETE FROM history WHERE n = 3",
        "TRUNCATE history",
    ] {
        assert!(owner.batch_execute(change).await.is_err(), "{change}");
    }
}
