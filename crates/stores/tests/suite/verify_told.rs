//! Alterations of holds and stays that agree with each other, and with the nights: only the history tells otherwise. Each
//! is found on both ledgers, by no other question.

use stores::ledger::{postgres, sqlite};
use testing::database::Database;
use testing::stands::{SqliteStand, postgres_stand};

use crate::verify_holds::{UNGUARDED, broken, kept, put_aside, put_back, unguarded_copy};

const BEGAN: &str = "every hold began and ended once";
const HOLDS: &str = "every hold is what the history says";
const STAYS: &str = "every stay is what the history says";

/// What was done, how, and the invariants that find it. `u0` and `u4` hold nights, `u1` cancelled a hold, `u2` has a stay
/// from day 20813 to 20816, `u3` cancelled one from 20814 to 20817; `u0` holds two seats, `u1` bought two.
const LIES: &[(&str, &str, &[&str])] = &[
    (
        "a stay of somebody else",
        "UPDATE hold SET owner = 'thief' WHERE owner = 'u2'; UPDATE stay SET owner = 'thief' WHERE owner = 'u2'",
        &[HOLDS, STAYS],
    ),
    (
        "a stay on other nights",
        "UPDATE hold SET check_in = check_in - 1, check_out = check_out - 1 WHERE owner = 'u2';
         UPDATE stay SET check_in = check_in - 1, check_out = check_out - 1 WHERE owner = 'u2';
         UPDATE night SET reserved = reserved + 1 WHERE day = 20812;
         UPDATE night SET reserved = reserved - 1 WHERE day = 20815",
        &[HOLDS, STAYS],
    ),
    (
        "a stay cancelled quietly",
        "UPDATE stay SET cancelled_at = at WHERE owner = 'u2';
         UPDATE night SET reserved = reserved - 1 WHERE day BETWEEN 20813 AND 20815",
        &[STAYS],
    ),
    (
        "a cancelled stay that stands again",
        "UPDATE stay SET cancelled_at = NULL WHERE owner = 'u3';
         UPDATE night SET reserved = reserved + 1 WHERE day BETWEEN 20814 AND 20816",
        &[STAYS],
    ),
    (
        "a stay struck out with its hold",
        "DELETE FROM hold WHERE owner = 'u2'; DELETE FROM stay WHERE owner = 'u2';
         UPDATE night SET reserved = reserved - 1 WHERE day BETWEEN 20813 AND 20815",
        &[BEGAN, STAYS],
    ),
    (
        "a live hold struck out",
        "DELETE FROM hold WHERE owner = 'u0' AND subject < 0;
         UPDATE night SET held = held - 1 WHERE day BETWEEN 20811 AND 20813",
        &[BEGAN],
    ),
    ("a live hold of somebody else", "UPDATE hold SET owner = 'thief' WHERE owner = 'u0' AND subject < 0", &[HOLDS]),
    (
        "a live hold on other nights",
        "UPDATE hold SET check_in = check_in + 1, check_out = check_out + 1 WHERE owner = 'u0' AND subject < 0;
         UPDATE night SET held = held - 1 WHERE day = 20811;
         UPDATE night SET held = held + 1 WHERE day = 20814",
        &[HOLDS],
    ),
    (
        "held seats of somebody else",
        "UPDATE hold SET owner = 'thief' WHERE owner = 'u0' AND subject > 0;
         UPDATE taken SET owner = 'thief' WHERE owner = 'u0' AND kind = 'held'",
        &[HOLDS],
    ),
    ("a paid hold of somebody else", "UPDATE hold SET owner = 'thief' WHERE owner = 'u1' AND subject > 0", &[HOLDS]),
    ("a hold that never began", "UPDATE hold SET n = 999 WHERE owner = 'u1' AND subject < 0", &[HOLDS]),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_history_denies_is_found_in_sqlite() {
    let ground = SqliteStand::fresh();
    kept(&ground.stand).await;
    let mut wrong = Vec::new();
    for (lie, sql, invariants) in [("nothing", "", &[][..])].iter().chain(LIES) {
        let (copy, db) = unguarded_copy(&ground);
        db.execute_batch(sql).unwrap();
        drop(db);
        let (_, findings) = sqlite::verify(copy.path()).unwrap();
        wrong.extend((broken(&findings) != *invariants).then(|| (*lie, broken(&findings))));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_history_denies_is_found_in_postgres() {
    let database = Database::fresh().await;
    kept(&postgres_stand(&database).await).await;
    let client = database.connect().await;
    client.batch_execute(UNGUARDED).await.unwrap();
    let mut wrong = Vec::new();
    for (lie, sql, invariants) in [("nothing", "", &[][..])].iter().chain(LIES) {
        put_aside(&client).await;
        client.batch_execute(sql).await.unwrap();
        let (_, findings) = postgres::verify(&database.url).await.unwrap();
        wrong.extend((broken(&findings) != *invariants).then(|| (*lie, broken(&findings))));
        put_back(&client).await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
