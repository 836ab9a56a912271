//! Room types over ledgers that are broken on purpose, and the constraints that stand behind them.

use std::time::{Duration, Instant};

use rules::history::Happened;
use rules::holds::Ask;
use rules::outcome::{Done, Outcome, Refusal};
use stores::conformance::broken_rooms::{RoomBug, broken};
use stores::conformance::hotel::{Hotel, HotelReply, client_key, expect_confirmed, expect_held, nights};
use stores::conformance::{Chapter, Stand, Verdict, calendar, expect_refusal, expiry, refusal, stays};
use stores::ledger::LedgerFault;
use stores::ledger::postgres::PlantedBug as Planted;
use testing::clock::{FixtureClock, START};
use testing::database::Database;
use testing::proxy::{Cut, Proxy};
use testing::stands::{SqliteStand, postgres_stand};

const ROOMS: &[(&str, Chapter)] = &[
    ("stays", |s| Box::pin(stays::chapter(s))),
    ("expiry", |s| Box::pin(expiry::chapter(s))),
    ("calendar", |s| Box::pin(calendar::chapter(s))),
];

async fn complaints(stand: &Stand) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, chapter) in ROOMS {
        if let Err(words) = chapter(stand).await {
            complaints.push(format!("{name}: {words}"));
        }
    }
    complaints
}

