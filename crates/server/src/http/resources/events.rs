//! Events, as everybody sees them.

use std::sync::Arc;

use rules::event::Event;
use rules::ids::{EventId, whole_id};
use rules::outcome::Refusal;

use crate::app::App;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::respond::{Refused, Reply};
use crate::http::wire::answers::{EventAnswer, EventsAnswer};
use crate::http::wire::{EventBody, Succeeded};

pub async fn list(app: Arc<App>, call: Call) -> Handled {
    let paging = Paging::of(&call.request)?;
    let after = paging.after(|text| whole_id(text).map(EventId))?;
    let events = app.ledger.events(false, after, paging.one_more()).await?;
    let (events, next) = paging.cut(events, |event| event.id.to_string());
    let now = app.ledger.wall();
    let events = events.iter().map(|event| EventBody::of(event, now)).collect();
    Ok(Reply::ok(&EventsAnswer { success: Succeeded, events, next }).public())
}

pub async fn one(app: Arc<App>, call: Call) -> Handled {
    let event = find(&app, &call.request).await?;
    Ok(Reply::ok(&EventAnswer::of(&event, app.ledger.wall())).public())
}

/// The event in the path, for buyers and operators alike.
pub async fn find(app: &App, request: &Incoming) -> Result<Event, Refused> {
    let found = app.ledger.event(request.event()?).await?;
    Ok(found.filter(|event| !event.deleted).ok_or(Refusal::NotFound)?)
}
