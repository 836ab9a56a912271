//! The calls. Give them a user ([`Call::by`]) or a token ([`Call::bearer`]), and where it matters a key.

use serde::Serialize;
use serde_json::Value;

use super::Call;
use super::answers::{
    AdminReservationView, AuditView, ConfirmedHold, DoneView, EventView, HoldView, LineEntry, LineStanding, ListPage,
    NewTokenView, NightsView, ReservationView, ReservedSeat, RoomTypeView, Single, TokenView,
};
use super::forms::{BuyerForm, CancellationForm, EventForm, HoldForm, RoomTypeForm, RotationForm, TokenForm};
use super::routes::{self, ApiRoute};

/// A form is text, numbers and lists of them: it can always be written.
fn json(form: &impl Serialize) -> String {
    serde_json::to_string(form).unwrap_or_default()
}

/// Rows of a page at most.
const PAGE: &str = "1000";

fn page<T>(call: Call<ListPage<T>>, after: Option<&str>) -> Call<ListPage<T>> {
    let call = call.query("limit", PAGE);
    match after {
        Some(after) => call.query("after", after),
        None => call,
    }
}

pub fn events(after: Option<&str>) -> Call<ListPage<EventView>> {
    page(Call::new(&routes::EVENTS, &[]), after)
}

pub fn event(id: i64) -> Call<Single<EventView>> {
    Call::new(&routes::EVENT, &[&id])
}

pub fn layout(event: i64) -> Call<Single<Value>> {
    Call::new(&routes::LAYOUT, &[&event])
}

/// The lowest free seat, first come, first served.
pub fn reserve(event: i64, buyer: &BuyerForm) -> Call<ReservedSeat> {
    Call::new(&routes::RESERVE, &[&event]).body(json(buyer))
}

/// This seat and no other.
pub fn reserve_seat(event: i64, seat: u32, buyer: &BuyerForm) -> Call<ReservedSeat> {
    Call::new(&routes::RESERVE_SEAT, &[&event, &seat]).body(json(buyer))
}

pub fn join(event: i64) -> Call<LineStanding> {
    Call::new(&routes::JOIN, &[&event])
}

pub fn poll(event: i64) -> Call<LineStanding> {
    Call::new(&routes::POLL, &[&event])
}

pub fn leave(event: i64) -> Call<DoneView> {
    Call::new(&routes::LEAVE, &[&event])
}

pub fn enter(event: i64) -> Call<LineEntry> {
    Call::new(&routes::ENTER, &[&event])
}

pub fn reservations(after: Option<&str>) -> Call<ListPage<ReservationView>> {
    page(Call::new(&routes::RESERVATIONS, &[]), after)
}

pub fn reservation(id: &str) -> Call<Single<ReservationView>> {
    Call::new(&routes::RESERVATION, &[&id])
}

/// Without a reason no body is sent.
fn because<T>(call: Call<T>, reason: Option<&str>) -> Call<T> {
    match reason {
        Some(reason) => call.body(json(&CancellationForm { reason: Some(reason.into()) })),
        None => call,
    }
}

pub fn cancel(reservation: &str, reason: Option<&str>) -> Call<DoneView> {
    because(Call::new(&routes::CANCEL, &[&reservation]), reason)
}

pub fn room_types(after: Option<&str>) -> Call<ListPage<RoomTypeView>> {
    page(Call::new(&routes::ROOM_TYPES, &[]), after)
}

pub fn room_type(id: i64) -> Call<Single<RoomTypeView>> {
    Call::new(&routes::ROOM_TYPE, &[&id])
}

pub fn availability(room_type: i64, check_in: &str, check_out: &str) -> Call<NightsView> {
    Call::new(&routes::AVAILABILITY, &[&room_type]).query("checkIn", check_in).query("checkOut", check_out)
}

/// The nights of a month such as `2026-12`.
pub fn calendar(room_type: i64, month: &str) -> Call<NightsView> {
    Call::new(&routes::CALENDAR, &[&room_type]).query("month", month)
}

pub fn holds(after: Option<&str>) -> Call<ListPage<HoldView>> {
    page(Call::new(&routes::HOLDS, &[]), after)
}

pub fn hold(form: &HoldForm) -> Call<Single<HoldView>> {
    Call::new(&routes::HOLD, &[]).body(json(form))
}

pub fn one_hold(id: &str) -> Call<Single<HoldView>> {
    Call::new(&routes::ONE_HOLD, &[&id])
}

pub fn confirm(hold: &str) -> Call<ConfirmedHold> {
    Call::new(&routes::CONFIRM, &[&hold])
}

pub fn extend(hold: &str) -> Call<Single<HoldView>> {
    Call::new(&routes::EXTEND, &[&hold])
}

/// Gives a hold back.
pub fn give_back(hold: &str, reason: Option<&str>) -> Call<DoneView> {
    because(Call::new(&routes::GIVE_BACK, &[&hold]), reason)
}

pub fn admin_events(archived: bool, after: Option<&str>) -> Call<ListPage<EventView>> {
    page(Call::new(&routes::ADMIN_EVENTS, &[]).query("archived", if archived { "true" } else { "false" }), after)
}

pub fn create_event(form: &EventForm) -> Call<Single<EventView>> {
    Call::new(&routes::CREATE_EVENT, &[]).body(json(form))
}

pub fn amend_event(id: i64, form: &EventForm) -> Call<Single<EventView>> {
    Call::new(&routes::AMEND_EVENT, &[&id]).body(json(form))
}

/// With what it sold, if it is a rehearsal.
pub fn delete_event(id: i64, sold: bool) -> Call<Single<EventView>> {
    let call = Call::new(&routes::DELETE_EVENT, &[&id]);
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

pub fn turn_event(id: i64, turn: EventTurn) -> Call<Single<EventView>> {
    Call::new(turn.route(), &[&id])
}

/// Who has which seat.
pub fn admin_reservations(event: i64, after: Option<&str>) -> Call<ListPage<AdminReservationView>> {
    page(Call::new(&routes::ADMIN_RESERVATIONS, &[&event]), after)
}

pub fn admin_cancel(reservation: &str, reason: Option<&str>) -> Call<DoneView> {
    because(Call::new(&routes::ADMIN_CANCEL, &[&reservation]), reason)
}

pub fn create_room_type(form: &RoomTypeForm) -> Call<Single<RoomTypeView>> {
    Call::new(&routes::CREATE_ROOM_TYPE, &[]).body(json(form))
}

pub fn amend_room_type(id: i64, form: &RoomTypeForm) -> Call<Single<RoomTypeView>> {
    Call::new(&routes::AMEND_ROOM_TYPE, &[&id]).body(json(form))
}

pub fn audit() -> Call<AuditView> {
    Call::new(&routes::AUDIT, &[])
}

pub fn tokens() -> Call<ListPage<TokenView>> {
    Call::new(&routes::TOKENS, &[])
}

pub fn create_token(form: &TokenForm) -> Call<NewTokenView> {
    Call::new(&routes::CREATE_TOKEN, &[]).body(json(form))
}

pub fn rotate_token(name: &str, form: &RotationForm) -> Call<NewTokenView> {
    Call::new(&routes::ROTATE_TOKEN, &[&name]).body(json(form))
}

pub fn end_replaced_token(name: &str) -> Call<DoneView> {
    Call::new(&routes::END_REPLACED_TOKEN, &[&name])
}

pub fn revoke_token(name: &str) -> Call<DoneView> {
    Call::new(&routes::REVOKE_TOKEN, &[&name])
}
