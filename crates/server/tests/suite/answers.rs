//! Answers of the contract in dialect 1.1, one scenario each, on every backing.

use client::HttpRequest;
use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::{BUYER, TestClient};
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(
    single_success,
    consecutive_calls_in_seat_order,
    second_reservation_of_a_user_is_a_duplicate,
    event_without_seats_is_sold_out,
    short_paths_mean_event_1,
    max_per_user_is_enforced,
    user_may_buy_again_after_cancelling,
    only_the_owner_cancels,
    users_behind_one_address_do_not_block_each_other,
    address_budget_limits_requests,
    duplicate_window_follows_the_clock,
    event_states_open_pause_and_close_sales,
    seats_are_listed_and_read_one_by_one,
    own_reservations_are_paged,
    own_reservations_carry_the_arrival_number,
    events_are_paged,
    admin_lists_and_cancels_reservations,
    admin_needs_the_token,
    bad_requests_name_the_field,
    trace_ids_are_returned,
    spoofed_gateway_headers_are_ignored,
    health_endpoints_answer,
);

const FCFS: &str = "/api/v1/seats/reservation/fcfs";

async fn single_success(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let answer = stand.client().post_as("user-123", FCFS, BUYER).await;
    assert_eq!(answer.status, 200);
    let id = answer.json()["reservationId"].as_str().unwrap().to_owned();
    let expected = json!({
        "success": true, "seat": { "id": 1, "name": "A1", "status": true },
        "remainingSeats": 8, "userTtlRemaining": 900, "sequence": 1, "reservationId": id,
    });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
}

async fn consecutive_calls_in_seat_order(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    for seat in 1..=9 {
        let answer = client.reserve(1, &format!("u{seat}")).await;
        assert_eq!((answer.seat(), answer.sequence()), (Some(seat), Some(seat)));
        assert_eq!(answer.json()["remainingSeats"], 9 - seat);
    }
    let answer = client.reserve(1, "u10").await;
    assert_eq!((answer.status, answer.reason().as_str()), (409, "sold_out"));
    // A gateway that knows it already asks for no number.
    let unasked = backing.is_gateway() && answer.sequence().is_none();
    assert!(unasked || answer.sequence() == Some(10), "{}", answer.text());
    assert_eq!(answer.json()["success"], false);
    assert!(answer.header("retry-after").is_none(), "asking again does not help");
}

async fn second_reservation_of_a_user_is_a_duplicate(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    client.reserve(1, "alice").await;
    let again = client.reserve(1, "alice").await;
    assert_eq!((again.status, again.reason().as_str()), (409, "duplicate"));
    assert_eq!(again.json()["seat"], json!({ "id": 1, "name": "A1", "status": true }));
    let left = again.json()["userTtlRemaining"].as_u64().unwrap();
    assert!((890..=900).contains(&left), "{left}");
    assert_eq!(again.sequence(), Some(2));
}

async fn event_without_seats_is_sold_out(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_SEATS", "0")]).await;
    let mut client = stand.client();
    assert_eq!(client.reserve(1, "a").await.reason(), "sold_out");
    assert_eq!(client.get("/api/v1/seats").await.json(), json!({ "success": true, "seats": [] }));
}

async fn short_paths_mean_event_1(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    assert_eq!(client.post_as("a", FCFS, BUYER).await.seat(), Some(1));
    assert_eq!(client.post_as("b", "/fcfs/join", BUYER).await.seat(), Some(2));
    assert_eq!(client.reserve(1, "c").await.seat(), Some(3));
    assert_eq!(client.get("/api/v1/seats/3").await.json(), client.get("/api/v1/events/1/seats/3").await.json());
}

async fn max_per_user_is_enforced(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(10, 4).await;
    let mut client = stand.client();
    for seat in 1..=4 {
        assert_eq!(client.reserve(event, "family").await.seat(), Some(seat));
    }
    let fifth = client.reserve(event, "family").await;
    assert_eq!((fifth.status, fifth.reason().as_str()), (409, "duplicate"));
    assert_eq!(fifth.json()["seat"]["id"], 4, "the newest");
    assert_eq!(client.reserve(event, "other").await.seat(), Some(5));
}

