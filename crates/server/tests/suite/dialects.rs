//! Every example of the seeds' documents, in its dialect: each field with its value, and in 1.0 and
//! 2025-08-17 no others.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(
    seed_000_success_and_sold_out,
    seed_000_already_reserved,
    seed_000_identities,
    seed_000_errors,
    seed_001_lists_and_one_seat,
    seed_001_reservation_and_refusals,
    seed_002_reservation,
    seed_002_errors,
    seed_002_list,
    api_version_is_checked_on_every_route,
    first_failed_check_is_reported,
);

const FCFS: &str = "/api/v1/seats/reservation/fcfs";
const OLD: &str = "/api/v1/seats/reservation";
const PHONE: &str = r#"{"phone":"+821012345678"}"#;
const JSON: (&str, &str) = ("Content-Type", "application/json");
const SEED_000: (&str, &str) = ("Api-Version", "2025-08-17");

async fn phoned(client: &mut TestClient, number: u32) -> TestResponse {
    let body = format!(r#"{{"phone":"+8210{number:08}"}}"#);
    client.send("POST", FCFS, &[SEED_000, JSON], &body).await
}

fn four(success: bool, seat: Value, by: Value, reason: Value) -> Value {
    json!({ "success": success, "seat_id": seat, "reserved_by": by, "reason": reason })
}

async fn seed_000_success_and_sold_out(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_SEATS", "123")]).await;
    let mut client = stand.client();
    for i in 1..=122 {
        assert_eq!(phoned(&mut client, i).await.json()["seat_id"], i, "in order of seats");
    }
    let answer = client.send("POST", FCFS, &[SEED_000, JSON], PHONE).await;
    assert_eq!((answer.status, answer.json()), (200, four(true, json!(123), json!("+821012345678"), Value::Null)));
    let answer = phoned(&mut client, 999).await;
    assert_eq!((answer.status, answer.json()), (200, four(false, Value::Null, Value::Null, json!("sold_out"))));
}

async fn seed_000_already_reserved(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    client.send("POST", FCFS, &[SEED_000, JSON], PHONE).await;
    let expected = four(false, json!(1), json!("+821012345678"), json!("already_reserved"));
    let again = client.send("POST", FCFS, &[SEED_000, JSON], PHONE).await;
    assert_eq!((again.status, again.json()), (200, expected.clone()));
    stand.advance_ms(901_000);
    let later = client.send("POST", FCFS, &[SEED_000, JSON], r#"{"phone":"010-1234-5678"}"#).await;
    assert_eq!((later.status, later.json()), (200, expected), "the same number in another form, past the window");
}

async fn seed_000_identities(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let named = client.send("POST", FCFS, &[SEED_000, JSON, ("X-User-Id", "alice")], PHONE).await;
    assert_eq!(named.json(), four(true, json!(1), json!("alice"), Value::Null), "the header before the phone");
    for (seat, headers, body) in [(2, &[SEED_000][..], ""), (3, &[SEED_000, JSON][..], "{}"), (4, &[SEED_000][..], "")]
    {
        let nobody = client.send("POST", FCFS, headers, body).await;
        assert_eq!(nobody.json(), four(true, json!(seat), Value::Null, Value::Null), "nobody may ask again");
    }
    let old = client.send("POST", OLD, &[SEED_000], "").await;
    assert_eq!(old.json()["seat_id"], 5, "the dialect is the header's, not the path's");
    let join = client.send("POST", "/fcfs/join", &[SEED_000, JSON], PHONE).await;
    assert_eq!(join.json()["reserved_by"], "+821012345678");
    let long = client.send("POST", "/api/v1/events/1/seats/reservation/fcfs", &[SEED_000, JSON], PHONE).await;
    assert_eq!((long.status, &long.json()["error"]["code"]), (400, &json!("validation_failed")));

    let strict = TestServer::on(backing, &[("FCFS_ANONYMOUS", "0")]).await;
    let refused = strict.client().send("POST", FCFS, &[SEED_000, JSON], PHONE).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!("validation_failed")));
    let proxied = [SEED_000, ("X-Forwarded-For", "1.2.3.4")];
    let proxied = TestClient::new(stand.server).send("POST", FCFS, &proxied, "").await;
    assert_eq!((proxied.status, &proxied.json()["error"]["code"]), (403, &json!("forbidden")));
}

