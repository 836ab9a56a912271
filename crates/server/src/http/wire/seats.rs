//! Seats, and where they are.

use rules::ids::Seat;
use rules::seats::{Hall, HallRow};
use schemars::JsonSchema;
use serde::Serialize;

use crate::board::SeatState;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Seat")]
pub struct SeatBody {
    #[schemars(range(min = 1))]
    pub id: u32,
    pub name: String,
    /// It cannot be taken.
    pub status: bool,
    #[schemars(extend("enum" = [SeatState::Free, SeatState::Held, SeatState::Sold].map(SeatState::as_str)))]
    pub state: &'static str,
}

impl SeatBody {
    pub fn with_state(hall: &Hall, seat: Seat, state: SeatState) -> SeatBody {
        SeatBody { id: seat.0, name: hall.seat_name(seat), status: state.taken(), state: state.as_str() }
    }
}

/// A seat that somebody got.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SoldSeat")]
pub struct SoldSeatBody {
    #[schemars(range(min = 1))]
    pub id: u32,
    pub name: String,
    /// It cannot be taken.
    #[schemars(extend("const" = true))]
    pub status: bool,
}

impl SoldSeatBody {
    pub fn of(hall: &Hall, seat: Seat) -> SoldSeatBody {
        SoldSeatBody { id: seat.0, name: hall.seat_name(seat), status: true }
    }
}

/// A seat in dialect 1.0.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Seat10", deny_unknown_fields)]
pub struct BareSeatBody {
    #[schemars(range(min = 1))]
    pub id: u32,
    pub status: bool,
}

impl BareSeatBody {
    pub fn of(seat: Seat, state: SeatState) -> BareSeatBody {
        BareSeatBody { id: seat.0, status: state.taken() }
    }
}

/// Where the seats of an event are: for a map, without a word on who has them.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Layout")]
#[serde(rename_all = "camelCase")]
pub struct LayoutBody {
    pub seat_count: u32,
    pub sections: Vec<SectionBody>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LayoutSection")]
#[serde(rename_all = "camelCase")]
pub struct SectionBody {
    /// A plain count has one section, without a name.
    pub name: Option<String>,
    #[schemars(range(min = 1))]
    pub first_seat: u32,
    pub seat_count: u32,
    pub rows: Vec<RowBody>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LayoutRow")]
#[serde(rename_all = "camelCase")]
pub struct RowBody {
    pub name: String,
    #[schemars(range(min = 1))]
    pub first_seat: u32,
    pub seats: u32,
    /// Ids of seats that a wheelchair can reach; absent if none is known.
    #[schemars(inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accessible: Vec<u32>,
}

impl LayoutBody {
    pub fn of(hall: &Hall) -> LayoutBody {
        let mut next = 1;
        let mut section = |name: Option<String>, rows: &[HallRow]| {
            let first_seat = next;
            let rows = rows.iter().map(|row| {
                let accessible = row.accessible.iter().map(|place| next + place - 1).collect();
                let body = RowBody { name: row.name.to_string(), first_seat: next, seats: row.seats, accessible };
                next += row.seats;
                body
            });
            let rows = rows.collect();
            SectionBody { name, first_seat, seat_count: next - first_seat, rows }
        };
        let sections = match hall.sections() {
            None => {
                vec![section(None, &[HallRow { name: "A".into(), seats: hall.seat_count(), accessible: [].into() }])]
            }
            Some(sections) => sections.iter().map(|s| section(Some(s.name.to_string()), &s.rows)).collect(),
        };
        LayoutBody { seat_count: hall.seat_count(), sections }
    }
}
