//! `AUTH_MODE=jwt`: whose tokens let whom in, and what new keys change.

mod behind_gateway;
mod forged;
mod issuer;
mod login;
mod minted;
mod over_tls;
mod rotation;

pub use issuer::Issuer;
pub use over_tls::TlsIssuer;
use serde_json::json;
use testing::folder::TestFolder;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::server::TestServer;

pub const FCFS: &str = "/api/v1/seats/reservation/fcfs";
pub const JSON: (&str, &str) = ("Content-Type", "application/json");
pub const ISSUER: &str = "https://issuer.example";
pub const AUDIENCE: &str = "tickets";
const TERMS: [(&str, &str); 3] = [("AUTH_MODE", "jwt"), ("JWT_ISSUER", ISSUER), ("JWT_AUDIENCE", AUDIENCE)];

/// A server that takes its keys from one setting.
pub async fn server(setting: &str, value: &str) -> TestServer {
    TestServer::embedded(&[&TERMS[..], &[(setting, value)]].concat()).await
}

/// Reserves with this token, and with no other sign of who asks.
pub async fn reserve(client: &mut TestClient, token: &str) -> TestResponse {
    client.send("POST", FCFS, &[JSON, ("Authorization", &format!("Bearer {token}"))], BUYER).await
}

/// Asks for one's own reservations.
pub async fn mine(client: &mut TestClient, token: &str) -> TestResponse {
    client.send("GET", "/api/v1/reservations", &[("Authorization", &format!("Bearer {token}"))], "").await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_algorithm_is_accepted_from_each_kind_of_key() {
    let folder = TestFolder::new("keys");
    let hs = Issuer::hs256("h");
    let public = [Issuer::rs256("r"), Issuer::es256("e"), Issuer::eddsa("d")];
    let jwks = folder.path().join("jwks.json");
    let keys: Vec<_> = public.iter().chain([&hs]).map(Issuer::jwk).collect();
    std::fs::write(&jwks, json!({ "keys": keys }).to_string()).unwrap();
    let set = server("JWT_JWKS_FILE", jwks.to_str().unwrap()).await;
    for (n, issuer) in public.iter().chain([&hs]).enumerate() {
        let user = format!("user-{n}");
        let told = reserve(&mut set.client(), &issuer.token(&user)).await;
        assert_eq!(told.status, 200, "{}: {}", issuer.algorithm(), told.text());
        let listed = mine(&mut set.client(), &issuer.token(&user)).await;
        assert_eq!(listed.json()["reservations"].as_array().unwrap().len(), 1, "{}", listed.text());
        // Not every issuer names its key.
        assert_eq!(mine(&mut set.client(), &issuer.without_kid(&user)).await.status, 200, "{}", issuer.algorithm());
    }
    for issuer in &public {
        let file = folder.path().join(format!("{}.pem", issuer.algorithm()));
        std::fs::write(&file, issuer.public_pem()).unwrap();
        let one = server("JWT_PUBLIC_KEY_FILE", file.to_str().unwrap()).await;
        let told = reserve(&mut one.client(), &issuer.token("alice")).await;
        assert_eq!(told.status, 200, "{}: {}", issuer.algorithm(), told.text());
    }
    let secret = server("JWT_SECRET", hs.secret()).await;
    assert_eq!(reserve(&mut secret.client(), &hs.token("alice")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_needed_and_names_the_user() {
    let hs = Issuer::hs256("h");
    let stand = server("JWT_SECRET", hs.secret()).await;
    let mut client = TestClient::new(stand.address);
    let bearer = format!("Bearer {}", hs.token("alice"));
    let with_token = ("Authorization", bearer.as_str());
    for headers in [&[JSON][..], &[JSON, ("X-User-Id", "alice")], &[JSON, ("Authorization", "Basic YTpi")]] {
        let told = client.send("POST", FCFS, headers, BUYER).await;
        assert_eq!((told.status, told.reason().as_str()), (401, "unauthorized"), "{headers:?}");
        assert_eq!(told.header("www-authenticate"), Some("Bearer"));
    }
    let told = client.send("POST", FCFS, &[JSON, with_token, ("X-User-Id", "bob")], BUYER).await;
    assert_eq!((told.status, told.reason().as_str()), (403, "forbidden"), "{}", told.text());
    // The oldest dialect could name a telephone number instead of a user.
    let told = client.send("POST", FCFS, &[JSON, ("Api-Version", "2025-08-17")], BUYER).await;
    assert_eq!(told.status, 401, "{}", told.text());
    // A proxy in front is no reason to refuse: it does not say who asks.
    let headers = [JSON, with_token, ("X-User-Id", "alice"), ("X-Forwarded-For", "10.0.0.1"), ("Host", "shop.example")];
    let told = client.send("POST", FCFS, &headers, BUYER).await;
    assert_eq!(told.status, 200, "{}", told.text());
    let id = told.json()["reservationId"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/reservations/{id}");
    let bob = format!("Bearer {}", hs.token("bob"));
    assert_eq!(client.send("DELETE", &path, &[("Authorization", &bob)], "").await.status, 403);
    assert_eq!(client.send("DELETE", &path, &[with_token], "").await.status, 200);
}
