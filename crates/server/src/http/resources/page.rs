//! The page at `/`: what this is, and what to try first.

use std::sync::Arc;

use salvo::http::HeaderValue;
use salvo::http::header::CONTENT_SECURITY_POLICY;

use crate::app::App;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;

const PAGE: &str = include_str!("page.html");
const NOTHING_FROM_ELSEWHERE: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub async fn get(_: Arc<App>, _: Call) -> Handled {
    let policy = HeaderValue::from_static(NOTHING_FROM_ELSEWHERE);
    Ok(Reply::text("text/html; charset=utf-8", PAGE).with(CONTENT_SECURITY_POLICY, policy))
}
