//! What a shop needs on an order: metadata, buyer fields per event, cancellation with a reason, price and currency.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{hold, hold_id, nights, on_hold, room_type, seats};

on_every_backing!(
    metadata_is_kept_returned_and_exported,
    holds_hand_their_metadata_to_the_reservation,
    seeds_dialects_ignore_metadata,
    buyer_fields_are_checked_per_event,
    confirmations_name_the_buyer,
    cancellations_have_a_reason,
    prices_are_shown,
);

const JSON_BODY: (&str, &str) = ("Content-Type", "application/json");

fn with(metadata: &Value) -> String {
    json!({ "userName": "Alice", "phone": "010-1234-5678", "metadata": metadata }).to_string()
}

fn reservation_id(answer: &TestResponse) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["reservationId"].as_str().unwrap().to_owned()
}

async fn get(stand: &TestServer, path: &str) -> Value {
    let answer = stand.admin("GET", path, &Value::Null).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

async fn list_as(stand: &TestServer, path: &str, kind: &str) -> String {
    let token = format!("Bearer {}", stand.app.admin_token);
    let headers = [("Authorization", token.as_str()), ("Accept", kind)];
    let answer = stand.client().send("GET", &format!("/api/v1/admin/{path}"), &headers, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

async fn delete(client: &mut TestClient, user: &str, path: &str, body: &str) -> TestResponse {
    client.send("DELETE", path, &[("X-User-Id", user), JSON_BODY], body).await
}

async fn metadata_is_kept_returned_and_exported(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 4).await;
    let mut client = stand.client();
    let order = json!({ "order": "A-1", "gift": true, "n": 7 });
    let fcfs = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    let id = reservation_id(&client.post_as("alice", &fcfs, &with(&order)).await);
    let chosen = format!("/api/v1/events/{event}/seats/5/reservation");
    reservation_id(&client.post_as("alice", &chosen, &with(&json!({ "order": "A-2" }))).await);
    reservation_id(&client.post_as("bob", &fcfs, BUYER).await);

    let one = client.get_as("alice", &format!("/api/v1/reservations/{id}")).await.json();
    assert_eq!(one["reservation"]["metadata"], order, "{one}");
    let mine = client.get_as("alice", "/api/v1/reservations").await.json();
    assert_eq!(mine["reservations"][1]["metadata"], json!({ "order": "A-2" }), "{mine}");
    let bobs = client.get_as("bob", "/api/v1/reservations").await.json();
    assert_eq!(bobs["reservations"][0].get("metadata"), None, "{bobs}");

    let list = get(&stand, &format!("events/{event}/reservations")).await;
    assert_eq!(list["reservations"][0]["metadata"], order);
    let csv = list_as(&stand, &format!("events/{event}/reservations"), "text/csv").await;
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[0].ends_with(",createdAt,email,metadata,publicId"), "{csv}");
    let first = format!(r#",,"{{""order"":""A-1"",""gift"":true,""n"":7}}",{id}"#);
    assert!(rows[1].ends_with(&first), "the id that the buyer and webhooks have: {csv}");
    assert!(rows[2].contains(",,,e"), "{csv}");
    let lines = list_as(&stand, &format!("events/{event}/reservations"), "application/x-ndjson").await;
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["metadata"], order);
    let history = get(&stand, &format!("history?event={event}")).await;
    assert_eq!(history["history"][1]["metadata"], order, "{history}");
    assert_eq!(history["history"][3]["metadata"], Value::Null, "{history}");

    let too_many: Value = (0..33).map(|i| (format!("k{i}"), json!(i))).collect::<serde_json::Map<_, _>>().into();
    for (metadata, field) in [
        (json!([1]), "metadata"),
        (json!("x"), "metadata"),
        (json!({ "a": null }), "metadata.a"),
        (json!({ "a": { "b": 1 } }), "metadata.a"),
        (json!({ "a": "x".repeat(2_048) }), "metadata"),
        (json!({ "a": "x\u{0}" }), "metadata.a"),
        (json!({ "a": "x\u{1b}[31m" }), "metadata.a"),
        (json!({ "a\u{0}": "x" }), "metadata.a?"),
        (too_many, "metadata"),
    ] {
        for (path, body) in [
            (fcfs.as_str(), with(&metadata)),
            ("/api/v1/holds", {
                let mut body = seats(event, &[7], 9);
                body["metadata"] = metadata.clone();
                body.to_string()
            }),
        ] {
            let refused = client.post_as("carol", path, &body).await;
            let told =
                (refused.status, refused.reason(), refused.json()["field"].as_str().unwrap_or_default().to_owned());
            assert_eq!(told, (400, "validation".into(), field.into()), "{path} {metadata}");
        }
    }
}

async fn holds_hand_their_metadata_to_the_reservation(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let (room, event) = (room_type(&stand, 5).await, stand.event(9, 4).await);
    let mut client = stand.client();
    for (mut body, list) in
        [(nights(room, 5, 2, 1), format!("room-types/{room}")), (seats(event, &[3, 4], 2), format!("events/{event}"))]
    {
        body["metadata"] = json!({ "cart": "c-1" });
        let held = client.post_as("alice", "/api/v1/holds", &body.to_string()).await;
        let id = hold_id(&held);
        assert_eq!(held.json()["hold"]["metadata"], body["metadata"], "{}", held.text());
        let mine = client.get_as("alice", &format!("/api/v1/holds/{id}")).await.json();
        assert_eq!(mine["hold"]["metadata"], body["metadata"], "{mine}");
        let seed = client.get_as("alice", &format!("/v1/holds/{id}")).await.json();
        assert_eq!(seed["hold"].get("metadata"), None, "the seed's bytes do not change: {seed}");
        let holds = get(&stand, &format!("{list}/holds")).await;
        assert_eq!(holds["holds"][0]["metadata"], body["metadata"], "{holds}");
        let confirm = format!("/api/v1/holds/{id}/confirm");
        let confirmed = client.send("POST", &confirm, &[("X-User-Id", "alice")], "").await;
        assert_eq!(confirmed.json()["reservation"]["metadata"], body["metadata"], "{}", confirmed.text());
        let again = client.send("POST", &confirm, &[("X-User-Id", "alice")], "").await;
        assert_eq!(again.json()["reservation"]["metadata"], body["metadata"], "{}", again.text());
        let seed = on_hold(&mut client, "alice", &id, "confirm").await.json();
        assert_eq!(seed["reservation"].get("metadata"), None, "{seed}");
        let sold = get(&stand, &format!("{list}/reservations")).await;
        assert_eq!(sold["reservations"][0]["metadata"], body["metadata"], "{sold}");
    }
}

async fn seeds_dialects_ignore_metadata(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 4).await;
    let mut client = stand.client();
    let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    for (user, dialect) in [("a", "1.0"), ("b", "2025-08-17")] {
        let headers = [("X-User-Id", user), JSON_BODY, ("Api-Version", dialect)];
        let sold = client.send("POST", &path, &headers, &with(&json!([1]))).await;
        assert_eq!(sold.json()["success"], true, "{dialect}: {}", sold.text());
    }
    let mut body = seats(event, &[5], 1);
    body["metadata"] = json!("not an object");
    let held = client.post_as("c", "/v1/holds", &body.to_string()).await;
    assert_eq!(held.status, 201, "{}", held.text());
    let list = get(&stand, &format!("events/{event}/reservations")).await;
    assert!(list["reservations"].as_array().unwrap().iter().all(|r| r.get("metadata").is_none()), "{list}");
}

