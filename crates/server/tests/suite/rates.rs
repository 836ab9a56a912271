//! Token buckets per user and per address, on every backing and through a gateway.

use serde_json::json;
use testing::backing::Backing;
use testing::http::{BUYER, TestResponse};
use testing::on_every_backing;
use testing::server::TestServer;

use crate::gateway::edge::{BODY, Edge, FCFS, JSON};
use crate::holds;

on_every_backing!(users_have_a_bucket_per_kind);

/// Asks until it is refused for its rate. At a token a second, with a burst of ten, that takes few requests.
async fn until_limited(mut ask: impl AsyncFnMut(u64) -> TestResponse) -> (u64, TestResponse) {
    for i in 0..100 {
        let answer = ask(i).await;
        if answer.status == 429 {
            return (i, answer);
        }
    }
    panic!("100 requests in a row were let in");
}

fn expect_limited(answer: &TestResponse) {
    let body = answer.json();
    assert_eq!((answer.reason().as_str(), answer.header("retry-after")), ("rate_limited", Some("1")), "{body}");
    assert_eq!(body["retryAfter"], 1);
}

async fn users_have_a_bucket_per_kind(backing: Backing) {
    let stand = TestServer::on(backing, &[("USER_RATE", "1"), ("FCFS_SEATS", "5")]).await;
    let mut client = stand.client();
    let mine = client.reserve(1, "alice").await;
    assert_eq!(mine.status, 200, "{}", mine.text());
    let (_, told) = until_limited(async |_| client.reserve(1, "alice").await).await;
    expect_limited(&told);
    assert_eq!(told.sequence(), None, "no number is spent on it");
    let refused = [("1.0", json!({ "success": false, "reason": "rate limited" }))];
    for (dialect, body) in refused {
        let headers = [("X-User-Id", "alice"), JSON, ("Api-Version", dialect)];
        let (_, told) = until_limited(async |_| client.send("POST", FCFS, &headers, BUYER).await).await;
        assert_eq!(told.json(), body);
    }
    let headers = [("X-User-Id", "alice"), JSON, ("Api-Version", "2025-08-17")];
    let (_, told) = until_limited(async |_| client.send("POST", FCFS, &headers, BUYER).await).await;
    assert_eq!(
        (&told.json()["error"]["code"], &told.json()["error"]["meta"]["retryAfter"]),
        (&json!("rate_limited"), &json!(1))
    );

    let id = mine.json()["reservationId"].as_str().unwrap().to_owned();
    assert_eq!(client.cancel("alice", &id).await.status, 200, "another kind");
    let (_, told) = until_limited(async |_| client.cancel("alice", &id).await).await;
    expect_limited(&told);
    assert_eq!(client.get_as("alice", "/api/v1/reservations").await.status, 200, "reads have no bucket");
    assert_eq!(client.reserve(1, "bob").await.status, 200, "others are not touched");

    let event = stand.event(9, 4).await;
    let (held, told) =
        until_limited(async |i| holds::hold(&mut client, "alice", &holds::seats(event, &[i % 9 + 1], i)).await).await;
    assert!(held >= 10, "{held}");
    expect_limited(&told);
    let path = format!("/api/v1/events/{event}/queue");
    let (_, told) = until_limited(async |_| client.send("POST", &path, &[("X-User-Id", "alice")], "").await).await;
    expect_limited(&told);
    let text = testing::http::TestClient::new(stand.server).get("/metrics").await.text();
    let limited = text.lines().find_map(|line| line.strip_prefix("tickettock_rate_limited_total{scope=\"user\"} "));
    assert!(limited.unwrap().parse::<u64>().unwrap() >= 6, "{text}");
    let by_outcome = "tickettock_outcomes_total{outcome=\"rate_limited\",operation=\"cancelReservation\"}";
    assert!(text.contains(by_outcome), "{text}");
}

/// A telephone number that is the identity has a bucket like any user; nobody at all has that of the address.
#[tokio::test(flavor = "multi_thread")]
async fn phones_and_addresses_have_buckets() {
    let stand = TestServer::embedded(&[("USER_RATE", "1"), ("FCFS_SEATS", "100")]).await;
    let mut client = stand.client();
    let old = [("Api-Version", "2025-08-17"), JSON];
    let (_, told) =
        until_limited(async |_| client.send("POST", FCFS, &old, r#"{"phone":"010-1234-5678"}"#).await).await;
    assert_eq!(told.json()["error"]["code"], "rate_limited");
    for _ in 0..20 {
        assert_eq!(client.send("POST", FCFS, &old, "").await.status, 200, "loopback has no bucket by default");
    }

    let stand = TestServer::embedded(&[("ADDRESS_RATE", "1"), ("FCFS_SEATS", "100")]).await;
    let mut client = stand.client();
    let (_, told) = until_limited(async |i| client.reserve(1, &format!("u{i}")).await).await;
    expect_limited(&told);
    let (_, told) = until_limited(async |_| client.send("POST", FCFS, &old, "").await).await;
    assert_eq!(told.json()["error"]["code"], "rate_limited");
    let text = client.get("/metrics").await.text();
    assert!(text.contains("tickettock_rate_limited_total{scope=\"address\"}"), "{text}");
}

/// Behind a gateway the address is the client's, and a refused request leaves no mark.
#[tokio::test(flavor = "multi_thread")]
async fn gateway_clients_have_buckets_of_their_own() {
    let edge = Edge::new(&[("ADDRESS_RATE", "1"), ("TRUSTED_PROXIES", "127.0.0.1"), ("FCFS_SEATS", "100")]).await;
    edge.warm().await;
    let mut client = edge.client();
    let mut asks = async |user: String, from: &str| {
        let headers = [("X-User-Id", user.as_str()), JSON, ("X-Forwarded-For", from)];
        client.send("POST", FCFS, &headers, BODY).await
    };
    let (i, told) = until_limited(async |i| asks(format!("u{i}"), "192.0.2.1").await).await;
    expect_limited(&told);
    assert_eq!(edge.mark(1, &format!("u{i}")), None, "the gateway's mark was given back");
    assert_eq!(asks("other".into(), "192.0.2.2").await.status, 200);
    let unknown = edge.direct().reserve(1, "unknown").await;
    assert_eq!(unknown.status, 200, "{}", unknown.text());
}
