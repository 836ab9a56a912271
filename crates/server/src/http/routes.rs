//! Every operation, on one page. The endpoints enforce what a row declares: who may call it
//! (`access`), which body it takes and how large (`body`), which dialects it speaks, its time limit.
//! The router, the OpenAPI document, the metrics and the access tests are made from the same rows.

use std::sync::Arc;

use salvo::Router;
use salvo::http::Method;

use super::openapi::operations as doc;
use super::plumbing::access::{
    AdminOnly, Anyone, KnownUser, OwnerOrService, SeekingUser, SeekingUserOrNobody, UserOrTicket, ViewerOrAdmin,
};
use super::plumbing::body::{ADMIN_BODY_MOST, AnyBytes, BODY_MOST, Json, JsonByDialect, NoBody, PerhapsJson};
use super::plumbing::endpoint::Endpoint;
use super::plumbing::operation::Route;
use super::resources::{admin, docs, events, health, holds, page, queue, reservations, room_types, seats, stream};
use super::respond::{Dialect, Speech};
use crate::app::App;

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

const BUYER: JsonByDialect = JsonByDialect { schema: "Buyer", most: BODY_MOST };
const ANY: AnyBytes = AnyBytes { most: BODY_MOST };
const WHO_BUYS: PerhapsJson = PerhapsJson { schema: "Confirmation", most: BODY_MOST };
const WHY: PerhapsJson = PerhapsJson { schema: "Cancellation", most: BODY_MOST };

const fn json(schema: &'static str) -> Json {
    Json { schema, most: BODY_MOST }
}

const fn admin_json(schema: &'static str) -> Json {
    Json { schema, most: ADMIN_BODY_MOST }
}

/// In this order: of two paths that match, the first one answers.
pub fn table() -> Vec<Route> {
    let mut table = crowd();
    table.extend(nights());
    table.extend(seed_004());
    table.extend(operators());
    table.extend(machine());
    table
}

/// Events, seats, waiting rooms, and what a buyer has.
fn crowd() -> Vec<Route> {
    vec![
        plain("/api/v1/events").on(GET, Anyone, NoBody, events::list, doc::EVENTS),
        plain("/api/v1/events/{eventId}").on(GET, Anyone, NoBody, events::one, doc::EVENT),
        plain("/api/v1/events/{eventId}/layout").on(GET, Anyone, NoBody, seats::layout, doc::LAYOUT),
        plain("/api/v1/events/{eventId}/stream").on(GET, Anyone, NoBody, stream::event, doc::EVENT_STREAM),
        plain("/api/v1/events/{eventId}/stream-ticket").on(POST, KnownUser, ANY, stream::ticket, doc::STREAM_TICKET),
        spoken("/api/v1/events/{eventId}/seats").on(GET, Anyone, NoBody, seats::list, doc::SEATS),
        spoken("/api/v1/events/{eventId}/seats/reservation/fcfs")
            .on(POST, SeekingUser, BUYER, reservations::create, doc::RESERVE)
            .limits_itself(),
        spoken("/api/v1/events/{eventId}/seats/{seatId}").on(GET, Anyone, NoBody, seats::one, doc::SEAT),
        spoken("/api/v1/events/{eventId}/seats/{seatId}/reservation")
            .on(POST, SeekingUser, BUYER, reservations::create, doc::RESERVE_SEAT)
            .limits_itself(),
        // waiting rooms
        plain("/api/v1/events/{eventId}/queue")
            .on(POST, KnownUser, ANY, queue::join, doc::QUEUE_JOIN)
            .on(GET, UserOrTicket, NoBody, queue::poll, doc::QUEUE_POLL)
            .on(DELETE, KnownUser, ANY, queue::leave, doc::QUEUE_LEAVE),
        plain("/api/v1/events/{eventId}/queue/enter").on(POST, KnownUser, ANY, queue::enter, doc::QUEUE_ENTER),
        plain("/api/v1/events/{eventId}/queue/serving").on(GET, Anyone, NoBody, queue::serving, doc::QUEUE_SERVING),
        // short paths: event 1
        plain("/api/v1/stream").on(GET, Anyone, NoBody, stream::event, doc::FIRST_EVENT_STREAM),
        spoken("/api/v1/seats").on(GET, Anyone, NoBody, seats::list, doc::FIRST_SEATS),
        spoken("/api/v1/seats/reservation/fcfs")
            .on(POST, SeekingUserOrNobody, BUYER, reservations::create, doc::FIRST_RESERVE)
            .limits_itself(),
        spoken_1_0("/api/v1/seats/reservation")
            .on(POST, SeekingUserOrNobody, BUYER, reservations::create, doc::FIRST_RESERVE_1_0)
            .limits_itself(),
        spoken("/api/v1/seats/{seatId}").on(GET, Anyone, NoBody, seats::one, doc::FIRST_SEAT),
        spoken("/api/v1/seats/{seatId}/reservation")
            .on(POST, SeekingUserOrNobody, BUYER, reservations::create, doc::FIRST_RESERVE_SEAT)
            .limits_itself(),
        spoken("/fcfs/join").on(POST, SeekingUserOrNobody, BUYER, reservations::create, doc::JOIN).limits_itself(),
        // what a buyer has
        plain("/api/v1/reservations").on(GET, KnownUser, NoBody, reservations::mine, doc::MINE),
        plain("/api/v1/reservations/{reservationId}")
            .on(GET, KnownUser, NoBody, reservations::one, doc::RESERVATION)
            .on(DELETE, KnownUser, WHY, reservations::cancel, doc::CANCEL),
    ]
}

