//! The path of a request, under the names that the handlers use.

use std::sync::Arc;

use rules::command::{EventAction, Key};
use rules::decide::Answer;
use rules::entries::EntryToken;
use rules::event::Event;
use rules::history::Actor;
use rules::ids::{EventId, Number};
use rules::outcome::Refusal;
use rules::room_type::{RoomAction, RoomType};
use rules::seats::Hall;
use rules::subject::RoomTypeId;

use crate::app::App;
pub use crate::path::{Came, LetIn};
use crate::path::{Ended, Request, serve};

/// How a request to an event ended, with what is needed to render it.
#[derive(Debug)]
pub struct Told {
    pub answer: Answer,
    pub hall: Arc<Hall>,
    /// The arrival number, if it got one: refusals carry it too.
    pub number: Option<Number>,
}

impl From<Ended<Event>> for Told {
    fn from(Ended { answer, number, lane }: Ended<Event>) -> Self {
        Told { answer, hall: lane.hall(), number }
    }
}

/// Reserves a seat of an event: the lowest free one, first come, first served, or the chosen one.
pub async fn reserve(
    app: &App,
    event: EventId,
    actor: Actor,
    came: Came,
    key: Option<Key>,
    entry: Option<EntryToken>,
    action: EventAction,
) -> Result<Told, Refusal> {
    let request = Request { key, entry, came: Some(came), ..Request::new(event, actor, action) };
    serve(app, request).await.map(Told::from)
}

/// Any other change of an event: ordered by the queue alone.
pub async fn change(
    app: &App,
    event: EventId,
    actor: Actor,
    key: Option<Key>,
    action: EventAction,
) -> Result<Told, Refusal> {
    change_with(app, event, actor, key, None, action).await
}

/// The same, for actions that may need an entry.
pub async fn change_with(
    app: &App,
    event: EventId,
    actor: Actor,
    key: Option<Key>,
    entry: Option<EntryToken>,
    action: EventAction,
) -> Result<Told, Refusal> {
    serve(app, Request { key, entry, ..Request::new(event, actor, action) }).await.map(Told::from)
}

/// Any change of a room type.
pub async fn change_rooms(
    app: &App,
    id: RoomTypeId,
    actor: Actor,
    key: Option<Key>,
    action: RoomAction,
) -> Result<Answer, Refusal> {
    serve(app, Request::<RoomType> { key, ..Request::new(id, actor, action) }).await.map(|ended| ended.answer)
}