async fn each_bug_is_noticed(good: &Stand) {
    for bug in RoomBug::ALL {
        let noticed = complaints(&good.with_ledger(broken(bug, good.ledger.clone()))).await;
        assert!(!noticed.is_empty(), "{bug:?} went unnoticed");
        println!("{bug:?}: {}", noticed[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_room_ledger_is_noticed_on_sqlite() {
    let kept = SqliteStand::fresh();
    each_bug_is_noticed(&kept.stand).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_room_ledger_is_noticed_on_postgres() {
    let database = Database::fresh().await;
    each_bug_is_noticed(&postgres_stand(&database).await).await;
}

/// Nights that are counted before the lock was had: 2 holds for 1 room, if the row did not refuse.
#[tokio::test(flavor = "multi_thread")]
async fn planted_count_of_nights_before_the_lock_is_caught() {
    let database = Database::fresh().await;
    let bad = crate::planted::stand(&database.url, Planted::NightsBeforeLock).await;
    let noticed = calendar::chapter(&bad).await.expect_err("counted in the snapshot from before the wait");
    println!("{noticed}");
    // The constraint had the last word all the same.
    let beyond = "SELECT count(*) FROM night WHERE reserved + held > total";
    assert_eq!(database.connect().await.query_one(beyond, &[]).await.unwrap().get::<_, i64>(0), 0);
}

/// D3: a confirmation that waited for the lock until after the hold's end. It is decided by the
/// clock after the wait; a ledger that takes the time from before it says yes, and is caught.
async fn confirmed_behind_its_end(planted: Planted) -> Verdict {
    let database = Database::fresh().await;
    let stand = crate::planted::stand(&database.url, planted).await;
    let mut hotel = Hotel::open(&stand, 1).await?;
    hotel.terms.holds.ttl_ms = 700;
    let hold = hotel.hold("alice", nights(0, 1), &client_key(1)).await?;
    let other = database.connect().await;
    other.batch_execute("BEGIN; SELECT FROM room_type FOR UPDATE").await.unwrap();
    let (waiting, n) = (hotel.clone(), hold.id.n);
    let confirming = tokio::spawn(async move { waiting.ask("alice", n, Ask::Confirm).await });
    tokio::time::sleep(Duration::from_millis(850)).await;
    other.batch_execute("ROLLBACK").await.unwrap();
    expect_refusal(&confirming.await.unwrap()?, &Refusal::HoldExpired)
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_lock_confirms_no_expired_hold() {
    confirmed_behind_its_end(Planted::None).await.unwrap();
    let words = confirmed_behind_its_end(Planted::OldNow).await.expect_err("confirmed behind its end");
    println!("{words}");
}

/// The lock is waited for at most a second.
#[tokio::test(flavor = "multi_thread")]
async fn lock_timeout_is_a_fault_after_a_second() {
    let database = Database::fresh().await;
    let stand = postgres_stand(&database).await;
    let hotel = Hotel::open(&stand, 1).await.unwrap();
    let other = database.connect().await;
    other.batch_execute("BEGIN; SELECT FROM room_type FOR UPDATE").await.unwrap();
    let began = Instant::now();
    let fault = hotel.batch(vec![hotel.wants("a", nights(0, 1), &client_key(1))]).await.unwrap_err();
    assert_eq!(fault, LedgerFault::Locked);
    assert!((900..1_800).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    // Readers wait for nobody.
    assert_eq!(hotel.free(nights(0, 1)).await.unwrap()[0].free(), 1);
}

/// A request that passes every check and is refused by the database fails alone.
#[tokio::test(flavor = "multi_thread")]
async fn one_refused_hold_of_200_fails_alone() {
    let database = Database::fresh().await;
    let on_postgres = postgres_stand(&database).await;
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON hold FOR EACH ROW WHEN (NEW.owner = 'u77')
                  EXECUTE FUNCTION refuse('poison')";
    database.connect().await.batch_execute(poison).await.unwrap();
    let kept = SqliteStand::fresh();
    let side = rusqlite::Connection::open(kept.database()).unwrap();
    side.execute_batch(
        "CREATE TRIGGER poison BEFORE INSERT ON hold WHEN NEW.owner = 'u77'
         BEGIN SELECT RAISE(ABORT, 'poison'); END",
    )
    .unwrap();
    for stand in [on_postgres, kept.stand.clone()] {
        let hotel = Hotel::open(&stand, 200).await.unwrap();
        let wants = (0..200).map(|i| hotel.wants(&format!("u{i}"), nights(0, 2), &client_key(i)));
        let answers = hotel.batch(wants.collect()).await.unwrap();
        for (i, answer) in answers.iter().enumerate() {
            assert_eq!(refusal(answer), (i == 77).then_some(&Refusal::Internal), "{i}");
        }
        assert_eq!(hotel.free(nights(0, 1)).await.unwrap()[0].held, 199);
        hotel.audit(&[], nights(0, 2)).await.unwrap();
    }
}

/// The constraints alone refuse it, without the code above them. The same on both.
const FORBIDDEN: &[(&str, &str)] = &[
    ("more reserved than there are", "UPDATE night SET reserved = 3"),
    ("more held than there are", "UPDATE night SET held = 3"),
    ("both together more than there are", "UPDATE night SET reserved = 2, held = 1"),
    ("less than nothing", "UPDATE night SET held = -1"),
    ("a total below what is sold", "UPDATE night SET total = 0"),
    (
        "a second hold of the same user on the same nights",
        "INSERT INTO hold (subject, n, owner, key, stock, check_in, check_out, first_at, at, ends_at, state)
         SELECT subject, 90, owner, 'other', stock, check_in, check_out, first_at, at, ends_at, state FROM hold WHERE n = 2",
    ),
    (
        "the same client's key for somebody else",
        "INSERT INTO hold (subject, n, owner, key, stock, check_in, check_out, first_at, at, ends_at, state)
         SELECT subject, 91, 'thief', key, stock, check_in, check_out, first_at, at, ends_at, state FROM hold WHERE n = 2",
    ),
    ("a hold that comes back", "UPDATE hold SET state = 'held', ended_at = NULL, reserved = NULL WHERE n = 3"),
    ("a hold that ends twice", "UPDATE hold SET state = 'cancelled', reserved = NULL WHERE n = 3"),
    ("an ended hold with another order", "UPDATE hold SET metadata = '{}' WHERE n = 3"),
    ("an ended hold of somebody else", "UPDATE hold SET metadata = NULL, owner = 'x' WHERE n = 3"),
    ("confirmed behind its end", "UPDATE hold SET state = 'confirmed', ended_at = ends_at, reserved = '9' WHERE n = 2"),
    ("confirmed as nothing", "UPDATE hold SET state = 'confirmed', ended_at = ends_at - 1 WHERE n = 2"),
    ("cancelled and yet sold", "UPDATE hold SET state = 'cancelled', ended_at = at, reserved = '9' WHERE n = 2"),
    ("expired before its end", "UPDATE hold SET state = 'expired', ended_at = ends_at - 1 WHERE n = 2"),
    ("ended at no time", "UPDATE hold SET state = 'cancelled' WHERE n = 2"),
    ("ended while it lasts", "UPDATE hold SET ended_at = at WHERE n = 2"),
    ("a state that is none", "UPDATE hold SET state = 'gone', ended_at = at WHERE n = 2"),
    ("a live hold deleted", "DELETE FROM hold"),
    (
        "a hold that becomes two stays",
        "INSERT INTO stay (room_type, n, owner, check_in, check_out, hold, at)
         SELECT room_type, 92, owner, check_in, check_out, hold, at FROM stay",
    ),
    ("a stay's row deleted", "DELETE FROM stay"),
    ("a number twice", "INSERT INTO history (event, n, what, at, hash) SELECT event, n, 'again', at, hash FROM history WHERE event < 0"),
];

/// Alice's hold is number 2 and lasts, Bob's is number 3 and became a stay.
async fn sold(stand: &Stand) {
    let hotel = Hotel::open(stand, 2).await.unwrap();
    hotel.hold("alice", nights(0, 1), &client_key(1)).await.unwrap();
    let paid = hotel.hold("bob", nights(0, 1), &client_key(2)).await.unwrap();
    hotel.ask("bob", paid.id.n, Ask::Confirm).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn constraints_of_nights_and_holds_refuse_violations() {
    let database = Database::fresh().await;
    sold(&postgres_stand(&database).await).await;
    let db = database.connect().await;
    for (what, statement) in FORBIDDEN {
        let refused = db.batch_execute(statement).await.expect_err(what);
        assert!(refused.code().unwrap().code().starts_with("23"), "{what}: {refused:?}");
    }
    let kept = SqliteStand::fresh();
    sold(&kept.stand).await;
    let db = rusqlite::Connection::open(kept.database()).unwrap();
    for (what, statement) in FORBIDDEN {
        assert!(db.execute(statement, []).is_err(), "{what} was accepted");
    }
    let shown = "SELECT target_date, total_quantity, reserved_count FROM room_type_stock";
    let row =
        db.query_row(shown, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
    assert_eq!(row.unwrap(), ("2026-12-24".into(), 2, 1));
}

/// The wire is cut at every third COMMIT, before it arrives or after it was forwarded: what was told
/// is so, and nothing stands that was not.
#[tokio::test(flavor = "multi_thread")]
async fn holds_survive_connections_cut_at_commit() {
    for forwarded_after in [None, Some(Duration::from_millis(60))] {
        let database = Database::fresh().await;
        let wire = Proxy::to(database.port()).await;
        let through = database.url_through(wire.port());
        let cut = crate::planted::stand(&through, Planted::None).await;
        let hotel = Hotel::open(&cut, 100).await.unwrap();
        wire.cut(Some(Cut { word: b"COMMIT\0", every: 3, forwarded_after }));
        let mut told = Vec::new();
        for i in 0..12u64 {
            let user = format!("u{i}");
            let held = insist(&hotel, hotel.wants(&user, nights(i as i32, 2), &client_key(i))).await;
            let n = expect_held(&held).unwrap().id.n;
            let end = match i % 3 {
                0 => None,
                1 => {
                    expect_confirmed(&insist(&hotel, hotel.asks(&user, n, Ask::Confirm)).await).unwrap();
                    Some(Happened::Reserved)
                }
                _ => {
                    let gone = insist(&hotel, hotel.asks(&user, n, Ask::Cancel)).await;
                    assert_eq!(gone.outcome, Outcome::Done(Done::Released));
                    Some(Happened::Released)
                }
            };
            told.push(HotelReply { hold: n, end });
        }
        wire.cut(None);
        assert!(wire.fired() >= 4, "only {} commits were cut", wire.fired());
        tokio::time::sleep(Duration::from_millis(300)).await;
        let good = Hotel { stand: crate::planted::stand(&database.url, Planted::None).await, ..hotel };
        good.audit(&told, nights(0, 14)).await.unwrap();
        let history = good.stand.ledger.room_history(good.id, 0, 1_000).await.unwrap();
        let begun = history.iter().filter(|entry| entry.what == Happened::Held).count();
        assert_eq!(begun, 12, "every hold was told once");
    }
}

/// As a server does it: trouble that passes is tried again.
pub async fn insist(hotel: &Hotel, command: rules::room_type::RoomCommand) -> rules::decide::Answer {
    loop {
        match hotel.batch(vec![command.clone()]).await {
            Ok(mut answers) => return answers.pop().unwrap(),
            Err(LedgerFault::Passing(_) | LedgerFault::Locked) => {}
            Err(fault) => panic!("{fault}"),
        }
    }
}

/// D4: two servers whose own clocks differ by ten seconds. Holds end by the database's clock alone.
#[tokio::test(flavor = "multi_thread")]
async fn servers_with_skewed_clocks_agree_when_holds_end() {
    let database = Database::fresh().await;
    let mut stands = Vec::new();
    for skew_ms in [-5_000, 5_000] {
        let place = stores::ledger::postgres::PostgresConfig {
            url: database.url.clone(),
            pool: 4,
            key_ttl_ms: 86_400_000,
            clock: std::sync::Arc::new(FixtureClock::at(START.plus_ms(skew_ms))),
            planted: Planted::None,
        };
        let ledger = stores::ledger::postgres::PostgresLedger::new(&place).unwrap();
        ledger.prepare().await.unwrap();
        let door =
            stores::door::local::LocalDoor::new(std::sync::Arc::new(FixtureClock::default()), Default::default());
        stands.push(Stand::new(std::sync::Arc::new(ledger), std::sync::Arc::new(door), std::sync::Arc::new(|_| {})));
    }
    let mut slow = Hotel::open(&stands[0], 2).await.unwrap();
    slow.terms.holds.ttl_ms = 1_500;
    let fast = Hotel { stand: stands[1].clone(), ..slow.clone() };
    let kept = slow.hold("alice", nights(0, 1), &client_key(1)).await.unwrap();
    let paid = fast.hold("bob", nights(0, 1), &client_key(2)).await.unwrap();
    for hotel in [&slow, &fast] {
        assert_eq!(hotel.free(nights(0, 1)).await.unwrap()[0].held, 2);
    }
    expect_confirmed(&slow.ask("bob", paid.id.n, Ask::Confirm).await.unwrap()).unwrap();
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    for hotel in [&fast, &slow] {
        assert_eq!(hotel.free(nights(0, 1)).await.unwrap()[0].held, 0, "a ghost");
        let late = hotel.ask("alice", kept.id.n, Ask::Confirm).await.unwrap();
        expect_refusal(&late, &Refusal::HoldExpired).unwrap();
    }
}
