//! Events, as everybody sees them.

use std::sync::Arc;

use rules::ids::{EventId, whole};
use rules::outcome::Refusal;
use serde_json::json;

use super::asked::Asked;
use super::endpoint::Handled;
use super::paging::Paging;
use super::respond::Reply;
use super::wire::EventBody;
use crate::app::App;
use crate::batch::refusal;

pub async fn list(app: Arc<App>, asked: Asked) -> Handled {
    let paging = Paging::asked(&asked)?;
    let after = paging.after(|text| whole(text).and_then(|id| i64::try_from(id).ok()).map(EventId))?;
    let events = app.ledger.events(after, paging.one_more()).await.map_err(|f| refusal(&f))?;
    let (events, next) = paging.cut(events, |event| event.id.to_string());
    let now = app.ledger.now();
    let events: Vec<EventBody> = events.iter().map(|event| EventBody::of(event, now)).collect();
    Ok(Reply::ok(&json!({ "success": true, "events": events, "next": next })))
}

pub async fn one(app: Arc<App>, asked: Asked) -> Handled {
    let found = app.ledger.event(asked.event()?).await.map_err(|f| refusal(&f))?;
    let event = found.filter(|event| !event.deleted).ok_or(Refusal::NotFound)?;
    Ok(Reply::ok(&json!({ "success": true, "event": EventBody::of(&event, app.ledger.now()) })))
}
