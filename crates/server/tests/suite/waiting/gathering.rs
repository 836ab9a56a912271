//! Whoever joins before the opening gathers: nobody learns a place, and at the opening everybody's place is the one
//! that the published seed says. FAULTS G6: a session that was opened before the sale gains nothing.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use rules::ids::{BEHIND_THE_DRAWN, DRAWN_FROM};
use rules::time::Moment;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testing::backing::{Backing, TestStores};
use testing::database::Database;
use testing::on_every_backing;
use testing::redis::OwnRedis;
use testing::server::TestServer;

use super::{Person, refused};

on_every_backing!(
    order_is_drawn_at_the_opening,
    draw_is_fixed_once_somebody_may_wait_for_it,
    seed_that_was_shown_draws_nobody,
    whoever_came_before_the_draw_and_behind_it_keeps_their_place,
    people_are_paced,
);

pub const HOUR_MS: i64 = 3_600_000;

pub fn after(stand: &TestServer, ms: i64) -> String {
    server::http::wire::moment(Moment(stand.app.ledger.wall().plus_ms(ms).0))
}

/// People may gather in an hour; it opens an hour later.
pub async fn drawn_event(stand: &TestServer) -> u64 {
    let body = json!({ "name": "Drawn", "seats": 9, "opensAt": after(stand, 2 * HOUR_MS),
        "waitingRoom": { "maxConcurrent": 1, "gatherFrom": after(stand, HOUR_MS) } });
    let made = stand.admin("POST", "events", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json()["event"]["waitingRoom"]["gatherFrom"], body["waitingRoom"]["gatherFrom"]);
    made.json()["event"]["id"].as_u64().unwrap()
}

pub async fn event(stand: &TestServer, event: u64) -> Value {
    stand.client().get(&format!("/api/v1/events/{event}")).await.json()["event"].clone()
}

pub async fn gathered(stand: &TestServer, event: u64, most: usize) -> Vec<Person> {
    let mut people = Vec::new();
    for i in 0..most {
        let mut person = Person::new(stand, event, &format!("user{i}"));
        let joined = person.join().await;
        assert_eq!((joined.status, &joined.json()["status"]), (200, &json!("gathering")), "{}", joined.text());
        people.push(person);
    }
    people
}

/// As the documents say that everybody can check it.
pub fn drawn(seed: &str, event: u64, user: &str) -> u64 {
    let seed = hex::decode(seed).unwrap();
    let mut block = [0; 64];
    block[..32].copy_from_slice(&seed);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(format!("{event}:{user}").as_bytes());
    let digest = hex::encode(mac.finalize().into_bytes());
    DRAWN_FROM + u64::from_str_radix(&digest[..13], 16).unwrap()
}

pub async fn seed_of(stand: &TestServer, id: u64) -> String {
    event(stand, id).await["drawSeed"].as_str().unwrap().to_owned()
}

