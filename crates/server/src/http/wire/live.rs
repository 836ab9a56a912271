//! The messages of live streams.

use rules::event::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::line::StandingBody;
use super::stays::NightBody;
use super::{SeatName, Succeeded};

/// One message of an event's stream. `event:` is its name, `data:` one line of JSON.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
pub enum EventStreamMessage {
    /// Everything at one moment: first, where changes are not known, and where `seats` would be much longer. Numbered.
    Snapshot(LiveSnapshotBody),
    /// The seats that changed since the last numbered message. Numbered.
    Seats(LiveSeatsBody),
    Remaining(LiveRemainingBody),
    State(LiveStateBody),
    /// Where the event has a waiting room.
    Queue(LiveQueueBody),
    /// With a ticket: one's own place in line, as `GET queue` answers. The stream also keeps the place.
    Place(StandingBody),
    /// With a ticket.
    Hold(LiveHoldBody),
    /// With a ticket.
    Reservation(LiveReservationBody),
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveSnapshot")]
#[serde(rename_all = "camelCase")]
pub struct LiveSnapshotBody {
    #[schemars(range(min = 1))]
    pub event_id: i64,
    #[schemars(extend("enum" = live_states()))]
    pub state: &'static str,
    pub opens_at: Option<String>,
    pub seat_count: u32,
    pub remaining: u32,
    pub held: u32,
    pub sold: u32,
    /// The states of all seats in the order of their ids from 1, run-length encoded: count and letter, `f` free,
    /// `h` held, `s` sold.
    #[schemars(regex(pattern = "^([1-9][0-9]*[fhs])*$"))]
    pub states: String,
    pub time: String,
}

/// Ids of seats by the state that they have now.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "LiveSeats")]
pub struct LiveSeatsBody {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sold: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<u32>,
}

impl LiveSeatsBody {
    pub fn is_empty(&self) -> bool {
        self.sold.is_empty() && self.held.is_empty() && self.free.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LiveRemaining")]
pub struct LiveRemainingBody {
    pub remaining: u32,
    pub held: u32,
    pub sold: u32,
}

/// When the event opens, is paused, closed, amended or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LiveState")]
#[serde(rename_all = "camelCase")]
pub struct LiveStateBody {
    #[schemars(extend("enum" = live_states()))]
    pub state: &'static str,
    pub opens_at: Option<String>,
}

/// The waiting room's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LiveQueue")]
#[serde(rename_all = "camelCase")]
pub struct LiveQueueBody {
    /// The highest number that would be admitted now; it may go back.
    pub serving: u64,
    pub waiting: u64,
    pub inside: u64,
    pub admitted_per_minute: u64,
    pub sold_out: bool,
}

/// One's own hold: when it begins, is extended, ends, expires, is confirmed; and live ones at the beginning.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveHold")]
#[serde(rename_all = "camelCase")]
pub struct LiveHoldBody {
    pub hold_id: String,
    #[schemars(inner(range(min = 1)))]
    pub seat_ids: Vec<u32>,
    #[schemars(extend("enum" = ["held", "confirmed", "cancelled", "expired"]))]
    pub state: &'static str,
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: String,
    pub seconds_remaining: u64,
}

/// One's own reservation: when it is made or cancelled; and those that stand at the beginning.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveReservation")]
#[serde(rename_all = "camelCase")]
pub struct LiveReservationBody {
    pub reservation_id: String,
    pub seat: SeatName,
    #[schemars(extend("enum" = ["confirmed", "cancelled"]))]
    pub state: &'static str,
}

/// One message of a room type's stream.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
pub enum RoomTypeStreamMessage {
    Snapshot(LiveNightsSnapshotBody),
    Nights(LiveNightsBody),
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveNightsSnapshot")]
#[serde(rename_all = "camelCase")]
pub struct LiveNightsSnapshotBody {
    #[schemars(range(min = 1))]
    pub room_type_id: i64,
    #[schemars(extend("format" = "date"))]
    pub from: String,
    pub nights: Vec<NightBody>,
}

/// The nights that changed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveNights")]
pub struct LiveNightsBody {
    pub nights: Vec<NightBody>,
}

/// Proves in a stream's address who watches.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StreamTicket")]
#[serde(rename_all = "camelCase")]
pub struct StreamTicketBody {
    pub success: Succeeded,
    pub ticket: String,
    /// Seconds within which the stream must begin. It may last longer.
    pub expires_in: u64,
}

/// The stream ends after this one.
pub const DELETED: &str = "deleted";

fn live_states() -> [&'static str; 5] {
    let [a, b, c, d] = State::ALL.map(State::as_str);
    [a, b, c, d, DELETED]
}
