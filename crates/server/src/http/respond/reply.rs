//! An answer, ready to be sent.

use std::collections::VecDeque;

use futures_util::{Stream, StreamExt};
use salvo::Response;
use salvo::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use salvo::http::{HeaderName, HeaderValue, ResBody, StatusCode};
use salvo::hyper::body::Bytes;
use serde::Serialize;

use super::Dialect;
use crate::http::wire::Succeeded;
use crate::http::wire::answers::SuccessBody;

const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const JSON: &str = "application/json; charset=utf-8";

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
    /// Written for this answer.
    Text(Vec<u8>),
    Whole(Bytes),
    Parts(VecDeque<Bytes>),
    Flowing(ResBody),
}

impl Reply {
    pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Reply {
        let body = serde_json::to_vec(body).unwrap_or_default();
        Reply { status, kind: JSON, headers: Vec::new(), body: ReplyBody::Text(body) }
    }

    /// In 1.1 text ends in a newline, for those who read it in a terminal.
    pub fn ended(mut self, dialect: Dialect) -> Reply {
        if dialect != Dialect::V1_1 || self.kind != JSON {
            return self;
        }
        match &mut self.body {
            ReplyBody::Text(text) => text.push(b'\n'),
            ReplyBody::Parts(parts) if !self.headers.iter().any(|(name, _)| name == CONTENT_ENCODING) => {
                parts.push_back(Bytes::from_static(b"\n"));
            }
            ReplyBody::None | ReplyBody::Whole(_) | ReplyBody::Parts(_) | ReplyBody::Flowing(_) => {}
        }
        self
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// The status as a number, for the log and traces.
    pub fn code(&self) -> u16 {
        self.status.as_u16()
    }

    /// The first digit of the status, for metrics.
    pub fn class(&self) -> u16 {
        self.status.as_u16() / 100
    }

    pub fn ok(body: &impl Serialize) -> Reply {
        Reply::json(StatusCode::OK, body)
    }

    /// It was done, and there is nothing to show.
    pub fn done() -> Reply {
        Reply::ok(&SuccessBody { success: Succeeded })
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

    /// JSON that was written before.
    pub fn written(text: impl Into<Bytes>) -> Reply {
        Reply::text(JSON, text)
    }

    /// A body put together from parts that are shared with other readers.
    pub fn parts(parts: VecDeque<Bytes>, gzipped: bool) -> Reply {
        Reply::encoded(ReplyBody::Parts(parts), gzipped)
    }

    /// A body whose parts are made when their turn comes; its length is not known before.
    pub fn flowing(parts: impl Stream<Item = Bytes> + Send + 'static, gzipped: bool) -> Reply {
        let body = ResBody::stream(parts.map(Ok::<Bytes, std::convert::Infallible>));
        Reply::encoded(ReplyBody::Flowing(body), gzipped)
    }

    /// Text whose parts are made when their turn comes. A part that fails breaks the connection off, so that
    /// nobody takes half of it for the whole.
    pub fn flowing_text(
        kind: &'static str,
        parts: impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static,
    ) -> Reply {
        let body = ReplyBody::Flowing(ResBody::stream(parts));
        Reply { status: StatusCode::OK, kind, headers: Vec::new(), body }
    }

    fn encoded(body: ReplyBody, gzipped: bool) -> Reply {
        let reply = Reply { status: StatusCode::OK, kind: JSON, headers: Vec::new(), body };
        if gzipped { reply.with(CONTENT_ENCODING, HeaderValue::from_static("gzip")) } else { reply }
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

    /// The same for everybody, whatever their headers say, and at most a second old.
    pub fn public(self) -> Reply {
        self.with(CACHE_CONTROL, HeaderValue::from_static("public, max-age=1"))
    }

    /// Exact now; a cache must revalidate it before it shows it.
    pub fn tagged(self, etag: &str) -> Reply {
        let etag = HeaderValue::from_str(etag).unwrap_or(HeaderValue::from_static("\"0\""));
        self.with(ETAG, etag).with(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
    }

    pub fn replayed(self, replayed: bool) -> Reply {
        if replayed { self.with(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true")) } else { self }
    }

    /// A page that says that there is nothing.
    pub fn not_found(self) -> Reply {
        Reply { status: StatusCode::NOT_FOUND, ..self }
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
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        // Most answers are about one caller, and a shared cache must not show them to another. An answer that
        // may be stored says so itself.
        if !headers.contains_key(CACHE_CONTROL) {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        match self.body {
            ReplyBody::None => {}
            ReplyBody::Text(text) => *response.body_mut() = ResBody::Once(text.into()),
            ReplyBody::Whole(bytes) => *response.body_mut() = ResBody::Once(bytes),
            ReplyBody::Parts(parts) => {
                let length: usize = parts.iter().map(Bytes::len).sum();
                headers.insert(CONTENT_LENGTH, length.into());
                *response.body_mut() = ResBody::Chunks(parts);
            }
            ReplyBody::Flowing(body) => *response.body_mut() = body,
        }
    }

    /// Status, headers and body as text, for snapshots and for a gateway's files.
    pub fn described(&self) -> (u16, Vec<String>, String) {
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or("?")));
        let body = match &self.body {
            ReplyBody::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ReplyBody::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            ReplyBody::None | ReplyBody::Parts(_) | ReplyBody::Flowing(_) => String::new(),
        };
        (self.status.as_u16(), headers.collect(), body)
    }
}
