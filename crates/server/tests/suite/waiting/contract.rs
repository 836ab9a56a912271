//! Shapes and states as the contract writes them.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::{BUYER, TestResponse};
use testing::on_every_backing;
use testing::server::TestServer;

use super::{Person, refused, room, room_with};

on_every_backing!(
    confirmation_by_a_service_ends_the_owners_entry,
    line_follows_the_contract,
    wait_is_estimated_from_who_was_let_in,
    silent_users_and_lapsed_turns_are_passed_over,
    entries_are_renewed_up_to_their_maximum_age,
    line_before_opening_in_a_pause_and_closed,
    line_reports_sold_out,
    events_show_their_waiting_room,
    holds_need_an_entry,
);

async fn line_follows_the_contract(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room(&stand, 9, 1).await;
    let (mut alice, mut bob) = (Person::new(&stand, event, "alice"), Person::new(&stand, event, "bob"));
    refused(&alice.poll().await, 404, "not_queued");
    refused(&alice.enter().await, 404, "not_queued");
    let joined = alice.join().await;
    let body = joined.json();
    let ticket = body["ticket"].as_str().unwrap().to_owned();
    let wanted = json!({ "success": true, "status": "ready", "number": 1, "rank": 0, "aheadCount": 0,
        "estimatedWait": 0, "ticket": ticket, "pollAfter": 1 });
    assert_eq!((joined.status, &body), (200, &wanted));
    let second = bob.join().await.json();
    assert_eq!((&second["status"], &second["number"], &second["rank"]), (&json!("waiting"), &json!(2), &json!(1)));
    let again = alice.join().await.json();
    assert_eq!((&again["number"], &again["ticket"]), (&json!(1), &json!(ticket)), "a refresh keeps the place");
    let polled = bob.poll().await.json();
    // Nobody was let in yet.
    let wanted = json!({ "success": true, "status": "waiting", "number": 2, "rank": 1, "aheadCount": 1,
        "estimatedWait": null, "pollAfter": 1 });
    assert_eq!(polled, wanted);
    let early = bob.enter().await;
    refused(&early, 409, "not_ready");
    assert_eq!(early.header("Retry-After"), Some("1"));
    assert_eq!(early.json()["retryAfter"], 1);
    refused(&alice.book().await, 403, "entry_required");
    let entered = alice.enter().await;
    let body = entered.json();
    assert_eq!(entered.status, 200, "{body}");
    assert_eq!((&body["status"], &body["expiresIn"]), (&json!("entered"), &json!(300)));
    let token = alice.token.clone().unwrap();
    assert_eq!((token.len(), token.bytes().all(|b| b.is_ascii_hexdigit())), (32, true));
    let again = alice.enter().await.json();
    assert_eq!(again["token"], token, "again: the same entry");
    let inside = alice.poll().await.json();
    assert_eq!(inside["status"], "entered");
    let [rank, ahead, wait] = ["rank", "aheadCount", "estimatedWait"].map(|figure| &inside[figure]);
    assert_eq!([rank, ahead, wait], [&Value::Null; 3]);
    assert!((299..=300).contains(&inside["expiresIn"].as_u64().unwrap()), "{inside}");
    assert_eq!(alice.join().await.json()["status"], "entered", "one place or one entry");
    refused(&bob.enter().await, 409, "not_ready");
    let sold = alice.book().await;
    assert_eq!(sold.seat(), Some(1), "{}", sold.text());
    // The booking that reaches the limit gives the entry back.
    refused(&alice.poll().await, 404, "not_queued");
    assert_eq!(bob.status().await, "ready");
    assert_eq!(bob.enter().await.status, 200);
    for _ in 0..2 {
        let left = bob.leave().await;
        assert_eq!((left.status, left.json()), (200, json!({ "success": true })), "always");
    }
    refused(&bob.book().await, 403, "entry_required");
    let spent = bob.join_with_ticket().await.json();
    assert_eq!(spent["number"], 3, "a spent ticket counts as none");
    let without = stand.event(3, 1).await;
    let mut nobody = Person::new(&stand, without, "carol");
    refused(&nobody.join().await, 409, "no_waiting_room");
    refused(&nobody.poll().await, 409, "no_waiting_room");
    refused(&nobody.enter().await, 409, "no_waiting_room");
    assert_eq!(nobody.leave().await.status, 200, "always");
    assert_eq!(nobody.book().await.seat(), Some(1));
    refused(&Person::new(&stand, 999, "carol").join().await, 404, "not_found");
    let serving = stand.client().get(&format!("/api/v1/events/{event}/queue/serving")).await;
    assert_eq!(serving.header("Cache-Control"), Some("public, max-age=1"));
    let body = serving.json();
    assert_eq!((&body["waiting"], &body["soldOut"]), (&json!(1), &json!(false)), "{body}");
    assert!(body["serving"].as_u64() >= Some(3) && body["admittedPerMinute"] == 2, "{body}");
    refused(&stand.client().get(&format!("/api/v1/events/{without}/queue/serving")).await, 409, "no_waiting_room");
    let metrics = stand.client().get("/metrics").await.text();
    for (figure, value) in [("waiting", 1), ("inside", 0), ("admitted_per_minute", 2), ("open", 1)] {
        let line = format!("queue_{figure}{{event=\"{event}\"}} {value}");
        assert!(metrics.contains(&line), "{line} is not in the metrics");
    }
    assert!(metrics.contains("queue_admitted_total 2"), "{metrics}");
    let anonymous = stand.client().send("POST", &format!("/api/v1/events/{event}/queue"), &[], "").await;
    refused(&anonymous, 400, "missing_user");
}