fn nights() -> Vec<Route> {
    vec![
        plain("/api/v1/room-types").on(GET, Anyone, NoBody, room_types::list, doc::ROOM_TYPES),
        plain("/api/v1/room-types/{roomTypeId}").on(GET, Anyone, NoBody, room_types::one, doc::ROOM_TYPE),
        plain("/api/v1/room-types/{roomTypeId}/stream").on(GET, Anyone, NoBody, stream::nights, doc::ROOM_TYPE_STREAM),
        plain("/api/v1/room-types/{roomTypeId}/availability").on(
            GET,
            Anyone,
            NoBody,
            room_types::availability,
            doc::AVAILABILITY,
        ),
        plain("/api/v1/room-types/{roomTypeId}/calendar").on(GET, Anyone, NoBody, room_types::calendar, doc::CALENDAR),
        plain("/api/v1/holds").on(GET, KnownUser, NoBody, holds::mine, doc::HOLDS).on(
            POST,
            KnownUser,
            json("NewHold"),
            holds::create,
            doc::CREATE_HOLD,
        ),
        plain("/api/v1/holds/{holdId}").on(GET, KnownUser, NoBody, holds::one, doc::HOLD).on(
            DELETE,
            KnownUser,
            WHY,
            holds::cancel,
            doc::CANCEL_HOLD,
        ),
        plain("/api/v1/holds/{holdId}/confirm").on(POST, OwnerOrService, WHO_BUYS, holds::confirm, doc::CONFIRM_HOLD),
        plain("/api/v1/holds/{holdId}/extend").on(POST, KnownUser, ANY, holds::extend, doc::EXTEND_HOLD),
    ]
}

/// The same as the fifth specification has it.
fn seed_004() -> Vec<Route> {
    vec![
        seed("/v1/room-types").on(GET, Anyone, NoBody, room_types::list, doc::SEED_ROOM_TYPES),
        seed("/v1/room-types/{roomTypeId}").on(GET, Anyone, NoBody, room_types::one, doc::SEED_ROOM_TYPE),
        seed("/v1/room-types/{roomTypeId}/availability").on(
            GET,
            Anyone,
            NoBody,
            room_types::availability,
            doc::SEED_AVAILABILITY,
        ),
        seed("/v1/holds").on(GET, KnownUser, NoBody, holds::mine, doc::SEED_HOLDS).on(
            POST,
            KnownUser,
            json("NewHold"),
            holds::create,
            doc::SEED_CREATE_HOLD,
        ),
        seed("/v1/holds/{holdId}").on(GET, KnownUser, NoBody, holds::one, doc::SEED_HOLD).on(
            DELETE,
            KnownUser,
            ANY,
            holds::cancel,
            doc::SEED_CANCEL_HOLD,
        ),
        seed("/v1/holds/{holdId}/confirm").on(POST, OwnerOrService, ANY, holds::confirm, doc::SEED_CONFIRM_HOLD),
        seed("/v1/holds/{holdId}/extend").on(POST, KnownUser, ANY, holds::extend, doc::SEED_EXTEND_HOLD),
    ]
}

