//! Rates, sizes and time, and the wrapper for debugging.

use std::time::Duration;

use serde_json::json;
use testing::gateway::GatewayBug;
use testing::raw_tcp;
use tokio::io::AsyncReadExt;

use super::edge::{BODY, Edge, FCFS, JSON};

#[tokio::test(flavor = "multi_thread")]
async fn token_buckets_per_user_and_address() {
    let edge = Edge::new(&[("GATEWAY_USER_RATE", "1")]).await;
    let mut client = edge.client();
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(client.get_as("alice", "/api/v1/reservations").await);
    }
    assert!(told[..2].iter().all(|answer| answer.status == 200), "two seconds' worth at once");
    assert_eq!((told[3].status, told[3].reason().as_str()), (429, "rate_limited"));
    assert_eq!((told[3].header("retry-after"), &told[3].json()["retryAfter"]), (Some("1"), &json!(1)));
    assert_eq!(client.reserve(1, "alice").await.status, 429, "one bucket for all that a user does");
    assert_eq!(client.reserve(1, "bob").await.status, 200, "others are not touched");
    assert_eq!(client.get("/api/v1/seats").await.status, 200);
    edge.gate.move_clock(1_100);
    assert_eq!(client.get_as("alice", "/api/v1/reservations").await.status, 200, "one more a second later");

    let gate = edge.another(&[("GATEWAY_ADDRESS_RATE", "1"), ("TRUSTED_PROXIES", "127.0.0.1")]);
    let mut client = gate.client();
    let from = |host: u32| format!("2001:db8:0:1::{host:x}");
    let mut statuses = Vec::new();
    for host in 0..4 {
        statuses.push(client.send("GET", "/api/v1/seats", &[("X-Forwarded-For", &from(host))], "").await.status);
    }
    assert_eq!((&statuses[..2], statuses[3]), (&[200, 200][..], 429), "a /64 is one address");
    let other = [("X-Forwarded-For", "2001:db8:0:2::1")];
    assert_eq!(client.send("GET", "/api/v1/seats", &other, "").await.status, 200);
    for (dialect, status) in [("1.0", "rate limited"), ("2025-08-17", "rate_limited")] {
        let headers = [("X-Forwarded-For", "2001:db8:0:1::1"), ("Api-Version", dialect), ("X-User-Id", "x"), JSON];
        let told = client.send("POST", FCFS, &headers, BODY).await;
        assert_eq!(told.status, 429);
        assert!(told.text().contains(status), "{}", told.text());
    }
}

/// A hundred clients send headers and no body: they take nothing.
async fn headers_and_no_body(planted: &[GatewayBug<'_>]) -> Result<(), String> {
    let edge = Edge::with(1, &[], planted).await;
    edge.warm().await;
    assert_eq!(edge.client().reserve(1, "first").await.sequence(), Some(1));
    let before = edge.reached().await;
    let mut held = Vec::new();
    for i in 0..100 {
        let text = format!(
            "POST {FCFS} HTTP/1.1\r\nHost: localhost\r\nX-User-Id: slow{i}\r\nContent-Type: application/json\r\n\
             Content-Length: 60\r\n\r\n{{\"user"
        );
        held.push(raw_tcp::send(edge.gate.address(), text.as_bytes()).await);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let second = edge.client().reserve(1, "second").await;
    if (second.seat(), second.sequence()) != (Some(2), Some(2)) || edge.mark(1, "slow7").is_some() {
        return Err(second.text());
    }
    assert_eq!(edge.reached().await, before + 1);
    // And they do not hold their connection for ever.
    let mut answer = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(8), held[0].read_to_end(&mut answer)).await;
    assert!(closed.is_ok(), "still open after eight seconds");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_bodies_take_no_number() {
    assert_eq!(headers_and_no_body(&[]).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_arrival_before_the_body_is_caught() {
    let hasty = [(
        "lua/gateway.lua",
        "bodies.read()",
        "door.arrive('1', ngx.req.get_headers()['x-user-id'], 'x', ngx.var.request_id) bodies.read()",
    )];
    headers_and_no_body(&hasty).await.expect_err("the test sees nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn debug_wrapping_shows_status_and_body() {
    let edge = Edge::new(&[("GATEWAY_WRAP", "1"), ("FCFS_SEATS", "1")]).await;
    edge.warm().await;
    let mut client = edge.client();
    let path = format!("{FCFS}?wrap=1");
    let answer = client.post_as("alice", &path, BODY).await;
    let body = answer.json();
    assert_eq!((answer.status, &body["gatewayWrapped"], &body["status"]), (200, &json!(true), &json!(200)));
    assert_eq!((&body["sequence"], &body["body"]["seat"]["id"]), (&json!(1), &json!(1)));
    let mut told = client.post_as("bob", &path, BODY).await;
    for _ in 0..3 {
        assert_eq!((told.status, &told.json()["status"]), (200, &json!(409)), "{}", told.text());
        assert_eq!(told.json()["body"]["reason"], "sold_out");
        tokio::time::sleep(Duration::from_millis(130)).await;
        told = client.post_as("carol", &path, BODY).await;
    }
    let old = [("Api-Version", "1.0"), ("X-User-Id", "dave"), JSON, ("Idempotency-Key", "k")];
    let numbered = client.send("POST", &path, &old, BODY).await.json();
    assert!(numbered["sequence"].as_u64() > Some(1), "{numbered}");
    assert_eq!(numbered["body"], json!({ "success": false, "reason": "sold out" }));
    let list = client.send("GET", "/api/v1/seats?wrap=1", &[("Accept-Encoding", "gzip")], "").await.json();
    assert_eq!((&list["status"], list["body"]["seats"].as_array().map(Vec::len)), (&json!(200), Some(1)));
    let missing = client.send("POST", &path, &[JSON], BODY).await.json();
    assert_eq!((&missing["status"], &missing["sequence"]), (&json!(400), &json!(null)));
    assert_eq!(client.post_as("bob", FCFS, BODY).await.status, 409, "only where it is asked for");
    assert!(client.get("/?wrap=1").await.text().starts_with("<!"), "only JSON is wrapped");

    let plain = edge.another(&[]);
    assert_eq!(plain.client().post_as("bob", &path, BODY).await.status, 409, "and only where it is switched on");
}

/// Trace ids are forwarded and returned.
#[tokio::test(flavor = "multi_thread")]
async fn trace_ids_pass_the_gateway() {
    let edge = Edge::new(&[]).await;
    let mut client = edge.client();
    for path in ["/api/v1/seats/99", "/nothing"] {
        let own = client.send("GET", path, &[("X-Request-Id", "mine-1"), ("traceparent", "00-a-b-01")], "").await;
        assert_eq!((own.header("x-request-id"), own.json()["traceId"].as_str()), (Some("mine-1"), Some("mine-1")));
    }
    let own = client.send("POST", FCFS, &[("X-Request-Id", "mine-2"), JSON], BODY).await;
    assert_eq!((own.reason().as_str(), own.header("x-request-id")), ("missing_user", Some("mine-2")));
    let odd = client.send("POST", FCFS, &[("X-Request-Id", "not mine"), JSON], BODY).await;
    assert_eq!(odd.header("x-request-id").map(str::len), Some(32));
}
