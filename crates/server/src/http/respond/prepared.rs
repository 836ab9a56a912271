//! Refusals for load, rendered once at the start. When a request is refused before the router, only its
//! trace id and the time to come again are filled in.

use rules::outcome::Refusal;
use salvo::http::header::{CONNECTION, RETRY_AFTER};
use salvo::http::{HeaderMap, HeaderName, HeaderValue, ResBody, StatusCode};
use salvo::hyper::Response;

use super::{Caller, Dialect, Language, Refused, Speech, refused};

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
        let dialect = Dialect::asked(headers, speech).unwrap_or(speech.own());
        let language = Language::asked(headers);
        let mut response = Response::new(ResBody::None);
        let Some((_, _, prepared)) = self.0.iter().find(|(d, l, _)| (*d, *l) == (dialect, language)) else {
            return response;
        };
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
}

impl Prepared {
    fn new(dialect: Dialect, language: Language) -> Prepared {
        let full = Refused { retry_after: Some(RETRY), ..Refused::from(Refusal::Overloaded) }.to(Caller(None));
        let reply = refused(&full, dialect, language, TRACE);
        let (status, (_, _, body)) = (reply.status(), reply.described());
        let mut rendered = salvo::Response::new();
        reply.write(&mut rendered);
        let kept = rendered.headers().iter().filter(|(name, _)| **name != RETRY_AFTER);
        let headers = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        Prepared { status, headers, parts: parts(&body) }
    }

    fn body(&self, trace: &str, retry: u64) -> Vec<u8> {
        let mut body = Vec::with_capacity(256);
        for part in &self.parts {
            match part {
                Part::Text(text) => body.extend_from_slice(text.as_bytes()),
                Part::Trace => body.extend_from_slice(trace.as_bytes()),
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
        let trace = HeaderValue::from_static("trace-1");
        for dialect in Dialect::BY_HEADER {
            for language in Language::ALL {
                let mut headers = HeaderMap::new();
                headers.insert(API_VERSION, dialect.name().parse().unwrap());
                headers.insert(ACCEPT_LANGUAGE, language.tag().parse().unwrap());
                let speech = Speech::Every(Dialect::V1_1);
                let answer = prepared.answer(&headers, speech, &trace, 7, false);
                let full = Refused { retry_after: Some(7), ..Refused::from(Refusal::Overloaded) }.to(Caller(None));
                let mut rendered = salvo::Response::new();
                refused(&full, dialect, language, "trace-1").write(&mut rendered);
                rendered.headers_mut().insert(REQUEST_ID, trace.clone());
                assert_eq!(Some(answer.status()), rendered.status_code);
                let sorted = |headers: &HeaderMap| {
                    let mut all: Vec<_> = headers.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
                    all.sort();
                    all
                };
                assert_eq!(sorted(answer.headers()), sorted(rendered.headers()));
                match (answer.body(), &rendered.body) {
                    (ResBody::Once(a), ResBody::Once(b)) => assert_eq!(a, b),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}