fn operators() -> Vec<Route> {
    use admin::{
        audit, events, everything, history, holds, reservations, room_types, tokens, user_lists, users, waiting_room,
        webhook_lists, webhooks,
    };
    vec![
        plain("/api/v1/admin/events").on(GET, ViewerOrAdmin, NoBody, events::list, doc::ADMIN_EVENTS).on(
            POST,
            AdminOnly,
            admin_json("NewEvent"),
            events::create,
            doc::CREATE_EVENT,
        ),
        plain("/api/v1/admin/events/{eventId}")
            .on(GET, ViewerOrAdmin, NoBody, events::one, doc::ADMIN_EVENT)
            .on(PATCH, AdminOnly, admin_json("Amendment"), events::amend, doc::AMEND_EVENT)
            .on(DELETE, AdminOnly, NoBody, events::delete, doc::DELETE_EVENT),
        plain("/api/v1/admin/events/{eventId}/open").on(POST, AdminOnly, NoBody, events::open, doc::OPEN_EVENT),
        plain("/api/v1/admin/events/{eventId}/close").on(POST, AdminOnly, NoBody, events::close, doc::CLOSE_EVENT),
        plain("/api/v1/admin/events/{eventId}/pause").on(POST, AdminOnly, NoBody, events::pause, doc::PAUSE_EVENT),
        plain("/api/v1/admin/events/{eventId}/resume").on(POST, AdminOnly, NoBody, events::resume, doc::RESUME_EVENT),
        plain("/api/v1/admin/events/{eventId}/archive").on(
            POST,
            AdminOnly,
            NoBody,
            events::archive,
            doc::ARCHIVE_EVENT,
        ),
        plain("/api/v1/admin/events/{eventId}/unarchive").on(
            POST,
            AdminOnly,
            NoBody,
            events::unarchive,
            doc::UNARCHIVE_EVENT,
        ),
        plain("/api/v1/admin/events/{eventId}/reservations").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            reservations::list,
            doc::ADMIN_RESERVATIONS,
        ),
        plain("/api/v1/admin/room-types").on(GET, ViewerOrAdmin, NoBody, room_types::list, doc::ADMIN_ROOM_TYPES).on(
            POST,
            AdminOnly,
            admin_json("NewRoomType"),
            room_types::create,
            doc::CREATE_ROOM_TYPE,
        ),
        plain("/api/v1/admin/room-types/{roomTypeId}")
            .on(GET, ViewerOrAdmin, NoBody, room_types::one, doc::ADMIN_ROOM_TYPE)
            .on(PATCH, AdminOnly, admin_json("RoomTypeAmendment"), room_types::amend, doc::AMEND_ROOM_TYPE),
        plain("/api/v1/admin/events/{eventId}/holds").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            holds::of_event,
            doc::ADMIN_HOLDS_OF_EVENT,
        ),
        plain("/api/v1/admin/room-types/{roomTypeId}/holds").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            holds::of_room_type,
            doc::ADMIN_HOLDS_OF_ROOM_TYPE,
        ),
        plain("/api/v1/admin/room-types/{roomTypeId}/reservations").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            holds::stays,
            doc::ADMIN_STAYS,
        ),
        plain("/api/v1/admin/holds").on(GET, ViewerOrAdmin, NoBody, user_lists::holds, doc::ADMIN_HOLDS_OF_USER),
        plain("/api/v1/admin/reservations").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            user_lists::reservations,
            doc::ADMIN_RESERVATIONS_OF_USER,
        ),
        plain("/api/v1/admin/reservations/{reservationId}").on(
            DELETE,
            AdminOnly,
            WHY,
            reservations::cancel,
            doc::ADMIN_CANCEL,
        ),
        plain("/api/v1/admin/history").on(GET, ViewerOrAdmin, NoBody, history::list, doc::ADMIN_HISTORY),
        plain("/api/v1/admin/history/head").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            history::head_of_ledger,
            doc::ADMIN_LEDGER_HEAD,
        ),
        plain("/api/v1/admin/events/{eventId}/history/head").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            history::head_of_event,
            doc::ADMIN_EVENT_HEAD,
        ),
        plain("/api/v1/admin/room-types/{roomTypeId}/history/head").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            history::head_of_room_type,
            doc::ADMIN_ROOM_TYPE_HEAD,
        ),
        plain("/api/v1/admin/users/{userId}").on(GET, ViewerOrAdmin, NoBody, everything::of_user, doc::ADMIN_USER),
        plain("/api/v1/admin/users/{userId}/data")
            .on(DELETE, AdminOnly, NoBody, users::erase, doc::ERASE_USER)
            .limits_itself(),
        plain("/api/v1/admin/audit").on(GET, ViewerOrAdmin, NoBody, audit::check, doc::ADMIN_AUDIT),
        plain("/api/v1/admin/ticket-keys").on(
            POST,
            AdminOnly,
            NoBody,
            waiting_room::rotate_key,
            doc::ROTATE_TICKET_KEY,
        ),
        plain("/api/v1/admin/tokens").on(GET, ViewerOrAdmin, NoBody, tokens::list, doc::ADMIN_TOKENS).on(
            POST,
            AdminOnly,
            admin_json("NewAdminToken"),
            tokens::create,
            doc::CREATE_ADMIN_TOKEN,
        ),
        plain("/api/v1/admin/tokens/{tokenName}").on(
            DELETE,
            AdminOnly,
            NoBody,
            tokens::revoke,
            doc::REVOKE_ADMIN_TOKEN,
        ),
        plain("/api/v1/admin/tokens/{tokenName}/replaced").on(
            DELETE,
            AdminOnly,
            NoBody,
            tokens::end_replaced,
            doc::END_REPLACED_ADMIN_TOKEN,
        ),
        plain("/api/v1/admin/tokens/{tokenName}/rotate").on(
            POST,
            AdminOnly,
            admin_json("TokenRotation"),
            tokens::rotate,
            doc::ROTATE_ADMIN_TOKEN,
        ),
        plain("/api/v1/admin/webhooks")
            .on(GET, ViewerOrAdmin, NoBody, webhook_lists::webhooks, doc::ADMIN_WEBHOOKS)
            .on(POST, AdminOnly, admin_json("NewWebhook"), webhooks::create, doc::CREATE_WEBHOOK),
        plain("/api/v1/admin/webhooks/{webhookId}")
            .on(GET, ViewerOrAdmin, NoBody, webhooks::one, doc::ADMIN_WEBHOOK)
            .on(PATCH, AdminOnly, admin_json("WebhookAmendment"), webhooks::amend, doc::AMEND_WEBHOOK)
            .on(DELETE, AdminOnly, NoBody, webhooks::delete, doc::DELETE_WEBHOOK),
        plain("/api/v1/admin/webhooks/{webhookId}/deliveries").on(
            GET,
            ViewerOrAdmin,
            NoBody,
            webhook_lists::deliveries,
            doc::ADMIN_WEBHOOK_DELIVERIES,
        ),
        plain("/api/v1/admin/webhooks/{webhookId}/rotate").on(
            POST,
            AdminOnly,
            admin_json("WebhookRotation"),
            webhooks::rotate,
            doc::ROTATE_WEBHOOK,
        ),
        plain("/api/v1/admin/webhooks/{webhookId}/test").on(POST, AdminOnly, NoBody, webhooks::test, doc::TEST_WEBHOOK),
        plain("/api/v1/admin/webhooks/{webhookId}/replay").on(
            POST,
            AdminOnly,
            admin_json("WebhookReplay"),
            webhooks::replay,
            doc::REPLAY_WEBHOOK,
        ),
    ]
}

