//! What a request that succeeded gets: `success` and what it asked for. Lists come in pages.

use rules::event::Event;
use rules::room_type::RoomType;
use rules::time::Moment;
use schemars::JsonSchema;
use serde::Serialize;

use super::stays::{AdminStayBody, AnyReservationBody, HoldBody, RoomTypeBody, SeedHoldBody};
use super::{AdminEventBody, AdminReservationBody, EventBody, LayoutBody, SeatBody, Succeeded};

/// It was done.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Success")]
pub struct SuccessBody {
    pub success: Succeeded,
}

#[derive(Serialize, JsonSchema)]
pub struct EventAnswer {
    pub success: Succeeded,
    pub event: EventBody,
}

#[derive(Serialize, JsonSchema)]
pub struct EventsAnswer {
    pub success: Succeeded,
    pub events: Vec<EventBody>,
    /// `after` of the next page; null: this is the last one.
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminEventAnswer {
    pub success: Succeeded,
    pub event: AdminEventBody,
}

impl AdminEventAnswer {
    pub fn of(event: &Event, now: Moment) -> AdminEventAnswer {
        AdminEventAnswer { success: Succeeded, event: AdminEventBody::of(event, now) }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct AdminEventsAnswer {
    pub success: Succeeded,
    pub events: Vec<AdminEventBody>,
    /// `after` of the next page; null: this is the last one.
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct LayoutAnswer {
    pub success: Succeeded,
    pub layout: LayoutBody,
}

#[derive(Serialize, JsonSchema)]
pub struct SeatAnswer {
    pub success: Succeeded,
    pub seat: SeatBody,
}

// Written page by page in `board`, never as one value.
#[derive(Serialize, JsonSchema)]
pub struct SeatsAnswer {
    pub success: Succeeded,
    pub seats: Vec<SeatBody>,
    /// `from` of the next page. Only in a page, and not in the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub struct ReservationAnswer {
    pub success: Succeeded,
    pub reservation: AnyReservationBody,
}

#[derive(Serialize, JsonSchema)]
pub struct ReservationsAnswer {
    pub success: Succeeded,
    pub reservations: Vec<AnyReservationBody>,
    /// `after` of the next page; null: this is the last one.
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminReservationsAnswer {
    pub success: Succeeded,
    pub reservations: Vec<AdminReservationBody>,
    /// `after` of the next page; null: this is the last one.
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminStaysAnswer {
    pub success: Succeeded,
    pub reservations: Vec<AdminStayBody>,
    /// `after` of the next page; null: this is the last one.
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomTypeAnswer {
    pub success: Succeeded,
    pub room_type: RoomTypeBody,
}

impl RoomTypeAnswer {
    pub fn of(room_type: &RoomType) -> RoomTypeAnswer {
        RoomTypeAnswer { success: Succeeded, room_type: RoomTypeBody::of(room_type) }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoomTypesAnswer {
    pub success: Succeeded,
    pub room_types: Vec<RoomTypeBody>,
    /// `after` of the next page; null: this is the last one.
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct HoldAnswer {
    pub success: Succeeded,
    pub hold: HoldBody,
}

#[derive(Serialize, JsonSchema)]
pub struct HoldsAnswer {
    pub success: Succeeded,
    pub holds: Vec<HoldBody>,
    /// `after` of the next page; null: this is the last one.
    pub next: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct SeedHoldAnswer {
    pub success: Succeeded,
    pub hold: SeedHoldBody,
}

#[derive(Serialize, JsonSchema)]
pub struct SeedHoldsAnswer {
    pub success: Succeeded,
    pub holds: Vec<SeedHoldBody>,
    /// `after` of the next page; null: this is the last one.
    pub next: Option<String>,
}

/// What a hold became.
#[derive(Serialize, JsonSchema)]
pub struct ConfirmedAnswer {
    pub success: Succeeded,
    pub reservation: AnyReservationBody,
    /// All of them, where seats were held and there is more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub reservations: Option<Vec<AnyReservationBody>>,
}

impl ConfirmedAnswer {
    /// None if the hold became nothing, which the rules never do.
    pub fn of(reservations: Vec<AnyReservationBody>) -> Option<ConfirmedAnswer> {
        let reservation = reservations.first()?.clone();
        let reservations = (reservations.len() > 1).then_some(reservations);
        Some(ConfirmedAnswer { success: Succeeded, reservation, reservations })
    }
}
