//! The calls. Give them a user ([`ApiCall::by`]) or a token ([`ApiCall::bearer`]), and where it matters a key.

use serde::Serialize;
use serde_json::Value;

use super::ApiCall;
use super::answers::{
    AdminReservationView, AuditView, ConfirmedHold, DoneView, HoldView, LineEntry, LineStanding, ListPage,
    NewTokenView, NightsView, ReservationView, ReservedSeat, RoomTypeView, SaleView, Single, TokenView,
};
use super::forms::{BuyerForm, CancellationForm, EventForm, HoldForm, RoomTypeForm, RotationForm, TokenForm};
use super::routes::{self, ApiRoute};

/// A form is text, numbers and lists of them: it can always be written.
pub(super) fn json(form: &impl Serialize) -> String {
    serde_json::to_string(form).unwrap_or_default()
}

/// Rows of a page at most.
const PAGE: &str = "1000";

fn page<T>(call: ApiCall<ListPage<T>>, after: Option<&str>) -> ApiCall<ListPage<T>> {
    let call = call.query("limit", PAGE);
    match after {
        Some(after) => call.query("after", after),
        None => call,
    }
}

pub fn events(after: Option<&str>) -> ApiCall<ListPage<SaleView>> {
    page(ApiCall::new(&routes::EVENTS, &[]), after)
}

pub fn event(id: i64) -> ApiCall<Single<SaleView>> {
    ApiCall::new(&routes::EVENT, &[&id])
}

pub fn layout(event: i64) -> ApiCall<Single<Value>> {
    ApiCall::new(&routes::LAYOUT, &[&event])
}

/// The lowest free seat, first come, first served.
pub fn reserve(event: i64, buyer: &BuyerForm) -> ApiCall<ReservedSeat> {
    ApiCall::new(&routes::RESERVE, &[&event]).body(json(buyer))
}

/// This seat and no other.
pub fn reserve_seat(event: i64, seat: u32, buyer: &BuyerForm) -> ApiCall<ReservedSeat> {
    ApiCall::new(&routes::RESERVE_SEAT, &[&event, &seat]).body(json(buyer))
}

pub fn join(event: i64) -> ApiCall<LineStanding> {
    ApiCall::new(&routes::JOIN, &[&event])
}

pub fn poll(event: i64) -> ApiCall<LineStanding> {
    ApiCall::new(&routes::POLL, &[&event])
}

pub fn leave(event: i64) -> ApiCall<DoneView> {
    ApiCall::new(&routes::LEAVE, &[&event])
}

pub fn enter(event: i64) -> ApiCall<LineEntry> {
    ApiCall::new(&routes::ENTER, &[&event])
}

pub fn reservations(after: Option<&str>) -> ApiCall<ListPage<ReservationView>> {
    page(ApiCall::new(&routes::RESERVATIONS, &[]), after)
}

pub fn reservation(id: &str) -> ApiCall<Single<ReservationView>> {
    ApiCall::new(&routes::RESERVATION, &[&id])
}

/// Without a reason no body is sent.
fn because<T>(call: ApiCall<T>, reason: Option<&str>) -> ApiCall<T> {
    match reason {
        Some(reason) => call.body(json(&CancellationForm { reason: Some(reason.into()) })),
        None => call,
    }
}

pub fn cancel(reservation: &str, reason: Option<&str>) -> ApiCall<DoneView> {
    because(ApiCall::new(&routes::CANCEL, &[&reservation]), reason)
}

pub fn room_types(after: Option<&str>) -> ApiCall<ListPage<RoomTypeView>> {
    page(ApiCall::new(&routes::ROOM_TYPES, &[]), after)
}

pub fn room_type(id: i64) -> ApiCall<Single<RoomTypeView>> {
    ApiCall::new(&routes::ROOM_TYPE, &[&id])
}

pub fn availability(room_type: i64, check_in: &str, check_out: &str) -> ApiCall<NightsView> {
    ApiCall::new(&routes::AVAILABILITY, &[&room_type]).query("checkIn", check_in).query("checkOut", check_out)
}

/// The nights of a month such as `2026-12`.
pub fn calendar(room_type: i64, month: &str) -> ApiCall<NightsView> {
    ApiCall::new(&routes::CALENDAR, &[&room_type]).query("month", month)
}

pub fn holds(after: Option<&str>) -> ApiCall<ListPage<HoldView>> {
    page(ApiCall::new(&routes::HOLDS, &[]), after)
}

pub fn hold(form: &HoldForm) -> ApiCall<Single<HoldView>> {
    ApiCall::new(&routes::HOLD, &[]).body(json(form))
}

pub fn one_hold(id: &str) -> ApiCall<Single<HoldView>> {
    ApiCall::new(&routes::ONE_HOLD, &[&id])
}

