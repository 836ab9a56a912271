//! A refusal in dialect 1.1, and the facts beside it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::stays::AnyReservationBody;
use super::{Failed, SoldSeatBody};

/// Why it was refused, and what is known beside the reason.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Refusal")]
#[serde(rename_all = "camelCase")]
pub struct RefusalBody<'a> {
    pub success: Failed,
    pub reason: &'static str,
    /// For people, in the language that `Accept-Language` prefers: English or Korean.
    pub message: Cow<'static, str>,
    pub trace_id: &'a str,
    #[serde(flatten)]
    pub facts: Facts,
}

/// What is known beside the reason. Also the `meta` of dialect 2025-08-17.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// Seconds, as in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required, range(min = 1))]
    pub retry_after: Option<u64>,
    /// The arrival number of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub sequence: Option<u64>,
    /// What is wrong, by its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub scope: Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SoldSeatBody")]
    pub seat: Option<SoldSeatBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_ttl_remaining: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AnyReservationBody")]
    pub reservation: Option<AnyReservationBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub reservations: Option<Vec<AnyReservationBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required, extend("items" = { "type": "string", "format": "date" }))]
    pub nights: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub seat_ids: Option<Vec<u32>>,
    /// How many seats or holds were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub requested: Option<u32>,
    /// How many the user has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub current: Option<u32>,
    /// How many the user may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub limit: Option<u32>,
    /// Not fewer rooms than these.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub least_quantity: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub remaining_seats: Option<u32>,
}

/// What a `duplicate` is about: a request in flight, or the budget of an address.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    User,
    Ip,
}