async fn user_may_buy_again_after_cancelling(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let first = client.reserve(1, "alice").await.json();
    client.reserve(1, "bob").await;
    let id = first["reservationId"].as_str().unwrap();
    let cancelled = client.cancel("alice", id).await;
    assert_eq!((cancelled.status, cancelled.json()), (200, json!({ "success": true })));
    let again = client.reserve(1, "alice").await;
    assert_eq!(again.seat(), Some(1), "the lowest free seat, at once: {}", again.text());
    assert_ne!(again.json()["reservationId"], first["reservationId"]);
    assert_eq!(client.cancel("alice", id).await.status, 404, "a cancelled one is gone");
}

async fn only_the_owner_cancels(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let id = client.reserve(1, "alice").await.json()["reservationId"].as_str().unwrap().to_owned();
    let foreign = client.cancel("mallory", &id).await;
    assert_eq!((foreign.status, foreign.reason().as_str()), (403, "forbidden"));
    let path = format!("/api/v1/reservations/{id}");
    assert_eq!(client.get_as("mallory", &path).await.status, 403);
    assert_eq!(client.get_as("alice", &path).await.status, 200);
    assert_eq!(client.get(&path).await.reason(), "missing_user");
    for nothing in ["e1-999", "e1-1", "e99-1", "nonsense", "e1-", "e-1-2", "e1-99999999999999999999"] {
        let answer = client.cancel("alice", nothing).await;
        assert_eq!((answer.status, answer.reason().as_str()), (404, "not_found"), "{nothing}");
    }
}

async fn users_behind_one_address_do_not_block_each_other(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    for user in ["a", "b", "c"] {
        assert_eq!(stand.client().reserve(1, user).await.status, 200);
    }
}

async fn address_budget_limits_requests(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_IP_LIMIT", "1")]).await;
    let mut client = stand.client();
    assert_eq!(client.reserve(1, "a").await.status, 200);
    let second = client.reserve(1, "b").await;
    assert_eq!((second.status, second.reason().as_str()), (409, "duplicate"));
    let body = second.json();
    assert_eq!(body["scope"], "ip");
    assert!(body["sequence"].is_null(), "it got no number");
    let retry = body["retryAfter"].as_u64().unwrap();
    assert!((1..=5).contains(&retry), "{retry}");
    assert_eq!(second.header("retry-after"), Some(retry.to_string().as_str()));
    stand.advance_ms(5_000);
    assert_eq!(client.reserve(1, "b").await.status, 200, "a new window");
}

async fn duplicate_window_follows_the_clock(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_USER_TTL", "60")]).await;
    let mut client = stand.client();
    assert_eq!(client.reserve(1, "alice").await.json()["userTtlRemaining"], 60);
    stand.advance_ms(40_000);
    let inside = client.reserve(1, "alice").await.json();
    assert_eq!(inside["reason"], "duplicate");
    assert!((15..=20).contains(&inside["userTtlRemaining"].as_u64().unwrap()), "{inside}");
    stand.advance_ms(21_000);
    let after = client.reserve(1, "alice").await;
    assert_eq!((after.status, after.reason().as_str()), (409, "already_reserved"));
    assert_eq!(after.json()["seat"]["id"], 1);

    let stand = TestServer::on(backing, &[("FCFS_USER_TTL", "0")]).await;
    let mut client = stand.client();
    assert_eq!(client.reserve(1, "alice").await.json()["userTtlRemaining"], Value::Null);
    stand.advance_ms(1_000_000_000);
    let for_ever = client.reserve(1, "alice").await.json();
    assert_eq!((&for_ever["reason"], &for_ever["userTtlRemaining"]), (&json!("duplicate"), &Value::Null));
}

