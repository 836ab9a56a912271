//! The door forgets: entries come back from the ledger, nobody new is admitted for half an
//! idleTimeout, tickets re-form the line in its old order.

use std::sync::Arc;

use serde_json::json;
use testing::backing::{Backing, TestStores};
use testing::database::Database;
use testing::redis::OwnRedis;
use testing::server::TestServer;

use super::{Person, refused, room_with};

/// Five people and two places: two inside, three in line; then the door is lost.
struct Before {
    event: u64,
    people: Vec<Person>,
}

async fn before(stand: &TestServer) -> Before {
    let event = room_with(stand, 9, json!({ "maxConcurrent": 2, "idleTimeout": 60 })).await;
    let mut people = Vec::new();
    for user in ["a", "b", "c", "d", "e"] {
        let mut person = Person::new(stand, event, user);
        person.join().await;
        people.push(person);
    }
    for person in &mut people[..2] {
        assert_eq!(person.enter().await.status, 200);
    }
    Before { event, people }
}

async fn after(stand: &TestServer, before: Before) {
    let Before { event, mut people } = before;
    for person in &mut people {
        person.client = stand.client();
    }
    let [a, b, c, d, e] = &mut people[..] else { unreachable!() };
    // A newcomer is first at the empty door, and e comes back before c and d.
    let mut newcomer = Person::new(stand, event, "newcomer");
    let joined = newcomer.join().await.json();
    assert!(joined["number"].as_u64().unwrap() > 1_000_000_000, "a new generation: {joined}");
    assert_eq!(joined["status"], "waiting");
    assert_eq!(a.poll().await.json()["status"], "entered", "who is inside comes back from the ledger");
    let back = e.poll_with_ticket().await.json();
    assert_eq!((&back["number"], &back["rank"]), (&json!(5), &json!(0)), "before the newcomer");
    b.leave().await;
    // A place is free, and nobody new is admitted: c may still come.
    let early = e.enter().await;
    refused(&early, 409, "not_ready");
    let wait = early.json()["retryAfter"].as_u64().unwrap();
    assert!((25..=30).contains(&wait), "half an idleTimeout: {wait}");
    refused(&c.poll().await, 404, "not_queued");
    for (person, number, rank) in [(&mut *d, 4, 0), (&mut *c, 3, 0), (&mut *e, 5, 2)] {
        let back = person.join_with_ticket().await.json();
        assert_eq!((&back["number"], &back["rank"]), (&json!(number), &json!(rank)), "{back}");
        assert_eq!(back["status"], "waiting");
    }
    // Nobody twice: b has entered by number 2, and it is spent.
    let spent = b.join_with_ticket().await.json();
    assert!(spent["number"].as_u64().unwrap() > 1_000_000_000, "{spent}");
    stand.advance_ms(31_000);
    assert_eq!(c.status().await, "ready");
    refused(&d.enter().await, 409, "not_ready");
    assert_eq!(c.enter().await.status, 200);
    assert_eq!(a.book().await.seat(), Some(1), "the old entry is still good");
    assert_eq!(d.enter().await.status, 200);
    refused(&e.enter().await, 409, "not_ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn line_after_a_restart_embedded() {
    let stand = TestServer::on(Backing::Embedded, &[]).await;
    let lost = before(&stand).await;
    let stand = stand.restart().await;
    after(&stand, lost).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn line_after_a_restart_on_postgres() {
    let stand = TestServer::on(Backing::Postgres, &[]).await;
    let lost = before(&stand).await;
    let stand = stand.restart().await;
    after(&stand, lost).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn line_after_redis_was_wiped() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    let lost = before(&stand).await;
    redis.ask::<()>(&["FLUSHALL"]);
    after(&stand, lost).await;
}

/// C1: the process of Redis is another one, and knows nothing.
#[tokio::test(flavor = "multi_thread")]
async fn line_after_redis_restarted_empty() {
    let (database, mut redis) = (Database::fresh().await, OwnRedis::start());
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    let lost = before(&stand).await;
    redis.kill();
    redis.begin();
    while stand.client().get("/readyz").await.status != 200 {}
    after(&stand, lost).await;
}

/// C2: an old file knows people who have entered since, and entries that were given back; never
/// more than `maxConcurrent` are inside all the same.
#[tokio::test(flavor = "multi_thread")]
async fn line_after_redis_restarted_from_an_old_dump() {
    let (database, mut redis) = (Database::fresh().await, OwnRedis::start_with(&["--dbfilename", "dump.rdb"]));
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    let event = room_with(&stand, 9, json!({ "maxConcurrent": 2 })).await;
    let mut people = Vec::new();
    for user in ["a", "b", "c", "d"] {
        let mut person = Person::new(&stand, event, user);
        person.join().await;
        people.push(person);
    }
    let [a, b, c, d] = &mut people[..] else { unreachable!() };
    a.enter().await;
    redis.ask::<()>(&["SAVE"]);
    // Since then: a left, b and c came in.
    a.leave().await;
    assert_eq!((b.enter().await.status, c.enter().await.status), (200, 200));
    redis.kill();
    redis.begin();
    while stand.client().get("/readyz").await.status != 200 {}
    assert_eq!(redis.ask::<i64>(&["ZCARD", &format!("token:{{e:{event}}}")]), 1, "the old file was read");
    refused(&d.enter().await, 409, "not_ready");
    stand.advance_ms(31_000);
    refused(&d.enter().await, 409, "not_ready");
    for person in [&mut *b, &mut *c] {
        assert_eq!(person.status().await, "entered");
        let again = person.enter().await;
        assert_eq!(again.status, 200);
    }
    refused(&a.poll().await, 404, "not_queued");
    b.leave().await;
    assert_eq!(d.enter().await.status, 200);
    // b stood in the old file's line with a number that is spent.
    refused(&b.enter().await, 404, "not_queued");
}

/// The server dies between its commit and the call to the door: the ledger still counts the entry.
#[tokio::test(flavor = "multi_thread")]
async fn crash_before_telling_the_door_admits_nobody_extra() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    let event = room_with(&stand, 9, json!({ "maxConcurrent": 1 })).await;
    let (mut a, mut b) = (Person::new(&stand, event, "a"), Person::new(&stand, event, "b"));
    a.join().await;
    b.join().await;
    a.enter().await;
    // As if the door had never heard of it.
    for key in ["token", "queue:inside"] {
        redis.ask::<()>(&["DEL", &format!("{key}:{{e:{event}}}")]);
    }
    assert_eq!(b.status().await, "ready", "the door believes that there is room");
    refused(&b.enter().await, 409, "not_ready");
    assert_eq!(b.status().await, "waiting", "and was told better");
    assert_eq!(a.status().await, "entered");
}