async fn buyer_fields_are_checked_per_event(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let fields = json!({ "userName": "optional", "phone": "absent", "email": "required" });
    let new = json!({ "name": "Fair", "seats": 9, "maxPerUser": 4, "buyerFields": fields });
    let made = stand.admin("POST", "events", &new).await;
    assert_eq!(made.json()["event"]["buyerFields"], fields, "{}", made.text());
    let event = made.json()["event"]["id"].as_u64().unwrap();
    let mut client = stand.client();
    let shown = client.get(&format!("/api/v1/events/{event}")).await.json();
    assert_eq!(shown["event"]["buyerFields"], fields, "{shown}");
    let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    for (body, field) in [
        (json!({}), "email"),
        (json!({ "userName": "A", "phone": "010-1234-5678" }), "email"),
        (json!({ "email": "nobody" }), "email"),
        (json!({ "email": 5 }), "email"),
    ] {
        let refused = client.post_as("a", &path, &body.to_string()).await;
        assert_eq!(
            (refused.status, refused.json()["field"].as_str()),
            (400, Some(field)),
            "{body}: {}",
            refused.text()
        );
        assert_eq!(refused.sequence(), None, "it got no arrival number");
    }
    let body = json!({ "email": "alice@example.com", "phone": "010-1234-5678" });
    reservation_id(&client.post_as("alice", &path, &body.to_string()).await);
    let mine = client.get_as("alice", "/api/v1/reservations").await;
    assert!(!mine.text().contains("example.com"), "{}", mine.text());
    let list = get(&stand, &format!("events/{event}/reservations")).await;
    let sold = &list["reservations"][0];
    assert_eq!((&sold["email"], &sold["phone"]), (&json!("alice@example.com"), &Value::Null), "{sold}");
    // What a dialect of the seeds cannot send is missing there too.
    let headers = [("X-User-Id", "b"), JSON_BODY, ("Api-Version", "2025-08-17")];
    let refused = client.send("POST", &path, &headers, "").await;
    assert_eq!(refused.status, 400, "{}", refused.text());

    // Without fields of its own an event asks for name and phone; an email is not stored.
    let amended = stand.admin("PATCH", &format!("events/{event}"), &json!({ "buyerFields": null })).await;
    let seeds = json!({ "userName": "required", "phone": "required", "email": "absent" });
    assert_eq!(amended.json()["event"]["buyerFields"], seeds, "{}", amended.text());
    let refused = client.post_as("b", &path, &json!({ "userName": "B" }).to_string()).await;
    assert_eq!((refused.status, refused.json()["field"].as_str()), (400, Some("phone")));
    let body = json!({ "userName": "B", "phone": "010-1234-5678", "email": "b@example.com" });
    reservation_id(&client.post_as("b", &path, &body.to_string()).await);
    let list = get(&stand, &format!("events/{event}/reservations?user=b")).await;
    assert_eq!(list["reservations"][0]["email"], Value::Null, "{list}");
    for bad in [json!({ "email": "must" }), json!({ "mail": "required" }), json!("required")] {
        let refused = stand.admin("PATCH", &format!("events/{event}"), &json!({ "buyerFields": bad })).await;
        assert_eq!(refused.status, 400, "{bad}: {}", refused.text());
    }
}

