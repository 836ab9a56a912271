//! The page at `/`, which says what this is and what to try first, and the files that pages are made of.
//! Scripts and styles are files of their own, so that the policy forbids all inline ones.

use std::sync::Arc;

use rules::outcome::Refusal;
use salvo::http::HeaderValue;
use salvo::http::header::CONTENT_SECURITY_POLICY;
use sha2::{Digest, Sha256};

use super::seats::has_already;
use crate::app::App;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;

const PAGE: &str = include_str!("page.html");
const NOTHING_FROM_ELSEWHERE: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

pub async fn get(_: Arc<App>, _: Call) -> Handled {
    let policy = HeaderValue::from_static(NOTHING_FROM_ELSEWHERE);
    Ok(Reply::text("text/html; charset=utf-8", PAGE).with(CONTENT_SECURITY_POLICY, policy))
}

pub async fn file(_: Arc<App>, call: Call) -> Handled {
    let name: String = call.request.id("file")?;
    let (kind, text) = match name.as_str() {
        "page.css" => (CSS, include_str!("page.css")),
        "page.js" => (JAVASCRIPT, include_str!("page.js")),
        "docs.js" => (JAVASCRIPT, include_str!("docs.js")),
        "favicon.svg" => ("image/svg+xml", include_str!("favicon.svg")),
        _ => return Err(Refusal::NotFound.into()),
    };
    // A browser asks each time whether it changed, so that a page never runs with the script of an older one.
    let etag = format!("\"{}\"", hex::encode(&Sha256::digest(text)[..8]));
    if has_already(&call.request.headers, &etag) {
        return Ok(Reply::unchanged().tagged(&etag));
    }
    Ok(Reply::text(kind, text).tagged(&etag))
}
