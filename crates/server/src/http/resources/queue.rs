//! The waiting room over HTTP: join, poll, enter, leave; and the number that everybody may follow.

use std::sync::Arc;

use rules::entries::WaitingRoom;
use rules::event::Event;
use rules::ids::User;
use rules::outcome::{Forbidden, Refusal};

use crate::app::App;
use crate::http::plumbing::access::LineClaim;
use crate::http::plumbing::body::{AnyBytes, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::respond::Reply;
use crate::http::wire::Succeeded;
use crate::http::wire::line::{EnteredBody, ServingBody, StandingBody};
use crate::line::{self, EventLine, GATHERED, Stands};
use crate::tickets::Ticket;

/// Calls of a user that may have a body, which says nothing.
type ByUser = Call<User, SentBody<AnyBytes>>;

pub async fn join(app: Arc<App>, Call { request, caller: user, .. }: ByUser) -> Handled {
    let (event, room, ticket) = in_line(&app, &request, &user).await?;
    line::may_gather(&event, app.ledger.wall())?;
    let line = EventLine::of(&app, &event, room);
    let claim = line::claim(&app, &event, &user, ticket.as_ref(), true).await?;
    let stands = line.visitor(&user, claim).join().await?;
    let outlook = line.outlook(&event, &stands).await;
    let mut standing = StandingBody::of(room, &stands, outlook);
    if let Stands::InLine(place) = &stands {
        let drawn = outlook.gathers_s.is_some() && place.number.is_drawn();
        let number = if drawn { GATHERED } else { place.number };
        standing.ticket = Some(app.tickets.sign(&event, &user, number).await?);
    }
    Ok(Reply::ok(&standing))
}

pub async fn poll(app: Arc<App>, Call { request, caller: claim, .. }: Call<LineClaim>) -> Handled {
    let (event, room) = line::open_event(&app, request.event()?).await?;
    let (user, ticket) = match claim {
        LineClaim::User { user, ticket } => {
            let ticket = own_ticket(&app, &event, &user, ticket.as_deref()).await?;
            (user, ticket)
        }
        LineClaim::Ticket(shown) => {
            let ticket = app.tickets.verify(&event, &shown).await?;
            (ticket.user.clone(), Some(ticket))
        }
    };
    let line = EventLine::of(&app, &event, room);
    let claim = line::claim(&app, &event, &user, ticket.as_ref(), false).await?;
    let stands = line.visitor(&user, claim).poll().await?;
    Ok(Reply::ok(&StandingBody::of(room, &stands, line.outlook(&event, &stands).await)))
}

pub async fn enter(app: Arc<App>, Call { request, caller: user, .. }: ByUser) -> Handled {
    let (event, room, ticket) = in_line(&app, &request, &user).await?;
    if let Some(retry_after) = event.gathers_for(app.ledger.wall()) {
        // The door would say when to ask again by the place that they will be drawn.
        return Err(Refusal::NotReady { retry_after }.into());
    }
    let origin = request.origin();
    let claim = line::claim(&app, &event, &user, ticket.as_ref(), false).await?;
    let entry = EventLine::of(&app, &event, room).visitor(&user, claim).from(&origin).enter().await?;
    let expires_in = app.ledger.now().seconds_until(entry.ends);
    let token = entry.token.text();
    let body = EnteredBody { success: Succeeded, status: EnteredBody::STATUS, token, expires_in };
    Ok(Reply::ok(&body))
}

/// Succeeds also for a user who has no place, and for an event without a waiting room.
pub async fn leave(app: Arc<App>, Call { request, caller: user, .. }: ByUser) -> Handled {
    let event = line::event(&app, request.event()?).await?;
    if let Some(room) = event.waiting_room {
        let origin = request.origin();
        EventLine::of(&app, &event, room).visitor(&user, None).from(&origin).leave().await?;
    }
    Ok(Reply::done())
}

pub async fn serving(app: Arc<App>, call: Call) -> Handled {
    let event = line::event(&app, call.request.event()?).await?;
    let room = event.waiting_room.ok_or(Refusal::NoWaitingRoom)?;
    let serving = EventLine::of(&app, &event, room).serving().await?;
    let body = ServingBody {
        success: Succeeded,
        serving: serving.serving,
        waiting: serving.waiting,
        admitted_per_minute: serving.admitted_per_minute,
        sold_out: serving.sold_out,
    };
    Ok(Reply::ok(&body).public())
}

/// The event, its waiting room, and the user's ticket if one was sent: content before existence.
async fn in_line(
    app: &App,
    request: &Incoming,
    user: &User,
) -> Result<(Arc<Event>, WaitingRoom, Option<Ticket>), Refusal> {
    let shown = request.ticket()?;
    let (event, _) = line::open_event(app, request.event()?).await?;
    let event = line::now(app, event).await?;
    let room = event.waiting_room.ok_or(Refusal::NoWaitingRoom)?;
    let ticket = own_ticket(app, &event, user, shown).await?;
    Ok((event, room, ticket))
}

/// A ticket that was sent must be this user's.
async fn own_ticket(app: &App, event: &Event, user: &User, shown: Option<&str>) -> Result<Option<Ticket>, Refusal> {
    let Some(text) = shown else { return Ok(None) };
    let ticket = app.tickets.verify(event, text).await?;
    if *user != ticket.user {
        return Err(Refusal::Forbidden(Forbidden::Anothers));
    }
    Ok(Some(ticket))
}
