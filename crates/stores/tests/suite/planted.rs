//! Bugs planted in the PostgreSQL ledger itself. Each must be caught, and the same scenario without
//! the bug must pass: a test that cannot fail shows nothing.

use std::sync::Arc;
use std::time::Duration;

use rules::arrive::Budget;
use rules::ids::EventId;
use rules::outcome::Reserved;
use stores::conformance::{Stand, Verdict, audit, sale};
use stores::door::local::LocalDoor;
use stores::ledger::postgres::PlantedBug;
use stores::ledger::{Batch, LedgerFault};
use testing::clock::FixtureClock;
use testing::database::Database;
use testing::proxy::{Cut, Proxy};
use testing::stands::prepared;

use crate::complaints;

pub async fn stand(url: &str, bug: PlantedBug) -> Stand {
    let door = LocalDoor::new(Arc::new(FixtureClock::default()), Budget::default());
    Stand::new(Arc::new(prepared(url, bug).await), Arc::new(door), Arc::new(|_| {}))
}

/// As a server does it: trouble that passes is tried again.
async fn reserve(stand: &Stand, event: EventId, user: &str) -> Option<Reserved> {
    let commands = Arc::new(vec![stand.reserve(user)]);
    loop {
        let batch = Batch::new(event, commands.clone(), Default::default());
        match stand.ledger.commit(batch).await {
            Ok(committed) => return sale(&committed.answers[0]).cloned(),
            Err(LedgerFault::Passing(_) | LedgerFault::Locked) => {}
            Err(fault) => panic!("{user}: {fault}"),
        }
    }
}

/// Fifteen buyers over a wire that is cut at every third COMMIT; then what they were told against
/// what stands.
async fn over_a_cut_wire(bug: PlantedBug, forwarded_after: Option<Duration>) -> Verdict {
    let database = Database::fresh().await;
    let wire = Proxy::to(database.port()).await;
    let through = database.url_through(wire.port());
    let (cut, good) = (stand(&through, bug).await, stand(&database.url, PlantedBug::None).await);
    let event = cut.event(100, 1).await?.id;
    wire.cut(Some(Cut { word: b"COMMIT\0", every: 3, forwarded_after }));
    let mut told = Vec::new();
    for i in 0..15 {
        let user = format!("u{i}");
        if let Some(reserved) = reserve(&cut, event, &user).await {
            told.push((user, reserved));
        }
    }
    wire.cut(None);
    assert!(wire.fired() >= 4, "only {} commits were cut", wire.fired());
    // A commit that was forwarded late has arrived by now.
    tokio::time::sleep(forwarded_after.unwrap_or_default() + Duration::from_millis(200)).await;
    audit(&good, event, &told, &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_answer_before_commit_is_caught() {
    over_a_cut_wire(PlantedBug::None, None).await.expect("without the bug it passes");
    let words = over_a_cut_wire(PlantedBug::AnswerBeforeCommit, None).await.expect_err("acknowledged and lost");
    println!("{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_read_back_without_the_lock_is_caught() {
    let late = Some(Duration::from_millis(250));
    over_a_cut_wire(PlantedBug::None, late).await.expect("without the bug it passes");
    let words = over_a_cut_wire(PlantedBug::ReadBackWithoutLock, late).await.expect_err("committed and told otherwise");
    println!("{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_count_in_the_locking_statement_is_caught() {
    let database = Database::fresh().await;
    let bad = stand(&database.url, PlantedBug::CountInLock).await;
    let noticed = complaints(&bad).await;
    assert!(noticed.iter().any(|words| words.starts_with("contention")), "{noticed:?}");
    // Caught for what it does: the statement itself is one that the ledger can read.
    assert!(!noticed.iter().any(|words| words.contains("invalid column")), "{noticed:?}");
    println!("{}", noticed.join("\n"));
    // The constraints had the last word all the same: nothing was sold twice.
    let twice = "SELECT count(*) FROM (SELECT event, seat FROM taken GROUP BY 1, 2 HAVING count(*) > 1) AS t";
    assert_eq!(database.connect().await.query_one(twice, &[]).await.unwrap().get::<_, i64>(0), 0);
}
