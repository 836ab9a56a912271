//! The waiting room of an event: asks the door whose turn it is, and the ledger to let users in.

mod draw;
mod inside;
mod known;
mod mend;
mod outlook;
mod visitor;

use rules::entries::WaitingRoom;
use rules::event::{Event, State};
use rules::ids::{EventId, User};
use rules::queue::Serving;

pub use self::draw::{ClaimedPlace, Draw, GATHERED, claim, draw, is_over, may_gather, now};
pub use self::inside::{INTERVAL, InsideCheck, LOOKS, difference};
pub use self::known::{Lines, event, open_event};
pub use self::outlook::Outlook;
pub use self::visitor::{Stands, Visitor};
use crate::app::App;
use crate::refusals::Failure;

/// Pollers of the line's public state share one answer for this long.
const SHARED_MS: i64 = 200;

/// The line in front of one event.
#[derive(Clone, Copy)]
pub struct EventLine<'a> {
    pub app: &'a App,
    pub event: EventId,
    pub room: WaitingRoom,
}

impl<'a> EventLine<'a> {
    pub fn of(app: &'a App, event: &Event, room: WaitingRoom) -> EventLine<'a> {
        EventLine { app, event: event.id, room }
    }

    /// A user in front of it, with a place that is theirs.
    pub fn visitor(self, user: &'a User, own: Option<ClaimedPlace>) -> Visitor<'a> {
        Visitor { line: self, user, own, origin: None }
    }

    /// The public state of the line.
    pub async fn serving(self) -> Result<Serving, Failure> {
        let EventLine { app, event, room } = self;
        let (remembered, now) = (app.lines.of(event), app.ledger.now());
        let gathers = self.gathers().await;
        let shown = |serving: Serving| if gathers { Serving { serving: 0, ..serving } } else { serving };
        if let Some((serving, at)) = remembered.serving()
            && (0..SHARED_MS).contains(&at.ms_until(now))
        {
            return Ok(shown(serving));
        }
        let serving = self.heard(|| app.door.serving(event, room)).await?;
        remembered.learn_serving(serving, now);
        let selling = remembered.state(app.ledger.wall()) == Some(State::Open);
        app.metrics.events.line(event, &serving, selling);
        Ok(shown(serving))
    }

    /// Whether users gather for a draw. Until the opening nobody may learn where the drawn places are.
    async fn gathers(self) -> bool {
        let EventLine { app, event, room } = self;
        let drawn = room.gather_from.is_some();
        drawn && known::event(app, event).await.map_or(true, |event| event.gathers(app.ledger.wall()))
    }
}
