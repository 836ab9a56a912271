//! Outcome to status and body. One table of statuses, one file per dialect.

mod v1_1;
mod words;

use std::collections::VecDeque;
use std::sync::Arc;

use rules::ids::Number;
use rules::outcome::{Again, Fault, Problem, Refusal};
use rules::seats::Hall;
use salvo::Response;
use salvo::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use salvo::http::{HeaderMap, HeaderName, HeaderValue, ResBody, StatusCode};
use salvo::hyper::body::Bytes;
use serde::Serialize;

use crate::reserve::Told;
pub use words::message;

/// One outcome, several wordings. `Api-Version` chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    V1_1,
}

const API_VERSION: HeaderName = HeaderName::from_static("api-version");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

impl Dialect {
    pub fn name(self) -> &'static str {
        match self {
            Dialect::V1_1 => "1.1",
        }
    }

    pub fn asked(headers: &HeaderMap) -> Result<Dialect, Refusal> {
        let mut asked = headers.get_all(API_VERSION).iter();
        match (asked.next().map(HeaderValue::as_bytes), asked.next()) {
            (None | Some(b"1.1"), None) => Ok(Dialect::V1_1),
            _ => Err(Fault::refused("Api-Version", Problem::OneOf(&["1.1"]))),
        }
    }
}

/// A refusal with what is needed to tell it.
#[derive(Debug)]
pub struct Refused {
    pub refusal: Refusal,
    pub hall: Option<Arc<Hall>>,
    pub number: Option<Number>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Refused { refusal, hall: None, number: None }
    }
}

impl Refused {
    /// A refusal that was told by the path of a request.
    pub fn told(refusal: Refusal, told: &Told) -> Refused {
        Refused { refusal, hall: Some(told.hall.clone()), number: told.number }
    }
}

/// An answer, ready to be sent.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    kind: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: ReplyBody,
}

#[derive(Debug)]
enum ReplyBody {
    None,
    Whole(Bytes),
    Parts(VecDeque<Bytes>),
}

const JSON: &str = "application/json; charset=utf-8";

/// The status of every refusal. The compiler asks for a line when an outcome is added.
fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::WrongMethod { .. } => StatusCode::METHOD_NOT_ALLOWED,
        Refusal::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::NotJsonType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Refusal::TooSlow => StatusCode::REQUEST_TIMEOUT,
        Refusal::Invalid(_) | Refusal::MissingUser => StatusCode::BAD_REQUEST,
        Refusal::Unauthorized => StatusCode::UNAUTHORIZED,
        Refusal::Forbidden(_) => StatusCode::FORBIDDEN,
        Refusal::NoSuchPath | Refusal::NotFound => StatusCode::NOT_FOUND,
        Refusal::AddressSpent { .. }
        | Refusal::AlreadyAsking { .. }
        | Refusal::NotOpen { .. }
        | Refusal::Closed
        | Refusal::Duplicate { .. }
        | Refusal::AlreadyReserved { .. }
        | Refusal::SoldOut
        | Refusal::InUse
        | Refusal::Contention => StatusCode::CONFLICT,
        Refusal::KeyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::Overloaded | Refusal::LedgerUnreachable | Refusal::DoorUnreachable | Refusal::NoNumber => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Refusal::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub fn refused(refused: &Refused, dialect: Dialect, trace: &str) -> Reply {
    let refusal = &refused.refusal;
    if matches!(refusal, Refusal::Internal) {
        tracing::error!(trace, "answered internal_error");
    }
    let body = match dialect {
        Dialect::V1_1 => v1_1::refused(refused, trace),
    };
    let mut reply = Reply::json(status(refusal), &body);
    if let Again::After(seconds) = refusal.again() {
        reply.headers.push((RETRY_AFTER, seconds.max(1).into()));
    }
    match refusal {
        Refusal::WrongMethod { allow } => reply.headers.push((ALLOW, HeaderValue::from_static(allow))),
        Refusal::Unauthorized => reply.headers.push((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        _ => {}
    }
    reply
}

impl Reply {
    fn json(status: StatusCode, body: &impl Serialize) -> Reply {
        let body = serde_json::to_vec(body).unwrap_or_default();
        Reply { status, kind: JSON, headers: Vec::new(), body: ReplyBody::Whole(body.into()) }
    }

    pub fn ok(body: &impl Serialize) -> Reply {
        Reply::json(StatusCode::OK, body)
    }

    pub fn created(body: &impl Serialize) -> Reply {
        Reply::json(StatusCode::CREATED, body)
    }

    /// Not ready, with the reasons: the one answer that is not an outcome.
    pub fn not_ready(body: &impl Serialize) -> Reply {
        Reply::json(StatusCode::SERVICE_UNAVAILABLE, body).with(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    pub fn text(kind: &'static str, text: impl Into<Bytes>) -> Reply {
        Reply { status: StatusCode::OK, kind, headers: Vec::new(), body: ReplyBody::Whole(text.into()) }
    }

    /// A body put together from parts that are shared with other readers.
    pub fn parts(parts: VecDeque<Bytes>) -> Reply {
        Reply { status: StatusCode::OK, kind: JSON, headers: Vec::new(), body: ReplyBody::Parts(parts) }
    }

    /// The caller has it already.
    pub fn unchanged() -> Reply {
        Reply { status: StatusCode::NOT_MODIFIED, kind: "", headers: Vec::new(), body: ReplyBody::None }
    }

    pub fn cached(self, etag: &str) -> Reply {
        let etag = HeaderValue::from_str(etag).unwrap_or(HeaderValue::from_static("\"0\""));
        self.with(ETAG, etag)
            .with(CACHE_CONTROL, HeaderValue::from_static("max-age=1"))
            .with(VARY, HeaderValue::from_static("Api-Version, Accept-Encoding"))
    }

    pub fn replayed(self, replayed: bool) -> Reply {
        if replayed { self.with(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true")) } else { self }
    }

    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Reply {
        self.headers.push((name, value));
        self
    }

    pub fn write(self, response: &mut Response) {
        response.status_code(self.status);
        let headers = response.headers_mut();
        if !self.kind.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        }
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        match self.body {
            ReplyBody::None => {}
            ReplyBody::Whole(bytes) => *response.body_mut() = ResBody::Once(bytes),
            ReplyBody::Parts(parts) => {
                let length: usize = parts.iter().map(Bytes::len).sum();
                headers.insert(CONTENT_LENGTH, length.into());
                *response.body_mut() = ResBody::Chunks(parts);
            }
        }
    }
}
