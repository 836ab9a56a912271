//! Everything of one user, for the operator.

use rules::ids::{EventId, Number};
use rules::time::Moment;
use schemars::JsonSchema;
use serde::Serialize;

use super::records::HistoryBody;
use super::reservations::AdminReservationBody;
use super::stays::{AdminStayBody, HoldBody};
use super::{Succeeded, moment};

/// What is kept of one user, a page of all of it together. Only the last page lacks `next`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdminUserAnswer {
    pub success: Succeeded,
    pub user_id: String,
    pub reservations: Vec<AdminReservationBody>,
    pub stays: Vec<AdminStayBody>,
    /// In whatever state, as long as they are kept.
    pub holds: Vec<HoldBody>,
    pub places: Vec<LinePlaceBody>,
    pub history: Vec<HistoryBody>,
    /// `after` of the next page; null: this is the last one. A page may be short, even empty, and still
    /// have a next one: a request reads a bounded part of the history.
    pub next: Option<String>,
}

impl AdminUserAnswer {
    pub fn of(user: &str, records: Vec<UserRecordBody>, next: Option<String>) -> AdminUserAnswer {
        let mut answer = AdminUserAnswer {
            success: Succeeded,
            user_id: user.to_owned(),
            reservations: Vec::new(),
            stays: Vec::new(),
            holds: Vec::new(),
            places: Vec::new(),
            history: Vec::new(),
            next,
        };
        for record in records {
            match record {
                UserRecordBody::Reservation(one) => answer.reservations.push(one),
                UserRecordBody::Stay(one) => answer.stays.push(one),
                UserRecordBody::Hold(one) => answer.holds.push(one),
                UserRecordBody::Place(one) => answer.places.push(one),
                UserRecordBody::History(one) => answer.history.push(one),
            }
        }
        answer
    }
}

/// One of these as a line of its own.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum UserRecordBody {
    Reservation(AdminReservationBody),
    Stay(AdminStayBody),
    Hold(HoldBody),
    Place(LinePlaceBody),
    History(HistoryBody),
}

impl UserRecordBody {
    pub fn kind(&self) -> &'static str {
        match self {
            UserRecordBody::Reservation(_) => "reservation",
            UserRecordBody::Stay(_) => "stay",
            UserRecordBody::Hold(_) => "hold",
            UserRecordBody::Place(_) => "place",
            UserRecordBody::History(_) => "history",
        }
    }
}

/// Where a user stands in front of an event with a waiting room.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LinePlace")]
#[serde(rename_all = "camelCase")]
pub struct LinePlaceBody {
    #[schemars(range(min = 1))]
    pub event_id: i64,
    /// In line, or inside.
    #[schemars(extend("enum" = ["waiting", "inside"]))]
    pub status: &'static str,
    /// Null while people gather, before the order is drawn.
    pub number: Option<u64>,
    /// When the entry ends; null: not inside.
    pub expires_at: Option<String>,
}

impl LinePlaceBody {
    pub fn waiting(event: EventId, number: Option<Number>) -> LinePlaceBody {
        LinePlaceBody { event_id: event.0, status: "waiting", number: number.map(|number| number.0), expires_at: None }
    }

    pub fn inside(event: EventId, number: Number, ends: Moment) -> LinePlaceBody {
        let expires_at = Some(moment(ends));
        LinePlaceBody { event_id: event.0, status: "inside", number: Some(number.0), expires_at }
    }
}
