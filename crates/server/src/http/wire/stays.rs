//! Room types, nights, stays and holds.

use rules::holds::{Hold, HoldState, On};
use rules::ids::ReservationId;
use rules::nights::Night;
use rules::room_type::{NightRow, RoomType, Stay};
use rules::seats::Hall;
use rules::subject::{HoldId, StayId, SubjectId};
use rules::time::Moment;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;
use stores::ledger::rooms::Availability;

use super::orders::MetadataBody;
use super::{ReservationBody, SeatName, Succeeded, moment, seed_moment};
use crate::http::respond::Dialect;
use crate::public_ids::PublicIds;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RoomType")]
#[serde(rename_all = "camelCase")]
pub struct RoomTypeBody {
    #[schemars(range(min = 1))]
    pub id: i64,
    pub name: String,
    pub total_quantity: u32,
    pub time_zone: String,
    pub description: Option<String>,
    #[schemars(with = "Option<f64>")]
    pub price: Option<serde_json::Number>,
    /// Of the price: a code of ISO 4217.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub currency: Option<String>,
}

impl RoomTypeBody {
    pub fn of(room_type: &RoomType) -> RoomTypeBody {
        RoomTypeBody {
            id: room_type.id.0,
            name: room_type.name.to_string(),
            total_quantity: room_type.total,
            time_zone: room_type.time_zone.to_string(),
            description: room_type.description.as_deref().map(str::to_owned),
            price: room_type.price.as_deref().and_then(|price| price.parse().ok()),
            currency: room_type.currency.as_deref().map(str::to_owned),
        }
    }

