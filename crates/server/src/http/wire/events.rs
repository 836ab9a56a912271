//! Events, as everybody sees them.

use rules::entries::WaitingRoom;
use rules::event::{Event, SaleTimes, State};
use rules::time::Moment;
use schemars::JsonSchema;
use serde::Serialize;

use super::moment;
use super::orders::{BuyerFieldsBody, PriceBody};
use crate::line::Draw;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Event")]
#[serde(rename_all = "camelCase")]
pub struct EventBody {
    #[schemars(range(min = 1))]
    pub id: i64,
    pub name: String,
    #[schemars(extend("enum" = State::ALL.map(State::as_str)))]
    pub state: &'static str,
    pub opens_at: Option<String>,
    /// When it takes place.
    #[schemars(extend("format" = "date-time"))]
    pub starts_at: Option<String>,
    /// The zone of the place, such as `Asia/Seoul`.
    pub time_zone: Option<String>,
    pub place: Option<String>,
    pub seat_count: u32,
    pub remaining_seats: u32,
    pub waiting_room: bool,
    pub waiting_room_settings: Option<WaitingRoomBody>,
    #[schemars(range(min = 1))]
    pub max_per_user: u32,
    /// Seconds that a hold of its seats lasts; null: `HOLD_TTL`.
    pub hold_ttl: Option<i64>,
    pub buyer_fields: BuyerFieldsBody,
    pub price: Option<PriceBody>,
    /// Only where every seat is sold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SoldOutBody")]
    pub sold_out: Option<SoldOutBody>,
    /// Only where the order is drawn at the opening, or was: SHA-256 of the seed, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{64}$"))]
    pub draw_commitment: Option<String>,
    /// The seed of that draw, from five seconds after the opening on. The number of a user who gathered is
    /// 1,000,000,000,000,000 and the first 13 hexadecimal digits of HMAC-SHA256(seed, `<eventId>:<user>`); the lowest
    /// number comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{64}$"))]
    pub draw_seed: Option<String>,
}

#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "SoldOut")]
pub struct SoldOutBody {
    /// When the last seat was sold.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// Seconds from the first sale to the last.
    #[schemars(range(min = 0))]
    pub seconds: f64,
}

impl SoldOutBody {
    fn of(times: SaleTimes) -> Option<SoldOutBody> {
        let (at, ms) = times.sold_out_after_ms()?;
        Some(SoldOutBody { at: moment(at), seconds: ms as f64 / 1_000.0 })
    }
}

/// An event as its operator sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdminEvent")]
#[serde(rename_all = "camelCase")]
pub struct AdminEventBody {
    #[schemars(range(min = 1))]
    pub id: i64,
    pub name: String,
    #[schemars(extend("enum" = State::ALL.map(State::as_str)))]
    pub state: &'static str,
    pub opens_at: Option<String>,
    /// When it takes place.
    #[schemars(extend("format" = "date-time"))]
    pub starts_at: Option<String>,
    /// The zone of the place, such as `Asia/Seoul`.
    pub time_zone: Option<String>,
    pub place: Option<String>,
    pub seat_count: u32,
    pub remaining_seats: u32,
    /// As it was sent, with the defaults; null: none.
    pub waiting_room: Option<WaitingRoomBody>,
    pub waiting_room_settings: Option<WaitingRoomBody>,
    #[schemars(range(min = 1))]
    pub max_per_user: u32,
    /// Seconds that a hold of its seats lasts; null: `HOLD_TTL`.
    pub hold_ttl: Option<i64>,
    pub buyer_fields: BuyerFieldsBody,
    pub price: Option<PriceBody>,
    /// It may be deleted with what it sold.
    pub rehearsal: bool,
    /// Since when it is not listed; null: it is.
    pub archived_at: Option<String>,
    /// Only where every seat is sold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SoldOutBody")]
    pub sold_out: Option<SoldOutBody>,
}

/// The settings of a waiting room, in seconds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WaitingRoomSettings")]
#[serde(rename_all = "camelCase")]
pub struct WaitingRoomBody {
    pub max_concurrent: u32,
    pub token_ttl: i64,
    pub token_max_age: i64,
    pub idle_timeout: i64,
    /// Users with a place in the line at most.
    pub queue_most: u32,
    /// From when on users gather, to be drawn at the opening; null: no draw.
    #[schemars(extend("format" = "date-time"))]
    pub gather_from: Option<String>,
    /// Users let in per minute at most; null: no limit.
    pub admit_per_minute: Option<u32>,
}

impl WaitingRoomBody {
    pub fn of(room: &WaitingRoom) -> WaitingRoomBody {
        WaitingRoomBody {
            max_concurrent: room.max_concurrent,
            token_ttl: room.token_ttl_ms / 1000,
            token_max_age: room.token_max_age_ms / 1000,
            idle_timeout: room.idle_ms / 1000,
            queue_most: room.queue_most,
            gather_from: room.gather_from.map(moment),
            admit_per_minute: room.admit_per_minute,
        }
    }
}

impl AdminEventBody {
    pub fn of(event: &Event, wall: Moment) -> AdminEventBody {
        let shown = EventBody::of(event, wall);
        let EventBody {
            id,
            name,
            state,
            opens_at,
            starts_at,
            time_zone,
            place,
            seat_count,
            remaining_seats,
            max_per_user,
            hold_ttl,
            ..
        } = shown;
        let room = || event.waiting_room.as_ref().map(WaitingRoomBody::of);
        AdminEventBody {
            id,
            name,
            state,
            opens_at,
            starts_at,
            time_zone,
            place,
            seat_count,
            remaining_seats,
            waiting_room: room(),
            waiting_room_settings: room(),
            max_per_user,
            hold_ttl,
            buyer_fields: shown.buyer_fields,
            price: shown.price,
            rehearsal: event.rehearsal,
            archived_at: event.archived_at.map(moment),
            sold_out: shown.sold_out,
        }
    }
}

impl EventBody {
    pub fn of(event: &Event, wall: Moment) -> EventBody {
        EventBody {
            id: event.id.0,
            name: event.name.to_string(),
            state: event.state_at(wall).as_str(),
            opens_at: event.opens_at.map(moment),
            starts_at: event.occasion.starts_at.map(moment),
            time_zone: event.occasion.time_zone.as_deref().map(str::to_owned),
            place: event.occasion.place.as_deref().map(str::to_owned),
            seat_count: event.seat_count(),
            remaining_seats: event.remaining(),
            waiting_room: event.waiting_room.is_some(),
            waiting_room_settings: event.waiting_room.as_ref().map(WaitingRoomBody::of),
            max_per_user: event.max_per_user,
            hold_ttl: event.hold_ttl_ms.map(|ms| ms / 1_000),
            buyer_fields: BuyerFieldsBody::of(event.buyer_fields),
            price: PriceBody::of(event),
            // A server of the version before this column gives seats back without clearing it.
            sold_out: SoldOutBody::of(event.times).filter(|_| event.counts.sold == event.seat_count()),
            draw_commitment: None,
            draw_seed: None,
        }
    }

    /// With what everybody may know of its draw.
    pub fn with_draw(self, draw: &Draw, over: bool) -> EventBody {
        EventBody { draw_commitment: Some(draw.commitment()), draw_seed: over.then(|| draw.seed()), ..self }
    }
}