async fn order_is_drawn_at_the_opening(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let id = drawn_event(&stand).await;
    let mut early = Person::new(&stand, id, "early");
    let refusal = early.join().await;
    refused(&refusal, 409, "not_open");
    let begins = event(&stand, id).await["waitingRoomSettings"]["gatherFrom"].clone();
    assert_eq!(refusal.json()["opensAt"], begins, "when one may join");
    assert_eq!(refusal.header("Retry-After").map(|after| after.parse::<u64>().unwrap() > 3_000), Some(true));

    stand.advance_ms(HOUR_MS + 1_000);
    let mut people = gathered(&stand, id, 12).await;
    let shown = event(&stand, id).await;
    let commitment = shown["drawCommitment"].as_str().unwrap().to_owned();
    assert_eq!(shown.get("drawSeed"), None, "until the opening it is a secret");
    let mut standings = Vec::new();
    for person in &mut people {
        let polled = person.poll().await.json();
        assert_eq!(person.ticket.as_ref().unwrap().split('.').nth(1), Some("0"), "a ticket tells no place");
        let early = person.enter().await;
        refused(&early, 409, "not_ready");
        let wait = early.json()["retryAfter"].as_u64().unwrap();
        assert!((3_500..3_600).contains(&wait), "until the opening, whatever the place will be: {wait}");
        standings.push(polled);
    }
    let wanted = json!({ "success": true, "status": "gathering", "number": null, "rank": null, "aheadCount": null,
        "estimatedWait": null, "opensAt": shown["opensAt"], "pollAfter": 20 });
    assert!(standings.iter().all(|standing| *standing == wanted), "nothing tells one from another: {standings:?}");
    let serving = || async { stand.client().get(&format!("/api/v1/events/{id}/queue/serving")).await.json() };
    let line = serving().await;
    assert_eq!((&line["serving"], &line["waiting"]), (&json!(0), &json!(12)), "{line}");
    let places = || async {
        let everything = stand.admin("GET", "users/user3", &Value::Null).await.json();
        let found = everything["places"].as_array().map(|places| places[0]["number"].clone());
        found.unwrap_or_else(|| panic!("{everything}"))
    };
    assert_eq!(places().await, Value::Null, "operators are not told either");

    stand.advance_ms(HOUR_MS);
    for person in &mut people {
        let placed = person.poll().await.json();
        assert_ne!(placed["status"], "gathering", "{placed}");
    }
    assert!(places().await.as_u64() > Some(DRAWN_FROM));
    assert_eq!(event(&stand, id).await.get("drawSeed"), None, "clocks of servers differ a little");
    let mut late = Person::new(&stand, id, "late");
    let joined = late.join().await.json();
    assert!(joined["number"].as_u64().unwrap() > BEHIND_THE_DRAWN && joined["rank"] == 12, "{joined}");
    stand.advance_ms(5_000);
    let seed = seed_of(&stand, id).await;
    assert_eq!(hex::encode(Sha256::digest(hex::decode(&seed).unwrap())), commitment);
    let mut order = Vec::new();
    for (i, person) in people.iter_mut().enumerate() {
        let told = person.poll_with_ticket().await.json();
        let number = told["number"].as_u64().unwrap();
        assert_eq!(number, drawn(&seed, id, &format!("user{i}")), "{told}");
        order.push((number, told["rank"].as_u64().unwrap(), i));
    }
    order.sort_unstable();
    assert!(order.iter().enumerate().all(|(rank, (_, told, _))| *told == rank as u64), "lowest first: {order:?}");
    assert!(order.iter().enumerate().any(|(rank, (_, _, came))| *came != rank), "not as they came: {order:?}");
    let line = serving().await;
    assert_eq!(line["serving"].as_u64(), Some(order[0].0));
    // One place inside: the first of the draw, and then the second.
    refused(&people[order[1].2].enter().await, 409, "not_ready");
    for (_, _, who) in &order[..2] {
        assert_eq!(people[*who].enter().await.status, 200);
        let sold = people[*who].book().await;
        assert_eq!(sold.status, 200, "{}", sold.text());
    }
    refused(&late.enter().await, 409, "not_ready");
    let audit = stand.admin("GET", "audit", &Value::Null).await.json();
    assert_eq!(audit["holds"], true, "{audit}");
}

