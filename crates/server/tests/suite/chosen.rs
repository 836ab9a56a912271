//! Chosen seats over HTTP, in every dialect and on every backing.

use std::sync::Arc;

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::on_every_backing;
use testing::server::TestServer;
use tokio::sync::Barrier;

on_every_backing!(chosen_seat_is_reserved_or_refused, chosen_seat_in_old_dialects, one_seat_goes_to_one_of_a_hundred);

async fn choose(client: &mut TestClient, event: u64, user: &str, seat: &str) -> TestResponse {
    client.post_as(user, &format!("/api/v1/events/{event}/seats/{seat}/reservation"), BUYER).await
}

async fn chosen_seat_is_reserved_or_refused(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let event = stand.event(9, 2).await;
    let sold = choose(&mut client, event, "alice", "5").await;
    let body = sold.json();
    assert_eq!(sold.status, 200, "{body}");
    assert_eq!(body["seat"], json!({ "id": 5, "name": "A5", "status": true }));
    assert_eq!((&body["remainingSeats"], &body["sequence"]), (&json!(8), &json!(1)));
    let taken = choose(&mut client, event, "bob", "5").await;
    assert_eq!((taken.status, taken.reason().as_str()), (409, "seat_taken"));
    assert_eq!(taken.sequence(), Some(2), "a refusal carries its number");
    let own = choose(&mut client, event, "alice", "5").await;
    assert_eq!((own.status, own.reason().as_str(), &own.json()["seat"]["id"]), (409, "already_reserved", &json!(5)));
    for none in ["0", "10", "007", "-1", "x", "4294967296"] {
        let answer = choose(&mut client, event, "bob", none).await;
        assert_eq!((answer.status, answer.reason().as_str()), (404, "not_found"), "{none}");
        assert_eq!(answer.sequence(), None, "what does not exist costs no number");
    }
    // The crowd gets what is lowest, and the two ways share the limit.
    let lowest = client.reserve(event, "alice").await;
    assert_eq!(lowest.seat(), Some(1));
    let limit = choose(&mut client, event, "alice", "7").await;
    assert_eq!((limit.status, limit.reason().as_str(), &limit.json()["seat"]["id"]), (409, "duplicate", &json!(1)));
    let list = client.get(&format!("/api/v1/events/{event}/seats/5")).await;
    assert_eq!(list.json()["seat"]["state"], "sold");
    let cancelled = client.cancel("alice", body["reservationId"].as_str().unwrap()).await;
    assert_eq!(cancelled.status, 200);
    assert_eq!(choose(&mut client, event, "bob", "5").await.seat(), Some(5));
    // The same key again gets the same answer.
    let headers = [("X-User-Id", "carol"), ("Content-Type", "application/json"), ("Idempotency-Key", "k")];
    let path = format!("/api/v1/events/{event}/seats/8/reservation");
    let first = client.send("POST", &path, &headers, BUYER).await;
    let again = client.send("POST", &path, &headers, BUYER).await;
    assert_eq!((first.status, first.text()), (again.status, again.text()));
    assert_eq!(again.header("Idempotent-Replayed"), Some("true"));
    let other = client.send("POST", &path.replace("/8/", "/9/"), &headers, BUYER).await;
    assert_eq!((other.status, other.reason().as_str()), (422, "idempotency_mismatch"), "another seat is other content");
}

async fn chosen_seat_in_old_dialects(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let path = "/api/v1/seats/4/reservation";
    let ask = |version: &'static str, user: &'static str| {
        [("Api-Version", version), ("Content-Type", "application/json"), ("X-User-Id", user)]
    };
    let phone = r#"{"phone":"010-1234-5678"}"#;
    let sold = client.send("POST", path, &ask("1.0", "alice"), phone).await;
    assert_eq!((sold.status, sold.json()), (200, json!({ "success": true, "seat": 4 })));
    let taken = client.send("POST", path, &ask("1.0", "bob"), phone).await;
    assert_eq!((taken.status, taken.json()), (409, json!({ "success": false, "reason": "seat taken" })));
    let taken = client.send("POST", path, &ask("2025-08-17", "bob"), "").await;
    assert_eq!((taken.status, &taken.json()["error"]["code"]), (409, &json!("seat_taken")));
    let own = client.send("POST", path, &ask("2025-08-17", "alice"), "").await;
    let four = json!({ "success": false, "seat_id": 4, "reserved_by": "alice", "reason": "already_reserved" });
    assert_eq!((own.status, own.json()), (200, four));
    let nobody = [("Api-Version", "2025-08-17")];
    let sold = client.send("POST", "/api/v1/seats/6/reservation", &nobody, "").await;
    let four = json!({ "success": true, "seat_id": 6, "reserved_by": Value::Null, "reason": Value::Null });
    assert_eq!((sold.status, sold.json()), (200, four));
}

async fn one_seat_goes_to_one_of_a_hundred(backing: Backing) {
    let stand = Arc::new(TestServer::on(backing, &[]).await);
    let event = stand.event(3, 1).await;
    let barrier = Arc::new(Barrier::new(100));
    let mut running = Vec::new();
    for i in 0..100 {
        let (stand, barrier) = (stand.clone(), barrier.clone());
        running.push(tokio::spawn(async move {
            let mut client = stand.client();
            barrier.wait().await;
            choose(&mut client, event, &format!("user-{i}"), "2").await
        }));
    }
    let (mut sold, mut taken) = (0, 0);
    for task in running {
        let answer = task.await.unwrap();
        match (answer.status, answer.reason().as_str()) {
            (200, _) => sold += 1,
            (409, "seat_taken") => taken += 1,
            _ => panic!("{} {}", answer.status, answer.text()),
        }
    }
    assert_eq!((sold, taken), (1, 99));
}
