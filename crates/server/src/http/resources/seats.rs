//! The list of seats, prepared; one seat, exact; and the layout for a map.

use std::sync::Arc;

use rules::outcome::{Expected, FieldError, Problem, Refusal};
use salvo::http::HeaderMap;
use salvo::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, HeaderValue, IF_NONE_MATCH};

use crate::app::App;
use crate::board::{Body, PLAIN_SEATS_MOST, SeatState, Writing};
use crate::http::plumbing::call::Call;
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::SeatRange;
use crate::http::respond::{Dialect, Reply};
use crate::http::wire::answers::{LayoutAnswer, SeatAnswer};
use crate::http::wire::{BareSeatBody, LayoutBody, SeatBody, Succeeded};
use crate::refusals::Failure;

pub async fn list(app: Arc<App>, Call { request, .. }: Call) -> Handled {
    let event = request.event()?;
    let range = SeatRange::asked(&request)?;
    let hall = app.lanes.find(event).await?.hall();
    let gzipped = takes_gzip(&request.headers);
    if range.is_none() && !gzipped && hall.seat_count() > PLAIN_SEATS_MOST {
        return Err(FieldError::refused("Accept-Encoding", Problem::Expected(Expected::GzipOrPages)).into());
    }
    let list = app.boards.listing(event, hall).await?;
    let etag = list.etag();
    if has_already(&request.headers, &etag) {
        return Ok(Reply::unchanged().cached(&etag));
    }
    let writing = match request.dialect {
        Dialect::V1_1 | Dialect::V2025_08_17 | Dialect::Seed004 => Writing::Full,
        Dialect::V1_0 => Writing::Bare,
    };
    if let Some(range) = range {
        let page = list.range(writing, range.first, range.count);
        return Ok(Reply::parts([page.into()].into(), false).cached(&etag));
    }
    let reply = match list.body(writing, gzipped).await? {
        Body::Parts(parts) => Reply::parts(parts.iter().cloned().collect(), gzipped),
        Body::Flowing => Reply::flowing(list.flowing(writing, gzipped), gzipped),
    };
    Ok(reply.cached(&etag))
}

/// The caller has this version: `If-None-Match` names it.
pub fn has_already(headers: &HeaderMap, etag: &str) -> bool {
    let shown = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    shown
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

/// `Accept-Encoding` names gzip, or `*`, with a weight above 0.
pub fn takes_gzip(headers: &HeaderMap) -> bool {
    let asked = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any = false;
    for coding in asked.flat_map(|value| value.split(',')) {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().trim_start_matches(['q', 'Q']).trim_start().trim_start_matches('=').trim();
        let wanted = weight.parse::<f32>().is_ok_and(|weight| weight > 0.0);
        let name = name.trim();
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return wanted;
        }
        any |= name == "*" && wanted;
    }
    any
}

pub async fn one(app: Arc<App>, Call { request, .. }: Call) -> Handled {
    let (event, seat) = (request.event()?, request.seat()?);
    let hall = app.lanes.find(event).await?.hall();
    if !hall.has_seat(seat) {
        return Err(Refusal::NotFound.into());
    }
    let sale = app.ledger.sale_of_seat(event, seat).await?;
    let held = || async { app.ledger.seat_is_held(event, seat).await.map_err(Failure::from) };
    let state = match sale {
        Some(_) => SeatState::Sold,
        None if held().await? => SeatState::Held,
        None => SeatState::Free,
    };
    Ok(match request.dialect {
        Dialect::V1_1 | Dialect::V2025_08_17 | Dialect::Seed004 => {
            Reply::ok(&SeatAnswer { success: Succeeded, seat: SeatBody::with_state(&hall, seat, state) })
        }
        Dialect::V1_0 => Reply::ok(&BareSeatBody::of(seat, state)),
    })
}

/// Where the seats are. It never changes while an event exists.
pub async fn layout(app: Arc<App>, call: Call) -> Handled {
    let hall = app.lanes.find(call.request.event()?).await?.hall();
    let layout = LayoutAnswer { success: Succeeded, layout: LayoutBody::of(&hall) };
    Ok(Reply::ok(&layout).with(CACHE_CONTROL, HeaderValue::from_static("max-age=60")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_encoding_decides_on_gzip() {
        for (value, takes) in [
            ("gzip", true),
            ("GZIP, deflate, br", true),
            ("br;q=1.0, gzip;q=0.8, *;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("*;q=0.5", true),
            ("*", true),
            ("gzip;q=0, *", false),
            ("identity", false),
            ("", false),
            ("gzip;q=x", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, value.parse().unwrap());
            assert_eq!(takes_gzip(&headers), takes, "{value}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
