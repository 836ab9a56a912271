//! Ledgers that an earlier version left behind still open, with everything that was in them.

use std::sync::Arc;

use rules::arrive::Budget;
use rules::command::{Command, EventAction};
use rules::holds::Ask;
use rules::ids::{EventId, Seat};
use rules::outcome::Refusal;
use rules::subject::RoomTypeId;
use rules::time::{Clock, Moment};
use stores::conformance::hotel::{Hotel, expect_confirmed};
use stores::conformance::{Stand, expect_refusal, expect_sale};
use stores::door::local::LocalDoor;
use stores::ledger::sqlite::{LOG_PAGES, SqliteConfig, SqliteLedger, database_in, verify};
use testing::clock::FixtureClock;
use testing::database::{self, Database};

/// Five seats: two sold, one given back, of which the next was sold; two never touched.
const ROWS: &str = "
    INSERT INTO ledger (only_row, id) VALUES (1, 'the-old-one');
    INSERT INTO event (id, name, seat_count, max_per_user, state, created_at, changed_at, generation, n, \"cursor\", sold)
    VALUES (1, 'Old', 5, 1, 'open', 1000, 2000, 3, 5, 3, 2);
    INSERT INTO history (event, n, what, seat, owner, number, at) VALUES
        (1, 1, 'created', NULL, NULL, NULL, 1000), (1, 2, 'reserved', 1, 'alice', 901, 1001),
        (1, 3, 'reserved', 2, 'bob', 902, 1002), (1, 4, 'reserved', 3, 'carol', 903, 1003),
        (1, 5, 'cancelled', 2, 'bob', NULL, 2000);
";

const HALL: &str = "INSERT INTO hall (event, plan) VALUES (1, '{\"count\":5}')";

async fn goes_on(stand: &Stand) {
    // The file knows numbers up to 903.
    while stand.next() < 903 {}
    let event = EventId(1);
    let row = stand.ledger.event(event).await.unwrap().unwrap();
    assert_eq!((row.counts.n, row.counts.cursor, row.counts.sold, row.counts.came_back), (5, 3, 2, 1));
    assert_eq!(stand.ledger.raise_generation(event, None).await.unwrap(), 4);
    expect_refusal(&stand.one(event, stand.choose("dave", 3)).await.unwrap(), &Refusal::SeatTaken).unwrap();
    for (user, seat) in [("dave", 2), ("erin", 4)] {
        let reserved = expect_sale(&stand.one(event, stand.reserve(user)).await.unwrap()).unwrap();
        assert_eq!(reserved.seat, Seat(seat));
    }
}

fn surroundings() -> SqliteConfig<impl FnOnce(Moment) -> Arc<dyn Clock>> {
    SqliteConfig {
        clock: |newest: Moment| Arc::new(FixtureClock::at(Moment(newest.0.max(1_000_000)))) as Arc<dyn Clock>,
        on_fatal: Box::new(|why| panic!("{why}")),
        key_ttl_ms: 86_400_000,
        log_pages: LOG_PAGES,
    }
}

/// What the migrations of an earlier version left: their tables, and their rows in the list.
fn as_of(version: u32, fresh: &rusqlite::Connection) -> String {
    let row = |v: u32| {
        let sql = "SELECT name, applied_on, checksum FROM refinery_schema_history WHERE version = ?1";
        let (name, on, sum): (String, String, String) =
            fresh.query_row(sql, [v], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        format!("INSERT INTO refinery_schema_history VALUES ({v}, '{name}', '{on}', '{sum}');")
    };
    (1..=version).map(row).collect()
}

const MIGRATIONS: &str = "CREATE TABLE refinery_schema_history
    (version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255));";

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_file_of_version_1_opens() {
    let (fresh, old) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(SqliteLedger::open(fresh.path(), surroundings()).unwrap());
    let list = as_of(1, &rusqlite::Connection::open(database_in(fresh.path())).unwrap());
    let db = rusqlite::Connection::open(database_in(old.path())).unwrap();
    let taken = "INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number) VALUES
        (1, 1, 5, 'sold', 'alice', 1, 1, 2, 1001, 901), (1, 2, 5, 'free', NULL, NULL, NULL, NULL, 2000, NULL),
        (1, 3, 5, 'sold', 'carol', 1, 1, 4, 1003, 903);";
    for part in [V4_SQLITE[0], MIGRATIONS, &list, ROWS, taken, HALL] {
        db.execute_batch(part).unwrap();
    }
    drop(db);
    let ledger = Arc::new(SqliteLedger::open(old.path(), surroundings()).unwrap());
    let door = Arc::new(LocalDoor::new(Arc::new(FixtureClock::default()), Budget::default()));
    goes_on(&Stand::new(ledger, door, Arc::new(|_| {}))).await;
    let (looked, findings) = verify(old.path()).unwrap();
    assert_eq!(looked.reservations, 4);
    assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
}

const V4_SQLITE: [&str; 4] = [
    include_str!("../../src/ledger/sqlite/migrations/V1__core.sql"),
    include_str!("../../src/ledger/sqlite/migrations/V2__chosen_seats.sql"),
    include_str!("../../src/ledger/sqlite/migrations/V3__waiting_room.sql"),
    include_str!("../../src/ledger/sqlite/migrations/V4__holds.sql"),
];

/// The fourth version made every row of seats and holds that there is; the fifth copies them.
#[tokio::test(flavor = "multi_thread")]
async fn sqlite_file_of_version_4_opens_with_its_holds() {
    let (fresh, old) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(SqliteLedger::open(fresh.path(), surroundings()).unwrap());
    let made = rusqlite::Connection::open(database_in(fresh.path())).unwrap();
    let db = rusqlite::Connection::open(database_in(old.path())).unwrap();
    let rows = "
        INSERT INTO ledger (only_row, id) VALUES (1, 'the-old-one');
        INSERT INTO event (id, name, seat_count, max_per_user, state, created_at, changed_at, generation, n, \"cursor\",
                           sold, held, came_back)
        VALUES (1, 'Old', 5, 2, 'open', 1000, 2000, 3, 6, 3, 1, 1, 1);
        INSERT INTO history (event, n, what, seat, owner, number, at, hold) VALUES
            (1, 1, 'created', NULL, NULL, NULL, 1000, NULL), (1, 2, 'reserved', 1, 'alice', 901, 1001, NULL),
            (1, 3, 'held', 2, 'bob', NULL, 1002, 3), (1, 4, 'cancelled', 2, 'bob', NULL, 1500, 3),
            (1, 5, 'held', 3, 'carol', NULL, 1600, 5), (1, 6, 'paused', NULL, NULL, NULL, 2000, NULL);
        INSERT INTO hold (subject, n, owner, key, stock, first_at, at, ends_at, state, ended_at) VALUES
            (1, 3, 'bob', 'k1', '2', 1002, 1002, 9000000, 'cancelled', 1500),
            (1, 5, 'carol', 'k2', '3', 1600, 1600, 9000000, 'held', NULL);
        INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number, buyer, phone, hold, ends_at)
        VALUES (1, 1, 5, 'sold', 'alice', 1, 2, 2, 1001, 901, 'Alice', '+821012345678', NULL, NULL),
               (1, 2, 5, 'free', NULL, NULL, NULL, NULL, 1500, NULL, NULL, NULL, NULL, NULL),
               (1, 3, 5, 'held', 'carol', 1, 2, 5, 1600, NULL, NULL, NULL, 5, 9000000);";
    for part in V4_SQLITE.iter().copied().chain([MIGRATIONS, &as_of(4, &made), rows, HALL]) {
        db.execute_batch(part).unwrap();
    }
    let dump = |db: &rusqlite::Connection| -> Vec<String> {
        ["SELECT * FROM taken ORDER BY event, seat", "SELECT * FROM hold ORDER BY subject, n", "SELECT * FROM seats"]
            .into_iter()
            .flat_map(|sql| {
                let mut statement = db.prepare(sql).unwrap();
                let columns = statement.column_count();
                let line = |row: &rusqlite::Row<'_>| {
                    let values: Vec<_> =
                        (0..columns).map(|i| row.get_ref(i).map(|value| format!("{value:?}"))).collect();
                    values.into_iter().collect::<rusqlite::Result<Vec<_>>>().map(|values| values.join(" "))
                };
                statement.query_map([], line).unwrap().collect::<rusqlite::Result<Vec<_>>>().unwrap()
            })
            .collect()
    };
    let before = dump(&db);
    drop(db);
    let ledger = Arc::new(SqliteLedger::open(old.path(), surroundings()).unwrap());
    assert_eq!(before.len(), 3 + 2 + 5);
    // Columns that were added later are behind the old ones.
    let after = dump(&rusqlite::Connection::open(database_in(old.path())).unwrap());
    assert_eq!(after.len(), before.len());
    for (after, before) in after.iter().zip(&before) {
        assert!(after.starts_with(before.as_str()), "nothing was lost on the way: {before} became {after}");
    }
    let door = Arc::new(LocalDoor::new(Arc::new(FixtureClock::default()), Budget::default()));
    let stand = Stand::new(ledger, door, Arc::new(|_| {}));
    stand.ledger.raise_generation(EventId(1), None).await.unwrap();
    expect_refusal(&stand.one(EventId(1), stand.choose("dave", 3)).await.unwrap(), &Refusal::SeatTaken).unwrap();
    let reserved = expect_sale(&stand.one(EventId(1), stand.reserve("dave")).await.unwrap()).unwrap();
    assert_eq!(reserved.seat, Seat(2));
}

