//! Refusals for load, rendered once at the start. When a request is refused before the router, only its
//! trace id and the time to come again are filled in.

use std::io::Write;

use rules::outcome::{Expected, FieldError, Problem, Refusal};
use salvo::http::header::{CONNECTION, CONTENT_LENGTH, RETRY_AFTER};
use salvo::http::{HeaderMap, HeaderName, HeaderValue, ResBody, StatusCode};
use salvo::hyper::Response;

use super::{Caller, Dialect, Language, Refused, Reply, Speech, refused};

/// Placeholders. Nothing else in an answer looks like them.
const RETRY: u64 = 4_000_000_001;
const TRACE: &str = "@trace@";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// By dialect and language.
pub struct PreparedRefusals(Vec<(Dialect, Language, Prepared)>);

struct Prepared {
    status: StatusCode,
    /// But for `Retry-After`.
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The status line and these headers, as they are sent.
    head: Vec<u8>,
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Trace,
    Retry,
}

impl Default for PreparedRefusals {
    fn default() -> Self {
        let each = |dialect| Language::ALL.map(|language| (dialect, language, Prepared::new(dialect, language)));
        PreparedRefusals(Dialect::ALL.into_iter().flat_map(each).collect())
    }
}

impl PreparedRefusals {
    /// The answer to a request with these headers. `close`: it is the last on its connection.
    pub fn answer(
        &self,
        headers: &HeaderMap,
        speech: Speech,
        trace: &HeaderValue,
        retry: u64,
        close: bool,
    ) -> Response<ResBody> {
        let mut response = Response::new(ResBody::None);
        let Some(prepared) = self.find(headers, speech) else { return response };
        *response.status_mut() = prepared.status;
        let head = response.headers_mut();
        for (name, value) in &prepared.headers {
            head.append(name, value.clone());
        }
        head.insert(RETRY_AFTER, retry.into());
        head.insert(REQUEST_ID, trace.clone());
        if close {
            head.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        *response.body_mut() = ResBody::Once(prepared.body(trace.to_str().unwrap_or_default(), retry).into());
        response
    }

    /// The same as bytes, with these headers beside its own. It needs no allocation but for the bytes.
    pub fn bytes(
        &self,
        headers: &HeaderMap,
        speech: Speech,
        trace: &HeaderValue,
        retry: u64,
        others: &HeaderMap,
    ) -> Vec<u8> {
        let Some(prepared) = self.find(headers, speech) else { return Vec::new() };
        let body = prepared.body(trace.to_str().unwrap_or_default(), retry);
        let mut bytes = Vec::with_capacity(1_024);
        bytes.extend_from_slice(&prepared.head);
        put(&mut bytes, REQUEST_ID.as_str(), trace.as_bytes());
        for (name, value) in others {
            put(&mut bytes, name.as_str(), value.as_bytes());
        }
        // Writing into memory does not fail.
        let _ = write!(bytes, "retry-after: {retry}\r\ncontent-length: {}\r\n\r\n", body.len());
        bytes.extend_from_slice(&body);
        bytes
    }

    fn find(&self, headers: &HeaderMap, speech: Speech) -> Option<&Prepared> {
        let dialect = Dialect::asked(headers, speech).unwrap_or(speech.own());
        let language = Language::asked(headers);
        self.0.iter().find(|(d, l, _)| (*d, *l) == (dialect, language)).map(|(_, _, prepared)| prepared)
    }
}

/// Why a request could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unparsed {
    Malformed,
    HeadTooLarge,
}

