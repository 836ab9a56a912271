//! Is it alive, can it sell, and what does it count.

use std::sync::Arc;

use serde_json::json;

use super::asked::Asked;
use super::endpoint::Handled;
use super::respond::Reply;
use crate::app::App;
use crate::line;

pub async fn live(_: Arc<App>, _: Asked) -> Handled {
    Ok(Reply::ok(&json!({ "success": true })))
}

pub async fn ready(app: Arc<App>, _: Asked) -> Handled {
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
    if missing.is_empty() && !app.begun() {
        missing.push("the first event is being made".to_owned());
    }
    if missing.is_empty() {
        return Ok(Reply::ok(&json!({ "success": true })));
    }
    Ok(Reply::not_ready(&json!({ "success": false, "reason": "service_unavailable", "missing": missing })))
}

pub async fn metrics(app: Arc<App>, _: Asked) -> Handled {
    for (event, room) in app.lines.known() {
        if let Ok(serving) = line::serving(&app, event, room).await {
            app.metrics.line(event, &serving);
        }
    }
    let text = app.metrics.text(app.lanes.depth());
    Ok(Reply::text("application/openmetrics-text; version=1.0.0; charset=utf-8", text))
}
