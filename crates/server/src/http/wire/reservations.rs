//! Reservations of seats.

use rules::outcome::Reserved;
use rules::seats::Hall;
use schemars::JsonSchema;
use serde::Serialize;
use stores::ledger::Reservation;

use super::orders::MetadataBody;
use super::{SoldSeatBody, Succeeded, moment};
use crate::public_ids::PublicIds;

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Reservation")]
#[serde(rename_all = "camelCase")]
pub struct ReservationBody {
    pub reservation_id: String,
    #[schemars(range(min = 1))]
    pub event_id: i64,
    pub seat: SeatName,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    #[schemars(extend("const" = "confirmed"))]
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MetadataBody")]
    pub metadata: Option<MetadataBody>,
    /// The arrival number of the request that got the seat. Seats that were held first have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1))]
    pub sequence: Option<u64>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeatName {
    #[schemars(range(min = 1))]
    pub id: u32,
    pub name: String,
}

impl ReservationBody {
    pub fn of(reservation: &Reservation, hall: &Hall) -> ReservationBody {
        let sale = &reservation.sale;
        ReservationBody {
            reservation_id: reservation.id().to_string(),
            event_id: reservation.event.0,
            seat: SeatName { id: sale.seat.0, name: hall.seat_name(sale.seat) },
            created_at: moment(sale.at),
            state: "confirmed",
            metadata: MetadataBody::of(sale.metadata.as_ref()),
            sequence: sale.number.map(|n| n.0),
        }
    }
}

/// What the admin sees of a reservation: the only view with names, telephone numbers and email addresses.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AdminReservation")]
#[serde(rename_all = "camelCase")]
pub struct AdminReservationBody {
    #[serde(flatten)]
    pub reservation: ReservationBody,
    /// The id that the buyer was given. Both ids are accepted everywhere.
    pub public_id: String,
    pub user_id: Option<String>,
    pub user_name: Option<String>,
    pub phone: Option<String>,
    pub email: Option<String>,
    pub sequence: Option<u64>,
}

impl AdminReservationBody {
    pub fn of(reservation: &Reservation, hall: &Hall, ids: &PublicIds) -> AdminReservationBody {
        let sale = &reservation.sale;
        AdminReservationBody {
            // Here it is always a field, and null where there is none.
            reservation: ReservationBody { sequence: None, ..ReservationBody::of(reservation, hall) },
            public_id: ids.of_seat(reservation.id()),
            user_id: sale.owner.as_ref().map(|o| o.user.as_str().to_owned()),
            user_name: sale.buyer_name.as_deref().map(str::to_owned),
            phone: sale.phone.as_deref().map(str::to_owned),
            email: sale.email.as_deref().map(str::to_owned),
            sequence: sale.number.map(|n| n.0),
        }
    }
}

/// A seat was given.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Reserved")]
#[serde(rename_all = "camelCase")]
pub struct ReservedBody {
    pub success: Succeeded,
    pub seat: SoldSeatBody,
    pub remaining_seats: u32,
    /// Seconds in which a repeated request is a `duplicate`; null: for ever.
    pub user_ttl_remaining: Option<u64>,
    /// The arrival number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required, range(min = 1))]
    pub sequence: Option<u64>,
    pub reservation_id: String,
}

impl ReservedBody {
    pub fn of(reserved: &Reserved, hall: &Hall, ids: &PublicIds) -> ReservedBody {
        ReservedBody {
            success: Succeeded,
            seat: SoldSeatBody::of(hall, reserved.seat),
            remaining_seats: reserved.remaining,
            user_ttl_remaining: reserved.user_ttl_s,
            sequence: reserved.number.map(|n| n.0),
            reservation_id: ids.of_seat(reserved.reservation),
        }
    }
}
