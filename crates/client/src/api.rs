//! The API by its routes: a [`ApiCall`] is a request that knows what its answer looks like. [`calls`] makes them,
//! [`ApiClient`] sends them until they are answered by anything else than "come again".
//!
//! The suite holds the routes and the bodies to the OpenAPI document: [`drift::CALLS`] lists them for it.

pub mod answers;
pub mod calls;
pub mod drift;
pub mod forms;
mod persistent;
pub mod routes;
pub mod webhooks;

use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::answers::RefusalView;
pub use self::persistent::{ApiClient, Persistence};
use self::routes::ApiRoute;
use crate::{ClientError, HttpRequest, HttpResponse};

/// A request and what answers it. It can be sent more than once.
#[derive(Clone, Debug)]
pub struct ApiCall<T> {
    route: &'static ApiRoute,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
    answer: PhantomData<fn() -> T>,
}

const USER: &str = "X-User-Id";
const KEY: &str = "Idempotency-Key";

impl<T> ApiCall<T> {
    pub(crate) fn new(route: &'static ApiRoute, ids: &[&dyn fmt::Display]) -> ApiCall<T> {
        ApiCall { route, path: route.at(ids), headers: Vec::new(), body: None, answer: PhantomData }
    }

    /// A body that is JSON already.
    #[must_use]
    pub fn body(mut self, body: String) -> ApiCall<T> {
        self.body = Some(body);
        self
    }

    /// One more parameter of the query string.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> ApiCall<T> {
        let joined = if self.path.contains('?') { '&' } else { '?' };
        let value: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        self.path += &format!("{joined}{name}={value}");
        self
    }

    fn header(mut self, name: &'static str, value: &str) -> ApiCall<T> {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Who asks, where the server believes a header.
    #[must_use]
    pub fn by(self, user: &str) -> ApiCall<T> {
        self.header(USER, user)
    }

    /// The token of an operator or a user.
    #[must_use]
    pub fn bearer(self, token: &str) -> ApiCall<T> {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// The same key again gets the same answer.
    #[must_use]
    pub fn key(self, key: &str) -> ApiCall<T> {
        self.header(KEY, key)
    }

    /// The form of a list, such as `text/csv`.
    #[must_use]
    pub fn accept(self, kind: &str) -> ApiCall<T> {
        self.header("Accept", kind)
    }

    /// The token of an entry, where the event has a waiting room.
    #[must_use]
    pub fn entry(self, token: &str) -> ApiCall<T> {
        self.header("X-Entry-Token", token)
    }

    /// The ticket of an earlier answer of the line.
    #[must_use]
    pub fn ticket(self, ticket: &str) -> ApiCall<T> {
        self.header("X-Queue-Ticket", ticket)
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| *known == name)
    }

    /// The answer as the server wrote it.
    pub fn untyped(self) -> ApiCall<Value> {
        let ApiCall { route, path, headers, body, .. } = self;
        ApiCall { route, path, headers, body, answer: PhantomData }
    }

    pub fn request(&self) -> HttpRequest {
        let request = HttpRequest::new(self.route.method, &self.path);
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        match &self.body {
            Some(body) => request.json(body.clone()),
            None => request,
        }
    }
}

impl<T: DeserializeOwned> ApiCall<T> {
    /// What the response says.
    pub fn read(&self, response: &HttpResponse) -> Result<T, ApiError> {
        if response.is_success() {
            return serde_json::from_slice(&response.body).map_err(|why| ApiError::NotOurs(why.to_string()));
        }
        let refusal: RefusalView =
            serde_json::from_slice(&response.body).map_err(|why| ApiError::NotOurs(why.to_string()))?;
        let retry_after = response.header("Retry-After").and_then(|text| text.parse().ok());
        Err(ApiError::Refused(Box::new(ApiRefusal { status: response.status, retry_after, refusal })))
    }
}

/// Why a call has no result.
#[derive(Debug)]
pub enum ApiError {
    Refused(Box<ApiRefusal>),
    /// Something else than Tickettock answers there.
    NotOurs(String),
    /// No answer. With `key`, the same call again tells whether it was carried out.
    Unreachable {
        why: ClientError,
        key: Option<String>,
    },
}

/// A refusal is an answer: it says why, and whether to come again.
#[derive(Clone, Debug)]
pub struct ApiRefusal {
    pub status: u16,
    /// Seconds, where the server names them.
    pub retry_after: Option<u64>,
    pub refusal: RefusalView,
}

impl ApiError {
    /// The word of a refusal, such as `sold_out`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            ApiError::Refused(told) => Some(&told.refusal.reason),
            ApiError::NotOurs(_) | ApiError::Unreachable { .. } => None,
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApiError::Refused(told) => f.write_str(&told.refusal.message),
            ApiError::NotOurs(why) => write!(f, "not an answer of Tickettock: {why}"),
            ApiError::Unreachable { why, .. } => why.fmt(f),
        }
    }
}

impl std::error::Error for ApiError {}
