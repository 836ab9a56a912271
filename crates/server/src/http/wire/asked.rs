//! What is sent to us. These bodies are read field by field (`http/json.rs`), so that what is wrong can
//! be named; nobody makes values of these types. They say what the readers accept, with the readers' own
//! bounds, and the fuzzer of the suite holds the readers to it.

use rules::buyer::EMAIL_CHARS;
use rules::entries::{ADMIT_PER_MINUTE_MOST, IDLE_TIMEOUT_S, INSIDE_MOST, QUEUE_MOST, TOKEN_MAX_AGE_S, TOKEN_TTL_S};
use rules::event::{EVENT_NAME_CHARS, HOLD_TTL_MOST_S, MAX_PER_USER, PLACE_CHARS, SEATS_PER_EVENT};
use rules::hall::{PLACE_NAME_CHARS, ROWS_MOST, SEATS_PER_ROW, SECTIONS_MOST};
use rules::room_type::{DESCRIPTION_CHARS, ROOM_NAME_CHARS, ROOMS_MOST};
use schemars::{JsonSchema, Schema};

use super::orders::{BuyerFieldsAsked, CURRENCY, MetadataBody, PriceAsked};
use crate::http::plumbing::json::PRICE_MOST;
use crate::http::resources::holds::SEATS_MOST;
use crate::http::resources::reservations::buyer::BUYER_NAME_CHARS;

/// Dialect 1.1.
#[derive(JsonSchema)]
#[schemars(rename = "Buyer", rename_all = "camelCase")]
pub struct BuyerBody {
    /// Printable characters of any script; no control characters.
    /// Required, unless the event's `buyerFields` say otherwise.
    #[schemars(length(max = BUYER_NAME_CHARS))]
    pub user_name: Option<String>,
    /// E.164, or a usual form of DEFAULT_REGION. Required, unless the event's `buyerFields` say otherwise.
    #[schemars(example = "010-1234-5678", example = "+821012345678")]
    pub phone: Option<String>,
    /// Stored where the event's `buyerFields` ask for it.
    #[schemars(length(max = EMAIL_CHARS), example = "alice@example.com")]
    pub email: Option<String>,
    pub metadata: Option<MetadataBody>,
}

/// Dialect 1.0.
#[derive(JsonSchema)]
pub struct Buyer10 {
    /// E.164, or a usual form of DEFAULT_REGION.
    #[schemars(example = "010-1234-5678", example = "+821012345678")]
    pub phone: String,
}

