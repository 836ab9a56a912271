//! What happens to holds when servers die or sleep and Redis forgets: they stand or fall with the
//! ledger alone.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::backing::{Backing, TestStores};
use testing::database::Database;
use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::{ServerProcess, binary};
use testing::redis::OwnRedis;
use testing::rng::SeededRng;
use testing::server::TestServer;

use crate::holds::{available, day, give_back, hold, hold_id, nights, on_hold, room_type, seats};

/// Every command that Redis is sent from now on.
fn watch(redis: &OwnRedis) -> Arc<Mutex<Vec<String>>> {
    let url = redis.url();
    let mut wire = TcpStream::connect(url.trim_start_matches("redis://").trim_end_matches('/')).unwrap();
    wire.write_all(b"MONITOR\r\n").unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let lines = seen.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(wire).lines().map_while(Result::ok) {
            lines.lock().unwrap().push(line);
        }
    });
    seen
}

/// Answers do not wait for onlookers.
async fn shown_within_a_second(redis: &OwnRedis, night: &str, holds: i64) {
    let began = std::time::Instant::now();
    while redis.ask::<i64>(&["ZCARD", night]) != holds {
        assert!(began.elapsed() < std::time::Duration::from_secs(1), "{}", redis.ask::<i64>(&["ZCARD", night]));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// Redis is wiped while a thousand holds are live: all are still held, all can be confirmed; and in
/// all that time no server scanned its keys.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_wiped_redis_keeps_a_thousand_live_holds() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stores = Arc::new(TestStores::at(&database.url, &redis.url()));
    let seen = watch(&redis);
    let stand = TestServer::at(stores, &[]).await;
    let room = room_type(&stand, 1_000).await;
    let mut client = stand.client();
    let mut ids = Vec::new();
    for i in 0..1_000u64 {
        let held = hold(&mut client, &format!("u{i}"), &nights(room, 10, 2, i)).await;
        ids.push(hold_id(&held));
    }
    // For onlookers: the hold itself, and how many live on a night.
    let count = format!("hold-count:{{r:{room}}}:{}", day(11));
    shown_within_a_second(&redis, &count, 1_000).await;
    // The operator's id: the room type was made first, and `ids[0]` came second.
    let shown: String = redis.ask(&["GET", &format!("hold:{{r:{room}}}:hr{room}-9")]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["userId"], &shown["checkIn"]), (&json!("u7"), &json!(day(10))), "{shown}");
    redis.ask::<()>(&["FLUSHALL"]);
    let night = available(&mut client, room, 10, 1).await.json()["nights"][0].clone();
    assert_eq!((&night["held"], &night["available"]), (&json!(1_000), &json!(0)));
    let late = hold(&mut client, "late", &nights(room, 11, 1, 5_000)).await;
    assert_eq!((late.status, late.reason().as_str()), (409, "RESERVATION_NOT_AVAILABLE"));
    for (i, id) in ids.iter().enumerate() {
        let paid = on_hold(&mut client, &format!("u{i}"), id, "confirm").await;
        assert_eq!(paid.status, 200, "{}", paid.text());
    }
    let night = available(&mut client, room, 10, 1).await.json()["nights"][0].clone();
    assert_eq!((&night["held"], &night["reserved"]), (&json!(0), &json!(1_000)));
    // What was confirmed is held no more.
    shown_within_a_second(&redis, &count, 0).await;
    let seen = seen.lock().unwrap();
    assert!(seen.len() > 1_000, "{} commands were seen", seen.len());
    let looked = seen.iter().find(|line| line.contains("\"KEYS\"") || line.contains("\"SCAN\""));
    assert_eq!(looked, None, "somebody looked through the keys");
}

/// The last answer that a client got about a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Held,
    Confirmed,
    Cancelled,
}

type Book = HashMap<String, (String, Told)>;

