//! Health checks and metrics.

use std::sync::Arc;

use serde_json::json;

use crate::app::App;
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::{Completion, Handled};
use crate::http::respond::Reply;
use crate::readiness::Readiness;
use crate::telemetry::text_format::TextFormat;

pub async fn live(_: Arc<App>, _: Call) -> Handled {
    Ok(Reply::done())
}

pub async fn ready(app: Arc<App>, _: Call) -> Completion {
    told(&Readiness::missing(&app).await)
}

/// At `ADMIN_LISTEN`: by what the stores said a moment ago.
pub async fn ready_lately(app: Arc<App>, _: Call) -> Completion {
    told(&Readiness::missing_lately(&app).await)
}

fn told(missing: &[String]) -> Completion {
    if missing.is_empty() {
        return Completion::Done(Reply::done());
    }
    let why = json!({ "success": false, "reason": "service_unavailable", "missing": missing });
    Completion::Unready(Reply::not_ready(&why))
}

pub async fn metrics(app: Arc<App>, call: Call) -> Handled {
    let format = TextFormat::asked(&call.request.headers);
    Ok(Reply::text(format.kind(), format.write(app.metrics.text(&app))))
}
