//! Every route, on one page.

use std::sync::Arc;

use salvo::Router;
use salvo::http::Method;

use super::endpoint::Endpoint;
use super::{admin, events, fcfs, health, page, reservations, seats};
use crate::app::App;

pub fn routes(app: &Arc<App>) -> Router {
    let at = |path: &str, endpoint: Endpoint| Router::with_path(path).goal(endpoint);
    let on = || Endpoint::new(app);
    let (get, post, patch, delete) = (Method::GET, Method::POST, Method::PATCH, Method::DELETE);
    let turn = |word: &str| format!("api/v1/admin/events/{{eventId}}/{word}");

    Router::new()
        // the crowd
        .push(at("api/v1/events", on().on(get.clone(), events::list)))
        .push(at("api/v1/events/{eventId}", on().on(get.clone(), events::one)))
        .push(at("api/v1/events/{eventId}/seats", on().on(get.clone(), seats::list)))
        .push(at("api/v1/events/{eventId}/seats/reservation/fcfs", on().on(post.clone(), fcfs::post)))
        .push(at("api/v1/events/{eventId}/seats/{seatId}", on().on(get.clone(), seats::one)))
        // the same for event 1
        .push(at("api/v1/seats", on().on(get.clone(), seats::list)))
        .push(at("api/v1/seats/reservation/fcfs", on().on(post.clone(), fcfs::post)))
        .push(at("api/v1/seats/{seatId}", on().on(get.clone(), seats::one)))
        .push(at("fcfs/join", on().on(post.clone(), fcfs::post)))
        // what a buyer has
        .push(at("api/v1/reservations", on().on(get.clone(), reservations::mine)))
        .push(at(
            "api/v1/reservations/{reservationId}",
            on().on(get.clone(), reservations::one).on(delete.clone(), reservations::cancel),
        ))
        // operators
        .push(at(
            "api/v1/admin/events",
            on().on(get.clone(), admin::events::list).on(post.clone(), admin::events::create),
        ))
        .push(at(
            "api/v1/admin/events/{eventId}",
            on().on(get.clone(), admin::events::one)
                .on(patch, admin::events::amend)
                .on(delete.clone(), admin::events::delete),
        ))
        .push(at(&turn("open"), on().on(post.clone(), admin::events::open)))
        .push(at(&turn("close"), on().on(post.clone(), admin::events::close)))
        .push(at(&turn("pause"), on().on(post.clone(), admin::events::pause)))
        .push(at(&turn("resume"), on().on(post, admin::events::resume)))
        .push(at(&turn("reservations"), on().on(get.clone(), admin::reservations::list)))
        .push(at("api/v1/admin/reservations/{reservationId}", on().on(delete, admin::reservations::cancel)))
        // the machine
        .push(at("livez", on().on(get.clone(), health::live)))
        .push(at("readyz", on().on(get.clone(), health::ready)))
        .push(at("metrics", on().on(get.clone(), health::metrics)))
        .push(Router::new().goal(on().on(get, page::get)))
        .push(at("{**rest}", on()))
}
