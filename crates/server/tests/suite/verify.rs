//! `tickettock verify` on ledgers that were tampered with: every lie is found, and named.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testing::folder::TestFolder;
use testing::process::{ServerProcess, binary};

/// A ledger with sales and cancellations in it, closed. A server that is told to stop puts all of
/// it into the main file.
async fn ledger(folder: &Path) -> PathBuf {
    let data = folder.join("data");
    let mut process = ServerProcess::start(&data, &[("FCFS_SEATS", "400")]).await;
    let mut client = process.client();
    for i in 0..300 {
        let sold = client.reserve(1, &format!("user-{i}")).await;
        assert_eq!(sold.status, 200, "{}", sold.text());
        if i % 50 == 7 {
            let id = sold.json()["reservationId"].as_str().unwrap().to_owned();
            assert_eq!(client.cancel(&format!("user-{i}"), &id).await.status, 200);
        }
    }
    waiting_room(&process).await;
    drop(client);
    process.signal("TERM");
    assert_eq!(process.ended_within(std::time::Duration::from_secs(10)).await, Some(0));
    let left = std::fs::metadata(data.join("tickettock.db-wal")).map_or(0, |log| log.len());
    assert_eq!(left, 0, "bytes of the log are left");
    data
}

/// An event with two places: two came in, one left, a third came in.
async fn waiting_room(process: &ServerProcess) {
    let token = format!("Bearer {}", process.admin_token());
    let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
    let body = r#"{"name":"Waiting","seats":9,"waitingRoom":{"maxConcurrent":2}}"#;
    let mut client = process.client();
    assert_eq!(client.send("POST", "/api/v1/admin/events", &headers, body).await.status, 201);
    let steps =
        [("a", "POST", ""), ("b", "POST", ""), ("c", "POST", ""), ("a", "POST", "/enter"), ("b", "POST", "/enter")];
    for (user, method, path) in steps.into_iter().chain([("a", "DELETE", ""), ("c", "POST", "/enter")]) {
        let path = format!("/api/v1/events/2/queue{path}");
        let answer = client.send(method, &path, &[("X-User-Id", user)], "").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

/// Exit code, and what it said.
fn verify(data: &Path) -> (Option<i32>, String) {
    let output = binary().arg("verify").env("DATA_DIR", data).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

fn copied(data: &Path, to: &Path) -> PathBuf {
    let copy = to.join("copy");
    let _ = std::fs::remove_dir_all(&copy);
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(data.join("tickettock.db"), copy.join("tickettock.db")).unwrap();
    copy
}

/// The rows without what guards them.
const UNGUARDED: &str = "
    DROP VIEW seats;
    DROP TRIGGER taken_one_owner; DROP TRIGGER taken_no_delete;
    DROP TRIGGER history_no_update; DROP TRIGGER history_no_delete; DROP TRIGGER hold_no_delete;
    CREATE TABLE loose AS SELECT * FROM entry; DROP TABLE entry; ALTER TABLE loose RENAME TO entry;
    CREATE TABLE loose AS SELECT * FROM taken; DROP TABLE taken; ALTER TABLE loose RENAME TO taken;
    CREATE TABLE loose AS SELECT * FROM history; DROP TABLE history; ALTER TABLE loose RENAME TO history;
    CREATE TABLE loose AS SELECT * FROM event; DROP TABLE event; ALTER TABLE loose RENAME TO event;
    ";

/// What was done to the rows, and the invariant that must notice.
const LIES: &[(&str, &str, &str)] = &[
    (
        "a seat sold to a second owner",
        "INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at, number, hold, ends_at)
         SELECT event, seat, hall_seats, kind, 'thief', unit, unit_limit, n, at, number, hold, ends_at
         FROM taken WHERE seat = 5",
        "every seat has one owner",
    ),
    ("a row of the history removed", "DELETE FROM history WHERE n = 9", "history has no gap"),
    (
        "the last row of the history removed",
        "DELETE FROM history WHERE n = (SELECT max(n) FROM history)",
        "history has no gap",
    ),
    ("a count too high", "UPDATE event SET sold = sold + 1 WHERE id = 1", "sold + free = total in every event"),
    (
        "a cursor moved on",
        "UPDATE event SET \"cursor\" = \"cursor\" + 1 WHERE id = 1",
        "sold + free = total in every event",
    ),
    ("a sale removed", "DELETE FROM taken WHERE seat = 4", "sold + free = total in every event"),
    (
        "a number given twice",
        "UPDATE history SET number = (SELECT number FROM history WHERE n = 5) WHERE n = 6",
        "arrival numbers are unique",
    ),
    (
        "a ledger that went back behind its numbers",
        "UPDATE history SET number = number + 3000000000 WHERE event = 1 AND n = (SELECT max(n) FROM history WHERE event = 1 AND number IS NOT NULL)",
        "no number is beyond the generation",
    ),
    (
        "two sales out of turn",
        "UPDATE history SET number = CASE n WHEN 5 THEN number + 1 ELSE number - 1 END WHERE event = 1 AND n IN (5, 6)",
        "lower arrival numbers were served first",
    ),
    ("an owner changed", "UPDATE taken SET owner = 'thief' WHERE seat = 3", "every reservation is in the history"),
    (
        "a sale taken back quietly",
        "UPDATE taken SET kind = 'free', owner = NULL WHERE seat = 3",
        "the history explains every seat",
    ),
    (
        "a sale that history tells twice",
        "UPDATE history SET seat = 3, what = 'reserved' WHERE what = 'cancelled' AND n = (SELECT min(n) FROM history WHERE what = 'cancelled')",
        "the history explains every seat",
    ),
    (
        "one more inside than allowed",
        "UPDATE entry SET over_at = NULL WHERE over_at IS NOT NULL",
        "never more inside than allowed",
    ),
    (
        "two entries of one user",
        "UPDATE entry SET user_id = (SELECT user_id FROM entry WHERE over_at IS NULL LIMIT 1)",
        "one entry per user at a time",
    ),
    (
        "a number that entered twice",
        "UPDATE entry SET number = (SELECT min(number) FROM entry)",
        "nobody entered twice by one number",
    ),
    ("an entry removed", "DELETE FROM entry WHERE number = 1", "every entry is in the history"),
    (
        "somebody beyond the limit",
        "UPDATE taken SET owner = 'user-0' WHERE seat IN (5, 6)",
        "no user is beyond the limit",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_violation_is_found_and_named() {
    let folder = TestFolder::new("server");
    let data = ledger(folder.path()).await;
    let (code, said) = verify(&data);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 events, 294 reservations, ") && !said.contains("BROKEN"), "{said}");
    for (lie, sql, invariant) in LIES {
        let copy = copied(&data, folder.path());
        let db = rusqlite::Connection::open(copy.join("tickettock.db")).unwrap();
        db.execute_batch(UNGUARDED).unwrap();
        assert_eq!(verify(&copy).0, Some(0), "unguarded, and still true");
        let changed = db.execute(sql, []).unwrap();
        assert!(changed > 0, "{lie}: nothing was changed");
        drop(db);
        let (code, said) = verify(&copy);
        assert_eq!(code, Some(3), "{lie} went unnoticed: {said}");
        assert!(said.contains(&format!("BROKEN  {invariant}")), "{lie}: {said}");
        assert!(said.contains("invariants are broken"), "{lie}: {said}");
    }
}

/// With its constraints in place the database refuses the same violations.
#[tokio::test(flavor = "multi_thread")]
async fn constraints_refuse_the_same_violations() {
    let folder = TestFolder::new("server");
    let data = ledger(folder.path()).await;
    let db = rusqlite::Connection::open(data.join("tickettock.db")).unwrap();
    let refused: Vec<&str> =
        LIES.iter().filter(|(_, sql, _)| db.execute(sql, []).is_err()).map(|(lie, ..)| *lie).collect();
    for lie in ["a seat sold to a second owner", "a row of the history removed", "a sale removed", "an owner changed"] {
        assert!(refused.contains(&lie), "{lie} was possible; refused: {refused:?}");
    }
}

/// FAULTS B4: a byte turned over in the closed file. In the head of a page the tree breaks; in the
/// name of an owner the invariants do.
#[tokio::test(flavor = "multi_thread")]
async fn flipped_byte_is_found() {
    let folder = TestFolder::new("server");
    let data = ledger(folder.path()).await;
    let whole = std::fs::read(data.join("tickettock.db")).unwrap();
    let page_bytes = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    let flipped = |at: usize| {
        let copy = copied(&data, folder.path());
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(copy.join("tickettock.db"), bytes).unwrap();
        verify(&copy)
    };
    let pages = whole.len() / page_bytes;
    assert!(pages > 10, "{pages}");
    for page in 0..pages {
        // The first page begins with the head of the file.
        let head = page * page_bytes + if page == 0 { 100 } else { 0 };
        let (code, said) = flipped(head);
        assert!(matches!(code, Some(2 | 3)), "the kind of page {page}: {said}");
        let (code, said) = flipped(head + 4);
        assert!(matches!(code, Some(2 | 3)), "the count of cells of page {page}: {said}");
    }
    let name = b"user-123";
    let places = (0..whole.len() - name.len()).filter(|at| whole[*at..].starts_with(name));
    // Pages also hold remains of rows that were moved elsewhere; nobody reads those.
    let found = places.filter(|at| flipped(at + 2).0 == Some(3)).count();
    assert_eq!(found, 3, "in the sale, in its index, in the history");
}

/// FAULTS B4: a server that meets damage answers 500 or does not start; what it sells all the same was
/// free, and what it sold before it does not sell again.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_file_gets_500_or_no_start() {
    let folder = TestFolder::new("server");
    let data = ledger(folder.path()).await;
    let whole = std::fs::read(data.join("tickettock.db")).unwrap();
    let db = rusqlite::Connection::open(data.join("tickettock.db")).unwrap();
    let mut statement = db.prepare("SELECT seat FROM taken WHERE kind = 'sold'").unwrap();
    let sold: Vec<u64> =
        statement.query_map([], |row| row.get(0).map(|seat: u32| seat.into())).unwrap().map(Result::unwrap).collect();
    assert_eq!(sold.len(), 294);
    let page_bytes = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    let (mut broken, mut not_started, mut unharmed) = (0, 0, 0);
    // The kind of each page but the first, which holds the schema.
    for page in 1..whole.len() / page_bytes {
        let copy = copied(&data, folder.path());
        let mut bytes = whole.clone();
        bytes[page * page_bytes] ^= 0x55;
        std::fs::write(copy.join("tickettock.db"), bytes).unwrap();
        let mut command = binary();
        command.arg("serve").env("DATA_DIR", &copy).env("APP_PORT", "0").env("RUST_LOG", "off");
        let Some(mut process) = ServerProcess::attempt(command, &copy) else {
            not_started += 1;
            continue;
        };
        let mut client = process.client();
        let (mut seats, mut harmed) = (Vec::new(), false);
        for user in ["user-3", "user-200", "new-1", "new-2", "new-3"] {
            let answer = client.reserve(1, user).await;
            match answer.status {
                200 => seats.push(answer.seat().unwrap()),
                409 => {}
                500 | 503 => harmed = true,
                other => panic!("page {page}, {user}: {other} {}", answer.text()),
            }
        }
        for seat in &seats {
            assert!(!sold.contains(seat), "page {page}: seat {seat} was sold again");
        }
        *(if harmed { &mut broken } else { &mut unharmed }) += 1;
        drop(client);
        process.end();
    }
    println!("{broken} answered 500, {not_started} did not start, {unharmed} did not meet it");
    assert!(broken >= 3, "{broken} answered 500, {not_started} did not start, {unharmed} did not meet it");
}

/// For machines: the exit code and the sentences are those of the table.
#[tokio::test(flavor = "multi_thread")]
async fn machines_get_the_same_as_json() {
    let folder = TestFolder::new("server");
    let data = ledger(folder.path()).await;
    let asked = |data: &Path| {
        let output = binary().args(["verify", "--json"]).env("DATA_DIR", data).output().unwrap();
        let audit: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), audit)
    };
    let (code, audit) = asked(&data);
    assert_eq!((code, &audit["holds"], &audit["reservations"]), (Some(0), &json!(true), &json!(294)), "{audit}");
    assert_eq!(audit["history"], audit["chained"], "{audit}");
    let copy = copied(&data, folder.path());
    let db = rusqlite::Connection::open(copy.join("tickettock.db")).unwrap();
    db.execute_batch(&format!("{UNGUARDED} DELETE FROM history WHERE n = 9")).unwrap();
    drop(db);
    let (code, audit) = asked(&copy);
    assert_eq!((code, &audit["holds"]), (Some(3), &json!(false)), "{audit}");
    let broken =
        audit["invariants"].as_array().unwrap().iter().find(|one| one["name"] == "history has no gap").unwrap();
    assert!(broken["holds"] == false && broken["broken"][0].is_string(), "{broken}");
}

#[test]
fn missing_ledger_is_an_error() {
    let folder = TestFolder::new("server");
    let (code, said) = verify(folder.path());
    assert!(code == Some(2) && said.contains("there is no ledger"), "{said}");
    std::fs::write(folder.path().join("tickettock.db"), "this is no database").unwrap();
    let (code, said) = verify(folder.path());
    assert!(matches!(code, Some(2 | 3)) && !said.contains("panicked"), "{said}");
    let empty = TestFolder::new("server");
    std::fs::write(empty.path().join("tickettock.db"), "").unwrap();
    let (code, said) = verify(empty.path());
    assert!(matches!(code, Some(2 | 3)), "{said}");
}
