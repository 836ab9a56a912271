//! A gateway in jwt mode: it passes tokens on and verifies none; sizes, rates and the sold-out hint are its own.

use serde_json::Value;
use testing::http::BUYER;

use super::{FCFS, Issuer, JSON, issuer, mine, reserve};
use crate::gateway::edge::Edge;

async fn edge(issuer: &Issuer, more: &[(&str, &str)]) -> Edge {
    let settings = [
        ("AUTH_MODE", "jwt"),
        ("JWT_SECRET", issuer.secret()),
        ("JWT_ISSUER", super::ISSUER),
        ("JWT_AUDIENCE", super::AUDIENCE),
        ("GATEWAY_TRUST_USER_HEADER", "0"),
        ("ALLOW_TRUSTED_HEADER", "0"),
        ("GATEWAY_WORKERS", "1"),
    ];
    Edge::with(1, &[more, &settings].concat(), &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_passes_tokens_on() {
    let issuer = Issuer::hs256("h");
    let edge = edge(&issuer, &[]).await;
    let mut client = edge.client();
    let sold = reserve(&mut client, &issuer.token("alice")).await;
    assert_eq!(sold.status, 200, "{}", sold.text());
    let listed = mine(&mut client, &issuer.token("alice")).await;
    assert_eq!(listed.json()["reservations"].as_array().map(Vec::len), Some(1), "{}", listed.text());
    assert_eq!(listed.header("x-fcfs-auth"), None, "only the gateway learns the mode");

    // A user header that nobody vouches for is removed; the token counts.
    let bearer = format!("Bearer {}", issuer.token("bob"));
    let headers = [JSON, ("Authorization", bearer.as_str()), ("X-User-Id", "alice")];
    let told = client.send("POST", FCFS, &headers, BUYER).await;
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(mine(&mut client, &issuer.token("bob")).await.json()["reservations"].as_array().map(Vec::len), Some(1));

    // The same user's second request is refused by the server that knows the user.
    let again = reserve(&mut client, &issuer.token("alice")).await;
    assert_eq!((again.status, again.reason().as_str()), (409, "duplicate"), "{}", again.text());

    // Without a token nothing reaches a server; with a bad one the server says what is wrong.
    let before = edge.reached().await;
    let told = client.send("POST", FCFS, &[JSON, ("X-User-Id", "alice")], BUYER).await;
    assert_eq!((told.status, told.reason().as_str()), (401, "unauthorized"), "{}", told.text());
    assert_eq!(told.header("www-authenticate"), Some("Bearer"));
    assert_eq!(edge.reached().await, before);
    let mut claims = issuer::claims("alice");
    claims["exp"] = (issuer::now() - 3_600).into();
    let expired = issuer.sign(&issuer.header().to_string(), &claims.to_string());
    for token in ["x", &expired, &Issuer::hs256("other").token("alice")] {
        let told = reserve(&mut client, token).await;
        assert_eq!((told.status, told.reason().as_str()), (401, "unauthorized"), "{}", told.text());
        assert!(told.header("www-authenticate").unwrap().contains("invalid_token"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_keeps_sizes_rates_and_the_hint() {
    let issuer = Issuer::hs256("h");
    let edge = edge(&issuer, &[("GATEWAY_ADDRESS_RATE", "50"), ("FCFS_SEATS", "1")]).await;
    let mut client = edge.client();
    assert_eq!(reserve(&mut client, &issuer.token("alice")).await.status, 200);
    // The first refusal is the server's; then the gateway knows.
    let told = reserve(&mut client, &issuer.token("u0")).await;
    assert_eq!((told.status, told.reason().as_str()), (409, "sold_out"), "{}", told.text());
    let before = edge.reached().await;
    for n in 1..=5 {
        let told = reserve(&mut client, &issuer.token(&format!("u{n}"))).await;
        assert_eq!((told.status, told.reason().as_str()), (409, "sold_out"), "{}", told.text());
    }
    assert_eq!(edge.reached().await, before, "the hint answers");
    // The owner of the seat hears of it, not of the sold-out event.
    let own = reserve(&mut client, &issuer.token("alice")).await;
    assert_eq!(own.status, 409);

    let bearer = format!("Bearer {}", issuer.token("bob"));
    let large = format!("{{\"userName\":\"{}\"}}", "x".repeat(20_000));
    let told = client.send("POST", FCFS, &[JSON, ("Authorization", &bearer)], &large).await;
    assert_eq!(told.status, 413, "{}", told.text());

    let mut limited = 0;
    for _ in 0..400 {
        limited += usize::from(client.get("/api/v1/seats").await.status == 429);
    }
    assert!(limited > 0, "one address is not limited");
}

/// The servers verify, whatever the gateway lets through; and the admin token passes.
#[tokio::test(flavor = "multi_thread")]
async fn admin_token_passes_the_gateway() {
    let issuer = Issuer::hs256("h");
    let edge = edge(&issuer, &[]).await;
    let token = format!("Bearer {}", edge.servers[0].app.admin_token);
    let told = edge.client().send("GET", "/api/v1/admin/events", &[("Authorization", &token)], "").await;
    assert_eq!(told.status, 200, "{}", told.text());
    let users = format!("Bearer {}", issuer.token("alice"));
    let told = edge.client().send("GET", "/api/v1/admin/events", &[("Authorization", &users)], "").await;
    assert_eq!(told.status, 401, "{}", told.text());
    assert_eq!(told.json()["events"], Value::Null);
}
