//! I4: the door cannot be told that somebody went out. It learns it from the ledger as soon as it can be
//! reached, and does not wait for the end of the entry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use testing::backing::TestStores;
use testing::database::Database;
use testing::proxy::{Proxy, WireFault};
use testing::redis::OwnRedis;
use testing::server::TestServer;

use super::{Person, room_with};
use crate::holds::{hold_id, on_hold, seats};

const CUT: Duration = Duration::from_secs(1);

async fn through(wire: &Proxy, database: &Database) -> TestServer {
    let redis = format!("redis://127.0.0.1:{}", wire.port());
    TestServer::at(Arc::new(TestStores::at(&database.url, &redis)), &[]).await
}

/// One place: a is inside with a held seat, b is in line.
async fn two_people(stand: &TestServer) -> (Person, Person, String) {
    let room = json!({ "maxConcurrent": 1, "tokenTtl": 120, "idleTimeout": 60 });
    let event = room_with(stand, 9, room).await;
    let (mut a, mut b) = (Person::new(stand, event, "a"), Person::new(stand, event, "b"));
    a.join().await;
    b.join().await;
    assert_eq!(a.enter().await.status, 200);
    let token = a.token.clone().unwrap();
    let headers = [("X-User-Id", "a"), ("X-Entry-Token", token.as_str()), ("Content-Type", "application/json")];
    let held = a.client.send("POST", "/v1/holds", &headers, &seats(event, &[3], 1).to_string()).await;
    assert_eq!(b.status().await, "waiting");
    (a, b, hold_id(&held))
}

/// The confirmation gives the entry back: a is at the limit.
async fn confirm(a: &mut Person, hold: &str) {
    let confirmed = on_hold(&mut a.client, "a", hold, "confirm").await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text());
}

/// Polls as a waiting user does, until they may enter.
async fn enters_within(b: &mut Person, most: Duration) {
    let began = Instant::now();
    loop {
        let answer = b.poll().await;
        if answer.status == 200 && answer.json()["status"] == "ready" {
            break;
        }
        assert!(began.elapsed() < most, "b still waits after {most:?}: {}", answer.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(b.enter().await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn place_is_free_after_a_short_cut_of_redis() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let wire = Proxy::to(redis.port).await;
    for fault in [WireFault::Reset, WireFault::Silence] {
        let stand = through(&wire, &database).await;
        let (mut a, mut b, hold) = two_people(&stand).await;
        wire.set(fault);
        confirm(&mut a, &hold).await;
        tokio::time::sleep(CUT).await;
        wire.set(WireFault::None);
        enters_within(&mut b, Duration::from_secs(2)).await;
    }
    assert!(wire.fired() > 0);
}

/// Only the server that knew is cut off, and for ever: another one finds the difference.
#[tokio::test(flavor = "multi_thread")]
async fn place_is_free_although_the_server_that_knew_is_gone() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let (wire, other) = (Proxy::to(redis.port).await, Proxy::to(redis.port).await);
    let first = through(&wire, &database).await;
    let second = through(&other, &database).await;
    let (mut a, mut b, hold) = two_people(&first).await;
    b.client = second.client();
    assert_eq!(b.status().await, "waiting");
    wire.set(WireFault::Reset);
    confirm(&mut a, &hold).await;
    enters_within(&mut b, Duration::from_secs(2)).await;
}

/// The other way round: somebody came in, and the door does not know. Nobody else is told `ready` for long,
/// and a user inside whom the door lost is inside.
#[tokio::test(flavor = "multi_thread")]
async fn door_that_lost_an_entry_is_told_again() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let wire = Proxy::to(redis.port).await;
    let stand = through(&wire, &database).await;
    let (_, mut b, _) = two_people(&stand).await;
    let inside = |key: &str| format!("{key}:{{e:{}}}", b.event);
    let (token, list) = (inside("token"), inside("queue:inside"));
    redis.ask::<()>(&["DEL", &token, &list]);
    let began = Instant::now();
    while b.status().await != "waiting" {
        assert!(began.elapsed() < Duration::from_secs(2), "the door was not told that a is inside");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(redis.ask::<Vec<String>>(&["ZRANGE", &token, "0", "-1"]), ["a"]);
}

/// `verify` compares door and ledger, and so does the server's audit: what the servers correct holds, what
/// stays is broken.
#[tokio::test(flavor = "multi_thread")]
async fn verify_compares_who_is_inside() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let wire = Proxy::to(redis.port).await;
    let stand = through(&wire, &database).await;
    let (_, mut b, _) = two_people(&stand).await;
    let verify = async || {
        let mut command = testing::process::binary();
        command.arg("verify").env("DATABASE_URL", &database.url).env("REDIS_URL", redis.url());
        command.env("ADMIN_TOKEN", "0123456789abcdef0123456789abcdef");
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = verify().await;
    assert!(code == Some(0) && said.contains("ok      door and ledger agree on who is inside"), "{said}");
    let key = |name: &str| format!("{name}:{{e:{}}}", b.event);
    let (token, inside, state) = (key("token"), key("queue:inside"), key("queue:state"));
    // Somebody polls, so a server corrects it meanwhile.
    redis.ask::<()>(&["DEL", &token, &inside]);
    let polling = tokio::spawn(async move {
        loop {
            b.poll().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let (code, said) = verify().await;
    assert_eq!(code, Some(0), "{said}");
    let audit = stand.admin("GET", "audit", &serde_json::Value::Null).await.json();
    assert!(audit["holds"] == true && audit.to_string().contains("door and ledger agree"), "{audit}");
    polling.abort();
    // Now nobody corrects it, and it looks as if somebody did.
    stand.ask_to_stop();
    stand.stopped().await;
    drop(stand);
    redis.ask::<()>(&["ZADD", &token, "4000000000000", "ghost"]);
    redis.ask::<()>(&["HSET", &inside, "ghost", "1 4000000000000"]);
    let (code, said) = verify().await;
    assert_eq!(code, Some(0), "nobody asks this line: {said}");
    let server = redis.client();
    let comparing = tokio::task::spawn_blocking(move || {
        let until = Instant::now() + Duration::from_secs(8);
        while Instant::now() < until {
            let time: (i64, i64) = testing::redis::ask(&server, &["TIME"]);
            let now = (time.0 * 1_000 + time.1 / 1_000).to_string();
            testing::redis::ask::<()>(&server, &["HSET", &state, "compared", &now]);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (code, said) = verify().await;
    assert!(code == Some(3) && said.contains("BROKEN  door and ledger agree"), "{said}");
    assert!(said.contains("1 inside by the ledger, 2 by the door"), "{said}");
    comparing.await.unwrap();
}