async fn event_states_open_pause_and_close_sales(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let now = stand.app.ledger.now();
    let opens = server::http::wire::moment(now.plus_ms(100_000));
    let made = stand.admin("POST", "events", &json!({ "name": "Later", "seats": 5, "opensAt": opens })).await;
    let event = made.json()["event"]["id"].as_u64().unwrap();
    assert_eq!(made.json()["event"]["state"], "scheduled");
    let early = client.reserve(event, "a").await;
    assert_eq!((early.status, early.reason().as_str()), (409, "not_open"));
    assert_eq!(early.json()["opensAt"], opens.as_str());
    assert!(early.header("retry-after").is_some());
    stand.advance_ms(100_000);
    let sold = client.reserve(event, "a").await;
    assert_eq!(sold.status, 200, "it opens by itself");
    let id = sold.json()["reservationId"].as_str().unwrap().to_owned();
    let turn = |word: &str| format!("events/{event}/{word}");
    for (word, state, reason) in
        [("pause", "paused", "not_open"), ("resume", "open", ""), ("close", "closed", "closed"), ("open", "open", "")]
    {
        let turned = stand.admin("POST", &turn(word), &Value::Null).await;
        assert_eq!((turned.status, &turned.json()["event"]["state"]), (200, &json!(state)), "{word}");
        let answer = client.reserve(event, &format!("during-{word}")).await;
        assert_eq!(answer.reason(), reason, "{word}");
    }
    stand.admin("POST", &turn("close"), &Value::Null).await;
    assert_eq!(client.cancel("a", &id).await.status, 200, "cancelling works in every state");
    let deleted = stand.admin("DELETE", &format!("events/{event}"), &Value::Null).await;
    assert_eq!((deleted.status, deleted.reason().as_str()), (409, "in_use"));
    let empty = stand.event(1, 1).await;
    assert_eq!(stand.admin("DELETE", &format!("events/{empty}"), &Value::Null).await.status, 200);
    assert_eq!(client.get(&format!("/api/v1/events/{empty}")).await.status, 404);
    assert_eq!(client.reserve(empty, "a").await.status, 404);
}

async fn seats_are_listed_and_read_one_by_one(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_SEATS", "3")]).await;
    let mut client = stand.client();
    client.reserve(1, "alice").await;
    let list = client.get("/api/v1/seats").await;
    let seat = |id: u64, sold: bool| {
        let state = if sold { "sold" } else { "free" };
        json!({ "id": id, "name": format!("A{id}"), "status": sold, "state": state })
    };
    let seats = [seat(1, true), seat(2, false), seat(3, false)];
    assert_eq!(list.json(), json!({ "success": true, "seats": seats }));
    let etag = list.header("etag").unwrap().to_owned();
    assert_eq!(list.header("cache-control"), Some("max-age=1"));
    assert_eq!(list.header("vary"), Some("Api-Version, Accept-Encoding"));
    let unchanged = client.send("GET", "/api/v1/seats", &[("If-None-Match", &etag)], "").await;
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    client.reserve(1, "bob").await;
    tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    let changed = client.send("GET", "/api/v1/seats", &[("If-None-Match", &etag)], "").await;
    assert_eq!((changed.status, &changed.json()["seats"][1]["state"]), (200, &json!("sold")), "250 ms behind at most");

    let one = client.get("/api/v1/seats/2").await;
    assert_eq!(one.json(), json!({ "success": true, "seat": seat(2, true) }), "exact at once");
    for nothing in ["0", "4", "-1", "abc", "01", "99999999999999999999", "1.5"] {
        let answer = client.get(&format!("/api/v1/seats/{nothing}")).await;
        assert_eq!((answer.status, answer.reason().as_str()), (404, "not_found"), "{nothing}");
    }
    assert!(!list.text().contains("alice") && !list.text().contains("8210"), "nobody's name or number");
}

async fn own_reservations_are_paged(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let events = [stand.event(5, 2).await, stand.event(5, 2).await];
    for event in [events[0], events[0], events[1]] {
        client.reserve(event, "alice").await;
    }
    client.reserve(events[1], "bob").await;
    let first = client.get_as("alice", "/api/v1/reservations?limit=2").await.json();
    assert_eq!(first["reservations"].as_array().unwrap().len(), 2);
    let entry = &first["reservations"][0];
    assert_eq!((&entry["eventId"], &entry["seat"]), (&json!(events[0]), &json!({ "id": 1, "name": "A1" })));
    assert_eq!(entry["state"], "confirmed");
    assert!(entry["createdAt"].as_str().unwrap().ends_with('Z'));
    let path = format!("/api/v1/reservations?limit=2&after={}", first["next"].as_str().unwrap());
    let rest = client.get_as("alice", &path).await.json();
    assert_eq!((rest["reservations"].as_array().unwrap().len(), &rest["next"]), (1, &Value::Null));
    assert_eq!(rest["reservations"][0]["eventId"], events[1]);
    assert_eq!(client.get_as("nobody", "/api/v1/reservations").await.json()["reservations"], json!([]));
    for bad in ["limit=0", "limit=1001", "limit=x", "after=x", "limit=1&limit=2", "after=-1.2"] {
        let answer = client.get_as("alice", &format!("/api/v1/reservations?{bad}")).await;
        assert_eq!((answer.status, answer.reason().as_str()), (400, "validation"), "{bad}");
    }
}