/// Holds, confirms and gives back until the connection breaks; then what it was doing is not known.
async fn pay(address: SocketAddr, room: u64, next: Arc<AtomicU64>) -> (Book, Option<String>) {
    let (mut client, mut book) = (TestClient::new(address), Book::new());
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let user = format!("u{n}");
        let headers = [("X-User-Id", user.as_str()), ("Content-Type", "application/json")];
        let body = nights(room, (n % 50) as i32, 1 + (n % 4) as i32, n).to_string();
        let Ok(answer) = client.try_send("POST", "/v1/holds", &headers, &body).await else { return (book, None) };
        if answer.status != 201 {
            assert_eq!(answer.status, 409, "{}", answer.text());
            continue;
        }
        let id = hold_id(&answer);
        book.insert(id.clone(), (user.clone(), Told::Held));
        let (method, path, told) = match n % 3 {
            0 => continue,
            1 => ("POST", format!("/v1/holds/{id}/confirm"), Told::Confirmed),
            _ => ("DELETE", format!("/v1/holds/{id}"), Told::Cancelled),
        };
        let Ok(answer) = client.try_send(method, &path, &headers, "").await else { return (book, Some(id)) };
        assert_eq!(answer.status, 200, "{}", answer.text());
        book.insert(id, (user, told));
    }
}

/// Killed repeatedly while it creates, confirms and cancels holds: every acknowledged answer still holds.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_kills_lose_no_acknowledged_hold() {
    let folder = TestFolder::new("server");
    let data = folder.path().join("data");
    let next = Arc::new(AtomicU64::new(0));
    let (mut book, mut open) = (Book::new(), Vec::new());
    let mut rng = SeededRng::new(8);
    let mut room = 0;
    for life in 0..8 {
        let process = ServerProcess::start(&data, &[]).await;
        if life == 0 {
            room = made(&process, &process.admin_token(), 100_000).await;
        }
        let clients: Vec<_> = (0..16).map(|_| tokio::spawn(pay(process.address, room, next.clone()))).collect();
        tokio::time::sleep(Duration::from_millis(100 + rng.below(300))).await;
        process.kill();
        for client in clients {
            let (told, unknown) = client.await.unwrap();
            book.extend(told);
            open.extend(unknown);
        }
    }
    let process = ServerProcess::start(&data, &[]).await;
    let mut client = process.client();
    assert!(book.len() > 500 && !open.is_empty(), "{} holds, {} unknown", book.len(), open.len());
    for (id, (user, told)) in &book {
        let shown = client.get_as(user, &format!("/v1/holds/{id}")).await.json();
        let state = match shown["hold"]["state"].as_str() {
            Some("held") => Told::Held,
            Some("confirmed") => Told::Confirmed,
            Some("cancelled") => Told::Cancelled,
            _ => panic!("{id} was acknowledged and is lost: {shown}"),
        };
        assert!(state == *told || open.contains(id), "{id} was told {told:?} and is {state:?}");
    }
    drop(process);
    let output = binary().arg("verify").env("DATA_DIR", &data).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

