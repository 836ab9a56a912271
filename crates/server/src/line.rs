//! The waiting room of an event: asks the door whose turn it is, and the ledger to let people in.

mod inside;
mod known;
mod mend;
mod visitor;

use rules::entries::WaitingRoom;
use rules::event::Event;
use rules::ids::{EventId, User};
use rules::queue::Serving;

pub use self::inside::{INTERVAL, InsideCheck, LOOKS, difference};
pub use self::known::{Lines, event, open_event};
pub use self::visitor::{Stands, Visitor};
use crate::app::App;
use crate::refusals::Failure;
use crate::tickets::Ticket;

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

    /// A user in front of it.
    pub fn visitor(self, user: &'a User, ticket: Option<&'a Ticket>) -> Visitor<'a> {
        Visitor { line: self, user, ticket, origin: None }
    }

    /// The public state of the line.
    pub async fn serving(self) -> Result<Serving, Failure> {
        let EventLine { app, event, room } = self;
        let (remembered, now) = (app.lines.of(event), app.ledger.now());
        if let Some((serving, at)) = remembered.serving()
            && (0..SHARED_MS).contains(&at.ms_until(now))
        {
            return Ok(serving);
        }
        let serving = self.heard(|| app.door.serving(event, room)).await?;
        remembered.learn_serving(serving, now);
        app.metrics.events.line(event, &serving);
        Ok(serving)
    }
}
