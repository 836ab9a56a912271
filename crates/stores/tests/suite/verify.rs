//! The invariants asked of a PostgreSQL: the same questions, the same lies found. (SQLite's are
//! tested through the command, with the file tampered with.)

use rules::command::EventAction;
use rules::queue::What;
use stores::conformance::expect_sale;
use stores::conformance::queue::Hallway;
use stores::ledger::postgres::verify;
use testing::database::Database;
use testing::stands::postgres_stand;

async fn sold(database: &Database) {
    let stand = postgres_stand(database).await;
    let event = stand.event(50, 1).await.unwrap().id;
    for user in 0..20 {
        let answer = stand.one(event, stand.reserve(&format!("user-{user}"))).await.unwrap();
        expect_sale(&answer).unwrap();
    }
    let hall = Hallway::new(&stand, 9, 2).await.unwrap();
    for user in ["a", "b", "c"] {
        hall.place(user, What::Join).await.unwrap();
    }
    for user in ["a", "b"] {
        hall.comes_in(user).await.unwrap();
    }
    hall.command("a", EventAction::Leave, None).await.unwrap();
    hall.comes_in("c").await.unwrap();
}

/// The rows without what guards them.
const UNGUARDED: &str = "
    ALTER TABLE taken DISABLE TRIGGER USER; ALTER TABLE history DISABLE TRIGGER USER;
    ALTER TABLE taken DROP CONSTRAINT taken_pkey, DROP CONSTRAINT taken_seat_in_hall; DROP INDEX taken_owner;
    ALTER TABLE entry DISABLE TRIGGER USER; ALTER TABLE entry DROP CONSTRAINT entry_pkey; DROP INDEX entry_user";

const LIES: &[(&str, &str)] = &[
    (
        "INSERT INTO taken SELECT event, seat, kind, 'thief', unit, unit_limit, n, at, number, buyer, phone, hold, ends_at,
                hall_seats
         FROM taken WHERE seat = 5",
        "every seat has one owner",
    ),
    ("DELETE FROM history WHERE n = 9", "history has no gap"),
    ("UPDATE event SET sold = sold - 1, came_back = 1 WHERE sold > 0", "sold + free = total in every event"),
    ("UPDATE taken SET seat = 40 WHERE seat = 3", "sold + free = total in every event"),
    ("UPDATE history SET number = 7 WHERE number IN (8, 9)", "arrival numbers are unique"),
    (
        "UPDATE history SET number = 9999 - number, batch = CASE WHEN n = 2 THEN 'one' END WHERE number IS NOT NULL",
        "lower arrival numbers were served first",
    ),
    ("UPDATE history SET number = number + 7000000000 WHERE n = 20", "no number is beyond the generation"),
    ("UPDATE entry SET number = 5000000003 WHERE number = 3", "no number is beyond the generation"),
    ("UPDATE taken SET owner = 'thief' WHERE seat = 3", "every reservation is in the history"),
    ("UPDATE taken SET owner = 'user-0' WHERE seat IN (5, 6)", "no user is beyond the limit"),
    ("UPDATE entry SET over_at = NULL WHERE number = 1", "never more inside than allowed"),
    ("UPDATE entry SET user_id = 'b' WHERE number = 3", "one entry per user at a time"),
    ("UPDATE entry SET number = 2 WHERE number = 3", "nobody entered twice by one number"),
    ("UPDATE entry SET n = 999 WHERE number = 2", "every entry is in the history"),
    ("DELETE FROM entry WHERE number = 2", "every entry is in the history"),
    ("UPDATE event SET inside = 1 WHERE inside = 2", "every entry is in the history"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_violation_is_found() {
    for (lie, invariant) in LIES {
        let database = Database::fresh().await;
        sold(&database).await;
        let (looked, findings) = verify(&database.url).await.unwrap();
        assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
        assert_eq!(looked.reservations, 20);
        let client = database.connect().await;
        client.batch_execute(UNGUARDED).await.unwrap();
        assert!(client.execute(*lie, &[]).await.unwrap() > 0, "{lie}");
        let (_, findings) = verify(&database.url).await.unwrap();
        let broken: Vec<&str> = findings.iter().filter(|f| !f.holds()).map(|f| f.name).collect();
        assert!(broken.contains(invariant), "{lie}: {broken:?}");
    }
}

/// One question cannot be answered; what the others find is still said, of the same moment.
#[tokio::test(flavor = "multi_thread")]
async fn failing_question_hides_no_other() {
    let database = Database::fresh().await;
    sold(&database).await;
    let client = database.connect().await;
    client.batch_execute(UNGUARDED).await.unwrap();
    client.batch_execute("ALTER TABLE entry RENAME COLUMN most TO another").await.unwrap();
    client.batch_execute("UPDATE taken SET owner = 'thief' WHERE seat = 3").await.unwrap();
    let (looked, findings) = verify(&database.url).await.unwrap();
    let broken: Vec<&str> = findings.iter().filter(|f| !f.holds()).map(|f| f.name).collect();
    assert_eq!(broken, ["every reservation is in the history", "never more inside than allowed"], "{findings:?}");
    assert_eq!(looked.chain.chained, looked.history, "the chain was walked");
}

#[tokio::test(flavor = "multi_thread")]
async fn database_without_a_ledger_is_an_error() {
    let bare = Database::bare().await;
    let refused = verify(&bare.url).await.unwrap_err();
    assert!(refused.contains("no ledger"), "{refused}");
    assert!(verify("postgres://postgres@127.0.0.1:1/x?sslmode=disable").await.is_err());
}