fn envelope(answer: &TestResponse, code: &str) {
    let body = answer.json();
    let error = body["error"].as_object().unwrap_or_else(|| panic!("{body}"));
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    assert_eq!(error.keys().collect::<Vec<_>>(), ["code", "message", "trace_id", "meta"]);
    assert_eq!(error["code"], code);
    assert!(error["message"].as_str().is_some_and(|m| !m.is_empty()) && error["meta"].is_object(), "{body}");
    assert_eq!(error["trace_id"].as_str(), answer.header("x-request-id"));
}

async fn seed_000_errors(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_IP_LIMIT", "7")]).await;
    let mut client = stand.client();
    let bad = client.send("POST", FCFS, &[SEED_000, JSON], r#"{"phone":"12"}"#).await;
    assert_eq!((bad.status, &bad.json()["error"]["meta"]["field"]), (400, &json!("phone")));
    envelope(&bad, "validation_failed");
    let plain = client.send("POST", FCFS, &[SEED_000, ("Content-Type", "text/plain")], PHONE).await;
    assert_eq!(plain.status, 415);
    envelope(&plain, "validation");
    let wrong = client.send("PUT", FCFS, &[SEED_000], "").await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
    envelope(&wrong, "validation");
    let none = client.send("GET", "/api/v1/seats/10", &[SEED_000], "").await;
    assert_eq!(none.status, 404);
    envelope(&none, "not_found");
    let list = client.send("GET", "/api/v1/seats", &[SEED_000], "").await;
    assert_eq!(list.json()["seats"][0], json!({ "id": 1, "name": "A1", "status": false, "state": "free" }));
    stand.admin("POST", "events/1/pause", &Value::Null).await;
    let paused = phoned(&mut client, 1).await;
    assert_eq!((paused.status, &paused.json()["error"]["meta"]["sequence"]), (409, &json!(1)));
    envelope(&paused, "not_open");
    for i in 0..6 {
        phoned(&mut client, i).await;
    }
    let spent = phoned(&mut client, 9).await;
    assert_eq!((spent.status, &spent.json()["error"]["meta"]["scope"]), (409, &json!("ip")));
    assert!(spent.header("retry-after").is_some());
    envelope(&spent, "duplicate");
}

async fn seed_001_lists_and_one_seat(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_SEATS", "2")]).await;
    let mut client = stand.client();
    client.post_as("u1", FCFS, BUYER).await;
    let list = client.get("/api/v1/seats").await;
    let expected = json!({ "success": true, "seats": [
        { "id": 1, "name": "A1", "status": true, "state": "sold" }, { "id": 2, "name": "A2", "status": false, "state": "free" },
    ] });
    assert_eq!((list.status, list.json()), (200, expected));
    let seat = client.get("/api/v1/seats/1").await;
    let expected = json!({ "success": true, "seat": { "id": 1, "name": "A1", "status": true, "state": "sold" } });
    assert_eq!((seat.status, seat.json()), (200, expected));
    for nothing in ["/api/v1/seats/3", "/api/v1/seats/0", "/api/v1/seats/x", "/api/v1/seats/01", "/api/v1/seats/%FF"] {
        let none = client.get(nothing).await;
        assert_eq!((none.status, none.reason().as_str()), (404, "not_found"), "{nothing}");
        assert_eq!(none.json()["success"], false);
    }
}

async fn seed_001_reservation_and_refusals(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_SEATS", "8")]).await;
    let mut client = stand.client();
    for i in 1..5 {
        client.post_as(&format!("u{i}"), FCFS, BUYER).await;
    }
    let alice = client.post_as("user-123", "/fcfs/join", BUYER).await;
    let body = alice.json();
    assert_eq!(alice.status, 200);
    assert_eq!((&body["seat"]["id"], &body["seat"]["status"]), (&json!(5), &json!(true)));
    assert_eq!((&body["success"], &body["remainingSeats"]), (&json!(true), &json!(3)));
    assert_eq!((&body["userTtlRemaining"], &body["sequence"]), (&json!(900), &json!(5)));
    stand.advance_ms(30_000);
    let again = client.post_as("user-123", FCFS, BUYER).await;
    assert_eq!((again.status, again.reason().as_str()), (409, "duplicate"));
    assert!((869..=870).contains(&again.json()["userTtlRemaining"].as_u64().unwrap()));
    stand.advance_ms(900_000);
    let late = client.post_as("user-123", FCFS, BUYER).await;
    assert_eq!((late.status, late.reason().as_str()), (409, "already_reserved"));
    let nobody = client.send("POST", FCFS, &[JSON], BUYER).await;
    assert_eq!((nobody.status, nobody.reason().as_str()), (400, "missing_user"));
    let bad = client.post_as("x", FCFS, "{}").await;
    assert_eq!((bad.status, bad.reason().as_str()), (400, "validation"));
    for i in 6..9 {
        client.post_as(&format!("u{i}"), FCFS, BUYER).await;
    }
    let out = client.post_as("late", FCFS, BUYER).await;
    assert_eq!((out.status, out.reason().as_str()), (409, "sold_out"));
    let forever = TestServer::on(backing, &[("FCFS_USER_TTL", "0")]).await;
    let first = forever.client().post_as("a", FCFS, BUYER).await;
    assert_eq!(first.json()["userTtlRemaining"], Value::Null);
}

async fn seed_002_reservation(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    for seat in 1..=9 {
        let answer = client.post_as(&format!("u{seat}"), OLD, PHONE).await;
        assert_eq!((answer.status, answer.json()), (200, json!({ "success": true, "seat": seat })));
        assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    }
    let third = client.post_as("u3", OLD, PHONE).await;
    let expected = json!({ "success": false, "reason": "already reserved", "seat": 3 });
    assert_eq!((third.status, third.json()), (200, expected));
    let tenth = client.post_as("u10", OLD, PHONE).await;
    assert_eq!((tenth.status, tenth.json()), (200, json!({ "success": false, "reason": "sold out" })));
    let newer = client.send("POST", OLD, &[("Api-Version", "1.1"), ("X-User-Id", "u10"), JSON], BUYER).await;
    assert_eq!((newer.status, newer.reason().as_str()), (409, "sold_out"), "the header before the path");
    let older = client.send("POST", FCFS, &[("Api-Version", "1.0"), ("X-User-Id", "u11"), JSON], PHONE).await;
    assert_eq!(older.json(), json!({ "success": false, "reason": "sold out" }));
}

async fn seed_002_errors(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_IP_LIMIT", "1")]).await;
    let mut client = stand.client();
    let bad = json!({ "success": false, "error": "bad request" });
    for (headers, body) in [
        (&[JSON][..], PHONE),
        (&[JSON, ("X-User-Id", "a")][..], "{}"),
        (&[JSON, ("X-User-Id", "a")][..], "{"),
        (&[JSON, ("X-User-Id", "a")][..], r#"{"phone":"12"}"#),
    ] {
        let answer = client.send("POST", OLD, headers, body).await;
        assert_eq!((answer.status, answer.json()), (400, bad.clone()), "{body}");
    }
    assert_eq!(client.post_as("a", OLD, PHONE).await.status, 200);
    let spent = client.post_as("b", OLD, PHONE).await;
    assert_eq!((spent.status, spent.json()), (409, json!({ "success": false, "reason": "duplicate request" })));
    assert!(spent.header("retry-after").is_some());
    let wrong = client.get(OLD).await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
    assert_eq!(wrong.json(), json!({ "success": false, "reason": "validation" }));
    let version = client.send("POST", OLD, &[("Api-Version", "3"), JSON], PHONE).await;
    assert_eq!((version.status, version.reason().as_str()), (400, "validation"), "in the envelope of 1.1");
    assert_eq!(version.json()["field"], "Api-Version");
}

async fn seed_002_list(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    for user in ["a", "b", "c"] {
        client.post_as(user, OLD, PHONE).await;
    }
    let mine = client.get_as("b", "/api/v1/reservations").await.json();
    client.cancel("b", mine["reservations"][0]["reservationId"].as_str().unwrap()).await;
    let list = client.send("GET", "/api/v1/seats", &[("Api-Version", "1.0")], "").await;
    let expected: Vec<Value> = (1..=9).map(|id| json!({ "id": id, "status": id == 1 || id == 3 })).collect();
    assert_eq!((list.status, list.json()), (200, Value::Array(expected)));
    let one = client.send("GET", "/api/v1/seats/3", &[("Api-Version", "1.0")], "").await;
    assert_eq!(one.json(), json!({ "id": 3, "status": true }));
    let none = client.send("GET", "/api/v1/events/1/seats/10", &[("Api-Version", "1.0")], "").await;
    assert_eq!((none.status, none.json()), (404, json!({ "success": false, "reason": "not found" })));
}

async fn api_version_is_checked_on_every_route(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    for path in ["/api/v1/events", "/api/v1/events/1", "/livez", "/", "/api/v1/reservations", "/nothing"] {
        let bad = client.send("GET", path, &[("Api-Version", "2")], "").await;
        assert_eq!((bad.status, bad.reason().as_str()), (400, "validation"), "{path}");
    }
    let events = client.send("GET", "/api/v1/events", &[("Api-Version", "1.0")], "").await;
    assert_eq!(events.json()["events"][0]["id"], 1, "and changes nothing there");
    let none = client.send("GET", "/api/v1/events/7", &[SEED_000], "").await;
    assert_eq!(none.reason(), "not_found");
}

/// Each request has all faults from its own on; the answer names the first.
async fn first_failed_check_is_reported(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_IP_LIMIT", "2")]).await;
    let mut client = stand.client();
    let nowhere = "/api/v1/events/99/seats/reservation/fcfs";
    let user = ("X-User-Id", "u");
    let proxied = ("X-Forwarded-For", "1.2.3.4");
    let text = ("Content-Type", "text/plain");
    let mut told = async |headers: &[(&str, &str)], path: &str, body: &str| {
        let answer = client.send("POST", path, headers, body).await;
        (answer.status, answer.reason())
    };
    assert_eq!(told(&[proxied, text], nowhere, "{").await, (415, "validation".into()), "form");
    // Behind a gateway a header that names another proxy does not arrive.
    let unknown = if backing.is_gateway() { (400, "missing_user".into()) } else { (403, "forbidden".into()) };
    assert_eq!(told(&[proxied, JSON], nowhere, "{").await, unknown, "who asks");
    assert_eq!(told(&[JSON], nowhere, "{").await, (400, "missing_user".into()), "who asks");
    assert_eq!(told(&[user, JSON], nowhere, "{").await, (400, "validation".into()), "content");
    let key = ("Idempotency-Key", "k");
    let bad_key = ("Idempotency-Key", "");
    assert_eq!(told(&[user, JSON, bad_key], nowhere, BUYER).await, (400, "validation".into()), "content");
    assert_eq!(told(&[user, JSON, key], nowhere, BUYER).await, (404, "not_found".into()), "exists");
    assert_eq!(told(&[user, JSON, key], FCFS, BUYER).await.0, 200);
    stand.admin("POST", "events/1/close", &Value::Null).await;
    let other = r#"{"userName":"Bob","phone":"010-1234-5678"}"#;
    assert_eq!(told(&[user, JSON, key], FCFS, other).await, (422, "idempotency_mismatch".into()), "same key");
    assert_eq!(told(&[user, JSON, key], FCFS, other).await, (409, "duplicate".into()), "budget");
    stand.advance_ms(6_000);
    assert_eq!(told(&[user, JSON], FCFS, BUYER).await, (409, "closed".into()), "open before limit");
    stand.admin("POST", "events/1/open", &Value::Null).await;
    assert_eq!(told(&[user, JSON], FCFS, BUYER).await, (409, "duplicate".into()), "limit before stock");

    let made = stand.admin("POST", "events", &json!({ "name": "x", "seats": 1 })).await.json();
    let id = made["event"]["id"].as_u64().unwrap();
    stand.advance_ms(6_000);
    let path = format!("/api/v1/events/{id}/seats/reservation/fcfs");
    stand.client().get(&format!("/api/v1/events/{id}/seats")).await;
    assert_eq!(stand.admin("DELETE", &format!("events/{id}"), &Value::Null).await.status, 200);
    // A gateway sees the budget, and not what exists.
    for _ in 0..if backing.is_gateway() { 2 } else { 4 } {
        assert_eq!(told(&[user, JSON], &path, BUYER).await, (404, "not_found".into()), "exists before budget");
    }
}