/// The same for a database.
pub async fn database_as_of(version: i32) -> Database {
    const TABLES: [&str; 4] = [
        include_str!("../../src/ledger/postgres/migrations/V1__core.sql"),
        include_str!("../../src/ledger/postgres/migrations/V2__chosen_seats.sql"),
        include_str!("../../src/ledger/postgres/migrations/V3__waiting_room.sql"),
        include_str!("../../src/ledger/postgres/migrations/V4__holds.sql"),
    ];
    let (fresh, old) = (Database::fresh().await, Database::bare().await);
    let db = old.connect().await;
    db.batch_execute(MIGRATIONS).await.unwrap();
    let sql = "SELECT name, applied_on, checksum FROM refinery_schema_history WHERE version = $1";
    let known = fresh.connect().await;
    for (v, tables) in (1..=version).zip(TABLES) {
        db.batch_execute(tables).await.unwrap();
        let row = known.query_one(sql, &[&v]).await.unwrap();
        let (name, on, sum): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        let row = format!("INSERT INTO refinery_schema_history VALUES ({v}, '{name}', '{on}', '{sum}')");
        db.batch_execute(&row).await.unwrap();
    }
    old
}

/// Opened by this version.
async fn opened(old: &Database) -> Stand {
    let ledger = database::ledger(&old.url, Default::default());
    ledger.prepare().await.unwrap();
    let door = Arc::new(LocalDoor::new(Arc::new(FixtureClock::default()), Budget::default()));
    Stand::new(Arc::new(ledger), door, Arc::new(|_| {}))
}

