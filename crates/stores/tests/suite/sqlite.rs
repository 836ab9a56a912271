//! SQLite with the door in the process.

use std::path::Path;
use std::sync::Arc;

use rules::arrive::Budget;
use rules::command::Terms;
use rules::event::Event;
use rules::ids::Seat;
use rules::outcome::Refusal;
use rules::time::Clock;
use stores::conformance::broken::{LedgerBug, broken};
use stores::conformance::{CHAPTERS, Stand, expect_sale, refusal, sale};
use stores::door::local::LocalDoor;
use stores::ledger::sqlite::{LOG_PAGES, SqliteConfig, SqliteLedger, database_in};
use stores::ledger::{Batch, Ledger};
use testing::clock::FixtureClock;
use testing::stands::{SqliteStand, open_sqlite};

use crate::{complaints, first_complaint};

#[tokio::test(flavor = "multi_thread")]
async fn passes_every_chapter() {
    let kept = SqliteStand::fresh();
    assert_eq!(complaints(&kept.stand).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_ledger_is_noticed() {
    for bug in LedgerBug::ALL {
        let kept = SqliteStand::fresh();
        let bad = kept.stand.with_ledger(broken(bug, kept.stand.ledger.clone()));
        let noticed = first_complaint(&bad).await;
        let words = noticed.unwrap_or_else(|| panic!("{bug:?} went unnoticed by {} chapters", CHAPTERS.len()));
        println!("{bug:?}: {words}");
    }
}

/// A request that passes every check and is refused by the database.
#[tokio::test(flavor = "multi_thread")]
async fn one_refused_request_of_500_fails_alone() {
    let kept = SqliteStand::fresh();
    let event = kept.stand.event(600, 1).await.unwrap().id;
    let side = rusqlite::Connection::open(kept.database()).unwrap();
    side.execute_batch(
        "CREATE TRIGGER poison BEFORE INSERT ON taken WHEN NEW.owner = 'poison'
         BEGIN SELECT RAISE(ABORT, 'poison'); END",
    )
    .unwrap();
    let users: Vec<String> = (0..500).map(|i| if i == 250 { "poison".into() } else { format!("u{i}") }).collect();
    let answers = kept.stand.commit(event, users.iter().map(|u| kept.stand.reserve(u)).collect()).await.unwrap();
    for (user, answer) in users.iter().zip(&answers) {
        match user.as_str() {
            "poison" => assert_eq!(refusal(answer), Some(&Refusal::Internal)),
            _ => assert!(sale(answer).is_some(), "{user}: {answer:?}"),
        }
    }
    let told: Vec<_> = users.into_iter().zip(&answers).filter_map(|(u, a)| Some((u, sale(a)?.clone()))).collect();
    assert_eq!(told.len(), 499);
    stores::conformance::audit(&kept.stand, event, &told, &[]).await.unwrap();
}

/// The constraints alone refuse it, without the code above them.
#[test]
fn constraints_refuse_violations() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(FixtureClock::default());
    drop(open_sqlite(folder.path(), &clock));
    let db = rusqlite::Connection::open(database_in(folder.path())).unwrap();
    let event = "INSERT INTO event (id, name, seat_count, max_per_user, state, created_at, changed_at, n)
                 VALUES (1, 'x', 3, 2, 'open', 0, 0, 1)";
    db.execute_batch(event).unwrap();
    let sell = |seat: u32, owner: &str, unit: u32, limit: u32| {
        db.execute(
            "INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at)
             VALUES (1, ?1, 3, 'sold', ?2, ?3, ?4, 1, 0)",
            rusqlite::params![seat, owner, unit, limit],
        )
    };
    sell(1, "alice", 1, 2).unwrap();
    db.execute_batch(
        "INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, hold, ends_at)
         VALUES (1, 3, 3, 'held', 'bob', 1, 2, 1, 0, 7, 9)",
    )
    .unwrap();
    let refused = [
        ("a second owner of a seat", sell(1, "bob", 1, 2)),
        ("the same unit twice", sell(2, "alice", 1, 2)),
        ("a unit beyond the limit", sell(2, "alice", 3, 2)),
        ("a seat outside the hall", sell(4, "carol", 1, 2)),
        ("a sold seat given to another", db.execute("UPDATE taken SET owner = 'bob' WHERE seat = 1", [])),
        ("a seat's row deleted", db.execute("DELETE FROM taken", [])),
        ("more sold than there are", db.execute("UPDATE event SET sold = 4, \"cursor\" = 4", [])),
        ("a cursor beyond the rows", db.execute("UPDATE event SET sold = 1, \"cursor\" = 2", [])),
        ("a sold seat held", db.execute("UPDATE taken SET kind = 'held', hold = 9, ends_at = 9 WHERE seat = 1", [])),
        (
            "a held seat sold to another",
            db.execute("UPDATE taken SET kind = 'sold', ends_at = NULL, owner = 'eve' WHERE seat = 3", []),
        ),
        (
            "a held seat sold by another hold",
            db.execute("UPDATE taken SET kind = 'sold', ends_at = NULL, hold = 8 WHERE seat = 3", []),
        ),
        ("a held seat with another hold", db.execute("UPDATE taken SET hold = 8 WHERE seat = 3", [])),
        ("a held seat without an end", db.execute("UPDATE taken SET ends_at = NULL WHERE seat = 3", [])),
        ("a kind that is none", db.execute("UPDATE taken SET kind = 'gone' WHERE seat = 3", [])),
        ("a sold seat without a number", db.execute("UPDATE taken SET n = NULL WHERE seat = 1", [])),
        ("a sold seat with an end", db.execute("UPDATE taken SET ends_at = 9 WHERE seat = 1", [])),
        ("an owner without a unit", db.execute("UPDATE taken SET unit = NULL WHERE seat = 1", [])),
        ("an owner without a limit", db.execute("UPDATE taken SET unit_limit = NULL WHERE seat = 1", [])),
        ("a unit of nobody", db.execute("UPDATE taken SET owner = NULL WHERE seat = 1", [])),
        ("a unit below 1", db.execute("UPDATE taken SET unit = 0 WHERE seat = 1", [])),
        (
            "a free seat with an owner",
            db.execute("UPDATE taken SET kind = 'free', n = NULL, ends_at = NULL, hold = NULL WHERE seat = 3", []),
        ),
    ];
    for (what, result) in refused {
        assert!(result.is_err(), "{what} was accepted");
    }
    let sold = "UPDATE taken SET kind = 'sold', ends_at = NULL WHERE seat = 3";
    assert_eq!(db.execute(sold, []).unwrap(), 1, "a hold becomes its holder's sale");
    db.execute("INSERT INTO history (event, n, what, at) VALUES (1, 1, 'created', 0)", []).unwrap();
    for change in ["UPDATE history SET at = 1", "DELETE FROM history"] {
        assert!(db.execute(change, []).is_err(), "history was changed: {change}");
    }
    let again = "INSERT INTO history (event, n, what, at) VALUES (1, 1, 'again', 0)";
    assert!(db.execute(again, []).is_err(), "one number, two rows");
}

#[test]
fn second_process_is_refused_and_readers_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(FixtureClock::default());
    let first = open_sqlite(folder.path(), &clock);
    let surroundings = SqliteConfig {
        clock: |_| clock.clone() as Arc<dyn Clock>,
        on_fatal: Box::new(|_| {}),
        key_ttl_ms: 1,
        log_pages: LOG_PAGES,
    };
    let Err(refused) = SqliteLedger::open(folder.path(), surroundings) else { panic!("two writers on one folder") };
    assert!(refused.to_string().contains("another tickettock"), "{refused}");
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = rusqlite::Connection::open_with_flags(database_in(folder.path()), flags).unwrap();
    let events: i64 = reader.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).unwrap();
    assert_eq!(events, 0);
    drop(first);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(FixtureClock::default());
    let stand = |ledger: SqliteLedger| {
        let door = Arc::new(LocalDoor::new(clock.clone(), Budget::default()));
        Stand::new(Arc::new(ledger), door, Arc::new(|_| {}))
    };
    let first = stand(open_sqlite(folder.path(), &clock));
    let event = first.event(9, 1).await.unwrap().id;
    let reserved = expect_sale(&first.one(event, first.reserve("alice")).await.unwrap()).unwrap();
    assert_eq!(first.ledger.raise_generation(event, None).await.unwrap(), 0);
    drop(first);
    let again = stand(reopen(folder.path(), &clock));
    stores::conformance::audit(&again, event, &[("alice".into(), reserved)], &[]).await.unwrap();
    assert_eq!(again.ledger.raise_generation(event, None).await.unwrap(), 1);
    let next = expect_sale(&again.one(event, again.reserve("bob")).await.unwrap()).unwrap();
    assert_eq!(next.seat, Seat(2));
}

