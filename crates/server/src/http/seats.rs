//! The list of seats, prepared; and one seat, exact.

use std::collections::VecDeque;
use std::sync::Arc;

use rules::outcome::Refusal;
use salvo::http::header::IF_NONE_MATCH;
use salvo::hyper::body::Bytes;
use serde_json::json;

use super::asked::Asked;
use super::endpoint::Handled;
use super::respond::Reply;
use super::wire::SeatBody;
use crate::app::App;
use crate::batch::refusal;

pub async fn list(app: Arc<App>, asked: Asked) -> Handled {
    let event = asked.event()?;
    let hall = app.lanes.find(event).await?.hall();
    let listing = app.boards.listing(event, hall).await?;
    let etag = format!("\"{}.0\"", listing.n);
    if has_already(&asked, &etag) {
        return Ok(Reply::unchanged().cached(&etag));
    }
    let mut parts = VecDeque::with_capacity(listing.pages.len() + 2);
    parts.push_back(Bytes::from_static(br#"{"success":true,"seats":["#));
    parts.extend(listing.pages.iter().cloned());
    parts.push_back(Bytes::from_static(b"]}"));
    Ok(Reply::parts(parts).cached(&etag))
}

fn has_already(asked: &Asked, etag: &str) -> bool {
    let shown = asked.headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    shown
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

pub async fn one(app: Arc<App>, asked: Asked) -> Handled {
    let (event, seat) = (asked.event()?, asked.seat()?);
    let hall = app.lanes.find(event).await?.hall();
    if seat.0 < 1 || seat.0 > hall.seat_count() {
        return Err(Refusal::NotFound.into());
    }
    let sale = app.ledger.sale_of_seat(event, seat).await.map_err(|f| refusal(&f))?;
    Ok(Reply::ok(&json!({ "success": true, "seat": SeatBody::with_state(&hall, seat, sale.is_some()) })))
}