async fn draw_is_fixed_once_somebody_may_wait_for_it(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let id = drawn_event(&stand).await;
    let change = |body: Value| {
        let stand = &stand;
        async move { stand.admin("PATCH", &format!("events/{id}"), &body).await }
    };
    let field = |answer: testing::http::TestResponse| {
        refused(&answer, 400, "validation");
        answer.json()["field"].as_str().map(str::to_owned).unwrap_or_else(|| answer.json()["message"].to_string())
    };
    let moved = json!({ "waitingRoom": { "gatherFrom": after(&stand, HOUR_MS / 2) } });
    assert_eq!(change(moved).await.status, 200, "it has not begun");
    let behind = json!({ "waitingRoom": { "gatherFrom": after(&stand, 3 * HOUR_MS) } });
    assert!(field(change(behind).await).contains("waitingRoom.gatherFrom"), "behind the opening");
    let earlier = json!({ "opensAt": after(&stand, 1_000) });
    assert!(field(change(earlier).await).contains("waitingRoom.gatherFrom"), "opens before anybody gathers");
    stand.advance_ms(HOUR_MS);
    for gather_from in [json!(after(&stand, HOUR_MS / 2)), Value::Null] {
        let answer = change(json!({ "waitingRoom": { "gatherFrom": gather_from } })).await;
        assert!(field(answer).contains("waitingRoom.gatherFrom"), "it has begun");
    }
    let postponed = json!({ "opensAt": after(&stand, 2 * HOUR_MS), "waitingRoom": { "admitPerMinute": 5 } });
    let answer = change(postponed).await;
    assert_eq!((answer.status, &answer.json()["event"]["waitingRoom"]["admitPerMinute"]), (200, &json!(5)));
    let before = event(&stand, id).await["drawCommitment"].clone();
    let mut alice = Person::new(&stand, id, "alice");
    assert_eq!(alice.join().await.json()["status"], "gathering");
    // The operator opens it early: the seed is public at once, and whoever joins now is not drawn.
    let opened = stand.admin("POST", &format!("events/{id}/open"), &Value::Null).await;
    assert_eq!(opened.status, 200, "{}", opened.text());
    let after_opening = event(&stand, id).await;
    assert_eq!(after_opening["drawCommitment"], before);
    let seed = seed_of(&stand, id).await;
    let mut bob = Person::new(&stand, id, "bob");
    assert!(bob.join().await.json()["number"].as_u64().unwrap() > BEHIND_THE_DRAWN);
    assert_eq!(alice.poll().await.json()["number"], drawn(&seed, id, "alice"));
    let again = change(json!({ "opensAt": after(&stand, HOUR_MS) })).await;
    assert!(field(again).contains("opensAt"), "an event is drawn once");
    assert_eq!(event(&stand, id).await["state"], "open", "a refusal changes nothing");
    // Nor by way of another waiting room: the seed of a second draw would be known.
    for (body, status) in [
        (json!({ "waitingRoom": null }), 200),
        (json!({ "opensAt": after(&stand, HOUR_MS) }), 200),
        (json!({ "waitingRoom": { "gatherFrom": after(&stand, -1_000) } }), 400),
        (json!({ "waitingRoom": {} }), 200),
        (json!({ "waitingRoom": { "gatherFrom": after(&stand, 1_000) } }), 400),
    ] {
        let answer = change(body.clone()).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
    let proof = event(&stand, id).await;
    assert_eq!((&proof["drawCommitment"], &proof["drawSeed"]), (&before, &json!(seed)), "it was drawn all the same");
    // Renaming it is no change of the draw.
    assert_eq!(change(json!({ "name": "Drawn already" })).await.status, 200);
}

/// An event that was opened before anybody gathered has shown its seed all the same.
async fn seed_that_was_shown_draws_nobody(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let id = drawn_event(&stand).await;
    stand.admin("POST", &format!("events/{id}/open"), &Value::Null).await;
    seed_of(&stand, id).await;
    for (body, status) in [
        (json!({ "waitingRoom": null }), 200),
        (json!({ "opensAt": after(&stand, 3 * HOUR_MS) }), 200),
        (json!({ "waitingRoom": { "gatherFrom": after(&stand, HOUR_MS) } }), 400),
    ] {
        let answer = stand.admin("PATCH", &format!("events/{id}"), &body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
}

async fn whoever_came_before_the_draw_and_behind_it_keeps_their_place(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let body = json!({ "name": "Drawn", "seats": 9, "opensAt": after(&stand, HOUR_MS), "waitingRoom": {} });
    let id = stand.admin("POST", "events", &body).await.json()["event"]["id"].as_u64().unwrap();
    let change = |body: Value| {
        let stand = &stand;
        async move { assert_eq!(stand.admin("PATCH", &format!("events/{id}"), &body).await.status, 200, "{body}") }
    };
    let mut early = Person::new(&stand, id, "early");
    assert_eq!(early.join().await.json()["number"], 1);
    change(json!({ "waitingRoom": { "gatherFrom": after(&stand, -1_000) } })).await;
    let mut drawn = gathered(&stand, id, 2).await;
    // They join again, and the ticket that they get is still that of their place.
    early.join().await;
    assert_eq!(early.ticket.as_ref().unwrap().split('.').nth(1), Some("1"));
    early.leave().await;
    assert_eq!(early.join_with_ticket().await.json()["status"], "gathering");
    stand.advance_ms(HOUR_MS + 1_000);
    let back = early.poll_with_ticket().await.json();
    assert_eq!((&back["number"], &back["rank"]), (&json!(1), &json!(0)), "{back}");
    for person in &mut drawn {
        person.poll().await;
    }
    // Another waiting room: whoever comes now is behind all the same, and a ticket of the draw still counts.
    change(json!({ "waitingRoom": null })).await;
    change(json!({ "waitingRoom": {} })).await;
    let late = Person::new(&stand, id, "late").join().await.json();
    assert!(late["rank"] == 3 && late["number"].as_u64() > Some(BEHIND_THE_DRAWN), "{late}");
    drawn[0].leave().await;
    let back = drawn[0].join_with_ticket().await.json();
    assert!(back["number"].as_u64() < Some(BEHIND_THE_DRAWN), "{back}");
}

async fn people_are_paced(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let room = json!({ "maxConcurrent": 100, "admitPerMinute": 2 });
    let id = super::room_with(&stand, 9, room).await;
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|user| Person::new(&stand, id, user));
    for person in [&mut a, &mut b, &mut c] {
        person.join().await;
    }
    assert_eq!(a.enter().await.status, 200);
    stand.advance_ms(10_000);
    assert_eq!(b.enter().await.status, 200);
    refused(&c.enter().await, 409, "not_ready");
    let waits = c.poll().await.json();
    assert_eq!((&waits["status"], &waits["aheadCount"]), (&json!("waiting"), &json!(1)), "{waits}");
    stand.advance_ms(50_000);
    c.poll().await;
    stand.advance_ms(20_000);
    assert_eq!(c.enter().await.status, 200, "in the next minute");
    // Whoever could enter and only asks holds the others up for a quarter of a minute.
    let id = super::room_with(&stand, 9, json!({ "maxConcurrent": 100, "admitPerMinute": 6 })).await;
    let [mut idle, mut next] = ["idle", "next"].map(|user| Person::new(&stand, id, user));
    assert_eq!(idle.join().await.json()["status"], "ready");
    next.join().await;
    refused(&next.enter().await, 409, "not_ready");
    stand.advance_ms(16_000);
    idle.poll().await;
    assert_eq!(next.enter().await.status, 200);
    stand.advance_ms(10_000);
    assert_eq!(idle.enter().await.status, 200, "whoever was passed over enters when they ask to");
}

/// The door forgets everything: before the opening, and after it.
async fn survives(stand: TestServer, lose: impl AsyncFn(TestServer) -> TestServer) {
    let id = drawn_event(&stand).await;
    stand.advance_ms(HOUR_MS + 1_000);
    let mut people = gathered(&stand, id, 5).await;
    let stand = lose(stand).await;
    for person in &mut people {
        person.client = stand.client();
        let back = person.poll_with_ticket().await.json();
        assert_eq!(back["status"], "gathering", "{back}");
    }
    stand.advance_ms(HOUR_MS + 5_000);
    let seed = seed_of(&stand, id).await;
    let stand = lose(stand).await;
    for (i, person) in people.iter_mut().enumerate() {
        person.client = stand.client();
        let back = person.join_with_ticket().await.json();
        assert_eq!(back["number"], drawn(&seed, id, &format!("user{i}")), "{back}");
    }
    assert_eq!(seed_of(&stand, id).await, seed);
}

#[tokio::test(flavor = "multi_thread")]
async fn draw_survives_a_restart() {
    let stand = TestServer::on(Backing::Embedded, &[]).await;
    survives(stand, async |stand: TestServer| stand.restart().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn draw_survives_a_wiped_redis() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    survives(stand, async |stand: TestServer| {
        redis.ask::<()>(&["FLUSHALL"]);
        stand
    })
    .await;
}

/// What a server remembers of an event may be a second old. Whoever saw the seed at another one must not be drawn.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_drawn_who_knows_the_seed() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stores = Arc::new(TestStores::at(&database.url, &redis.url()));
    let (one, other) = (TestServer::at(stores.clone(), &[]).await, TestServer::at(stores, &[]).await);
    // On a busy machine what it remembers may be read anew meanwhile: then nothing was tried.
    for _ in 0..20 {
        let id = drawn_event(&one).await;
        one.admin("PATCH", &format!("events/{id}"), &json!({ "waitingRoom": { "gatherFrom": after(&one, -1_000) } }))
            .await;
        let mut seen = Person::new(&other, id, "seen");
        assert_eq!(seen.join().await.json()["status"], "gathering");
        one.admin("POST", &format!("events/{id}/open"), &Value::Null).await;
        seed_of(&one, id).await;
        let stale = seen.poll().await.json()["status"] == "gathering";
        let mut grinder = Person::new(&other, id, "grinder");
        let joined = grinder.join().await;
        assert_eq!(joined.status, 200, "{}", joined.text());
        let place = |user: &str| redis.ask::<f64>(&["ZSCORE", &format!("queue:{{e:{id}}}"), user]) as u64;
        assert!(place("seen") < BEHIND_THE_DRAWN && place("grinder") > BEHIND_THE_DRAWN, "{}", place("grinder"));
        // Nor by the ticket that they got.
        for stand in [&other, &one] {
            grinder.client = stand.client();
            for shown in [grinder.poll_with_ticket().await, grinder.join_with_ticket().await] {
                assert_eq!(shown.status, 200, "{}", shown.text());
            }
            assert!(place("grinder") > BEHIND_THE_DRAWN, "{}", place("grinder"));
        }
        if stale {
            return;
        }
    }
    panic!("no server remembered an event");
}
