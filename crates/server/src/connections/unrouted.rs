//! Refuses a request for load without hyper: one whole request was read, and its prepared answer is written as bytes.
//! This costs a third of a refusal through hyper, which creates a message, a body and a future.

use std::sync::Arc;

use salvo::http::header::{CONNECTION, EXPECT, TRANSFER_ENCODING, UPGRADE};
use salvo::http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::service::beside_refusal;
use crate::app::App;
use crate::gate::GateRequest;
use crate::http::plumbing::endpoint::trace_id;

/// Headers of a request; one with more is left to hyper.
const HEADERS: usize = 64;

/// The answer as bytes, if the gate refuses this request. None: it is not refused, or it needs more than a check and
/// takes the usual path.
pub fn refused(app: &Arc<App>, request: &[u8], others_first: bool, close: bool) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    if !parsed.parse(request).ok()?.is_complete() || parsed.version != Some(1) {
        return None;
    }
    let (method, path) = (Method::from_bytes(parsed.method?.as_bytes()).ok()?, parsed.path?);
    if method == Method::OPTIONS || !path.starts_with('/') {
        return None;
    }
    let path = path.split('?').next().unwrap_or_default();
    let mut kept = HeaderMap::new();
    for header in parsed.headers.iter() {
        // These do not affect a refusal, and most requests have no others.
        if is_any(header.name, &["host", "content-length", "content-type", "user-agent", "accept", "x-user-id"]) {
            continue;
        }
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        if [CONNECTION, EXPECT, TRANSFER_ENCODING, UPGRADE].contains(&name) {
            return None;
        }
        kept.append(name, HeaderValue::from_bytes(header.value).ok()?);
    }
    let asked = GateRequest::of(&method, path);
    if !app.gate.turns_away(asked, others_first) {
        return None;
    }
    let trace = trace_id(app, &kept);
    Some(app.gate.refusal_bytes(asked, &kept, &trace, |retry| {
        let mut others = beside_refusal(app, &kept, Some(retry.into()));
        if close {
            others.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        others
    }))
}

fn is_any(name: &str, names: &[&str]) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}