/// Whoever asks later reads the number that the buyer was told. Seats that were held first have none.
async fn own_reservations_carry_the_arrival_number(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let (mut client, event) = (stand.client(), stand.event(9, 3).await);
    client.reserve(event, "early").await;
    let any = client.reserve(event, "alice").await.json();
    let chosen = client.post_as("alice", &format!("/api/v1/events/{event}/seats/5/reservation"), BUYER).await.json();
    let wanted = json!({ "eventId": event, "seatIds": [7], "clientHoldKey": "00000000-0000-4000-8000-000000000001" })
        .to_string();
    let hold = client.post_as("alice", "/api/v1/holds", &wanted).await.json();
    let confirm = format!("/api/v1/holds/{}/confirm", hold["hold"]["holdId"].as_str().unwrap());
    assert_eq!(client.post_as("alice", &confirm, "").await.status, 200);
    let expected = [any["sequence"].clone(), chosen["sequence"].clone(), Value::Null];
    assert!(expected[0].as_u64() > Some(1) && expected[1].as_u64() > expected[0].as_u64(), "{expected:?}");
    let own = client.get_as("alice", "/api/v1/reservations").await.json();
    let admin = stand.admin("GET", "reservations?user=alice", &Value::Null).await.json();
    for found in [&own, &admin] {
        let numbers = found["reservations"].as_array().unwrap().iter().map(|one| one["sequence"].clone());
        assert_eq!(numbers.collect::<Vec<_>>(), expected, "{found}");
        assert!(found["reservations"][2].get("sequence").is_none(), "{found}");
    }
    let one = format!("/api/v1/reservations/{}", any["reservationId"].as_str().unwrap());
    assert_eq!(client.get_as("alice", &one).await.json()["reservation"]["sequence"], expected[0]);
    let of_event = stand.admin("GET", &format!("events/{event}/reservations?user=alice"), &Value::Null).await;
    assert_eq!(of_event.json()["reservations"][2].get("sequence"), Some(&Value::Null), "there it is always a field");
}