async fn wait_is_estimated_from_who_was_let_in(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room(&stand, 9, 2).await;
    let people = ["a", "b", "c", "d", "e"].map(|user| Person::new(&stand, event, user));
    let [mut a, mut b, mut c, mut d, mut e] = people;
    for person in [&mut a, &mut b, &mut c, &mut d, &mut e] {
        person.join().await;
    }
    for person in [&mut a, &mut b] {
        assert_eq!(person.enter().await.status, 200);
    }
    stand.advance_ms(2_000);
    // Two within the last minute: half a minute for each who must go first.
    for (person, ahead) in [(&mut c, 1), (&mut d, 2), (&mut e, 3)] {
        let stands = person.poll().await.json();
        assert_eq!((&stands["aheadCount"], &stands["estimatedWait"]), (&json!(ahead), &json!(30 * ahead)), "{stands}");
    }
    stand.advance_ms(60_000);
    let stands = d.poll().await.json();
    assert_eq!((&stands["status"], &stands["estimatedWait"]), (&json!("waiting"), &Value::Null), "{stands}");
}

async fn silent_users_and_lapsed_turns_are_passed_over(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room_with(&stand, 9, json!({ "maxConcurrent": 1, "idleTimeout": 30 })).await;
    let mut people: Vec<Person> = ["a", "b", "c", "d"].map(|user| Person::new(&stand, event, user)).into();
    for person in &mut people {
        person.join().await;
    }
    let [a, b, c, d] = &mut people[..] else { unreachable!() };
    stand.advance_ms(20_000);
    // a is `ready` and never enters; b closes the tab.
    for person in [&mut *a, &mut *c, &mut *d] {
        person.poll().await;
    }
    stand.advance_ms(11_000);
    assert_eq!(c.status().await, "ready", "a's turn has lapsed, b is silent");
    assert_eq!(d.status().await, "waiting");
    let back = b.poll().await.json();
    assert_eq!((&back["number"], &back["rank"], &back["status"]), (&json!(2), &json!(0), &json!("ready")));
    assert_eq!(c.status().await, "waiting", "and is before c again");
    assert_eq!(a.enter().await.status, 200, "who asks to enter gets their turn");
    refused(&b.enter().await, 409, "not_ready");
}

async fn entries_are_renewed_up_to_their_maximum_age(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room_with(&stand, 9, json!({ "maxConcurrent": 1, "tokenTtl": 100, "tokenMaxAge": 250 })).await;
    let (mut alice, mut bob) = (Person::new(&stand, event, "alice"), Person::new(&stand, event, "bob"));
    alice.join().await;
    assert_eq!(alice.enter().await.json()["expiresIn"], 100);
    let left = |answer: TestResponse| answer.json()["expiresIn"].as_u64().unwrap_or_default();
    stand.advance_ms(20_000);
    assert!((78..=80).contains(&left(alice.poll().await)), "too early for a write");
    stand.advance_ms(60_000);
    assert!((98..=100).contains(&left(alice.poll().await)), "renewed to the whole of it");
    stand.advance_ms(90_000);
    let last = left(alice.poll().await);
    assert!((78..=80).contains(&last), "never past tokenMaxAge: {last}");
    bob.join().await;
    stand.advance_ms(50_000);
    assert!((28..=30).contains(&left(alice.poll().await)), "nothing more to gain");
    assert_eq!(bob.status().await, "waiting");
    stand.advance_ms(30_500);
    assert_eq!(bob.status().await, "ready", "however often she polls");
    refused(&alice.book().await, 403, "entry_required");
    assert_eq!(bob.enter().await.status, 200);
}

