//! Estimates when it may be a user's turn.

use rules::event::{Event, State};
use rules::queue::Status;
use rules::time::Moment;

use super::{EventLine, Stands};

/// The maximum age of the pace.
const RECENT_MS: i64 = 1_000;

#[derive(Clone, Copy, Debug, Default)]
pub struct Outlook {
    /// Seconds until it is their turn.
    pub wait_s: Option<u64>,
    /// Nobody is let in before this.
    pub opens_at: Option<Moment>,
    /// Seconds until the opening, if the order is drawn: there are no places before it.
    pub gathers_s: Option<u64>,
}

impl EventLine<'_> {
    pub async fn outlook(self, event: &Event, stands: &Stands) -> Outlook {
        let Stands::InLine(place) = stands else { return Outlook::default() };
        let wall = self.app.ledger.wall();
        let state = event.state_at(wall);
        if state == State::Scheduled {
            return Outlook { opens_at: event.opens_at, gathers_s: event.gathers_for(wall), wait_s: None };
        }
        let wait_s = match place.status {
            Status::Ready => Some(0),
            Status::Waiting if state == State::Open => {
                self.pace().await.and_then(|per_minute| wait_s(place.ahead, per_minute))
            }
            // The end of a pause cannot be predicted, nor whether seats come back.
            Status::Waiting | Status::SoldOut => None,
        };
        Outlook { wait_s, ..Outlook::default() }
    }

    /// How many are let in per minute. One poller at a time asks the door; the others use the cached value.
    async fn pace(self) -> Option<u64> {
        let (remembered, now) = (self.app.lines.of(self.event), self.app.ledger.now());
        let known = remembered.pace();
        match (known, remembered.pacing.try_lock()) {
            (Some((pace, at)), _) if (0..RECENT_MS).contains(&at.ms_until(now)) => Some(pace),
            (known, Err(_)) => known.map(|(pace, _)| pace),
            (_, Ok(_asking)) => {
                let serving = self.heard(|| self.app.door.serving(self.event, self.room)).await.ok()?;
                let pace = serving.pace(&self.room);
                remembered.learn_pace(pace, now);
                Some(pace)
            }
        }
    }
}

/// None: nobody was let in, so it is unknown.
fn wait_s(ahead: u64, per_minute: u64) -> Option<u64> {
    (per_minute > 0).then(|| ahead.saturating_mul(60).div_ceil(per_minute))
}