/// Dialect 2025-08-17: the phone may be left out, and so may the body.
#[derive(JsonSchema)]
pub struct Buyer20250817 {
    /// E.164, or a usual form of DEFAULT_REGION.
    #[schemars(example = "010-1234-5678", example = "+821012345678")]
    pub phone: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename = "NewEvent", rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEventBody {
    /// Printable characters of any script; no control characters.
    #[schemars(length(min = 1, max = EVENT_NAME_CHARS))]
    pub name: String,
    pub seats: SeatsAsked,
    #[schemars(range(min = 1, max = MAX_PER_USER))]
    pub max_per_user: Option<u32>,
    /// An RFC 3339 time in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub opens_at: Option<String>,
    /// When it takes place, for its buyers to read: an RFC 3339 time.
    #[schemars(extend("format" = "date-time"))]
    pub starts_at: Option<String>,
    /// The zone of the place, such as `Asia/Seoul`.
    pub time_zone: Option<String>,
    /// Printable characters of any script; no control characters.
    #[schemars(length(min = 1, max = PLACE_CHARS))]
    pub place: Option<String>,
    /// Seconds that a hold of its seats lasts, at most HOLD_MAX_AGE; null: HOLD_TTL.
    #[schemars(range(min = 1, max = HOLD_TTL_MOST_S))]
    pub hold_ttl: Option<u32>,
    pub waiting_room: Option<WaitingRoomAsked>,
    pub buyer_fields: Option<BuyerFieldsAsked>,
    pub price: Option<PriceAsked>,
    /// For a rehearsal: the event may be deleted with what it sold.
    pub rehearsal: Option<bool>,
}

/// What is absent stays as it is, also in a waiting room. Null takes an opening time, when and where it takes place, a
/// `holdTtl`, a waiting room or a price away, and buyer fields back to name and phone.
#[derive(JsonSchema)]
#[schemars(rename = "Amendment", rename_all = "camelCase", deny_unknown_fields)]
pub struct EventAmendmentBody {
    /// Printable characters of any script; no control characters.
    #[schemars(length(min = 1, max = EVENT_NAME_CHARS))]
    pub name: Option<String>,
    /// Seats are fixed when an event is made.
    pub seats: Option<()>,
    #[schemars(range(min = 1, max = MAX_PER_USER))]
    pub max_per_user: Option<u32>,
    /// An RFC 3339 time in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub opens_at: Option<String>,
    /// When it takes place, for its buyers to read: an RFC 3339 time.
    #[schemars(extend("format" = "date-time"))]
    pub starts_at: Option<String>,
    /// The zone of the place, such as `Asia/Seoul`.
    pub time_zone: Option<String>,
    /// Printable characters of any script; no control characters.
    #[schemars(length(min = 1, max = PLACE_CHARS))]
    pub place: Option<String>,
    /// Seconds that a hold of its seats lasts, at most HOLD_MAX_AGE; null: HOLD_TTL.
    #[schemars(range(min = 1, max = HOLD_TTL_MOST_S))]
    pub hold_ttl: Option<u32>,
    pub waiting_room: Option<WaitingRoomAsked>,
    pub buyer_fields: Option<BuyerFieldsAsked>,
    pub price: Option<PriceAsked>,
}

/// A count, or a hall of sections and rows.
#[derive(JsonSchema)]
#[schemars(inline, untagged, transform = one_of)]
pub enum SeatsAsked {
    Count(#[schemars(range(min = 0, max = SEATS_PER_EVENT))] u32),
    Hall(HallBody),
}

#[derive(JsonSchema)]
#[schemars(rename = "Hall", deny_unknown_fields)]
pub struct HallBody {
    #[schemars(length(min = 1, max = SECTIONS_MOST))]
    pub sections: Vec<HallSection>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HallSection {
    /// Printable characters of any script; no control characters.
    #[schemars(length(min = 1, max = PLACE_NAME_CHARS))]
    pub name: String,
    #[schemars(length(min = 1, max = ROWS_MOST))]
    pub rows: Vec<HallRowBody>,
}

#[derive(JsonSchema)]
#[schemars(rename = "HallRow", deny_unknown_fields)]
pub struct HallRowBody {
    /// Printable characters of any script; no control characters.
    #[schemars(length(min = 1, max = PLACE_NAME_CHARS))]
    pub name: String,
    #[schemars(range(min = 1, max = SEATS_PER_ROW))]
    pub seats: u32,
    /// Places in this row, counted from 1, that a wheelchair can reach. Pages mark them.
    #[schemars(inner(range(min = 1, max = SEATS_PER_ROW)), extend("uniqueItems" = true))]
    pub accessible: Option<Vec<u32>>,
}

/// In seconds. Every field has a default; an object that names none has all of them.
#[derive(JsonSchema)]
#[schemars(rename = "WaitingRoom", rename_all = "camelCase", deny_unknown_fields)]
pub struct WaitingRoomAsked {
    #[schemars(range(min = 1, max = INSIDE_MOST))]
    pub max_concurrent: Option<u32>,
    #[schemars(range(min = TOKEN_TTL_S.0, max = TOKEN_TTL_S.1))]
    pub token_ttl: Option<u32>,
    /// At least `tokenTtl`.
    #[schemars(range(min = TOKEN_MAX_AGE_S.0, max = TOKEN_MAX_AGE_S.1))]
    pub token_max_age: Option<u32>,
    #[schemars(range(min = IDLE_TIMEOUT_S.0, max = IDLE_TIMEOUT_S.1))]
    pub idle_timeout: Option<u32>,
    /// Users with a place in the line at most; beyond it `queue_full`.
    #[schemars(range(min = 1, max = QUEUE_MOST))]
    pub queue_most: Option<u32>,
    /// From when on users gather; the order of those who did is drawn at the opening. Before `opensAt`, and fixed once
    /// the gathering has begun; null: no draw.
    #[schemars(extend("format" = "date-time"))]
    pub gather_from: Option<String>,
    /// Users let in per minute at most; null: no limit.
    #[schemars(range(min = 1, max = ADMIT_PER_MINUTE_MOST))]
    pub admit_per_minute: Option<u32>,
}

/// Nights of a room type, or seats of an event.
#[derive(JsonSchema)]
#[schemars(rename = "NewHold", untagged, transform = one_of)]
pub enum NewHoldBody {
    #[schemars(rename_all = "camelCase")]
    Nights {
        #[schemars(range(min = 1, max = i64::MAX))]
        room_type_id: i64,
        /// A date of the property's own calendar.
        #[schemars(extend("format" = "date"))]
        check_in: String,
        /// A date of the property's own calendar.
        #[schemars(extend("format" = "date"))]
        check_out: String,
        /// The client's own name for the hold: a random UUID or ULID.
        #[schemars(regex(pattern = HOLD_KEY))]
        client_hold_key: String,
        metadata: Option<MetadataBody>,
    },
    #[schemars(rename_all = "camelCase")]
    Seats {
        #[schemars(range(min = 1, max = i64::MAX))]
        event_id: i64,
        #[schemars(length(min = 1, max = SEATS_MOST), inner(range(min = 1, max = u32::MAX)))]
        #[schemars(extend("uniqueItems" = true))]
        seat_ids: Vec<u32>,
        /// The client's own name for the hold: a random UUID or ULID.
        #[schemars(regex(pattern = HOLD_KEY))]
        client_hold_key: String,
        metadata: Option<MetadataBody>,
    },
}

/// As `rules::holds::is_hold_key`.
const HOLD_KEY: &str =
    "^([0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25})$";

#[derive(JsonSchema)]
#[schemars(rename = "NewRoomType", rename_all = "camelCase", deny_unknown_fields)]
pub struct NewRoomTypeBody {
    /// Printable characters of any script; no control characters.
    #[schemars(length(min = 1, max = ROOM_NAME_CHARS))]
    pub name: String,
    #[schemars(range(min = 0, max = ROOMS_MOST))]
    pub total_quantity: u32,
    /// An IANA time zone.
    #[schemars(example = "Asia/Seoul")]
    pub time_zone: Option<String>,
    #[schemars(length(max = DESCRIPTION_CHARS))]
    pub description: Option<String>,
    #[schemars(range(min = 0, max = PRICE_MOST as i64))]
    pub price: Option<f64>,
    /// A code of ISO 4217.
    #[schemars(regex(pattern = CURRENCY), example = &"KRW")]
    pub currency: Option<String>,
}

/// What is absent stays as it is, also in a waiting room. Null takes description, price or currency away.
#[derive(JsonSchema)]
#[schemars(rename = "RoomTypeAmendment", rename_all = "camelCase", deny_unknown_fields)]
pub struct RoomTypeAmendmentBody {
    /// Printable characters of any script; no control characters.
    #[schemars(length(min = 1, max = ROOM_NAME_CHARS))]
    pub name: Option<String>,
    #[schemars(range(min = 0, max = ROOMS_MOST))]
    pub total_quantity: Option<u32>,
    /// An IANA time zone.
    #[schemars(example = "Asia/Seoul")]
    pub time_zone: Option<String>,
    #[schemars(length(max = DESCRIPTION_CHARS))]
    pub description: Option<String>,
    #[schemars(range(min = 0, max = PRICE_MOST as i64))]
    pub price: Option<f64>,
    /// A code of ISO 4217.
    #[schemars(regex(pattern = CURRENCY), example = &"KRW")]
    pub currency: Option<String>,
}

/// What fits two of the shapes is refused.
fn one_of(schema: &mut Schema) {
    if let Some(shapes) = schema.remove("anyOf") {
        schema.insert("oneOf".into(), shapes);
    }
}
