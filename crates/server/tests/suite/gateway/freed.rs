//! The gateway stops answering `sold_out` from memory for a second after something was freed, and after
//! nothing else: a client that can do that at will exposes the servers to everybody.

use std::time::{Duration, Instant};

use testing::http::{TestClient, TestResponse};

use super::edge::Edge;
use crate::holds::{give_back, hold, hold_id, seats};

/// Sends a cheap request over and over for two seconds while others ask for seats of a sold-out event.
/// Returns how many of the others there were, and how many requests of all kinds reached the server.
async fn while_repeating(edge: &Edge, event: u64, mut cheap: impl AsyncFnMut(&mut TestClient)) -> (u64, u64) {
    let mut client = edge.client();
    // After this the hint is known.
    for i in 0..20 {
        assert_eq!(client.reserve(event, &format!("before{i}")).await.reason(), "sold_out");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (before, began) = (edge.reached().await, Instant::now());
    let (mut others, mut repeated) = (0, 0);
    while began.elapsed() < Duration::from_secs(2) {
        if began.elapsed() >= Duration::from_millis(300) * repeated {
            cheap(&mut client).await;
            repeated += 1;
        }
        let told = client.reserve(event, &format!("u{others}")).await;
        assert_eq!(told.reason(), "sold_out", "{}", told.text());
        others += 1;
    }
    (others, edge.reached().await - before - u64::from(repeated))
}

fn shielded((others, reached): (u64, u64), by: &str) {
    println!("{by}: {reached} of {others} reached the server");
    // Two a second or so refresh the hint.
    assert!(others > 100 && reached <= 20, "{by}: {reached} of {others} reached the server");
}

fn sold(answer: &TestResponse) -> String {
    answer.json()["reservationId"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_cancellation_does_not_mute_the_hint() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let event = edge.event(1, 1).await;
    let id = sold(&edge.client().reserve(event, "owner").await);
    let told = while_repeating(&edge, event, async |client| {
        assert_eq!(client.cancel("stranger", &id).await.status, 403);
    });
    shielded(told.await, "another's reservation");
    let told = while_repeating(&edge, event, async |client| {
        assert_eq!(client.cancel("stranger", &format!("e{event}-999")).await.status, 404);
    });
    shielded(told.await, "no reservation");
}

#[tokio::test(flavor = "multi_thread")]
async fn replayed_cancellation_does_not_mute_the_hint() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let event = edge.event(2, 1).await;
    edge.client().reserve(event, "other").await;
    let path = format!("/api/v1/reservations/{}", sold(&edge.client().reserve(event, "owner").await));
    let cancel = async |client: &mut TestClient| {
        client.send("DELETE", &path, &[("X-User-Id", "owner"), ("Idempotency-Key", "once")], "").await
    };
    assert_eq!(cancel(&mut edge.client()).await.status, 200);
    assert_eq!(edge.client().reserve(event, "next").await.status, 200);
    // Longer than a real cancellation mutes the hint.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let told = while_repeating(&edge, event, async |client| {
        let again = cancel(client).await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    });
    shielded(told.await, "a replay");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_release_of_a_hold_does_not_mute_the_hint() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let event = edge.event(2, 2).await;
    let mut client = edge.client();
    let id = hold_id(&hold(&mut client, "owner", &seats(event, &[1], 1)).await);
    assert_eq!(give_back(&mut client, "owner", &id).await.status, 200);
    for _ in 0..2 {
        assert_eq!(client.reserve(event, "buyer").await.status, 200);
    }
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let told = while_repeating(&edge, event, async |client| {
        assert_eq!(give_back(client, "owner", &id).await.status, 409, "released before");
    });
    shielded(told.await, "a hold released before");
    let told = while_repeating(&edge, event, async |client| {
        assert_eq!(give_back(client, "stranger", &id).await.status, 403);
    });
    shielded(told.await, "another's hold");
}

/// The gateway would not believe it from a refusal; the server does not say it either.
#[tokio::test(flavor = "multi_thread")]
async fn server_tells_only_what_was_freed() {
    let edge = Edge::new(&[]).await;
    let event = edge.event(2, 1).await;
    let mut client = edge.direct();
    let id = sold(&client.reserve(event, "owner").await);
    let path = format!("/api/v1/reservations/{id}");
    let mut cancel = async |user: &str| {
        let headers = [("X-Gateway-Key", testing::gateway::KEY), ("X-User-Id", user), ("Idempotency-Key", "once")];
        let told = client.send("DELETE", &path, &headers, "").await;
        (told.status, told.header("x-fcfs-freed").map(str::to_owned))
    };
    assert_eq!(cancel("stranger").await, (403, None));
    assert_eq!(cancel("owner").await, (200, Some(event.to_string())));
    assert_eq!(cancel("owner").await, (200, None), "a replay freed nothing");
}

/// What is really released is sold again at once.
#[tokio::test(flavor = "multi_thread")]
async fn released_hold_is_sold_at_once() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let event = edge.event(2, 2).await;
    let mut client = edge.client();
    for turn in 0..3 {
        let id = hold_id(&hold(&mut client, "owner", &seats(event, &[1, 2], turn)).await);
        for i in 0..5 {
            assert_eq!(client.reserve(event, &format!("early{turn}-{i}")).await.reason(), "held_out");
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        assert_eq!(give_back(&mut client, "owner", &id).await.status, 200);
        let answer = client.reserve(event, &format!("late{turn}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(client.cancel(&format!("late{turn}"), &sold(&answer)).await.status, 200);
    }
}
