//! The waiting room over HTTP: join, ask, enter, leave; and the number that everybody may follow.

use std::sync::Arc;

use rules::entries::WaitingRoom;
use rules::event::Event;
use rules::ids::User;
use rules::outcome::{Forbidden, Refusal};
use rules::time::Moment;
use salvo::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::json;

use super::asked::Asked;
use super::body::{self, BODY_MOST};
use super::endpoint::Handled;
use super::respond::{self, Reply};
use crate::app::App;
use crate::line::{self, Stands};
use crate::tickets::Ticket;

pub const QUEUE_TICKET: HeaderName = HeaderName::from_static("x-queue-ticket");

/// How somebody stands, as the contract writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Standing {
    success: bool,
    status: &'static str,
    number: Option<u64>,
    rank: Option<u64>,
    ahead_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<u64>,
    poll_after: u64,
}

impl Standing {
    fn of(room: WaitingRoom, stands: &Stands) -> Standing {
        match stands {
            Stands::InLine(place) => Standing {
                success: true,
                status: place.status.as_str(),
                number: Some(place.number.0),
                rank: Some(place.rank),
                ahead_count: Some(place.ahead),
                ticket: None,
                expires_in: None,
                poll_after: place.poll_after,
            },
            Stands::Inside { left_ms } => Standing {
                success: true,
                status: "entered",
                number: None,
                rank: None,
                ahead_count: None,
                ticket: None,
                expires_in: Some(Moment(0).seconds_until(Moment(*left_ms))),
                poll_after: (room.idle_ms / 3_000).max(1) as u64,
            },
        }
    }
}

pub async fn join(app: Arc<App>, mut asked: Asked) -> Handled {
    let (user, event, room, ticket) = whose(&app, &mut asked).await?;
    let stands = line::join(&app, &event, room, &user, ticket.as_ref()).await?;
    let mut standing = Standing::of(room, &stands);
    if let Stands::InLine(place) = &stands {
        standing.ticket = Some(app.tickets.sign(&event, &user, place.number).await?);
    }
    app.metrics.outcome("joined");
    Ok(Reply::ok(&standing))
}

/// By user, or by ticket alone: it says whose it is.
pub async fn poll(app: Arc<App>, asked: Asked) -> Handled {
    let named = asked.named_user(&app)?;
    let shown = shown(&asked)?;
    if named.is_none() && shown.is_none() {
        return Err(Refusal::MissingUser.into());
    }
    let (event, room) = line::open_event(&app, asked.event()?).await?;
    let ticket = verified(&app, &event, named.as_ref(), shown).await?;
    let user = named.or_else(|| ticket.as_ref().map(|ticket| ticket.user.clone())).ok_or(Refusal::MissingUser)?;
    let stands = line::poll(&app, &event, room, &user, ticket.as_ref()).await?;
    Ok(Reply::ok(&Standing::of(room, &stands)))
}

pub async fn enter(app: Arc<App>, mut asked: Asked) -> Handled {
    let (user, event, room, ticket) = whose(&app, &mut asked).await?;
    let entered = line::enter(&app, &event, room, &user, ticket.as_ref()).await;
    app.metrics.outcome(entered.as_ref().map_or_else(respond::code, |_| "entered"));
    let entry = entered?;
    let expires_in = app.ledger.now().seconds_until(entry.ends);
    let body = json!({ "success": true, "status": "entered", "token": entry.token.text(), "expiresIn": expires_in });
    Ok(Reply::ok(&body).with(CACHE_CONTROL, HeaderValue::from_static("no-store")))
}

/// Whoever has nothing gives nothing back, and that is fine: also where there is no line.
pub async fn leave(app: Arc<App>, mut asked: Asked) -> Handled {
    body::bytes(&mut asked, BODY_MOST).await?;
    let user = asked.user(&app)?;
    let event = line::event(&app, asked.event()?).await?;
    if let Some(room) = event.waiting_room {
        line::leave(&app, &event, room, &user).await?;
    }
    app.metrics.outcome("left");
    Ok(Reply::ok(&json!({ "success": true })))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServingBody {
    success: bool,
    serving: u64,
    waiting: u64,
    admitted_per_minute: u64,
    sold_out: bool,
}

pub async fn serving(app: Arc<App>, asked: Asked) -> Handled {
    let event = line::event(&app, asked.event()?).await?;
    let room = event.waiting_room.ok_or(Refusal::NoWaitingRoom)?;
    let serving = line::serving(&app, event.id, room).await?;
    let body = ServingBody {
        success: true,
        serving: serving.serving,
        waiting: serving.waiting,
        admitted_per_minute: serving.admitted_per_minute,
        sold_out: serving.sold_out,
    };
    Ok(Reply::ok(&body).with(CACHE_CONTROL, HeaderValue::from_static("public, max-age=1")))
}

/// In the order of the contract: form, who asks, content, does it exist.
async fn whose(app: &App, asked: &mut Asked) -> Result<(User, Arc<Event>, WaitingRoom, Option<Ticket>), Refusal> {
    body::bytes(asked, BODY_MOST).await?;
    let user = asked.user(app)?;
    let shown = shown(asked)?;
    let (event, room) = line::open_event(app, asked.event()?).await?;
    let ticket = verified(app, &event, Some(&user), shown).await?;
    Ok((user, event, room, ticket))
}

/// The ticket as it was sent. What is not text cannot be one.
fn shown(asked: &Asked) -> Result<Option<&str>, Refusal> {
    let mut all = asked.headers.get_all(&QUEUE_TICKET).iter();
    let Some(first) = all.next() else { return Ok(None) };
    match (first.to_str(), all.next()) {
        (Ok(text), None) => Ok(Some(text)),
        _ => Err(Refusal::Forbidden(Forbidden::Ticket)),
    }
}

async fn verified(
    app: &App,
    event: &Event,
    user: Option<&User>,
    shown: Option<&str>,
) -> Result<Option<Ticket>, Refusal> {
    let Some(text) = shown else { return Ok(None) };
    let ticket = app.tickets.verify(event, text).await?;
    if user.is_some_and(|user| *user != ticket.user) {
        return Err(Refusal::Forbidden(Forbidden::Anothers));
    }
    Ok(Some(ticket))
}