/// A hold names nobody; whoever confirms it says who buys. What the event requires is required then, in dialect 1.1.
async fn confirmations_name_the_buyer(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let fields = json!({ "userName": "required", "phone": "optional", "email": "required" });
    let new = json!({ "name": "Asks", "seats": 9, "maxPerUser": 9, "buyerFields": fields });
    let event = stand.admin("POST", "events", &new).await.json()["event"]["id"].as_u64().unwrap();
    let mut client = stand.client();
    let first = hold_id(&hold(&mut client, "alice", &seats(event, &[1, 2], 1)).await);
    let path = format!("/api/v1/holds/{first}/confirm");
    for (body, field) in [
        (json!({}), "userName"),
        (json!({ "userName": "Alice" }), "email"),
        (json!({ "userName": "Alice", "email": "nowhere" }), "email"),
        (json!({ "userName": "Alice", "email": "a@b.co", "phone": "x" }), "phone"),
        (json!({ "userName": 5, "email": "a@b.co" }), "userName"),
    ] {
        let refused = client.post_as("alice", &path, &body.to_string()).await;
        assert_eq!((refused.status, &refused.json()["field"]), (400, &json!(field)), "{}", refused.text());
    }
    let empty = client.send("POST", &path, &[("X-User-Id", "alice")], "").await;
    assert_eq!((empty.status, empty.reason().as_str()), (400, "validation"));
    let stranger = client.post_as("bob", &path, "{}").await;
    assert_eq!(stranger.status, 403, "whose hold it is comes first: {}", stranger.text());
    let body = json!({ "userName": "Alice", "email": "a@b.co", "phone": "010-1234-5678" }).to_string();
    let paid = client.post_as("alice", &path, &body).await;
    assert_eq!(paid.status, 200, "{}", paid.text());
    assert!(!paid.text().contains("a@b.co"), "{}", paid.text());
    let again = client.post_as("alice", &path, "{}").await;
    assert_eq!(again.status, 409, "it is confirmed: {}", again.text());
    let listed = get(&stand, &format!("events/{event}/reservations")).await;
    for row in listed["reservations"].as_array().unwrap() {
        let told = (&row["userName"], &row["email"], &row["phone"]);
        assert_eq!(told, (&json!("Alice"), &json!("a@b.co"), &json!("+821012345678")), "{row}");
    }
    let csv = list_as(&stand, &format!("events/{event}/reservations"), "text/csv").await;
    assert_eq!(csv.matches("a@b.co").count(), 2, "{csv}");
    // The seed's dialect knows no buyer of a hold. An event without fields of its own asks for none.
    let second = hold_id(&hold(&mut client, "bob", &seats(event, &[3], 2)).await);
    let seed = client.post_as("bob", &format!("/v1/holds/{second}/confirm"), "{}").await;
    assert_eq!(seed.status, 200, "{}", seed.text());
    let plain = stand.event(9, 9).await;
    let third = hold_id(&hold(&mut client, "carol", &seats(plain, &[1], 3)).await);
    let sent = json!({ "userName": "Carol" }).to_string();
    let paid = client.post_as("carol", &format!("/api/v1/holds/{third}/confirm"), &sent).await;
    assert_eq!(paid.status, 200, "{}", paid.text());
    let listed = get(&stand, &format!("events/{plain}/reservations")).await;
    assert_eq!(listed["reservations"][0]["userName"], "Carol", "{listed}");
    let audit = get(&stand, "audit").await;
    assert_eq!(audit["holds"], true, "{audit}");
}