pub async fn made(process: &ServerProcess, token: &str, rooms: u64) -> u64 {
    let token = format!("Bearer {token}");
    let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
    let body = json!({ "name": "Double", "totalQuantity": rooms }).to_string();
    let made = process.client().send("POST", "/api/v1/admin/room-types", &headers, &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["roomType"]["id"].as_u64().unwrap()
}

/// C11: a server sleeps longer than a hold, with a confirmation in its hands. The room is sold to
/// somebody else meanwhile; when it wakes up, what it has to say does not fit any more.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_suspended_server_cannot_confirm_an_expired_hold() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stores = TestStores::at(&database.url, &redis.url());
    let folder = TestFolder::new("server");
    let mut settings = stores.settings();
    settings.push(("HOLD_TTL", "2"));
    let (sleeper, other) =
        (ServerProcess::start(folder.path(), &settings).await, ServerProcess::start(folder.path(), &settings).await);
    let token = settings.iter().find(|(name, _)| *name == "ADMIN_TOKEN").unwrap().1.to_owned();
    let mut awake = other.client();
    for nap in 0..4u64 {
        let room = made(&other, &token, 1).await;
        let held = hold(&mut sleeper.client(), "alice", &nights(room, 5, 1, nap)).await;
        let id = hold_id(&held);
        let (address, mine) = (sleeper.address, id.clone());
        let confirming = tokio::spawn(async move {
            let mut client = TestClient::new(address);
            let path = format!("/v1/holds/{mine}/confirm");
            client.try_send("POST", &path, &[("X-User-Id", "alice")], "").await.map(|answer| answer.status)
        });
        // Sometimes before, sometimes inside, sometimes after its transaction.
        tokio::time::sleep(Duration::from_micros(nap * 1_500)).await;
        sleeper.signal("STOP");
        tokio::time::sleep(Duration::from_millis(3_300)).await;
        let bobs = hold(&mut awake, "bob", &nights(room, 5, 1, 100 + nap)).await;
        let bob_paid = match bobs.status {
            201 => on_hold(&mut awake, "bob", &hold_id(&bobs), "confirm").await.status == 200,
            _ => false,
        };
        sleeper.signal("CONT");
        let alice = confirming.await.unwrap().ok();
        let mine = awake.get_as("alice", "/api/v1/reservations").await.json();
        let alice_has = mine["reservations"].as_array().unwrap().iter().any(|r| r["roomTypeId"] == room);
        assert!(alice_has != bob_paid, "nap {nap}: alice was told {alice:?}, bob paid: {bob_paid}");
        assert!(alice != Some(200) || alice_has, "nap {nap}: alice was told yes and has nothing");
        let night = available(&mut awake, room, 5, 1).await.json()["nights"][0].clone();
        assert_eq!((&night["reserved"], &night["held"]), (&json!(1), &json!(0)), "nap {nap}");
    }
    let (_, findings) = stores::ledger::postgres::verify(&database.url).await.unwrap();
    assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
}

/// Hold requests that time out on the lock get `contention` within a second.
#[tokio::test(flavor = "multi_thread")]
async fn hold_requests_that_time_out_on_the_lock_get_contention() {
    let stand = TestServer::on(Backing::Postgres, &[]).await;
    let (room, event) = (room_type(&stand, 5).await, stand.event(9, 2).await);
    let mut client = stand.client();
    let id = hold_id(&hold(&mut client, "alice", &nights(room, 5, 1, 1)).await);
    let other = stand.stores.database().connect().await;
    other.batch_execute("BEGIN; SELECT FROM room_type FOR UPDATE; SELECT FROM event FOR UPDATE").await.unwrap();
    let began = Instant::now();
    let (mut one, mut two, mut three) = (stand.client(), stand.client(), stand.client());
    let (wanted, cart) = (nights(room, 6, 1, 2), seats(event, &[1, 2], 3));
    let (a, b, c) = tokio::join!(
        hold(&mut one, "bob", &wanted),
        on_hold(&mut two, "alice", &id, "confirm"),
        hold(&mut three, "carol", &cart)
    );
    for answer in [&a, &b, &c] {
        assert_eq!((answer.status, answer.reason().as_str()), (409, "LOCK_TIMEOUT"), "{}", answer.text());
        assert!(answer.header("retry-after").is_some());
    }
    assert!(began.elapsed() < Duration::from_millis(2_500), "{:?}", began.elapsed());
    other.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(on_hold(&mut client, "alice", &id, "confirm").await.status, 200, "nothing was done before");
    assert_eq!(hold(&mut client, "bob", &wanted).await.status, 201);
}

/// A2: one seat and a thousand users; then holds of several seats in random order, all or nothing.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_one_seat_is_held_once_for_a_thousand_users() {
    for backing in [Backing::Embedded, Backing::Redis] {
        let stand = Arc::new(TestServer::on(backing, &[]).await);
        let event = stand.event(1, 1).await;
        let mut running = Vec::new();
        for task in 0..20u64 {
            let stand = stand.clone();
            running.push(tokio::spawn(async move {
                let (mut client, mut won) = (stand.client(), 0);
                for i in 0..50 {
                    let answer = hold(&mut client, &format!("t{task}i{i}"), &seats(event, &[1], task * 50 + i)).await;
                    match answer.status {
                        201 => won += 1,
                        _ => assert_eq!(answer.reason(), "RESERVATION_NOT_AVAILABLE", "{}", answer.text()),
                    }
                }
                won
            }));
        }
        let mut won = 0;
        for task in running {
            won += task.await.unwrap();
        }
        assert_eq!(won, 1, "{backing:?}");
    }
}