fn machine() -> Vec<Route> {
    vec![
        plain("/livez").on(GET, Anyone, NoBody, health::live, doc::LIVE),
        plain("/readyz").on(GET, Anyone, NoBody, health::ready, doc::READY),
        plain("/metrics").on(GET, Anyone, NoBody, health::metrics, doc::METRICS),
        plain("/openapi.json").on(GET, Anyone, NoBody, docs::openapi, doc::OPENAPI),
        plain("/openapi/{file}").on(GET, Anyone, NoBody, docs::openapi_of_dialect, doc::OPENAPI_OF_DIALECT),
        plain("/docs").on(GET, Anyone, NoBody, docs::page, doc::DOCS),
        plain("/docs/{file}").on(GET, Anyone, NoBody, docs::file, doc::DOCS_FILE),
        plain("/assets/{file}").on(GET, Anyone, NoBody, page::file, doc::PAGE_FILE),
        plain("/favicon.ico").on(GET, Anyone, NoBody, page::icon, doc::FAVICON),
        plain("/apple-touch-icon.png").on(GET, Anyone, NoBody, page::icon, doc::TOUCH_ICON),
        plain("/").on(GET, Anyone, NoBody, page::get, doc::EVENTS_PAGE),
        plain("/events/{eventId}").on(GET, Anyone, NoBody, page::get, doc::EVENT_PAGE),
        plain("/rooms").on(GET, Anyone, NoBody, page::get, doc::ROOMS_PAGE),
        plain("/me").on(GET, Anyone, NoBody, page::get, doc::OWN_PAGE),
        plain("/admin").on(GET, Anyone, NoBody, page::get, doc::CONSOLE_PAGE),
        plain("/try").on(GET, Anyone, NoBody, page::get, doc::TRY_PAGE),
    ]
}