async fn events_are_paged(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let event = stand.event(500, 2).await;
    client.reserve(event, "a").await;
    let list = client.get("/api/v1/events").await.json();
    assert_eq!(list["events"].as_array().unwrap().len(), 2);
    let shown = &list["events"][1];
    for (field, value) in [
        ("id", json!(event)),
        ("name", json!("Test")),
        ("state", json!("open")),
        ("opensAt", Value::Null),
        ("seatCount", json!(500)),
        ("remainingSeats", json!(499)),
        ("waitingRoom", json!(false)),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    assert_eq!(client.get(&format!("/api/v1/events/{event}")).await.json()["event"], *shown);
    assert_eq!(client.get("/api/v1/events?limit=1").await.json()["next"], "1");
    for nothing in ["99", "abc", "-1", "0"] {
        assert_eq!(client.get(&format!("/api/v1/events/{nothing}")).await.status, 404, "{nothing}");
    }
}

async fn admin_lists_and_cancels_reservations(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    for user in ["alice", "bob", "carol"] {
        client.reserve(1, user).await;
    }
    let page = stand.admin("GET", "events/1/reservations?limit=2", &Value::Null).await.json();
    let first = &page["reservations"][0];
    assert_eq!((&first["userId"], &first["phone"]), (&json!("alice"), &json!("+821012345678")));
    assert_eq!(page["next"], "2");
    let token = format!("Bearer {}", stand.app.admin_token);
    let headers = [("Authorization", token.as_str()), ("Accept", "text/csv")];
    let csv = client.send("GET", "/api/v1/admin/events/1/reservations", &headers, "").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(csv.text().lines().count(), 4);
    assert!(csv.text().contains(",alice,Alice,+821012345678,1,"), "{}", csv.text());
    let csv = client.send("GET", "/api/v1/admin/events/1/reservations?limit=2", &headers, "").await;
    assert_eq!((csv.text().lines().count(), csv.header("x-next")), (3, Some("2")), "a page where one is asked for");
    let id = first["reservationId"].as_str().unwrap();
    let path = format!("reservations/{id}");
    assert_eq!(stand.admin("DELETE", &path, &Value::Null).await.json(), json!({ "success": true }));
    assert_eq!(stand.admin("DELETE", &path, &Value::Null).await.status, 404);
    assert_eq!(client.reserve(1, "dave").await.seat(), Some(1));
    let renamed = stand.admin("PATCH", "events/1", &json!({ "name": "Renamed", "maxPerUser": 2 })).await;
    assert_eq!(renamed.json()["event"]["name"], "Renamed");
    assert_eq!(client.reserve(1, "dave").await.seat(), Some(4), "the new limit holds at once");
}

async fn admin_needs_the_token(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let paths = [
        ("GET", "events"),
        ("POST", "events"),
        ("GET", "events/1"),
        ("PATCH", "events/1"),
        ("DELETE", "events/1"),
        ("POST", "events/1/open"),
        ("POST", "events/1/close"),
        ("POST", "events/1/pause"),
        ("POST", "events/1/resume"),
        ("GET", "events/1/reservations"),
        ("DELETE", "reservations/e1-2"),
    ];
    for (method, path) in paths {
        for token in ["", "Bearer wrong", "Basic abc"] {
            let headers = [("Authorization", token), ("Content-Type", "application/json")];
            let answer = client.send(method, &format!("/api/v1/admin/{path}"), &headers, "").await;
            assert_eq!((answer.status, answer.reason().as_str()), (401, "unauthorized"), "{method} {path} {token}");
        }
    }
    for (body, field) in [
        (json!({ "seats": 5 }), "name"),
        (json!({ "name": "x" }), "seats"),
        (json!({ "name": "x", "seats": -1 }), "seats"),
        (json!({ "name": "x", "seats": 10_000_001 }), "seats"),
        (json!({ "name": "x", "seats": "five" }), "seats"),
        (json!({ "name": "x", "seats": 1.5 }), "seats"),
        (json!({ "name": "a\u{0}b", "seats": 1 }), "name"),
        (json!({ "name": "x".repeat(201), "seats": 1 }), "name"),
        (json!({ "name": "x", "seats": 1, "maxPerUser": 0 }), "maxPerUser"),
        (json!({ "name": "x", "seats": 1, "opensAt": "2026-02-30T00:00:00Z" }), "opensAt"),
        (json!({ "name": "x", "seats": 1, "opensAt": 5 }), "opensAt"),
    ] {
        let answer = stand.admin("POST", "events", &body).await;
        assert_eq!((answer.status, &answer.json()["field"]), (400, &json!(field)), "{body}");
    }
}

async fn bad_requests_name_the_field(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let json_type = ("Content-Type", "application/json");
    for (body, field) in [
        ("", "body"),
        ("{", "body"),
        ("[]", "body"),
        ("null", "body"),
        ("[\"Alice\",\"010-1234-5678\"]", "body"),
        (r#"{"phone":"010-1234-5678"}"#, "userName"),
        (r#"{"userName":"","phone":"010-1234-5678"}"#, "userName"),
        (r#"{"userName":"  ","phone":"010-1234-5678"}"#, "userName"),
        (r#"{"userName":5,"phone":"010-1234-5678"}"#, "userName"),
        (r#"{"userName":"a\u0000b","phone":"010-1234-5678"}"#, "userName"),
        (r#"{"userName":"Alice"}"#, "phone"),
        (r#"{"userName":"Alice","phone":null}"#, "phone"),
        (r#"{"userName":"Alice","phone":true}"#, "phone"),
        (r#"{"userName":"Alice","phone":"12"}"#, "phone"),
        (r#"{"userName":"Alice","userName":"Bob","phone":"010-1234-5678"}"#, "userName"),
    ] {
        let answer = client.post_as("u", FCFS, body).await;
        assert_eq!((answer.status, answer.reason().as_str()), (400, "validation"), "{body}: {}", answer.text());
        assert_eq!(answer.json()["field"], field, "{body}");
    }
    let missing = client.send("POST", FCFS, &[json_type], BUYER).await;
    assert_eq!((missing.status, missing.reason().as_str()), (400, "missing_user"));
    let twice = client.send("POST", FCFS, &[("X-User-Id", "a"), ("X-User-Id", "b"), json_type], BUYER).await;
    assert_eq!((twice.status, &twice.json()["field"]), (400, &json!("X-User-Id")));
    let long = "x".repeat(129);
    assert_eq!(client.post_as(&long, FCFS, BUYER).await.status, 400);
    let not_utf8 = HttpRequest::post("/fcfs/join").header("X-User-Id", b"\xff\xfe").json("{}");
    assert_eq!(client.ask(not_utf8).await.unwrap().status, 400);

    let plain = client.send("POST", FCFS, &[("X-User-Id", "u"), ("Content-Type", "text/plain")], BUYER).await;
    assert_eq!((plain.status, plain.reason().as_str()), (415, "validation"));
    let untyped = client.send("POST", FCFS, &[("X-User-Id", "u")], BUYER).await;
    assert_eq!(untyped.status, 415);
    let large = format!(r#"{{"userName":"{}","phone":"010-1234-5678"}}"#, "x".repeat(17_000));
    let large = client.post_as("u", FCFS, &large).await;
    assert_eq!((large.status, large.reason().as_str()), (413, "validation"));
    let mut client = stand.client();
    let wrong = client.send("PUT", FCFS, &[("X-User-Id", "u")], "").await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
    let nowhere = client.get("/api/v2/seats").await;
    assert_eq!((nowhere.status, nowhere.reason().as_str()), (404, "not_found"));
    let version = client.send("GET", "/api/v1/seats", &[("Api-Version", "9.9")], "").await;
    assert_eq!((version.status, version.reason().as_str()), (400, "validation"));
    assert_eq!(client.reserve(99, "u").await.status, 404);
    assert_eq!(client.post_as("u", FCFS, BUYER).await.seat(), Some(1), "nothing was taken by any of this");
}

async fn trace_ids_are_returned(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let own = client.send("GET", "/nothing", &[("X-Request-Id", "my-trace-1")], "").await;
    assert_eq!((own.header("x-request-id"), own.json()["traceId"].as_str()), (Some("my-trace-1"), Some("my-trace-1")));
    let made = client.get("/nothing").await;
    assert_eq!(made.header("x-request-id"), made.json()["traceId"].as_str());
    let odd = client.send("GET", "/nothing", &[("X-Request-Id", "has space")], "").await;
    assert_ne!(odd.header("x-request-id"), Some("has space"));
}

async fn spoofed_gateway_headers_are_ignored(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let json_type = ("Content-Type", "application/json");
    for (name, value) in [("X-Forwarded-For", "1.2.3.4"), ("Forwarded", "for=1.2.3.4")] {
        // Behind a gateway these do not arrive.
        let mut direct = TestClient::new(stand.server);
        let answer = direct.send("POST", FCFS, &[("X-User-Id", "a"), json_type, (name, value)], BUYER).await;
        // A server that has a key knows that something may stand in front, and that it was not this.
        assert_eq!((answer.status, answer.reason().as_str()), (403, "forbidden"), "{name}");
    }
    let answer = client.send("POST", FCFS, &[("X-User-Id", "a"), json_type, ("X-Fcfs-Seq", "777")], BUYER).await;
    assert_eq!(answer.sequence(), Some(1), "a number of one's own is not believed");
}

async fn health_endpoints_answer(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    client.reserve(1, "a").await;
    assert_eq!(client.get("/livez").await.status, 200);
    assert_eq!(client.get("/readyz").await.status, 200);
    let metrics = client.get("/metrics").await.text();
    assert!(metrics.contains("tickettock_outcomes_total{outcome=\"reserved\",operation=\"reserve\"} 1"), "{metrics}");
    assert!(client.get("/").await.text().contains("Tickettock"));
    let head = client.send("HEAD", "/livez", &[], "").await;
    assert_eq!(head.status, 200);
}
