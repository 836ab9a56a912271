//! Room types, and what is free in them.

use std::sync::Arc;

use rules::ids::whole;
use rules::nights::Dates;
use rules::outcome::{FieldError, Problem, Refusal};
use rules::subject::RoomTypeId;
use serde_json::json;

use super::asked::Asked;
use super::endpoint::Handled;
use super::paging::Paging;
use super::respond::Reply;
use super::seats::has_already;
use super::wire::stays::{AvailabilityBody, RoomTypeBody};
use crate::app::App;
use crate::batch::refusal;
use crate::zones;

/// The room type in the path.
pub fn asked_id(asked: &Asked) -> Result<RoomTypeId, Refusal> {
    asked.id("roomTypeId")
}

pub async fn list(app: Arc<App>, asked: Asked) -> Handled {
    let paging = Paging::asked(&asked)?;
    let after = paging.after(|text| whole(text).and_then(|id| i64::try_from(id).ok()).map(RoomTypeId))?;
    let found = app.ledger.room_types(after, paging.one_more()).await.map_err(|f| refusal(&f))?;
    let (found, next) = paging.cut(found, |room_type| room_type.id.to_string());
    let room_types: Vec<RoomTypeBody> = found.iter().map(RoomTypeBody::of).collect();
    Ok(Reply::ok(&json!({ "success": true, "roomTypes": room_types, "next": next })))
}

pub async fn one(app: Arc<App>, asked: Asked) -> Handled {
    let found = app.ledger.room_type(asked_id(&asked)?).await.map_err(|f| refusal(&f))?;
    let room_type = found.ok_or(Refusal::NotFound)?;
    Ok(Reply::ok(&json!({ "success": true, "roomType": RoomTypeBody::of(&room_type) })))
}

/// Exact: one read of the ledger, one moment of its clock.
pub async fn availability(app: Arc<App>, asked: Asked) -> Handled {
    let night = |name: &'static str| {
        let text = asked.query(name)?.ok_or_else(|| FieldError::refused(name, Problem::Missing))?;
        text.parse().map_err(|_| FieldError::refused(name, Problem::NotADate))
    };
    let dates = Dates::new(night("checkIn")?, night("checkOut")?)?;
    let id = asked_id(&asked)?;
    let found = app.ledger.availability(id, dates).await.map_err(|f| refusal(&f))?.ok_or(Refusal::NotFound)?;
    dates.sold_on(zones::today(&found.room_type.time_zone, app.ledger.now()), app.settings.max_days_ahead)?;
    let etag = format!("\"{}.{}\"", found.room_type.n, found.lapsed);
    if has_already(&asked.headers, &etag) {
        return Ok(Reply::unchanged().tagged(&etag));
    }
    Ok(Reply::ok(&AvailabilityBody::of(&found)).tagged(&etag))
}