/// A7: every hold is sent ten times under its key, some with another body: one hold each, the same
/// answer every time, and the altered ones are told.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_repeated_holds_get_the_same_answer() {
    const KEYS: u64 = 300;
    for backing in [Backing::Embedded, Backing::Redis] {
        // Seven users ask for everything.
        let stand = Arc::new(TestServer::on(backing, &[("HOLDS_PER_USER", "1000"), ("USER_RATE", "0")]).await);
        let room = room_type(&stand, 1_000).await;
        let mut running = Vec::new();
        for task in 0..10u64 {
            let stand = stand.clone();
            running.push(tokio::spawn(async move {
                let (mut client, mut told) = (stand.client(), Vec::new());
                for i in 0..KEYS {
                    let n = (i + task * 31) % KEYS;
                    let altered = (n + task).is_multiple_of(100) && task > 0;
                    let count = if altered { 9 } else { 1 + (n % 4) as i32 };
                    let body = nights(room, (n % 60) as i32, count, n).to_string();
                    let (user, idem) = (format!("u{}", n % 7), format!("k{n}"));
                    let headers =
                        [("X-User-Id", &*user), ("Content-Type", "application/json"), ("Idempotency-Key", &idem)];
                    told.push((n, altered, client.send("POST", "/v1/holds", &headers, &body).await));
                }
                told
            }));
        }
        let mut all: HashMap<u64, String> = HashMap::new();
        let mut mismatches = 0;
        for task in running {
            for (n, altered, answer) in task.await.unwrap() {
                match answer.status {
                    // Whoever came first may have been the altered one: then the others differ from it.
                    422 => mismatches += 1,
                    201 => {
                        let known = all.entry(n).or_insert_with(|| answer.text());
                        assert_eq!(*known, answer.text(), "{n} altered {altered}");
                    }
                    _ => panic!("{}", answer.text()),
                }
            }
        }
        assert_eq!(all.len() as u64, KEYS);
        assert!(mismatches >= 10, "{mismatches}");
        let mut client = stand.client();
        let mut live = 0;
        for user in 0..7 {
            let page = client.get_as(&format!("u{user}"), "/v1/holds?limit=1000").await.json();
            live += page["holds"].as_array().unwrap().len() as u64;
        }
        assert_eq!(live, KEYS, "{backing:?}: one hold per key");
    }
}

/// A hold cancelled at one server is sold by another at once.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_hold_is_free_on_every_server() {
    let stores = Arc::new(TestStores::new(Backing::Redis).await);
    let (one, two) = (TestServer::at(stores.clone(), &[]).await, TestServer::at(stores, &[]).await);
    let (room, event) = (room_type(&one, 1).await, one.event(2, 2).await);
    let (mut here, mut there) = (one.client(), two.client());
    for round in 0..5u64 {
        let stay = hold_id(&hold(&mut here, "alice", &nights(room, 3, 1, round)).await);
        let cart = hold_id(&hold(&mut here, "alice", &seats(event, &[1, 2], round)).await);
        let full = hold(&mut there, "bob", &nights(room, 3, 1, 100 + round)).await;
        assert_eq!(full.reason(), "RESERVATION_NOT_AVAILABLE");
        let full = there.reserve(event, "bob").await;
        assert_eq!(full.reason(), "held_out", "{}", full.text());
        for id in [&stay, &cart] {
            assert_eq!(give_back(&mut there, "alice", id).await.status, 200, "behind another server");
        }
        let bobs = hold(&mut there, "bob", &nights(room, 3, 1, 100 + round)).await;
        assert_eq!(give_back(&mut here, "bob", &hold_id(&bobs)).await.status, 200);
        let bought = there.reserve(event, "bob").await;
        assert_eq!(bought.seat(), Some(1), "{}", bought.text());
        let id = bought.json()["reservationId"].as_str().unwrap().to_owned();
        assert_eq!(here.cancel("bob", &id).await.status, 200);
    }
}