async fn cancellations_have_a_reason(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let (room, event) = (room_type(&stand, 5).await, stand.event(9, 4).await);
    let mut client = stand.client();
    let id = reservation_id(&client.reserve(event, "alice").await);
    let path = format!("/api/v1/reservations/{id}");
    for bad in [json!({ "reason": 5 }), json!({ "reason": "x".repeat(201) }), json!({ "reason": "a\u{7}" }), json!([])]
    {
        let refused = delete(&mut client, "alice", &path, &bad.to_string()).await;
        assert_eq!((refused.status, refused.reason()), (400, "validation".into()), "{bad}");
    }
    let done = delete(&mut client, "alice", &path, &json!({ "reason": "아파서" }).to_string()).await;
    assert_eq!(done.status, 200, "{}", done.text());
    // Without a body, with an empty one, and with one that is not JSON: as before.
    for body in ["", "{}"] {
        let id = reservation_id(&client.reserve(event, "alice").await);
        assert_eq!(delete(&mut client, "alice", &format!("/api/v1/reservations/{id}"), body).await.status, 200);
    }
    let id = reservation_id(&client.reserve(event, "alice").await);
    let headers = [("X-User-Id", "alice"), ("Content-Type", "text/plain")];
    assert_eq!(client.send("DELETE", &format!("/api/v1/reservations/{id}"), &headers, "why").await.status, 200);
    let id = reservation_id(&client.reserve(event, "bob").await);
    let path = format!("reservations/{id}");
    let misspelt = stand.admin("DELETE", &path, &json!({ "reazon": "x" })).await;
    assert_eq!((misspelt.status, misspelt.json()["field"].as_str()), (400, Some("reazon")));
    assert_eq!(stand.admin("DELETE", &path, &json!({ "reason": "fraud" })).await.status, 200);

    let held = client.post_as("carol", "/api/v1/holds", &nights(room, 5, 2, 1).to_string()).await;
    let id = hold_id(&held);
    let body = json!({ "reason": "too dear" }).to_string();
    assert_eq!(delete(&mut client, "carol", &format!("/api/v1/holds/{id}"), &body).await.status, 200);
    let mine = client.get_as("carol", &format!("/api/v1/holds/{id}")).await.json();
    assert_eq!(mine["hold"]["reason"], "too dear", "{mine}");
    let holds = get(&stand, &format!("room-types/{room}/holds")).await;
    assert_eq!(holds["holds"][0]["reason"], "too dear", "{holds}");

    let history = get(&stand, &format!("history?event={event}")).await;
    let cancelled = history["history"].as_array().unwrap().iter().filter(|row| row["what"] == "cancelled");
    let reasons: Vec<&Value> = cancelled.map(|row| &row["reason"]).collect();
    assert_eq!(reasons, [&json!("아파서"), &Value::Null, &Value::Null, &Value::Null, &json!("fraud")]);
    let csv = list_as(&stand, &format!("history?event={event}"), "text/csv").await;
    assert!(csv.lines().next().unwrap().contains(",byName,reason,metadata,"), "{csv}");
    assert!(csv.lines().any(|row| row.contains(",fraud,,")), "{csv}");
    let rooms = get(&stand, &format!("history?roomType={room}")).await;
    assert_eq!(rooms["history"][2]["reason"], "too dear", "{rooms}");
}

