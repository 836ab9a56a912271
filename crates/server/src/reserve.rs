//! The path of a request, in order.
//!
//! | step    | where                                                                  |
//! |---------|------------------------------------------------------------------------|
//! | arrive  | `batch::Lane::let_in` asks the door: already asking? budget? number;    |
//! |         | or a gateway asked it, see `http::gateway`                              |
//! | admit   | `rules::decide`: an event with a waiting room asks for a live entry     |
//! | batch   | `batch::Lane::run`: what arrived while the last batch ran is the next   |
//! | decide  | `rules::decide`, called by the ledger under the event's lock            |
//! | commit  | `stores::ledger`, durable before anyone is told                         |
//! | publish | `batch::Lane::publish`: marks are taken away, counts are shown          |
//! | respond | `http::respond`: outcome -> status and body                             |
//!
//! A handler only waits here. Its future is dropped when the client leaves; the batch goes on. The
//! lane answers everybody in time (`batch::serve`), so nothing here needs a timer.

use std::sync::Arc;
use std::time::Duration;

use rules::arrive::Arrival;
use rules::command::{Command, EventAction, Key};
use rules::decide::Answer;
use rules::entries::EntryToken;
use rules::history::Actor;
use rules::ids::{Address, EventId, Number, RequestName};
use rules::outcome::{Outcome, Refusal};
use rules::seats::Hall;
use rules::stays;
use rules::subject::RoomTypeId;

use crate::app::App;
use crate::batch::{Ended, Lane, Wanted};

/// From arrival to the moment a request leaves the queue unserved.
pub const DEADLINE: Duration = Duration::from_secs(3);

/// The same for what is asked of a hold.
pub const HOLD_DEADLINE: Duration = Duration::from_secs(1);

/// How a request ended, with what is needed to tell it.
#[derive(Debug)]
pub struct Told {
    pub answer: Answer,
    pub hall: Arc<Hall>,
    /// The arrival number, if it got one: refusals carry it too.
    pub number: Option<Number>,
}

/// How a request came: from where, and how it was let in if a gateway did that.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    pub address: Address,
    pub let_in: Option<LetIn>,
}

/// What a gateway gave a request when it asked the door for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetIn {
    /// The name in its mark.
    pub name: RequestName,
    pub number: Number,
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
    let lane = app.lanes.find(event).await?;
    if let EventAction::ReserveSeat { seat, .. } = &action
        && !lane.hall().has_seat(*seat)
    {
        return Err(Refusal::NotFound);
    }
    let name = came.let_in.map_or_else(|| app.names.next(), |let_in| let_in.name);
    let arrival = Arrival { name, user: actor.user().cloned(), address: came.address, keyed: key.is_some() };
    let number = came.let_in.map(|let_in| let_in.number);
    let command = Command { actor, number, name, key, entry, action };
    wait(lane, command, Some(arrival), DEADLINE).await
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

/// The same, by somebody who may have to show an entry.
pub async fn change_with(
    app: &App,
    event: EventId,
    actor: Actor,
    key: Option<Key>,
    entry: Option<EntryToken>,
    action: EventAction,
) -> Result<Told, Refusal> {
    let lane = app.lanes.find(event).await?;
    let limit = if action.about_a_hold() { HOLD_DEADLINE } else { DEADLINE };
    let command = Command { actor, number: None, name: app.names.next(), key, entry, action };
    wait(lane, command, None, limit).await
}

async fn wait(lane: Arc<Lane>, command: Command, arrival: Option<Arrival>, limit: Duration) -> Result<Told, Refusal> {
    let hall = lane.hall();
    let answer = lane.submit(Wanted { command, arrival, limit })?;
    match answer.await {
        Ok(Ended { answer, number }) => Ok(Told { answer, hall, number }),
        // Nobody will answer any more: the batch it was in has panicked.
        Err(_) => Ok(Told { answer: Outcome::from(Refusal::Internal).into(), hall, number: None }),
    }
}

/// Any change of a room type, by the same path without a door: ordered by the queue alone.
pub async fn change_rooms(
    app: &App,
    id: RoomTypeId,
    actor: Actor,
    key: Option<Key>,
    action: stays::RoomAction,
) -> Result<Answer, Refusal> {
    let lane = app.lanes.rooms.find(id).await?;
    let limit = if action.about_a_hold() { HOLD_DEADLINE } else { DEADLINE };
    let answer =
        lane.submit(Command { actor, number: None, name: app.names.next(), key, entry: None, action }, limit)?;
    // Nobody answers any more: the batch it was in has panicked.
    Ok(answer.await.map_or_else(|_| Outcome::from(Refusal::Internal).into(), |ended| ended.answer))
}
