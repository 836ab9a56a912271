//! The waiting room.

use rules::entries::WaitingRoom;
use rules::queue::Status;
use rules::time::Moment;
use schemars::JsonSchema;
use serde::Serialize;

use super::Succeeded;
use crate::line::Stands;

/// How somebody stands in the line.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "QueueStanding")]
#[serde(rename_all = "camelCase")]
pub struct StandingBody {
    pub success: Succeeded,
    #[schemars(extend("enum" = StandingBody::statuses()))]
    pub status: &'static str,
    pub number: Option<u64>,
    /// The 0-based place among those seen lately; null inside.
    pub rank: Option<u64>,
    /// How many must go before it is one's turn; null inside.
    pub ahead_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub ticket: Option<String>,
    /// Seconds until the entry ends, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    pub expires_in: Option<u64>,
    /// Seconds until the next poll.
    #[schemars(range(min = 1))]
    pub poll_after: u64,
}

impl StandingBody {
    pub fn of(room: WaitingRoom, stands: &Stands) -> StandingBody {
        match stands {
            Stands::InLine(place) => StandingBody {
                success: Succeeded,
                status: place.status.as_str(),
                number: Some(place.number.0),
                rank: Some(place.rank),
                ahead_count: Some(place.ahead),
                ticket: None,
                expires_in: None,
                poll_after: place.poll_after,
            },
            Stands::Inside { left_ms } => StandingBody {
                success: Succeeded,
                status: EnteredBody::STATUS,
                number: None,
                rank: None,
                ahead_count: None,
                ticket: None,
                expires_in: Some(Moment(0).seconds_until(Moment(*left_ms))),
                poll_after: (room.idle_ms / 3_000).max(1) as u64,
            },
        }
    }

    fn statuses() -> [&'static str; 4] {
        [Status::Waiting.as_str(), Status::Ready.as_str(), EnteredBody::STATUS, Status::SoldOut.as_str()]
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Entered")]
#[serde(rename_all = "camelCase")]
pub struct EnteredBody {
    pub success: Succeeded,
    #[schemars(extend("const" = EnteredBody::STATUS))]
    pub status: &'static str,
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub token: String,
    pub expires_in: u64,
}

impl EnteredBody {
    pub const STATUS: &'static str = "entered";
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Serving")]
#[serde(rename_all = "camelCase")]
pub struct ServingBody {
    pub success: Succeeded,
    /// The highest number that would be admitted now; it may go back.
    pub serving: u64,
    pub waiting: u64,
    pub admitted_per_minute: u64,
    pub sold_out: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TicketKey")]
pub struct TicketKeyBody {
    pub success: Succeeded,
    #[schemars(range(min = 1))]
    pub key: u32,
}