    /// The fifth specification knows no currency.
    pub fn spoken(self, dialect: Dialect) -> RoomTypeBody {
        match dialect {
            Dialect::V1_1 => self,
            Dialect::V1_0 | Dialect::V2025_08_17 | Dialect::Seed004 => RoomTypeBody { currency: None, ..self },
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AvailabilityAnswer")]
#[serde(rename_all = "camelCase")]
pub struct AvailabilityBody {
    pub success: Succeeded,
    #[schemars(range(min = 1))]
    pub room_type_id: i64,
    /// The least of the nights.
    pub available: u32,
    pub nights: Vec<NightBody>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Night")]
pub struct NightBody {
    /// A date of the property's own calendar.
    #[schemars(extend("format" = "date"))]
    pub date: String,
    pub total: u32,
    pub reserved: u32,
    pub held: u32,
    pub available: u32,
}

impl NightBody {
    pub fn of(night: Night, row: NightRow) -> NightBody {
        let NightRow { total, reserved, held, .. } = row;
        NightBody { date: night.to_string(), total, reserved, held, available: row.free() }
    }
}

impl AvailabilityBody {
    pub fn of(found: &Availability) -> AvailabilityBody {
        let nights: Vec<NightBody> = found.nights.iter().map(|(night, row)| NightBody::of(*night, *row)).collect();
        AvailabilityBody {
            success: Succeeded,
            room_type_id: found.room_type.id.0,
            available: nights.iter().map(|night| night.available).min().unwrap_or(0),
            nights,
        }
    }
}

/// What is left on the nights of one month.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CalendarAnswer")]
#[serde(rename_all = "camelCase")]
pub struct CalendarBody {
    pub success: Succeeded,
    #[schemars(range(min = 1))]
    pub room_type_id: i64,
    #[schemars(regex(pattern = "^[0-9]{4}-[0-9]{2}$"))]
    pub month: String,
    /// Those that can still be sold: none in the property's past.
    pub nights: Vec<NightBody>,
}

impl CalendarBody {
    pub fn of(room_type: &RoomType, month: String, nights: &[(Night, NightRow)]) -> CalendarBody {
        let nights = nights.iter().map(|(night, row)| NightBody::of(*night, *row)).collect();
        CalendarBody { success: Succeeded, room_type_id: room_type.id.0, month, nights }
    }
}

/// What is held: the nights of a room type, or seats of an event.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub enum OnBody {
    #[serde(rename_all = "camelCase")]
    Nights {
        #[schemars(range(min = 1))]
        room_type_id: i64,
        #[schemars(extend("format" = "date"))]
        check_in: String,
        #[schemars(extend("format" = "date"))]
        check_out: String,
    },
    #[serde(rename_all = "camelCase")]
    Seats {
        #[schemars(range(min = 1))]
        event_id: i64,
        #[schemars(inner(range(min = 1)))]
        seat_ids: Vec<u32>,
    },
}

/// Puts the common fields into each variant: generators of clients do not combine `properties` with `anyOf`.
fn in_each_variant(schema: &mut Schema) {
    let (Some(Value::Object(common)), Some(Value::Array(required))) =
        (schema.remove("properties"), schema.remove("required"))
    else {
        return;
    };
    let Some(Value::Array(variants)) = schema.get_mut("anyOf") else { return };
    for variant in variants {
        if let Some(Value::Object(fields)) = variant.get_mut("properties") {
            fields.extend(common.clone());
        }
        if let Some(Value::Array(names)) = variant.get_mut("required") {
            names.extend(required.clone());
        }
    }
}

/// Nights of a room type, or seats of an event, that somebody holds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Hold", transform = in_each_variant)]
#[serde(rename_all = "camelCase")]
pub struct HoldBody {
    pub hold_id: String,
    /// For the operator: the id that the buyer was given. Both ids are accepted everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_id: Option<String>,
    #[serde(flatten)]
    pub on: OnBody,
    pub user_id: String,
    pub client_hold_key: String,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: String,
    #[schemars(extend("enum" = HoldBody::STATES.map(HoldState::as_str)))]
    pub state: &'static str,
    pub seconds_remaining: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MetadataBody")]
    pub metadata: Option<MetadataBody>,
    /// Why it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub reason: Option<String>,
}

/// A hold as the fifth specification writes it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SeedHold", transform = in_each_variant)]
#[serde(rename_all = "camelCase")]
pub struct SeedHoldBody {
    pub hold_id: String,
    #[serde(flatten)]
    pub on: OnBody,
    pub user_id: String,
    pub client_hold_key: String,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    #[schemars(extend("format" = "date-time"))]
    pub expired_at: String,
    #[schemars(extend("enum" = HoldBody::STATES.map(HoldState::as_str)))]
    pub state: &'static str,
    pub seconds_remaining: u64,
}

impl SeedHoldBody {
    pub fn of(hold: &Hold, now: Moment, ids: &PublicIds) -> SeedHoldBody {
        let shown = HoldBody::of(hold, now, ids);
        let HoldBody { hold_id, on, user_id, client_hold_key, state, seconds_remaining, .. } = shown;
        let (created_at, expired_at) = (seed_moment(hold.at), seed_moment(hold.ends_at));
        SeedHoldBody { hold_id, on, user_id, client_hold_key, created_at, expired_at, state, seconds_remaining }
    }
}

impl HoldBody {
    /// Those that are shown; a replaced hold is as if it had never been.
    const STATES: [HoldState; 4] = [HoldState::Held, HoldState::Confirmed, HoldState::Cancelled, HoldState::Expired];

    /// With the readable id, and beside it the one that the buyer knows.
    pub fn for_admin(hold: &Hold, now: Moment, ids: &PublicIds) -> HoldBody {
        let shown = HoldBody::of(hold, now, ids);
        HoldBody { hold_id: hold.id.to_string(), public_id: Some(shown.hold_id), ..shown }
    }

    pub fn of(hold: &Hold, now: Moment, ids: &PublicIds) -> HoldBody {
        let seconds = if hold.live(now) { now.seconds_until(hold.ends_at) } else { 0 };
        let on = match (&hold.on, hold.id.subject) {
            (On::Nights(dates), subject) => OnBody::Nights {
                room_type_id: subject.row().abs(),
                check_in: dates.check_in.to_string(),
                check_out: dates.check_out.to_string(),
            },
            (On::Seats(seats), subject) => {
                OnBody::Seats { event_id: subject.row(), seat_ids: seats.iter().map(|seat| seat.0).collect() }
            }
        };
        HoldBody {
            hold_id: ids.of_hold(hold.id),
            public_id: None,
            on,
            user_id: hold.owner.as_str().to_owned(),
            client_hold_key: hold.key.to_string(),
            created_at: moment(hold.at),
            expires_at: moment(hold.ends_at),
            state: hold.state_at(now).as_str(),
            seconds_remaining: seconds,
            metadata: MetadataBody::of(hold.metadata.as_ref()),
            reason: hold.reason.as_deref().map(str::to_owned),
        }
    }
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Stay")]
#[serde(rename_all = "camelCase")]
pub struct StayBody {
    pub reservation_id: String,
    #[schemars(range(min = 1))]
    pub room_type_id: i64,
    #[schemars(extend("format" = "date"))]
    pub check_in: String,
    #[schemars(extend("format" = "date"))]
    pub check_out: String,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    #[schemars(extend("const" = "confirmed"))]
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MetadataBody")]
    pub metadata: Option<MetadataBody>,
}

impl StayBody {
    pub fn of(stay: &Stay) -> StayBody {
        StayBody {
            reservation_id: stay.id.to_string(),
            room_type_id: stay.id.room_type.0,
            check_in: stay.dates.check_in.to_string(),
            check_out: stay.dates.check_out.to_string(),
            created_at: moment(stay.at),
            state: "confirmed",
            metadata: MetadataBody::of(stay.metadata.as_ref()),
        }
    }
}

/// What the admin sees of a stay.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdminStay")]
#[serde(rename_all = "camelCase")]
pub struct AdminStayBody {
    #[serde(flatten)]
    pub stay: StayBody,
    /// The id that the buyer was given. Both ids are accepted everywhere.
    pub public_id: String,
    pub user_id: String,
    /// The hold that it was.
    pub hold_id: String,
}

impl AdminStayBody {
    pub fn of(stay: &Stay, ids: &PublicIds) -> AdminStayBody {
        let hold = HoldId { subject: SubjectId::RoomType(stay.id.room_type), n: stay.hold };
        AdminStayBody {
            stay: StayBody::of(stay),
            public_id: ids.of_stay(stay.id),
            user_id: stay.owner.as_str().to_owned(),
            hold_id: hold.to_string(),
        }
    }
}

/// A seat or a stay.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "AnyReservation")]
#[serde(untagged)]
pub enum AnyReservationBody {
    Seat(ReservationBody),
    Stay(StayBody),
}

/// What a confirmed hold became: one stay, or a reservation per seat.
pub struct HoldReservations;

impl HoldReservations {
    /// With the ids that the buyer knows them by; none: the readable ones.
    pub fn of(hold: &Hold, hall: Option<&Hall>, ids: Option<&PublicIds>, dialect: Dialect) -> Vec<AnyReservationBody> {
        let moment = dialect.moment();
        let metadata = MetadataBody::of(hold.metadata.as_ref().filter(|_| dialect == Dialect::V1_1));
        let at = hold.ended_at.unwrap_or(hold.at);
        match (&hold.on, hold.id.subject) {
            (On::Nights(dates), SubjectId::RoomType(room_type)) => {
                let stays = hold.reserved.iter().map(|n| {
                    let (id, owner) = (StayId { room_type, n: *n }, hold.owner.clone());
                    let stay = Stay { id, owner, dates: *dates, hold: hold.id.n, at, metadata: None };
                    let reservation_id = ids.map_or_else(|| id.to_string(), |ids| ids.of_stay(id));
                    let (created_at, metadata) = (moment(at), metadata.clone());
                    AnyReservationBody::Stay(StayBody { reservation_id, created_at, metadata, ..StayBody::of(&stay) })
                });
                stays.collect()
            }
            (On::Seats(seats), SubjectId::Event(event)) => {
                let seats = seats.iter().zip(&hold.reserved).map(|(seat, n)| {
                    let id = ReservationId { event, n: *n };
                    AnyReservationBody::Seat(ReservationBody {
                        reservation_id: ids.map_or_else(|| id.to_string(), |ids| ids.of_seat(id)),
                        event_id: event.0,
                        seat: SeatName { id: seat.0, name: hall.map(|hall| hall.seat_name(*seat)).unwrap_or_default() },
                        created_at: moment(at),
                        state: "confirmed",
                        metadata: metadata.clone(),
                        sequence: None,
                    })
                });
                seats.collect()
            }
            _ => Vec::new(),
        }
    }
}