pub fn confirm(hold: &str) -> ApiCall<ConfirmedHold> {
    ApiCall::new(&routes::CONFIRM, &[&hold])
}

/// Also says who buys; `metadata` is that of the hold.
pub fn confirm_for(hold: &str, buyer: &BuyerForm) -> ApiCall<ConfirmedHold> {
    confirm(hold).body(json(buyer))
}

pub fn extend(hold: &str) -> ApiCall<Single<HoldView>> {
    ApiCall::new(&routes::EXTEND, &[&hold])
}

/// Gives a hold back.
pub fn give_back(hold: &str, reason: Option<&str>) -> ApiCall<DoneView> {
    because(ApiCall::new(&routes::GIVE_BACK, &[&hold]), reason)
}

pub fn admin_events(archived: bool, after: Option<&str>) -> ApiCall<ListPage<SaleView>> {
    page(ApiCall::new(&routes::ADMIN_EVENTS, &[]).query("archived", if archived { "true" } else { "false" }), after)
}

pub fn create_event(form: &EventForm) -> ApiCall<Single<SaleView>> {
    ApiCall::new(&routes::CREATE_EVENT, &[]).body(json(form))
}

pub fn amend_event(id: i64, form: &EventForm) -> ApiCall<Single<SaleView>> {
    ApiCall::new(&routes::AMEND_EVENT, &[&id]).body(json(form))
}

/// With what it sold, if it is a rehearsal.
pub fn delete_event(id: i64, sold: bool) -> ApiCall<Single<SaleView>> {
    let call = ApiCall::new(&routes::DELETE_EVENT, &[&id]);
    if sold { call.query("sold", "true") } else { call }
}

/// What an operator does to a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTurn {
    Open,
    Pause,
    Resume,
    Close,
    Archive,
    Unarchive,
}

impl EventTurn {
    pub fn named(word: &str) -> Option<EventTurn> {
        Some(match word {
            "open" => EventTurn::Open,
            "pause" => EventTurn::Pause,
            "resume" => EventTurn::Resume,
            "close" => EventTurn::Close,
            "archive" => EventTurn::Archive,
            "unarchive" => EventTurn::Unarchive,
            _ => return None,
        })
    }

    fn route(self) -> &'static ApiRoute {
        match self {
            EventTurn::Open => &routes::OPEN_EVENT,
            EventTurn::Pause => &routes::PAUSE_EVENT,
            EventTurn::Resume => &routes::RESUME_EVENT,
            EventTurn::Close => &routes::CLOSE_EVENT,
            EventTurn::Archive => &routes::ARCHIVE_EVENT,
            EventTurn::Unarchive => &routes::UNARCHIVE_EVENT,
        }
    }
}

pub fn turn_event(id: i64, turn: EventTurn) -> ApiCall<Single<SaleView>> {
    ApiCall::new(turn.route(), &[&id])
}

/// Who has which seat.
pub fn admin_reservations(event: i64, after: Option<&str>) -> ApiCall<ListPage<AdminReservationView>> {
    page(ApiCall::new(&routes::ADMIN_RESERVATIONS, &[&event]), after)
}

pub fn admin_cancel(reservation: &str, reason: Option<&str>) -> ApiCall<DoneView> {
    because(ApiCall::new(&routes::ADMIN_CANCEL, &[&reservation]), reason)
}

pub fn create_room_type(form: &RoomTypeForm) -> ApiCall<Single<RoomTypeView>> {
    ApiCall::new(&routes::CREATE_ROOM_TYPE, &[]).body(json(form))
}

pub fn amend_room_type(id: i64, form: &RoomTypeForm) -> ApiCall<Single<RoomTypeView>> {
    ApiCall::new(&routes::AMEND_ROOM_TYPE, &[&id]).body(json(form))
}

pub fn audit() -> ApiCall<AuditView> {
    ApiCall::new(&routes::AUDIT, &[])
}

pub fn tokens() -> ApiCall<ListPage<TokenView>> {
    ApiCall::new(&routes::TOKENS, &[])
}

pub fn create_token(form: &TokenForm) -> ApiCall<NewTokenView> {
    ApiCall::new(&routes::CREATE_TOKEN, &[]).body(json(form))
}

pub fn rotate_token(name: &str, form: &RotationForm) -> ApiCall<NewTokenView> {
    ApiCall::new(&routes::ROTATE_TOKEN, &[&name]).body(json(form))
}

pub fn end_replaced_token(name: &str) -> ApiCall<DoneView> {
    ApiCall::new(&routes::END_REPLACED_TOKEN, &[&name])
}

pub fn revoke_token(name: &str) -> ApiCall<DoneView> {
    ApiCall::new(&routes::REVOKE_TOKEN, &[&name])
}
