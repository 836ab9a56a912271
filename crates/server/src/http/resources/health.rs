//! Health checks and metrics.

use std::sync::Arc;

use serde_json::json;

use crate::app::App;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::{Completion, Handled};
use crate::http::respond::Reply;

pub async fn live(_: Arc<App>, _: Call) -> Handled {
    Ok(Reply::done())
}

pub async fn ready(app: Arc<App>, _: Call) -> Completion {
    let mut missing = Vec::new();
    if app.draining() {
        missing.push("this server is shutting down".to_owned());
    }
    if let Err(fault) = app.ledger.ready().await {
        missing.push(fault.to_string());
    }
    if let Err(fault) = app.door.ready().await {
        missing.push(fault.to_string());
    }
    if app.user_tokens.as_ref().is_some_and(|tokens| !tokens.ready()) {
        missing.push("the keys at JWT_JWKS_URL were not fetched yet".to_owned());
    }
    if missing.is_empty() && !app.begun() {
        missing.push("the first event is being made".to_owned());
    }
    if missing.is_empty() {
        return Completion::Done(Reply::done());
    }
    let why = json!({ "success": false, "reason": "service_unavailable", "missing": missing });
    Completion::Unready(Reply::not_ready(&why))
}

pub async fn metrics(app: Arc<App>, _: Call) -> Handled {
    let text = app.metrics.text(app.lanes.depth());
    Ok(Reply::text("application/openmetrics-text; version=1.0.0; charset=utf-8", text))
}