/// The refusal of a request that could not be parsed, as bytes: nobody knows its dialect or its language. It is the
/// last on its connection.
pub fn unparsed(why: Unparsed, trace: &HeaderValue) -> Vec<u8> {
    let (status, field, expected) = match why {
        Unparsed::Malformed => (StatusCode::BAD_REQUEST, "request", Expected::WellFormedRequest),
        Unparsed::HeadTooLarge => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers", Expected::ShorterHead),
    };
    let refusal = FieldError::refused(field, Problem::Expected(expected));
    let text = trace.to_str().unwrap_or_default();
    let reply = refused(&refusal.into(), Dialect::V1_1, Language::English, text);
    let (_, _, body) = reply.described();
    let mut bytes = head(status, &headers(reply));
    put(&mut bytes, REQUEST_ID.as_str(), trace.as_bytes());
    put(&mut bytes, CONNECTION.as_str(), b"close");
    put(&mut bytes, CONTENT_LENGTH.as_str(), body.len().to_string().as_bytes());
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// All headers that an answer is sent with.
fn headers(reply: Reply) -> Vec<(HeaderName, HeaderValue)> {
    let mut rendered = salvo::Response::new();
    reply.write(&mut rendered);
    rendered.headers().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn head(status: StatusCode, headers: &[(HeaderName, HeaderValue)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\n").into_bytes();
    for (name, value) in headers {
        put(&mut head, name.as_str(), value.as_bytes());
    }
    head
}

fn put(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        bytes.extend_from_slice(part);
    }
}

/// A trace id, which the client may have chosen, has no characters but visible ASCII.
fn put_in_json(body: &mut Vec<u8>, trace: &str) {
    for byte in trace.bytes() {
        if matches!(byte, b'"' | b'\\') {
            body.push(b'\\');
        }
        body.push(byte);
    }
}

impl Prepared {
    fn new(dialect: Dialect, language: Language) -> Prepared {
        let full = Refused { retry_after: Some(RETRY), ..Refused::from(Refusal::Overloaded) }.to(Caller(None));
        let reply = refused(&full, dialect, language, TRACE);
        let (status, (_, _, body)) = (reply.status(), reply.described());
        let mut headers = headers(reply);
        headers.retain(|(name, _)| *name != RETRY_AFTER);
        let head = head(status, &headers);
        Prepared { status, headers, head, parts: parts(&body) }
    }

    fn body(&self, trace: &str, retry: u64) -> Vec<u8> {
        let mut body = Vec::with_capacity(256);
        for part in &self.parts {
            match part {
                Part::Text(text) => body.extend_from_slice(text.as_bytes()),
                Part::Trace => put_in_json(&mut body, trace),
                Part::Retry => body.extend_from_slice(retry.to_string().as_bytes()),
            }
        }
        body
    }
}

fn parts(body: &str) -> Vec<Part> {
    let retry = RETRY.to_string();
    let mut parts = Vec::new();
    for (i, text) in body.split(TRACE).enumerate() {
        if i > 0 {
            parts.push(Part::Trace);
        }
        for (i, text) in text.split(&retry).enumerate() {
            if i > 0 {
                parts.push(Part::Retry);
            }
            parts.push(Part::Text(text.to_owned()));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use salvo::http::header::ACCEPT_LANGUAGE;

    use super::*;
    use crate::http::respond::dialect::API_VERSION;

    /// The prepared answer is what the router would have answered.
    #[test]
    fn prepared_refusals_equal_rendered_ones() {
        let prepared = PreparedRefusals::default();
        let traces = ["trace-1", r#"a","success":true,"x":"\"#];
        let spoken =
            Dialect::BY_HEADER.into_iter().flat_map(|dialect| Language::ALL.map(|language| (dialect, language)));
        for (dialect, language) in spoken {
            for text in traces {
                let trace = HeaderValue::from_static(text);
                let mut headers = HeaderMap::new();
                headers.insert(API_VERSION, dialect.name().parse().unwrap());
                headers.insert(ACCEPT_LANGUAGE, language.tag().parse().unwrap());
                let speech = Speech::Every(Dialect::V1_1);
                let answer = prepared.answer(&headers, speech, &trace, 7, false);
                let full = Refused { retry_after: Some(7), ..Refused::from(Refusal::Overloaded) }.to(Caller(None));
                let mut rendered = salvo::Response::new();
                refused(&full, dialect, language, text).write(&mut rendered);
                rendered.headers_mut().insert(REQUEST_ID, trace.clone());
                assert_eq!(Some(answer.status()), rendered.status_code);
                let sorted = |headers: &HeaderMap| {
                    let mut all: Vec<_> = headers.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
                    all.sort();
                    all
                };
                assert_eq!(sorted(answer.headers()), sorted(rendered.headers()));
                let bytes = prepared.bytes(&headers, speech, &trace, 7, &HeaderMap::new());
                let mut found = [httparse::EMPTY_HEADER; 32];
                let mut parsed = httparse::Response::new(&mut found);
                let length = parsed.parse(&bytes).unwrap().unwrap();
                let mut named: Vec<_> = parsed.headers.iter().map(|one| (one.name.to_owned(), one.value)).collect();
                named.sort();
                let mut wanted = sorted(answer.headers());
                let body = &bytes[length..];
                wanted.push(("content-length".into(), HeaderValue::from(body.len())));
                wanted.sort();
                assert_eq!(named, wanted.iter().map(|(n, v)| (n.clone(), v.as_bytes())).collect::<Vec<_>>());
                assert!(matches!(answer.body(), ResBody::Once(once) if once == body));
                assert_eq!(parsed.code, Some(answer.status().as_u16()));
                match (answer.body(), &rendered.body) {
                    (ResBody::Once(a), ResBody::Once(b)) => assert_eq!(a, b),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}