async fn prices_are_shown(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let price = json!({ "amount": "55000", "currency": "KRW" });
    let made = stand.admin("POST", "events", &json!({ "name": "Gala", "seats": 5, "price": price })).await;
    assert_eq!(made.json()["event"]["price"], price, "{}", made.text());
    let event = made.json()["event"]["id"].as_u64().unwrap();
    let mut client = stand.client();
    assert_eq!(client.get(&format!("/api/v1/events/{event}")).await.json()["event"]["price"], price);
    let dearer = json!({ "amount": "12.50", "currency": "EUR" });
    let amended = stand.admin("PATCH", &format!("events/{event}"), &json!({ "price": dearer })).await;
    assert_eq!(amended.json()["event"]["price"], dearer, "{}", amended.text());
    let taken = stand.admin("PATCH", &format!("events/{event}"), &json!({ "price": null })).await;
    assert_eq!(taken.json()["event"]["price"], Value::Null);

    let new = json!({ "name": "Double", "totalQuantity": 5, "price": 129000, "currency": "KRW" });
    let made = stand.admin("POST", "room-types", &new).await;
    assert_eq!((made.status, &made.json()["roomType"]["currency"]), (201, &json!("KRW")), "{}", made.text());
    let room = made.json()["roomType"]["id"].as_u64().unwrap();
    let shown = client.get(&format!("/api/v1/room-types/{room}")).await.json();
    assert_eq!((&shown["roomType"]["price"], &shown["roomType"]["currency"]), (&json!(129000), &json!("KRW")));
    for seed in [format!("/v1/room-types/{room}"), "/v1/room-types".into()] {
        assert!(!client.get(&seed).await.text().contains("currency"), "the seed's bytes do not change");
    }
    let changed = stand.admin("PATCH", &format!("room-types/{room}"), &json!({ "currency": "USD" })).await;
    assert_eq!(changed.json()["roomType"]["currency"], "USD", "{}", changed.text());
    let wrong = stand.admin("PATCH", &format!("room-types/{room}"), &json!({ "currency": "XYZ" })).await;
    assert_eq!((wrong.status, wrong.json()["field"].as_str()), (400, Some("currency")), "{}", wrong.text());
}