async fn sound(database: &Database) {
    let (_, findings) = stores::ledger::postgres::verify(&database.url).await.unwrap();
    assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_database_of_version_1_opens() {
    let old = database_as_of(1).await;
    for part in [ROWS, TAKEN, HALL] {
        old.connect().await.batch_execute(part).await.unwrap();
    }
    goes_on(&opened(&old).await).await;
    sound(&old).await;
}

const TAKEN: &str = "INSERT INTO taken (event, seat, kind, owner, unit, unit_limit, n, at, number) VALUES
    (1, 1, 'sold', 'alice', 1, 1, 2, 1001, 901), (1, 2, 'free', NULL, NULL, NULL, NULL, 2000, NULL),
    (1, 3, 'sold', 'carol', 1, 1, 4, 1003, 903)";

/// Dave holds seat 4 behind the cursor; Erin two nights of a room type with two rooms.
const HOLDS: &str = "
    INSERT INTO history (event, n, what, seat, owner, at, hold) VALUES (1, 6, 'held', 4, 'dave', 3000, 6);
    INSERT INTO taken (event, seat, kind, owner, unit, unit_limit, n, at, hold, ends_at)
    VALUES (1, 4, 'held', 'dave', 1, 1, 6, 3000, 6, 9000000000000);
    UPDATE event SET n = 6, held = 1;
    INSERT INTO room_type (id, name, time_zone, total, created_at, changed_at, n)
    VALUES (1, 'Double', 'Asia/Seoul', 2, 1000, 2000, 2);
    INSERT INTO history (event, n, what, owner, at, hold, check_in, check_out) VALUES
        (-1, 1, 'created', NULL, 1000, NULL, NULL, NULL), (-1, 2, 'held', 'erin', 2000, 2, 20811, 20813);
    INSERT INTO night (room_type, day, total, held) VALUES (1, 20811, 2, 1), (1, 20812, 2, 1);
    INSERT INTO hold (subject, n, owner, key, stock, check_in, check_out, first_at, at, ends_at, state) VALUES
        (1, 6, 'dave', 'k-dave', '4', NULL, NULL, 3000, 3000, 9000000000000, 'held'),
        (-1, 2, 'erin', 'k-erin', '2026-12-24/2026-12-26', 20811, 20813, 2000, 2000, 9000000000000, 'held');
";

#[tokio::test(flavor = "multi_thread")]
async fn postgres_database_of_version_4_opens_with_its_holds() {
    let old = database_as_of(4).await;
    let db = old.connect().await;
    // Seats that came back are counted since the second version.
    let rows = ROWS.replace("sold)", "sold, came_back)").replace("5, 3, 2)", "5, 3, 2, 1)");
    for part in [&rows, TAKEN, HALL, HOLDS] {
        db.batch_execute(part).await.unwrap();
    }
    let stand = opened(&old).await;
    let halls = db.query("SELECT DISTINCT hall_seats FROM taken", &[]).await.unwrap();
    assert_eq!(halls.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [5]);
    sound(&old).await;
    let (event, hotel) = (EventId(1), Hotel { stand: stand.clone(), id: RoomTypeId(1), terms: Default::default() });
    let pay = EventAction::OnHold { n: 6, ask: Ask::Confirm };
    let paid = Command { number: None, action: pay, ..stand.reserve("dave") };
    expect_confirmed(&stand.one(event, paid).await.unwrap()).unwrap();
    expect_confirmed(&hotel.ask("erin", 2, Ask::Confirm).await.unwrap()).unwrap();
    for (user, seat) in [("frank", 2), ("grace", 5)] {
        let reserved = expect_sale(&stand.one(event, stand.reserve(user)).await.unwrap()).unwrap();
        assert_eq!(reserved.seat, Seat(seat));
    }
    expect_refusal(&stand.one(event, stand.reserve("heidi")).await.unwrap(), &Refusal::SoldOut).unwrap();
    let sixth = "INSERT INTO taken (event, seat, hall_seats, kind, n, at) VALUES (1, 6, 5, 'sold', 9, 0)";
    assert_eq!(db.batch_execute(sixth).await.unwrap_err().code().unwrap().code(), "23514");
    sound(&old).await;
}
