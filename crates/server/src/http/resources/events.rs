//! Events, as everybody sees them.

use std::sync::Arc;

use rules::event::Event;
use rules::ids::{EventId, whole_id};
use rules::outcome::Refusal;
use rules::time::Moment;

use crate::app::App;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::respond::{Refused, Reply};
use crate::http::wire::answers::{EventAnswer, EventsAnswer};
use crate::http::wire::{EventBody, Succeeded};
use crate::line;

pub async fn list(app: Arc<App>, call: Call) -> Handled {
    let paging = Paging::of(&call.request)?;
    let after = paging.after(|text| whole_id(text).map(EventId))?;
    let events = app.ledger.events(false, after, paging.one_more()).await?;
    let (events, next) = paging.cut(events, |event| event.id.to_string());
    let now = app.ledger.wall();
    let mut shown = Vec::with_capacity(events.len());
    for event in &events {
        shown.push(body(&app, event, now).await?);
    }
    Ok(Reply::ok(&EventsAnswer { success: Succeeded, events: shown, next }).public())
}

pub async fn one(app: Arc<App>, call: Call) -> Handled {
    let event = find(&app, &call.request).await?;
    let event = body(&app, &event, app.ledger.wall()).await?;
    Ok(Reply::ok(&EventAnswer { success: Succeeded, event }).public())
}

async fn body(app: &App, event: &Event, wall: Moment) -> Result<EventBody, Refusal> {
    let body = EventBody::of(event, wall);
    if !event.is_drawn() {
        return Ok(body);
    }
    let draw = line::draw(app, event).await?;
    Ok(body.with_draw(&draw, line::is_over(app, event).await))
}

/// The event in the path, for buyers and operators alike.
pub async fn find(app: &App, request: &Incoming) -> Result<Event, Refused> {
    let found = app.ledger.event(request.event()?).await?;
    Ok(found.filter(|event| !event.deleted).ok_or(Refusal::NotFound)?)
}
