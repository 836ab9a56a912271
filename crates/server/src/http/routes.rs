//! Every route, on one page. The router and the OpenAPI document are both made from this table.

use std::sync::Arc;

use salvo::Router;
use salvo::http::Method;

use super::endpoint::{Endpoint, Route};
use super::openapi::operations as doc;
use super::respond::{Dialect, Speech};
use super::{admin, docs, events, fcfs, health, holds, page, reservations, room_types, seats};
use crate::app::App;

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// In this order: of two paths that match, the first one answers.
pub fn table() -> Vec<Route> {
    let at = |path| Route::at(path, Speech::Plain);
    let spoken = |path| Route::at(path, Speech::Every(Dialect::V1_1));
    let spoken_1_0 = |path| Route::at(path, Speech::Every(Dialect::V1_0));
    vec![
        // the crowd
        at("/api/v1/events").on(GET, events::list, doc::EVENTS),
        at("/api/v1/events/{eventId}").on(GET, events::one, doc::EVENT),
        at("/api/v1/events/{eventId}/layout").on(GET, seats::layout, doc::LAYOUT),
        spoken("/api/v1/events/{eventId}/seats").on(GET, seats::list, doc::SEATS),
        spoken("/api/v1/events/{eventId}/seats/reservation/fcfs").on(POST, fcfs::post, doc::RESERVE).limiting_itself(),
        spoken("/api/v1/events/{eventId}/seats/{seatId}").on(GET, seats::one, doc::SEAT),
        spoken("/api/v1/events/{eventId}/seats/{seatId}/reservation")
            .on(POST, fcfs::post, doc::RESERVE_SEAT)
            .limiting_itself(),
        // the same for event 1
        spoken("/api/v1/seats").on(GET, seats::list, doc::FIRST_SEATS),
        spoken("/api/v1/seats/reservation/fcfs").on(POST, fcfs::post, doc::FIRST_RESERVE).limiting_itself(),
        spoken_1_0("/api/v1/seats/reservation").on(POST, fcfs::post, doc::FIRST_RESERVE_1_0).limiting_itself(),
        spoken("/api/v1/seats/{seatId}").on(GET, seats::one, doc::FIRST_SEAT),
        spoken("/api/v1/seats/{seatId}/reservation").on(POST, fcfs::post, doc::FIRST_RESERVE_SEAT).limiting_itself(),
        spoken("/fcfs/join").on(POST, fcfs::post, doc::JOIN).limiting_itself(),
        // what a buyer has
        at("/api/v1/reservations").on(GET, reservations::mine, doc::MINE),
        at("/api/v1/reservations/{reservationId}").on(GET, reservations::one, doc::RESERVATION).on(
            DELETE,
            reservations::cancel,
            doc::CANCEL,
        ),
        // nights and holds
        at("/v1/room-types").on(GET, room_types::list, doc::ROOM_TYPES),
        at("/v1/room-types/{roomTypeId}").on(GET, room_types::one, doc::ROOM_TYPE),
        at("/v1/room-types/{roomTypeId}/availability").on(GET, room_types::availability, doc::AVAILABILITY),
        at("/v1/holds").on(GET, holds::mine, doc::HOLDS).on(POST, holds::create, doc::CREATE_HOLD),
        at("/v1/holds/{holdId}").on(GET, holds::one, doc::HOLD).on(DELETE, holds::cancel, doc::CANCEL_HOLD),
        at("/v1/holds/{holdId}/confirm").on(POST, holds::confirm, doc::CONFIRM_HOLD),
        at("/v1/holds/{holdId}/extend").on(POST, holds::extend, doc::EXTEND_HOLD),
        // operators
        at("/api/v1/admin/events").on(GET, admin::events::list, doc::ADMIN_EVENTS).on(
            POST,
            admin::events::create,
            doc::CREATE_EVENT,
        ),
        at("/api/v1/admin/events/{eventId}")
            .on(GET, admin::events::one, doc::ADMIN_EVENT)
            .on(PATCH, admin::events::amend, doc::AMEND_EVENT)
            .on(DELETE, admin::events::delete, doc::DELETE_EVENT),
        at("/api/v1/admin/events/{eventId}/open").on(POST, admin::events::open, doc::OPEN_EVENT),
        at("/api/v1/admin/events/{eventId}/close").on(POST, admin::events::close, doc::CLOSE_EVENT),
        at("/api/v1/admin/events/{eventId}/pause").on(POST, admin::events::pause, doc::PAUSE_EVENT),
        at("/api/v1/admin/events/{eventId}/resume").on(POST, admin::events::resume, doc::RESUME_EVENT),
        at("/api/v1/admin/events/{eventId}/reservations").on(GET, admin::reservations::list, doc::ADMIN_RESERVATIONS),
        at("/api/v1/admin/room-types").on(GET, admin::room_types::list, doc::ADMIN_ROOM_TYPES).on(
            POST,
            admin::room_types::create,
            doc::CREATE_ROOM_TYPE,
        ),
        at("/api/v1/admin/room-types/{roomTypeId}").on(GET, admin::room_types::one, doc::ADMIN_ROOM_TYPE).on(
            PATCH,
            admin::room_types::amend,
            doc::AMEND_ROOM_TYPE,
        ),
        at("/api/v1/admin/reservations/{reservationId}").on(DELETE, admin::reservations::cancel, doc::ADMIN_CANCEL),
        // the machine
        at("/livez").on(GET, health::live, doc::LIVE),
        at("/readyz").on(GET, health::ready, doc::READY),
        at("/metrics").on(GET, health::metrics, doc::METRICS),
        at("/openapi.json").on(GET, docs::openapi, doc::OPENAPI),
        at("/docs").on(GET, docs::page, doc::DOCS),
        at("/docs/{file}").on(GET, docs::file, doc::DOCS_FILE),
        at("/").on(GET, page::get, doc::PAGE),
    ]
}

pub fn routes(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    let mut table = table();
    // The router tries one after another: what a crowd asks for comes first. No other path matches it.
    table.sort_by_key(|route| !route.crowded());
    for route in table {
        let path = route.path.trim_start_matches('/');
        let at = if path.is_empty() { Router::new() } else { Router::with_path(path) };
        router = router.push(at.goal(Endpoint::new(app, route)));
    }
    router.push(Router::with_path("{**rest}").goal(Endpoint::new(app, Route::at("", Speech::Plain))))
}
