//! The invariants of nights and holds, asked of both ledgers: every lie about them is found.

use rules::command::{Command, EventAction};
use rules::holds::Ask;
use rules::ids::Seat;
use stores::conformance::Stand;
use stores::conformance::hotel::{Hotel, client_key, expect_held, nights};
use stores::ledger::{postgres, sqlite};
use stores::verify::Finding;
use testing::database::Database;
use testing::stands::{SqliteStand, postgres_stand};
use tokio_postgres::Client;

/// What is altered.
const TABLES: [&str; 5] = ["taken", "history", "night", "hold", "stay"];

/// Holds in every state, stays that stand and one that was cancelled, seats on hold and paid.
pub async fn kept(stand: &Stand) {
    let hotel = Hotel::open(stand, 5).await.unwrap();
    let mut holds = Vec::new();
    for i in 0..5u64 {
        holds.push(hotel.hold(&format!("u{i}"), nights(i as i32, 3), &client_key(i)).await.unwrap());
    }
    hotel.hold("u4", nights(4, 3), &client_key(99)).await.unwrap();
    hotel.ask("u1", holds[1].id.n, Ask::Cancel).await.unwrap();
    hotel.ask("u2", holds[2].id.n, Ask::Confirm).await.unwrap();
    let paid = hotel.ask("u3", holds[3].id.n, Ask::Confirm).await.unwrap();
    let stay = stores::conformance::hotel::expect_confirmed(&paid).unwrap();
    hotel.one(hotel.cancels("u3", stay)).await.unwrap();
    let event = stand.event(20, 4).await.unwrap().id;
    let wants = |user: &str, seats: &[u32], n| {
        let seats = seats.iter().copied().map(Seat).collect();
        Command { number: None, action: EventAction::Hold { seats, key: client_key(n).into() }, ..stand.reserve(user) }
    };
    expect_held(&stand.one(event, wants("u0", &[3, 4], 1)).await.unwrap()).unwrap();
    let cart = expect_held(&stand.one(event, wants("u1", &[7, 8], 2)).await.unwrap()).unwrap();
    let pay = EventAction::OnHold { n: cart.id.n, ask: Ask::Confirm };
    stand.one(event, Command { number: None, action: pay, ..stand.reserve("u1") }).await.unwrap();
}

const LIES: &[(&str, &str, &str)] = &[
    (
        "a night that counts one more",
        "UPDATE night SET reserved = reserved + 1",
        "every night counts what stands on it",
    ),
    (
        "a night that holds one less",
        "UPDATE night SET held = held - 1 WHERE held > 0",
        "every night counts what stands on it",
    ),
    ("a night beyond its total", "UPDATE night SET total = 0", "every night counts what stands on it"),
    (
        "a night taken away",
        "DELETE FROM night WHERE day = (SELECT min(day) FROM night)",
        "no night of a stay is missing",
    ),
    (
        "a hold brought back",
        "UPDATE hold SET state = 'held' WHERE state = 'cancelled'",
        "every hold began and ended once",
    ),
    (
        "a hold cancelled quietly",
        "UPDATE hold SET state = 'cancelled' WHERE state = 'held' AND subject < 0",
        "every hold began and ended once",
    ),
    ("an end that was struck out", "DELETE FROM history WHERE what = 'released'", "history has no gap"),
    (
        "an end told twice",
        "UPDATE history SET what = 'released' WHERE what = 'held' AND event < 0 AND n = 2",
        "every hold began and ended once",
    ),
    (
        "a seat on somebody else's hold",
        "UPDATE taken SET owner = 'thief' WHERE kind = 'held' AND seat = 3",
        "every seat on hold has its hold",
    ),
    (
        "a seat let go quietly",
        "UPDATE taken SET kind = 'free', owner = NULL, hold = NULL, ends_at = NULL WHERE kind = 'held' AND seat = 4",
        "every seat on hold has its hold",
    ),
    (
        "a stay without a hold",
        "UPDATE stay SET hold = 2 WHERE cancelled_at IS NULL",
        "every stay was held and confirmed",
    ),
    (
        "a stay that moved",
        "UPDATE stay SET check_in = check_in - 1 WHERE cancelled_at IS NULL",
        "every stay was held and confirmed",
    ),
    ("a stay struck out", "DELETE FROM stay", "every stay was held and confirmed"),
];