/// In a demo only, so that no document describes them.
fn demo() -> Vec<Route> {
    use admin::demo;
    vec![
        plain("/api/v1/admin/demo").on(GET, ViewerOrAdmin, NoBody, demo::state, demo::STATE),
        plain("/api/v1/admin/demo/rush").on(POST, AdminOnly, admin_json("DemoCrowd"), demo::rush, demo::RUSH),
        plain("/api/v1/admin/demo/plug").on(POST, AdminOnly, NoBody, demo::plug, demo::PLUG),
    ]
}

/// The rows that `ADMIN_LISTEN` serves.
pub fn operator_table() -> Vec<Route> {
    let mut table = operators();
    // Of two paths that match, the first one answers.
    table.push(plain("/readyz").on(GET, Anyone, NoBody, health::ready_lately, doc::READY));
    table.extend(machine());
    table
}

fn plain(path: &'static str) -> Route {
    Route::at(path, Speech::Plain)
}

fn seed(path: &'static str) -> Route {
    Route::at(path, Speech::Seed004)
}

fn spoken(path: &'static str) -> Route {
    Route::at(path, Speech::Every(Dialect::V1_1))
}

fn spoken_1_0(path: &'static str) -> Route {
    Route::at(path, Speech::Every(Dialect::V1_0))
}

pub fn routes(app: &Arc<App>) -> Router {
    let mut table = table();
    if app.settings.demo_control.is_some() {
        table.extend(demo());
    }
    router(app, table)
}

/// A router of these rows; every other path is answered with `not_found`.
pub fn router(app: &Arc<App>, mut table: Vec<Route>) -> Router {
    let mut router = Router::new();
    // The router tries one after another: put the paths of a sale first. No other path matches these.
    table.sort_by_key(|route| !route.operations.iter().any(|operation| operation.through_door));
    for route in table {
        let path = route.path.trim_start_matches('/');
        let at = if path.is_empty() { Router::new() } else { Router::with_path(path) };
        router = router.push(at.goal(Endpoint::new(app, route)));
    }
    router.push(Router::with_path("{**rest}").goal(Endpoint::new(app, plain(""))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::plumbing::access::Access;
    use crate::http::plumbing::operation::TimeLimit;

    /// The contract allows a request without a user on the short paths only.
    #[test]
    fn nobody_may_ask_on_short_paths_only() {
        for route in table() {
            for operation in &route.operations {
                if operation.access == Access::UserOrNobody {
                    assert!(!route.path.contains("{eventId}"), "{}", operation.doc.id);
                }
            }
        }
    }

    /// A viewer's token opens every read of the admin API and no change.
    #[test]
    fn viewers_read_and_change_nothing() {
        for route in table().into_iter().filter(|route| route.path.starts_with("/api/v1/admin/")) {
            for operation in &route.operations {
                let wanted = if operation.method == GET { Access::Viewer } else { Access::Admin };
                assert_eq!(operation.access, wanted, "{}", operation.doc.id);
            }
        }
    }

    /// Only reservations go without the endpoint's timer: their lane answers everybody in time. Erasing one person goes
    /// on until it is done.
    #[test]
    fn only_reservations_and_erasure_limit_themselves() {
        for route in table() {
            for operation in &route.operations {
                let own = operation.time == TimeLimit::OfItsOwn;
                let may = operation.through_door || operation.doc.id == doc::ERASE_USER.id;
                assert_eq!(own, may, "{}", operation.doc.id);
            }
        }
    }
}