/// A log whose checkpoints are made while somebody sells must still begin anew, or it grows with the sale:
/// 470 MB after the large batches here, 285 MB after the small ones.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_wal_restarts_during_a_sale() {
    for (sold, size) in [(160_000, 500), (32_000, 4)] {
        let kept = SqliteStand::fresh();
        sell(&kept.stand, sold, size).await;
        let mut log = kept.database().into_os_string();
        log.push("-wal");
        let most = std::fs::metadata(&log).unwrap().len();
        assert!(most < 250_000_000, "{most} bytes of log for {sold} sales, {size} at a time");
        let (looked, findings) = stores::ledger::sqlite::verify(&kept.data()).unwrap();
        assert_eq!(looked.reservations, sold as u64);
        assert!(findings.iter().all(|finding| finding.broken.is_empty()), "{findings:?}");
    }
}

async fn sell(stand: &Stand, sold: usize, size: usize) {
    let event = stand.event(sold as u32, 1).await.unwrap().id;
    let mut under_way = std::collections::VecDeque::new();
    for from in (0..sold).step_by(size) {
        // In no order, as people come: the index over owners is changed all over.
        let users = (from..from + size).map(|i| format!("{:08x}", (i as u32).wrapping_mul(0x9E37_79B1)));
        let commands = users.map(|user| stand.reserve(&user)).collect();
        under_way.push_back(stand.ledger.commit(Batch::<Event>::new(event, Arc::new(commands), Terms::default())));
        // As many as the lane of an event has under way.
        if under_way.len() == 2 {
            let committed = under_way.pop_front().unwrap().await.unwrap();
            assert!(committed.answers.iter().all(|answer| sale(answer).is_some()));
        }
    }
    for selling in under_way {
        selling.await.unwrap();
    }
}

