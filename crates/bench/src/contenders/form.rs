//! What all contenders share: they read and check the request with the product's own code, and answer with
//! the product's own body. So a ratio shows the cost of storing, not of JSON.

use std::sync::atomic::{AtomicU32, Ordering};

use http_body_util::{BodyExt, Limited};
use rules::command::Buyer;
use rules::ids::User;
use salvo::http::header::CONTENT_TYPE;
use salvo::http::{HeaderValue, ResBody};
use salvo::prelude::*;
use server::http::plumbing::body::BODY_MOST;
use server::http::resources::reservations::buyer;
use server::http::respond::Dialect;
use server::http::wire::{ReservedBody, SoldSeatBody, Succeeded};

pub struct Form {
    pub user: User,
    pub buyer: Buyer,
}

/// The request, if the product would accept it.
pub async fn read(request: &mut Request) -> Option<Form> {
    let headers = request.headers();
    let user = headers.get("x-user-id").and_then(|v| v.to_str().ok()).and_then(User::new)?;
    if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/json") {
        return None;
    }
    let body = Limited::new(request.take_body(), BODY_MOST).collect().await.ok()?.to_bytes();
    let (buyer, _) = buyer::read(&body, Dialect::V1_1, "KR").ok()?;
    Some(Form { user, buyer })
}

/// Seats from 1 on, for contenders that keep no list of seats.
pub fn next_seat() -> u32 {
    static SOLD: AtomicU32 = AtomicU32::new(0);
    SOLD.fetch_add(1, Ordering::Relaxed) + 1
}

pub fn answer(response: &mut Response, seat: u32) {
    let body = ReservedBody {
        success: Succeeded,
        seat: SoldSeatBody { id: seat, name: format!("A{seat}"), status: true },
        remaining_seats: 5_000_000u32.saturating_sub(seat),
        user_ttl_remaining: Some(900),
        sequence: Some(seat.into()),
        reservation_id: format!("e1-{}", seat + 1),
    };
    let written = serde_json::to_vec(&body).unwrap_or_default();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    *response.body_mut() = ResBody::Once(written.into());
}

pub fn refuse(response: &mut Response, status: StatusCode) {
    response.status_code(status);
}
