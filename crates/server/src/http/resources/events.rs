//! Events, as everybody sees them.

use std::sync::Arc;

use rules::ids::{EventId, whole};
use rules::outcome::Refusal;

use crate::app::App;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::respond::Reply;
use crate::http::wire::answers::{EventAnswer, EventsAnswer};
use crate::http::wire::{EventBody, Succeeded};

pub async fn list(app: Arc<App>, call: Call) -> Handled {
    show_page(&app, &call.request).await.map(Reply::public)
}

pub async fn one(app: Arc<App>, call: Call) -> Handled {
    show(&app, &call.request).await.map(Reply::public)
}

/// A page of events, for buyers and operators alike.
pub async fn show_page(app: &App, request: &Incoming) -> Handled {
    let paging = Paging::of(request)?;
    let after = paging.after(|text| whole(text).and_then(|id| i64::try_from(id).ok()).map(EventId))?;
    let events = app.ledger.events(after, paging.one_more()).await?;
    let (events, next) = paging.cut(events, |event| event.id.to_string());
    let now = app.ledger.wall();
    let events: Vec<EventBody> = events.iter().map(|event| EventBody::of(event, now)).collect();
    Ok(Reply::ok(&EventsAnswer { success: Succeeded, events, next }))
}

/// One event, for buyers and operators alike.
pub async fn show(app: &App, request: &Incoming) -> Handled {
    let found = app.ledger.event(request.event()?).await?;
    let event = found.filter(|event| !event.deleted).ok_or(Refusal::NotFound)?;
    Ok(Reply::ok(&EventAnswer::of(&event, app.ledger.wall())))
}
