//! Once is once, over HTTP.

use std::sync::Arc;

use serde_json::json;
use testing::backing::Backing;
use testing::http::BUYER;
use testing::on_every_backing;
use testing::server::TestServer;
use tokio::sync::Barrier;

on_every_backing!(
    hundred_concurrent_repeats_have_one_effect,
    same_key_with_other_content_is_refused,
    key_of_a_refused_request_is_free,
    key_may_be_quoted_and_use_the_old_header,
    repeated_cancellation_gets_the_same_answer,
    answers_are_repeated_for_a_day
);

async fn hundred_concurrent_repeats_have_one_effect(backing: Backing) {
    let stand = Arc::new(TestServer::on(backing, &[]).await);
    let barrier = Arc::new(Barrier::new(100));
    let mut running = Vec::new();
    for _ in 0..100 {
        let (stand, barrier) = (stand.clone(), barrier.clone());
        running.push(tokio::spawn(async move {
            let mut client = stand.client();
            client.get("/livez").await;
            barrier.wait().await;
            client.reserve_with_key(1, "alice", "key-1", BUYER).await
        }));
    }
    let mut bodies = Vec::new();
    let mut fresh = 0;
    for task in running {
        let answer = task.await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        fresh += u32::from(answer.header("idempotent-replayed").is_none());
        bodies.push(answer.body.clone());
    }
    assert_eq!(fresh, 1, "one effect");
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "a hundred equal answers");
    assert_eq!(stand.client().get("/api/v1/events/1").await.json()["event"]["remainingSeats"], 8);
}

async fn same_key_with_other_content_is_refused(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    assert_eq!(client.reserve_with_key(1, "alice", "k", BUYER).await.status, 200);
    let other = r#"{"userName":"Mallory","phone":"010-1234-5678"}"#;
    let answer = client.reserve_with_key(1, "alice", "k", other).await;
    assert_eq!((answer.status, answer.reason().as_str()), (422, "idempotency_mismatch"));
    assert_eq!(client.reserve_with_key(1, "bob", "k", other).await.status, 200, "a key belongs to its user");
    let event = stand.event(1, 1).await;
    assert_eq!(client.reserve_with_key(event, "alice", "k", other).await.status, 200, "and to its event");
}

async fn key_of_a_refused_request_is_free(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_SEATS", "1")]).await;
    let mut client = stand.client();
    let id = client.reserve(1, "first").await.json()["reservationId"].as_str().unwrap().to_owned();
    assert_eq!(client.reserve_with_key(1, "second", "k", BUYER).await.reason(), "sold_out");
    assert_eq!(client.cancel("first", &id).await.status, 200);
    let answer = client.reserve_with_key(1, "second", "k", BUYER).await;
    assert_eq!((answer.seat(), answer.header("idempotent-replayed")), (Some(1), None), "decided anew");
}

async fn key_may_be_quoted_and_use_the_old_header(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let first = client.reserve_with_key(1, "alice", "k", BUYER).await;
    let path = "/api/v1/events/1/seats/reservation/fcfs";
    for (name, value) in [("Idempotency-Key", "\"k\""), ("X-Idempotency-Key", "k")] {
        let headers = [("X-User-Id", "alice"), ("Content-Type", "application/json"), (name, value)];
        let again = client.send("POST", path, &headers, BUYER).await;
        assert_eq!((&again.body, again.header("idempotent-replayed")), (&first.body, Some("true")), "{name}");
    }
    for bad in ["", "\"\"", &"k".repeat(129), "k\tk"] {
        let answer = client.reserve_with_key(1, "bob", bad, BUYER).await;
        assert_eq!((answer.status, &answer.json()["field"]), (400, &json!("Idempotency-Key")), "{bad:?}");
    }
}

async fn repeated_cancellation_gets_the_same_answer(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let id = client.reserve(1, "alice").await.json()["reservationId"].as_str().unwrap().to_owned();
    let headers = [("X-User-Id", "alice"), ("Idempotency-Key", "c")];
    let path = format!("/api/v1/reservations/{id}");
    let first = client.send("DELETE", &path, &headers, "").await;
    let again = client.send("DELETE", &path, &headers, "").await;
    assert_eq!((first.status, again.status, &first.body), (200, 200, &again.body));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
}

async fn answers_are_repeated_for_a_day(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 2).await;
    let mut client = stand.client();
    client.reserve_with_key(event, "alice", "k", BUYER).await;
    stand.advance_ms(86_390_000);
    assert!(client.reserve_with_key(event, "alice", "k", BUYER).await.header("idempotent-replayed").is_some());
    stand.advance_ms(20_000);
    let anew = client.reserve_with_key(event, "alice", "k", BUYER).await;
    assert_eq!((anew.seat(), anew.header("idempotent-replayed")), (Some(2), None));
}
