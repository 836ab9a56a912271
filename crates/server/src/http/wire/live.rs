//! The messages of live streams.

use rules::event::State;
use schemars::JsonSchema;
use serde::Serialize;

/// One message of an event's stream. `event:` is its name, `data:` one line of JSON.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
pub enum EventStreamMessage {
    /// Everything at one moment: first, and wherever the changes since are not known. Numbered.
    Snapshot(LiveSnapshotBody),
    /// The seats that changed since the last numbered message. Numbered.
    Seats(LiveSeatsBody),
    Remaining(LiveRemainingBody),
    State(LiveStateBody),
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

/// The stream ends after this one.
pub const DELETED: &str = "deleted";

fn live_states() -> [&'static str; 5] {
    let [a, b, c, d] = State::ALL.map(State::as_str);
    [a, b, c, d, DELETED]
}
