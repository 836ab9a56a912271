//! Bodies of requests. What is none is left out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answers::PriceView;

/// Who buys, and what the shop keeps with the order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BuyerForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// Nights of a room type, or seats of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldForm {
    #[serde(flatten)]
    pub on: HeldStock,
    /// A UUID or ULID: the same key again is the same hold.
    pub client_hold_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HeldStock {
    #[serde(rename_all = "camelCase")]
    Nights { room_type_id: i64, check_in: String, check_out: String },
    #[serde(rename_all = "camelCase")]
    Seats { event_id: i64, seat_ids: Vec<u32> },
}

/// A new event, or a change of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A count, or a hall of sections and rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seats: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_user: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<String>,
    /// When and where it takes place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_ttl: Option<u32>,
    /// `{"maxConcurrent":800,...}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_room: Option<Value>,
    /// `{"userName":"required","phone":"optional","email":"absent"}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buyer_fields: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceView>,
    /// It may be deleted with what it sold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<bool>,
}

/// A new room type, or a change of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoomTypeForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_quantity: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A number, in the currency below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<serde_json::Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// Why something is cancelled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancellationForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A new token of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenForm {
    pub name: String,
    pub role: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RotationForm {
    /// Seconds in which the old token is still accepted; none: as the server has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<i64>,
}
