//! The waiting room.

use std::sync::atomic::{AtomicU64, Ordering};

use rules::entries::WaitingRoom;
use rules::queue::Status;
use rules::time::Moment;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Succeeded, moment};
use crate::line::{Outlook, Stands};

/// How somebody stands in the line.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "QueueStanding")]
#[serde(rename_all = "camelCase")]
pub struct StandingBody {
    pub success: Succeeded,
    #[schemars(extend("enum" = StandingBody::statuses()))]
    pub status: &'static str,
    /// Null while `gathering`, before the order is drawn, and inside.
    pub number: Option<u64>,
    /// The 0-based place among those seen lately; null where `number` is.
    pub rank: Option<u64>,
    /// How many must go before it is one's turn; null where `number` is.
    pub ahead_count: Option<u64>,
    /// Seconds until it is one's turn, as people were let in during the last minute; null when that is not known, and
    /// inside.
    pub estimated_wait: Option<u64>,
    /// When the event opens, if it opens later: nobody is let in before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required, extend("format" = "date-time"))]
    pub opens_at: Option<String>,
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

/// Counts those who gather.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl StandingBody {
    pub fn of(room: WaitingRoom, stands: &Stands, outlook: Outlook) -> StandingBody {
        match (stands, outlook.gathers_s) {
            // Where somebody will stand is known already, and nothing here may tell: not the next poll either. That one
            // finds the opening.
            (Stands::InLine(_), Some(opens_s)) => {
                let without = StandingBody::without_place(room);
                // Not everybody in the seconds after it.
                let spread = NEXT.fetch_add(1, Ordering::Relaxed) % without.poll_after;
                let poll_after = without.poll_after.min(opens_s + 1 + spread);
                StandingBody {
                    status: StandingBody::GATHERING,
                    opens_at: outlook.opens_at.map(moment),
                    poll_after,
                    ..without
                }
            }
            (Stands::InLine(place), None) => StandingBody {
                success: Succeeded,
                status: place.status.as_str(),
                number: Some(place.number.0),
                rank: Some(place.rank),
                ahead_count: Some(place.ahead),
                estimated_wait: outlook.wait_s,
                opens_at: outlook.opens_at.map(moment),
                ticket: None,
                expires_in: None,
                poll_after: place.poll_after,
            },
            (Stands::Inside { left_ms }, _) => StandingBody {
                status: EnteredBody::STATUS,
                expires_in: Some(Moment(0).seconds_until(Moment(*left_ms))),
                ..StandingBody::without_place(room)
            },
        }
    }

    const GATHERING: &'static str = "gathering";

    fn without_place(room: WaitingRoom) -> StandingBody {
        StandingBody {
            success: Succeeded,
            status: StandingBody::GATHERING,
            number: None,
            rank: None,
            ahead_count: None,
            estimated_wait: None,
            opens_at: None,
            ticket: None,
            expires_in: None,
            poll_after: (room.idle_ms / 3_000).max(1) as u64,
        }
    }

    fn statuses() -> [&'static str; 5] {
        let [waiting, ready, sold_out] = [Status::Waiting, Status::Ready, Status::SoldOut].map(Status::as_str);
        [waiting, ready, EnteredBody::STATUS, sold_out, StandingBody::GATHERING]
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rules::ids::Number;
    use rules::queue::Place;

    use super::*;

    /// A million people who all came in the second after the opening would be refused.
    #[test]
    fn first_polls_after_an_opening_are_spread_over_a_whole_interval() {
        let room = WaitingRoom::default();
        let place = Place { number: Number::drawn(7), rank: 0, ahead: 0, status: Status::Waiting, poll_after: 1 };
        let polls = |opens_s| -> BTreeSet<u64> {
            let outlook = Outlook { gathers_s: Some(opens_s), ..Outlook::default() };
            (0..100).map(|_| StandingBody::of(room, &Stands::InLine(place), outlook).poll_after).collect()
        };
        assert_eq!(polls(1), (2..=20).collect(), "after the opening, and within a third of idleTimeout");
        assert_eq!(polls(12), (13..=20).collect());
        assert_eq!(polls(3_600), [20].into());
    }
}
