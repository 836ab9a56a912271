//! Live streams over HTTP: Server-Sent Events.

use std::sync::Arc;

use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::outcome::{FieldError, Forbidden, Problem, Refusal};
use salvo::http::{HeaderMap, HeaderName, HeaderValue, Version};

use super::room_types::id_in_path;
use crate::app::App;
use crate::http::plumbing::body::{AnyBytes, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::live::StreamTicketBody;
use crate::live::stream_tickets::STREAM_TICKET_S;
use crate::live::{StreamPosition, Watching};
use crate::zones;

const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// nginx and others pass on each part as it comes.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Nights of a room type that are watched at most, and without `to`.
const NIGHTS_MOST: u32 = 366;
const NIGHTS_USUAL: u32 = 62;

pub async fn event(app: Arc<App>, Call { request, .. }: Call) -> Handled {
    let (id, after) = (request.event()?, resumes_from(&request)?);
    let user = match request.query("ticket")? {
        None => None,
        Some(ticket) => {
            let known = app.secrets.get().await?.streams.verify(id, &ticket, app.ledger.now());
            Some(known.ok_or(Refusal::Forbidden(Forbidden::Ticket))?)
        }
    };
    Ok(streamed(app.live.watch_event(&app, id, after, user).await?, &request))
}

/// For a stream with one's own messages.
pub async fn ticket(app: Arc<App>, Call { request, caller: user, .. }: Call<User, SentBody<AnyBytes>>) -> Handled {
    let id = request.event()?;
    app.lanes.find(id).await?;
    let ticket = app.secrets.get().await?.streams.sign(id, &user, app.ledger.now());
    Ok(Reply::ok(&StreamTicketBody { success: Succeeded, ticket, expires_in: STREAM_TICKET_S }))
}

pub async fn nights(app: Arc<App>, Call { request, .. }: Call) -> Handled {
    let (from, to) = (night(&request, "from")?, night(&request, "to")?);
    let id = id_in_path(&request)?;
    let room_type = app.ledger.room_type(id).await?.ok_or(Refusal::NotFound)?;
    let today = zones::today(&room_type.time_zone, app.ledger.wall());
    let furthest = today.plus(app.settings.max_days_ahead);
    if from.is_some_and(|from| from > furthest) {
        return Err(FieldError::refused("from", Problem::Dates { least: today, most: furthest }).into());
    }
    // What is past is not sold, and does not change.
    let check_in = from.unwrap_or(today).max(today);
    let (least, most) = (check_in.plus(1), check_in.plus(NIGHTS_MOST));
    let check_out = to.unwrap_or(check_in.plus(NIGHTS_USUAL));
    if check_out < least || check_out > most {
        return Err(FieldError::refused("to", Problem::Dates { least, most }).into());
    }
    Ok(streamed(app.live.watch_nights(&app, id, Dates { check_in, check_out }).await?, &request))
}

fn night(request: &Incoming, name: &'static str) -> Result<Option<Night>, Refusal> {
    let Some(text) = request.query(name)? else { return Ok(None) };
    Ok(Some(text.parse().map_err(|_| FieldError::refused(name, Problem::NotADate))?))
}

fn streamed(watching: Watching, request: &Incoming) -> Reply {
    // An older version knows no chunks.
    let watching = if request.version == Version::HTTP_11 { watching.directly() } else { watching };
    Reply::flowing_text(EVENT_STREAM, watching.into_stream()).with(ACCEL_BUFFERING, HeaderValue::from_static("no"))
}

/// Where the client was. What is not a position is one that nobody knows: it gets a snapshot.
fn resumes_from(request: &Incoming) -> Result<Option<StreamPosition>, Refusal> {
    let asked = request.query("lastEventId")?;
    let text = last_event_id(&request.headers).or(asked.as_deref());
    Ok(text.and_then(StreamPosition::read))
}

/// A browser that reconnects sends it; the query is for the first connection.
fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID)?.to_str().ok()
}