pub fn broken(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().filter(|finding| !finding.holds()).map(|finding| finding.name).collect()
}

/// A copy of the ledger whose rows nothing guards.
pub fn unguarded_copy(ground: &SqliteStand) -> (tempfile::TempDir, rusqlite::Connection) {
    let copy = tempfile::tempdir().unwrap();
    let file = copy.path().join("tickettock.db");
    let db = rusqlite::Connection::open(ground.database()).unwrap();
    db.execute("VACUUM INTO ?1", [file.to_str().unwrap()]).unwrap();
    let db = rusqlite::Connection::open(file).unwrap();
    db.execute_batch("DROP VIEW seats; DROP VIEW room_type_stock").unwrap();
    for table in TABLES {
        let loose = format!("CREATE TABLE loose AS SELECT * FROM {table}; DROP TABLE {table};");
        db.execute_batch(&format!("{loose} ALTER TABLE loose RENAME TO {table}")).unwrap();
    }
    (copy, db)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_violation_of_holds_is_found_in_sqlite() {
    let ground = SqliteStand::fresh();
    kept(&ground.stand).await;
    let (_, findings) = sqlite::verify(&ground.data()).unwrap();
    assert_eq!(broken(&findings), Vec::<&str>::new(), "{findings:?}");
    for (lie, sql, invariant) in LIES {
        let (copy, db) = unguarded_copy(&ground);
        assert!(db.execute(sql, []).unwrap() > 0, "{lie}: nothing was changed");
        drop(db);
        let (_, findings) = sqlite::verify(copy.path()).unwrap();
        assert!(broken(&findings).contains(invariant), "{lie}: {:?}", broken(&findings));
    }
}

/// The rows without what guards them.
pub const UNGUARDED: &str = "
    DO $$ DECLARE c record; BEGIN
        FOR c IN SELECT conrelid::regclass AS t, conname FROM pg_constraint
                 WHERE contype = 'c' AND conrelid IN ('taken'::regclass, 'hold'::regclass, 'night'::regclass, 'stay'::regclass)
        LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname); END LOOP;
    END $$;
    ALTER TABLE taken DISABLE TRIGGER USER; ALTER TABLE history DISABLE TRIGGER USER;
    ALTER TABLE hold DISABLE TRIGGER USER; ALTER TABLE stay DISABLE TRIGGER USER;
    DROP INDEX hold_owner; DROP INDEX hold_key; DROP INDEX stay_hold";

pub async fn put_aside(client: &Client) {
    for table in TABLES {
        client.batch_execute(&format!("CREATE TABLE aside_{table} AS TABLE {table}")).await.unwrap();
    }
}

pub async fn put_back(client: &Client) {
    for table in TABLES {
        let back = format!("DELETE FROM {table}; INSERT INTO {table} TABLE aside_{table}; DROP TABLE aside_{table}");
        client.batch_execute(&back).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_violation_of_holds_is_found_in_postgres() {
    let database = Database::fresh().await;
    kept(&postgres_stand(&database).await).await;
    let (_, findings) = postgres::verify(&database.url).await.unwrap();
    assert_eq!(broken(&findings), Vec::<&str>::new(), "{findings:?}");
    let client = database.connect().await;
    client.batch_execute(UNGUARDED).await.unwrap();
    for (lie, sql, invariant) in LIES {
        // Copies aside, the lie, the question, and everything as it was.
        put_aside(&client).await;
        assert!(client.execute(*sql, &[]).await.unwrap() > 0, "{lie}: nothing was changed");
        let (_, findings) = postgres::verify(&database.url).await.unwrap();
        assert!(broken(&findings).contains(invariant), "{lie}: {:?}", broken(&findings));
        put_back(&client).await;
    }
}