async fn line_before_opening_in_a_pause_and_closed(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let opens = stand.app.ledger.now().plus_ms(3_600_000);
    let at = jiff_text(opens.0);
    let body = json!({ "name": "Later", "seats": 5, "opensAt": at, "waitingRoom": {} });
    let made = stand.admin("POST", "events", &body).await;
    let event = made.json()["event"]["id"].as_u64().unwrap();
    let mut alice = Person::new(&stand, event, "alice");
    let early = alice.join().await.json();
    assert_eq!(early["status"], "waiting", "one can join before the opening");
    assert_eq!((&early["opensAt"], &early["estimatedWait"]), (&json!(at), &Value::Null));
    refused(&alice.enter().await, 409, "not_ready");
    refused(&alice.book().await, 409, "not_open");
    stand.advance_ms(3_601_000);
    let open = alice.join_with_ticket().await.json();
    assert_eq!((&open["status"], open.get("opensAt")), (&json!("ready"), None));
    stand.admin("POST", &format!("events/{event}/pause"), &Value::Null).await;
    assert_eq!(alice.status().await, "waiting");
    refused(&alice.enter().await, 409, "not_ready");
    stand.admin("POST", &format!("events/{event}/resume"), &Value::Null).await;
    assert_eq!(alice.enter().await.status, 200);
    stand.admin("POST", &format!("events/{event}/close"), &Value::Null).await;
    let mut bob = Person::new(&stand, event, "bob");
    refused(&bob.join().await, 409, "closed");
    refused(&alice.enter().await, 409, "closed");
    refused(&alice.book().await, 409, "closed");
    assert_eq!(alice.leave().await.status, 200);
}

/// RFC 3339 of a moment in milliseconds.
fn jiff_text(ms: i64) -> String {
    server::http::wire::moment(rules::time::Moment(ms))
}

async fn line_reports_sold_out(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room(&stand, 1, 5).await;
    let (mut alice, mut bob) = (Person::new(&stand, event, "alice"), Person::new(&stand, event, "bob"));
    alice.join().await;
    bob.join().await;
    alice.enter().await;
    let sold = alice.book().await;
    assert_eq!(sold.seat(), Some(1));
    let told = bob.poll().await.json();
    assert_eq!((&told["status"], &told["number"]), (&json!("sold_out"), &json!(2)));
    refused(&bob.enter().await, 409, "not_ready");
    let serving = stand.client().get(&format!("/api/v1/events/{event}/queue/serving")).await.json();
    assert_eq!(serving["soldOut"], true);
    alice.client.cancel("alice", sold.json()["reservationId"].as_str().unwrap()).await;
    assert_eq!(bob.status().await, "ready", "stock came back, and so does the line");
    assert_eq!(bob.enter().await.status, 200);
    let path = format!("/api/v1/events/{event}/seats/1/reservation");
    let token = bob.token.clone().unwrap();
    let headers = [("X-User-Id", "bob"), ("Content-Type", "application/json"), ("X-Entry-Token", token.as_str())];
    refused(&stand.client().send("POST", &path, &headers[..2], BUYER).await, 403, "entry_required");
    assert_eq!(stand.client().send("POST", &path, &headers, BUYER).await.seat(), Some(1), "a chosen seat too");
}

