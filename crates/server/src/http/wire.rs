//! The shapes of answers, as the contract writes them.

pub mod stays;

use jiff::Timestamp;
use rules::entries::WaitingRoom;
use rules::event::Event;
use rules::ids::{ReservationId, Seat};
use rules::seats::Hall;
use rules::time::Moment;
use serde::Serialize;
use stores::ledger::Reservation;

use crate::board::SeatState;

#[derive(Serialize)]
pub struct SeatBody {
    pub id: u32,
    pub name: String,
    /// It cannot be taken.
    pub status: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
}

impl SeatBody {
    pub fn sold(hall: &Hall, seat: Seat) -> SeatBody {
        SeatBody { id: seat.0, name: hall.seat_name(seat), status: true, state: None }
    }

    pub fn with_state(hall: &Hall, seat: Seat, state: SeatState) -> SeatBody {
        SeatBody { id: seat.0, name: hall.seat_name(seat), status: state.taken(), state: Some(state.as_str()) }
    }
}

/// A seat in dialect 1.0.
#[derive(Serialize)]
pub struct BareSeatBody {
    pub id: u32,
    pub status: bool,
}

impl BareSeatBody {
    pub fn of(seat: Seat, state: SeatState) -> BareSeatBody {
        BareSeatBody { id: seat.0, status: state.taken() }
    }
}

/// Where the seats of an event are: for a map, without a word on who has them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LayoutBody {
    pub seat_count: u32,
    pub sections: Vec<SectionBody>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SectionBody {
    /// A plain count has one section, without a name.
    pub name: Option<String>,
    pub first_seat: u32,
    pub seat_count: u32,
    pub rows: Vec<RowBody>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowBody {
    pub name: String,
    pub first_seat: u32,
    pub seats: u32,
}

impl LayoutBody {
    pub fn of(hall: &Hall) -> LayoutBody {
        let mut next = 1;
        let mut section = |name: Option<String>, rows: &mut dyn Iterator<Item = (String, u32)>| {
            let first_seat = next;
            let rows = rows.map(|(name, seats)| {
                let row = RowBody { name, first_seat: next, seats };
                next += seats;
                row
            });
            let rows = rows.collect();
            SectionBody { name, first_seat, seat_count: next - first_seat, rows }
        };
        let sections = match hall.sections() {
            None => vec![section(None, &mut std::iter::once(("A".to_owned(), hall.seat_count())))],
            Some(sections) => sections
                .iter()
                .map(|s| section(Some(s.name.to_string()), &mut s.rows.iter().map(|r| (r.name.to_string(), r.seats))))
                .collect(),
        };
        LayoutBody { seat_count: hall.seat_count(), sections }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventBody {
    pub id: i64,
    pub name: String,
    pub state: &'static str,
    pub opens_at: Option<String>,
    pub seat_count: u32,
    pub remaining_seats: u32,
    pub waiting_room: bool,
    pub waiting_room_settings: Option<RoomBody>,
    pub max_per_user: u32,
    /// Seconds; null: as everywhere.
    pub hold_ttl: Option<i64>,
}

/// The settings of a waiting room, in seconds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomBody {
    pub max_concurrent: u32,
    pub token_ttl: i64,
    pub token_max_age: i64,
    pub idle_timeout: i64,
}

impl RoomBody {
    pub fn of(room: &WaitingRoom) -> RoomBody {
        RoomBody {
            max_concurrent: room.max_concurrent,
            token_ttl: room.token_ttl_ms / 1000,
            token_max_age: room.token_max_age_ms / 1000,
            idle_timeout: room.idle_ms / 1000,
        }
    }
}

impl EventBody {
    pub fn of(event: &Event, now: Moment) -> EventBody {
        EventBody {
            id: event.id.0,
            name: event.name.to_string(),
            state: event.state_at(now).as_str(),
            opens_at: event.opens_at.map(moment),
            seat_count: event.seat_count(),
            remaining_seats: event.remaining(),
            waiting_room: event.waiting_room.is_some(),
            waiting_room_settings: event.waiting_room.as_ref().map(RoomBody::of),
            max_per_user: event.max_per_user,
            hold_ttl: event.hold_ttl_ms.map(|ms| ms / 1_000),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservationBody {
    pub reservation_id: String,
    pub event_id: i64,
    pub seat: SeatName,
    pub created_at: String,
    pub state: &'static str,
}

#[derive(Serialize)]
pub struct SeatName {
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
        }
    }
}

/// What the admin sees of a reservation: the only view with names and telephone numbers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdminReservationBody {
    #[serde(flatten)]
    pub reservation: ReservationBody,
    pub user_id: Option<String>,
    pub user_name: Option<String>,
    pub phone: Option<String>,
    pub sequence: Option<u64>,
}

impl AdminReservationBody {
    pub fn of(reservation: &Reservation, hall: &Hall) -> AdminReservationBody {
        let sale = &reservation.sale;
        AdminReservationBody {
            reservation: ReservationBody::of(reservation, hall),
            user_id: sale.owner.as_ref().map(|o| o.user.as_str().to_owned()),
            user_name: sale.buyer_name.as_deref().map(str::to_owned),
            phone: sale.phone.as_deref().map(str::to_owned),
            sequence: sale.number.map(|n| n.0),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservedBody {
    pub success: bool,
    pub seat: SeatBody,
    pub remaining_seats: u32,
    pub user_ttl_remaining: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    pub reservation_id: String,
}

impl ReservedBody {
    pub fn of(reserved: &rules::outcome::Reserved, hall: &Hall) -> ReservedBody {
        ReservedBody {
            success: true,
            seat: SeatBody::sold(hall, reserved.seat),
            remaining_seats: reserved.remaining,
            user_ttl_remaining: reserved.user_ttl_s,
            sequence: reserved.number.map(|n| n.0),
            reservation_id: id(reserved.reservation),
        }
    }
}

fn id(id: ReservationId) -> String {
    id.to_string()
}

/// RFC 3339 in UTC.
pub fn moment(at: Moment) -> String {
    Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// RFC 3339 with an offset, or none if there is no such moment.
pub fn read_moment(text: &str) -> Option<Moment> {
    text.parse::<Timestamp>().ok().map(|at| Moment(at.as_millisecond()))
}
