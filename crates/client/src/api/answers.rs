//! Bodies of answers. Fields that are added later are ignored.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One thing, under its own name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Single<T> {
    #[serde(
        alias = "event",
        alias = "reservation",
        alias = "hold",
        alias = "roomType",
        alias = "layout",
        alias = "token"
    )]
    pub item: T,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ListPage<T> {
    #[serde(
        alias = "events",
        alias = "reservations",
        alias = "holds",
        alias = "roomTypes",
        alias = "tokens",
        alias = "webhooks",
        alias = "deliveries"
    )]
    pub items: Vec<T>,
    /// `after` of the next page; none: this is the last one.
    #[serde(default)]
    pub next: Option<String>,
}

/// It was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct DoneView {
    pub success: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SaleView {
    pub id: i64,
    pub name: String,
    /// `scheduled`, `open`, `paused` or `closed`.
    pub state: String,
    pub opens_at: Option<String>,
    pub starts_at: Option<String>,
    pub time_zone: Option<String>,
    pub place: Option<String>,
    pub seat_count: u32,
    pub remaining_seats: u32,
    /// Everybody sees whether there is one, its operator the settings.
    pub waiting_room: Value,
    pub waiting_room_settings: Option<Value>,
    pub max_per_user: u32,
    pub hold_ttl: Option<i64>,
    pub buyer_fields: BuyerFieldsView,
    pub price: Option<PriceView>,
    /// Only its operator sees these two.
    #[serde(default)]
    pub rehearsal: bool,
    #[serde(default)]
    pub archived_at: Option<String>,
    /// Only where every seat is sold.
    #[serde(default)]
    pub sold_out: Option<SoldOutView>,
    /// Only where the order is drawn at the opening.
    #[serde(default)]
    pub draw_commitment: Option<String>,
    #[serde(default)]
    pub draw_seed: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SoldOutView {
    pub at: String,
    /// From the first sale to the last.
    pub seconds: f64,
}

impl SaleView {
    pub fn has_waiting_room(&self) -> bool {
        self.waiting_room == true || self.waiting_room.is_object()
    }
}

/// Each `required`, `optional` or `absent`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuyerFieldsView {
    pub user_name: String,
    pub phone: String,
    pub email: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceView {
    pub amount: String,
    pub currency: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SeatView {
    pub id: u32,
    pub name: String,
}

/// A seat was given.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservedSeat {
    pub seat: SeatView,
    pub remaining_seats: u32,
    pub user_ttl_remaining: Option<u64>,
    /// The arrival number.
    #[serde(default)]
    pub sequence: Option<u64>,
    pub reservation_id: String,
}

/// A seat or a stay.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservationView {
    pub reservation_id: String,
    pub state: String,
    pub created_at: String,
    #[serde(flatten)]
    pub of: ReservedStock,
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
    /// The arrival number. Stays, and seats that were held first, have none.
    #[serde(default)]
    pub sequence: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ReservedStock {
    #[serde(rename_all = "camelCase")]
    Seat { event_id: i64, seat: SeatView },
    #[serde(rename_all = "camelCase")]
    Stay { room_type_id: i64, check_in: String, check_out: String },
}

/// A reservation as its operator sees it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdminReservationView {
    #[serde(flatten)]
    pub reservation: ReservationView,
    pub public_id: String,
    pub user_id: Option<String>,
    pub user_name: Option<String>,
    pub phone: Option<String>,
    pub email: Option<String>,
    pub sequence: Option<u64>,
}

/// What a hold became.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ConfirmedHold {
    pub reservation: ReservationView,
    /// All of them, where there is more than one.
    #[serde(default)]
    pub reservations: Vec<ReservationView>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldView {
    pub hold_id: String,
    #[serde(flatten)]
    pub on: super::forms::HeldStock,
    pub user_id: String,
    pub client_hold_key: String,
    pub created_at: String,
    pub expires_at: String,
    /// `held`, `confirmed`, `cancelled` or `expired`.
    pub state: String,
    pub seconds_remaining: u64,
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
    #[serde(default)]
    pub reason: Option<String>,
}

/// How somebody stands in a line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineStanding {
    /// `waiting`, `ready`, `entered`, `sold_out` and so on.
    pub status: String,
    #[serde(default)]
    pub number: Option<u64>,
    #[serde(default)]
    pub ahead_count: Option<u64>,
    /// Seconds until it is one's turn, if that is known.
    #[serde(default)]
    pub estimated_wait: Option<u64>,
    /// Seconds until the next poll.
    #[serde(default)]
    pub poll_after: Option<u64>,
    #[serde(default)]
    pub ticket: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineEntry {
    pub token: String,
    /// Seconds.
    pub expires_in: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomTypeView {
    pub id: i64,
    pub name: String,
    pub total_quantity: u32,
    pub time_zone: String,
    pub description: Option<String>,
    pub price: Option<serde_json::Number>,
    #[serde(default)]
    pub currency: Option<String>,
}

/// What is left on some nights.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NightsView {
    pub room_type_id: i64,
    /// The least of the nights, where a stay was asked about.
    #[serde(default)]
    pub available: Option<u32>,
    pub nights: Vec<NightView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NightView {
    pub date: String,
    pub total: u32,
    pub reserved: u32,
    pub held: u32,
    pub available: u32,
}

/// The invariants of the ledger, checked now.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AuditView {
    pub holds: bool,
    pub invariants: Vec<InvariantView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct InvariantView {
    pub name: String,
    pub holds: bool,
    pub broken: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TokenView {
    pub name: String,
    pub role: String,
    pub live: bool,
}

/// The only answer that shows the token itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NewTokenView {
    pub token: TokenView,
    pub secret: String,
}

/// A refusal, with what is known beside its reason.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalView {
    pub reason: String,
    pub message: String,
    pub trace_id: String,
    /// The field, header or parameter that is wrong.
    #[serde(default)]
    pub field: Option<String>,
    /// The arrival number, where the request got one.
    #[serde(default)]
    pub sequence: Option<u64>,
    /// Whatever else it says: `seat`, `seatIds`, `opensAt` and so on.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}