async fn events_show_their_waiting_room(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room_with(&stand, 5, json!({ "maxConcurrent": 7, "idleTimeout": 20 })).await;
    let shown = stand.client().get(&format!("/api/v1/events/{event}")).await.json();
    let settings = json!({ "maxConcurrent": 7, "tokenTtl": 300, "tokenMaxAge": 1800, "idleTimeout": 20,
        "queueMost": 1_000_000, "gatherFrom": null, "admitPerMinute": null });
    assert_eq!((&shown["event"]["waitingRoom"], &shown["event"]["waitingRoomSettings"]), (&json!(true), &settings));
    let path = format!("events/{event}");
    let shown = stand.admin("GET", &path, &serde_json::Value::Null).await.json();
    assert_eq!(shown["event"]["waitingRoom"], settings, "the operator sees what was sent");
    let mut alice = Person::new(&stand, event, "alice");
    alice.join().await;
    refused(&alice.book().await, 403, "entry_required");
    let changed = stand.admin("PATCH", &path, &json!({ "waitingRoom": null })).await.json();
    assert_eq!(changed["event"]["waitingRoom"], serde_json::Value::Null);
    refused(&alice.poll().await, 409, "no_waiting_room");
    assert_eq!(alice.book().await.seat(), Some(1), "nobody needs an entry any more");
    let changed = stand.admin("PATCH", &path, &json!({ "waitingRoom": { "maxConcurrent": 1 } })).await.json();
    assert_eq!(changed["event"]["waitingRoomSettings"]["maxConcurrent"], 1);
    refused(&Person::new(&stand, event, "bob").book().await, 403, "entry_required");
    for bad in [json!({ "waitingRoom": 5 }), json!({ "waitingRoom": { "tokenTtl": 0 } })] {
        let refusal = stand.admin("PATCH", &path, &bad).await;
        refused(&refusal, 400, "validation");
        assert!(refusal.json()["field"].as_str().unwrap().starts_with("waitingRoom"), "{}", refusal.text());
    }
    let listed = stand.client().get("/api/v1/events").await.json();
    let rooms: Vec<_> = listed["events"].as_array().unwrap().iter().map(|event| event["waitingRoom"].clone()).collect();
    assert_eq!(rooms, [json!(false), json!(true)]);
}

/// Holding needs a live entry; confirming does not, and the one that reaches the limit gives it back.
async fn holds_need_an_entry(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let body = json!({ "name": "W", "seats": 9, "maxPerUser": 2, "waitingRoom": { "maxConcurrent": 1 } });
    let event = stand.admin("POST", "events", &body).await.json()["event"]["id"].as_u64().unwrap();
    let (mut alice, mut bob) = (Person::new(&stand, event, "alice"), Person::new(&stand, event, "bob"));
    let hold = json!({ "eventId": event, "seatIds": [3, 4], "clientHoldKey": "0190c3f0-7d3a-7c51-8f7e-2f6f4c1f0a01" });
    let json_type = ("Content-Type", "application/json");
    let ask = [("X-User-Id", "alice"), json_type];
    refused(&stand.client().send("POST", "/v1/holds", &ask, &hold.to_string()).await, 403, "entry_required");
    alice.join().await;
    bob.join().await;
    alice.enter().await;
    let token = alice.token.clone().unwrap();
    let shown = [("X-User-Id", "alice"), json_type, ("X-Entry-Token", token.as_str())];
    let held = stand.client().send("POST", "/v1/holds", &shown, &hold.to_string()).await;
    assert_eq!(held.status, 201, "{}", held.text());
    assert_eq!(bob.status().await, "waiting", "who pays is still inside");
    let id = held.json()["hold"]["holdId"].as_str().unwrap().to_owned();
    let confirmed = stand.client().send("POST", &format!("/v1/holds/{id}/confirm"), &ask, "").await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text());
    refused(&alice.poll().await, 404, "not_queued");
    assert_eq!(bob.status().await, "ready", "she has all she may have");
}

/// The shop's service confirms for the buyer: the buyer is at the limit, so the next one may enter.
async fn confirmation_by_a_service_ends_the_owners_entry(backing: Backing) {
    let stand = TestServer::on(backing, &[("CONFIRM_BY", "service")]).await;
    let event = room(&stand, 9, 1).await;
    let (mut alice, mut bob) = (Person::new(&stand, event, "alice"), Person::new(&stand, event, "bob"));
    alice.join().await;
    bob.join().await;
    assert_eq!(alice.enter().await.status, 200);
    refused(&bob.enter().await, 409, "not_ready");
    let entry = alice.token.clone().unwrap();
    let headers = [("X-User-Id", "alice"), ("X-Entry-Token", entry.as_str()), ("Content-Type", "application/json")];
    let body = json!({ "eventId": event, "seatIds": [3], "clientHoldKey": "0b4c7b1e-9f0f-4b57-8f7e-2f6f3f1a9c11" });
    let held = stand.client().send("POST", "/v1/holds", &headers, &body.to_string()).await;
    assert_eq!(held.status, 201, "{}", held.text());
    let hold = held.json()["hold"]["holdId"].as_str().unwrap().to_owned();
    let token = format!("Bearer {}", stand.app.admin_token);
    let paid =
        stand.client().send("POST", &format!("/v1/holds/{hold}/confirm"), &[("Authorization", &token)], "").await;
    assert_eq!(paid.status, 200, "{}", paid.text());
    assert_eq!(bob.enter().await.status, 200, "the place inside is free");
}
