//! Sends a call until it is answered by anything else than "come again": with the same key, after the time that the
//! server names.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::{ApiCall, ApiError, KEY, USER};
use crate::{Client, ClientError, HttpResponse, Target};

/// How often and how long to come again.
#[derive(Clone, Copy, Debug)]
pub struct Persistence {
    pub attempts: u32,
    /// All attempts together.
    pub within: Duration,
    /// One attempt.
    pub patience: Duration,
    /// Also if nothing listens there.
    pub reconnect: bool,
}

impl Default for Persistence {
    fn default() -> Persistence {
        let (within, patience) = (Duration::from_secs(120), Duration::from_secs(15));
        Persistence { attempts: 8, within, patience, reconnect: true }
    }
}

const LEAST: Duration = Duration::from_millis(250);
const MOST: Duration = Duration::from_secs(5);

/// One caller of one server, over one connection that is kept open.
pub struct ApiClient {
    client: Client,
    user: Option<String>,
    token: Option<String>,
    persistence: Persistence,
}

impl ApiClient {
    pub fn new(target: impl Into<Target>) -> ApiClient {
        ApiClient { client: Client::new(target), user: None, token: None, persistence: Persistence::default() }
    }

    /// Who asks, where the server believes a header.
    #[must_use]
    pub fn with_user(self, user: &str) -> ApiClient {
        ApiClient { user: Some(user.into()), ..self }
    }

    /// The token of an operator or a user.
    #[must_use]
    pub fn with_token(self, token: &str) -> ApiClient {
        ApiClient { token: Some(token.into()), ..self }
    }

    #[must_use]
    pub fn with_persistence(self, persistence: Persistence) -> ApiClient {
        ApiClient { persistence, ..self }
    }

    pub async fn ask<T: DeserializeOwned>(&mut self, call: ApiCall<T>) -> Result<T, ApiError> {
        let call = self.named(call);
        let response = self.answer(&call).await?;
        call.read(&response)
    }

    /// The response, whatever it says. A call that has a key keeps it over all attempts.
    pub async fn answer<T>(&mut self, call: &ApiCall<T>) -> Result<HttpResponse, ApiError> {
        let Persistence { attempts, within, patience, reconnect } = self.persistence;
        // A request without a key is sent again only if that changes nothing.
        let attempts = if call.has(KEY) || call.route.repeats() { attempts } else { 1 };
        let began = Instant::now();
        for attempt in 1.. {
            let sent = tokio::time::timeout(patience, self.client.ask(call.request())).await;
            let sent = sent.unwrap_or(Err(ClientError::Timeout(patience)));
            let asked = match &sent {
                Ok(response) if !comes_again(response) => return sent.map_err(|why| unreachable(call, why)),
                Ok(response) => response.header("Retry-After").and_then(|text| text.parse().ok()),
                Err(ClientError::Request(_)) => return sent.map_err(|why| unreachable(call, why)),
                Err(ClientError::Connect(_)) if !reconnect => return sent.map_err(|why| unreachable(call, why)),
                Err(_) => None,
            };
            let pause = pause(asked, attempt);
            if attempt >= attempts || began.elapsed() + pause > within {
                return sent.map_err(|why| unreachable(call, why));
            }
            tokio::time::sleep(pause).await;
        }
        Err(ApiError::NotOurs("no attempt was made".into()))
    }

    /// With the caller, and with a key where the route keeps answers.
    fn named<T>(&self, call: ApiCall<T>) -> ApiCall<T> {
        let call = match &self.user {
            Some(user) if !call.has(USER) => call.by(user),
            _ => call,
        };
        let call = match &self.token {
            Some(token) if !call.has("Authorization") => call.bearer(token),
            _ => call,
        };
        if call.route.keyed && !call.has(KEY) { call.key(&fresh_key()) } else { call }
    }
}

fn unreachable<T>(call: &ApiCall<T>, why: ClientError) -> ApiError {
    let key = call.headers.iter().find(|(name, _)| *name == KEY).map(|(_, key)| key.clone());
    ApiError::Unreachable { why, key }
}

/// Statuses that say "come again" whatever was asked, and reasons with another status that say the same. A full line
/// stays full for a while.
fn comes_again(response: &HttpResponse) -> bool {
    let reason = || response.json().ok().and_then(|body| Some(body["reason"].as_str()?.to_owned()));
    match response.status {
        408 | 429 | 502 | 503 | 504 => reason().as_deref() != Some("queue_full"),
        409 => matches!(reason().as_deref(), Some("contention" | "lock_timeout")),
        _ => false,
    }
}

/// What the server asked for and a little more, so that not everybody comes at once.
fn pause(asked: Option<u64>, attempt: u32) -> Duration {
    let least = match asked {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => MOST.min(LEAST * 2u32.saturating_pow(attempt - 1)),
    };
    least.mul_f64(1.0 + random() as f64 / u64::MAX as f64 / 4.0)
}

/// Every `RandomState` has keys of its own.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

fn fresh_key() -> String {
    format!("{:016x}{:016x}", random(), random())
}
