//! The HTTP client of the tests: the product's own, with the calls that tests make, and a panic
//! where a test has no use for an error.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use client::{Client, ClientError, HttpRequest, HttpResponse};
use serde_json::Value;

/// A sound body of a reservation.
pub const BUYER: &str = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;

#[derive(Clone, Debug)]
pub struct TestResponse(HttpResponse);

impl Deref for TestResponse {
    type Target = HttpResponse;

    fn deref(&self) -> &HttpResponse {
        &self.0
    }
}

impl TestResponse {
    pub fn json(&self) -> Value {
        self.0.json().unwrap_or_else(|e| panic!("not JSON ({e}): {:?}", self.text()))
    }

    pub fn reason(&self) -> String {
        self.json()["reason"].as_str().unwrap_or_default().to_owned()
    }

    /// The seat of a success.
    pub fn seat(&self) -> Option<u64> {
        if self.status == 200 { self.json()["seat"]["id"].as_u64() } else { None }
    }

    pub fn sequence(&self) -> Option<u64> {
        self.json()["sequence"].as_u64()
    }
}

impl From<HttpResponse> for TestResponse {
    fn from(response: HttpResponse) -> Self {
        TestResponse(response)
    }
}

/// Makes a token of a user.
pub type Mint = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// One connection that stays open. A dropped call has hung up.
pub struct TestClient {
    client: Client,
    mint: Option<Mint>,
}

impl TestClient {
    pub fn new(address: SocketAddr) -> TestClient {
        TestClient { client: Client::new(address), mint: None }
    }

    /// Sends a token of the user whenever a test names one in `X-User-Id`.
    pub fn with_tokens(self, mint: Mint) -> TestClient {
        TestClient { mint: Some(mint), ..self }
    }

    pub async fn ask(&mut self, request: HttpRequest) -> Result<TestResponse, ClientError> {
        self.client.ask(request).await.map(TestResponse)
    }

    /// Any request that is valid HTTP; the type of a body is the caller's to say.
    pub async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TestResponse {
        self.try_send(method, path, headers, body).await.unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    pub async fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<TestResponse, ClientError> {
        let mut request = HttpRequest::new(method, path).body(body.to_owned());
        if let (Some(mint), Some((_, user))) = (&self.mint, headers.iter().find(|(name, _)| *name == "X-User-Id")) {
            request = request.header("Authorization", format!("Bearer {}", mint(user)));
        }
        self.ask(headers.iter().fold(request, |request, (name, value)| request.header(name, value))).await
    }

    pub async fn get(&mut self, path: &str) -> TestResponse {
        self.send("GET", path, &[], "").await
    }

    pub async fn get_as(&mut self, user: &str, path: &str) -> TestResponse {
        self.send("GET", path, &[("X-User-Id", user)], "").await
    }

    pub async fn post_as(&mut self, user: &str, path: &str, body: &str) -> TestResponse {
        self.send("POST", path, &[("X-User-Id", user), ("Content-Type", "application/json")], body).await
    }

    /// One seat of the event, first come, first served.
    pub async fn reserve(&mut self, event: u64, user: &str) -> TestResponse {
        self.post_as(user, &format!("/api/v1/events/{event}/seats/reservation/fcfs"), BUYER).await
    }

    pub async fn reserve_with_key(&mut self, event: u64, user: &str, key: &str, body: &str) -> TestResponse {
        let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
        let headers = [("X-User-Id", user), ("Content-Type", "application/json"), ("Idempotency-Key", key)];
        self.send("POST", &path, &headers, body).await
    }

    pub async fn cancel(&mut self, user: &str, reservation: &str) -> TestResponse {
        self.send("DELETE", &format!("/api/v1/reservations/{reservation}"), &[("X-User-Id", user)], "").await
    }
}