/// The writer lets go of the folder a moment after the ledger was dropped.
fn reopen(folder: &Path, clock: &Arc<FixtureClock>) -> SqliteLedger {
    for _ in 0..200 {
        let clock = clock.clone();
        let surroundings = SqliteConfig {
            clock: move |_| clock as Arc<dyn Clock>,
            on_fatal: Box::new(|why| panic!("{why}")),
            key_ttl_ms: 86_400_000,
            log_pages: LOG_PAGES,
        };
        match SqliteLedger::open(folder, surroundings) {
            Ok(ledger) => return ledger,
            Err(_) => std::thread::yield_now(),
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the folder was never let go of");
}

#[test]
fn newer_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(FixtureClock::default());
    drop(open_sqlite(folder.path(), &clock));
    let db = rusqlite::Connection::open(database_in(folder.path())).unwrap();
    db.execute(
        "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
         VALUES (999, 'of_the_future', '2030-01-01T00:00:00Z', '1')",
        [],
    )
    .unwrap();
    drop(db);
    let mut why = String::new();
    for _ in 0..200 {
        let surroundings = SqliteConfig {
            clock: |_| clock.clone() as Arc<dyn Clock>,
            on_fatal: Box::new(|_| {}),
            key_ttl_ms: 1,
            log_pages: LOG_PAGES,
        };
        match SqliteLedger::open(folder.path(), surroundings) {
            Ok(_) => panic!("a format of the future was opened"),
            Err(refused) => why = refused.to_string(),
        }
        if !why.contains("another tickettock") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(why.contains("a format that this version does not know"), "{why}");
}

/// I5: the database file goes back to an older copy in its folder. Generations, and so numbers, go on.
#[tokio::test(flavor = "multi_thread")]
async fn older_database_file_raises_the_generations() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(FixtureClock::default());
    let door = Arc::new(LocalDoor::new(clock.clone(), Budget::default()));
    let stand = Stand::new(Arc::new(open_sqlite(folder.path(), &clock)), door, Arc::new(|_| {}));
    let [first, second] = [stand.event(9, 1).await.unwrap().id, stand.event(9, 1).await.unwrap().id];
    let Stand { ledger, .. } = stand;
    assert_eq!(ledger.raise_generation(first, Some(4)).await, Ok(5));
    ledger.close().await.unwrap();
    drop(ledger);
    let ledger = reopen(folder.path(), &clock);
    assert_eq!(ledger.generation(second).await, Ok(None), "nothing was put back");
    let (file, copy) = (database_in(folder.path()), folder.path().join("copy"));
    ledger.close().await.unwrap();
    std::fs::copy(&file, &copy).unwrap();
    // The higher one stays below the first event's.
    let given = [ledger.raise_generation(second, None).await, ledger.raise_generation(second, None).await];
    assert_eq!(given, [Ok(0), Ok(1)]);
    ledger.close().await.unwrap();
    drop(ledger);
    drop(reopen(folder.path(), &clock));
    for log in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{log}", file.display()));
    }
    std::fs::rename(&copy, &file).unwrap();
    let ledger = reopen(folder.path(), &clock);
    for event in [first, second] {
        let raised = ledger.raise_generation(event, None).await.unwrap();
        assert!(raised > 5, "event {event}: generation {raised} was given before");
    }
}
