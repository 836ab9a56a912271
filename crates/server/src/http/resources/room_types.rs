//! Room types, and what is free in them.

use std::sync::Arc;

use rules::ids::whole_id;
use rules::nights::Dates;
use rules::outcome::{Expected, FieldError, Problem, Refusal};
use rules::subject::RoomTypeId;

use super::seats::has_already;
use crate::app::App;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::answers::{RoomTypeAnswer, RoomTypesAnswer};
use crate::http::wire::stays::{AvailabilityBody, CalendarBody, RoomTypeBody};
use crate::zones;

/// The room type in the path.
pub fn id_in_path(request: &Incoming) -> Result<RoomTypeId, Refusal> {
    request.id("roomTypeId")
}

pub async fn list(app: Arc<App>, call: Call) -> Handled {
    let (request, paging) = (&call.request, Paging::of(&call.request)?);
    let after = paging.after(|text| whole_id(text).map(RoomTypeId))?;
    let found = app.ledger.room_types(after, paging.one_more()).await?;
    let (found, next) = paging.cut(found, |room_type| room_type.id.to_string());
    let room_types: Vec<RoomTypeBody> = found.iter().map(|one| RoomTypeBody::of(one).spoken(request.dialect)).collect();
    Ok(Reply::ok(&RoomTypesAnswer { success: Succeeded, room_types, next }).public())
}

pub async fn one(app: Arc<App>, call: Call) -> Handled {
    show(&app, &call.request).await.map(Reply::public)
}

/// One room type, for buyers and operators alike.
pub async fn show(app: &App, request: &Incoming) -> Handled {
    let found = app.ledger.room_type(id_in_path(request)?).await?;
    let room_type = found.ok_or(Refusal::NotFound)?;
    let room_type = RoomTypeBody::of(&room_type).spoken(request.dialect);
    Ok(Reply::ok(&RoomTypeAnswer { success: Succeeded, room_type }))
}

/// The nights of one month that can still be sold.
pub async fn calendar(app: Arc<App>, Call { request, .. }: Call) -> Handled {
    let not_a_month = || FieldError::refused("month", Problem::Expected(Expected::Month));
    let text = request.query("month")?.ok_or_else(|| FieldError::refused("month", Problem::Missing))?;
    let month = Dates::of_month(&text).ok_or_else(not_a_month)?;
    let id = id_in_path(&request)?;
    let room_type = app.ledger.room_type(id).await?.ok_or(Refusal::NotFound)?;
    let today = zones::today(&room_type.time_zone, app.ledger.wall());
    let sold = month.within(today, today.plus(app.settings.max_days_ahead + 1));
    let nights = match sold {
        None => Vec::new(),
        Some(dates) => app.ledger.availability(id, dates).await?.ok_or(Refusal::NotFound)?.nights,
    };
    Ok(Reply::ok(&CalendarBody::of(&room_type, text, &nights)))
}

/// Exact: one read of the ledger, one moment of its clock.
pub async fn availability(app: Arc<App>, Call { request, .. }: Call) -> Handled {
    let night = |name: &'static str| {
        let text = request.query(name)?.ok_or_else(|| FieldError::refused(name, Problem::Missing))?;
        text.parse().map_err(|_| FieldError::refused(name, Problem::NotADate))
    };
    let dates = Dates::new(night("checkIn")?, night("checkOut")?)?;
    let id = id_in_path(&request)?;
    let found = app.ledger.availability(id, dates).await?.ok_or(Refusal::NotFound)?;
    dates.sold_on(zones::today(&found.room_type.time_zone, app.ledger.wall()), app.settings.max_days_ahead)?;
    let etag = format!("\"{}.{}\"", found.room_type.n, found.lapsed);
    if has_already(&request.headers, &etag) {
        return Ok(Reply::unchanged().tagged(&etag));
    }
    Ok(Reply::ok(&AvailabilityBody::of(&found)).tagged(&etag))
}
