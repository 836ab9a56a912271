//! Holds and stays, for the operator: of an event, of a room type, of one user.

use std::sync::Arc;

use rules::ids::{User, whole};
use rules::outcome::{FieldError, Problem, Refusal};
use rules::subject::SubjectId;

use crate::app::App;
use crate::auth::Viewer;
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::resources::holds::page_of_user;
use crate::http::resources::reservations::reservations_of;
use crate::http::resources::room_types::id_in_path;
use crate::http::respond::Reply;
use crate::http::shown::ShownTimes;
use crate::http::wire::Succeeded;
use crate::http::wire::answers::{AdminStaysAnswer, HoldsAnswer};
use crate::http::wire::stays::{AdminStayBody, HoldBody};

pub async fn of_event(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let event = call.request.event()?;
    app.lanes.find(event).await?;
    kept(&app, &call.request, SubjectId::Event(event)).await
}

pub async fn of_room_type(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let id = id_in_path(&call.request)?;
    app.ledger.room_type(id).await?.ok_or(Refusal::NotFound)?;
    kept(&app, &call.request, SubjectId::RoomType(id)).await
}

/// Every hold that is kept, in whatever state.
async fn kept(app: &App, request: &Incoming, subject: SubjectId) -> Handled {
    let paging = Paging::of(request)?;
    let after = paging.after(whole)?.unwrap_or_default();
    let at = app.ledger.holds_in(subject, after, paging.one_more()).await?.shown(app);
    let (found, next) = paging.cut(at.found, |hold| hold.id.n.to_string());
    let ids = &app.secrets.get().await?.ids;
    let holds = found.iter().map(|hold| HoldBody::for_admin(hold, at.now, ids)).collect();
    Ok(Reply::ok(&HoldsAnswer { success: Succeeded, holds, next }))
}

/// Who stays in a room type, in order of booking.
pub async fn stays(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let id = id_in_path(&request)?;
    app.ledger.room_type(id).await?.ok_or(Refusal::NotFound)?;
    let paging = Paging::of(&request)?;
    let after = paging.after(whole)?.unwrap_or_default();
    let found = app.ledger.stays_in(id, after, paging.one_more()).await?.shown(&app);
    let (found, next) = paging.cut(found, |stay| stay.id.n.to_string());
    let ids = &app.secrets.get().await?.ids;
    let reservations = found.iter().map(|stay| AdminStayBody::of(stay, ids)).collect();
    Ok(Reply::ok(&AdminStaysAnswer { success: Succeeded, reservations, next }))
}

/// Live holds of one user.
pub async fn of_user(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let user = asked_for(&request)?;
    let (found, next) = page_of_user(&app, &request, user, |hold| hold.id.to_string()).await?;
    let ids = &app.secrets.get().await?.ids;
    let holds = found.found.iter().map(|hold| HoldBody::for_admin(hold, found.now, ids)).collect();
    Ok(Reply::ok(&HoldsAnswer { success: Succeeded, holds, next }))
}

/// Seats and stays of one user.
pub async fn reservations_of_user(app: Arc<App>, Call { request, .. }: Call<Viewer>) -> Handled {
    let user = asked_for(&request)?;
    reservations_of(&app, &request, user).await
}

fn asked_for(request: &Incoming) -> Result<User, Refusal> {
    let text = request.query("user")?.ok_or_else(|| FieldError::refused("user", Problem::Missing))?;
    User::new(&text).ok_or_else(|| FieldError::refused("user", Problem::Unprintable))
}
