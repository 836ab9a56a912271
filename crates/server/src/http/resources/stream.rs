//! Live streams over HTTP: Server-Sent Events.

use std::sync::Arc;

use salvo::http::{HeaderMap, HeaderName, HeaderValue};

use crate::app::App;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::live::{StreamPosition, Watching};

const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// nginx and others pass on each part as it comes.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub async fn event(app: Arc<App>, Call { request, .. }: Call) -> Handled {
    let (id, after) = (request.event()?, resumes_from(&request)?);
    let watching = app.live.watch_event(&app, id, after).await?;
    Ok(streamed(watching))
}

fn streamed(watching: Watching) -> Reply {
    Reply::flowing_text(EVENT_STREAM, watching.into_stream()).with(ACCEL_BUFFERING, HeaderValue::from_static("no"))
}

/// Where the client was. What is not a position is one that nobody knows: it gets a snapshot.
fn resumes_from(request: &Incoming) -> Result<Option<StreamPosition>, rules::outcome::Refusal> {
    let asked = request.query("lastEventId")?;
    let text = last_event_id(&request.headers).or(asked.as_deref());
    Ok(text.and_then(StreamPosition::read))
}

/// A browser that reconnects sends it; the query is for the first connection.
fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID)?.to_str().ok()
}
