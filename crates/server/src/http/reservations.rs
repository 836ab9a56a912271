//! A buyer's own reservations.

use std::sync::Arc;

use rules::command::Action;
use rules::history::Actor;
use rules::ids::{EventId, ReservationId, Seat, whole};
use rules::outcome::{Done, Forbidden, Outcome, Refusal};
use serde_json::json;
use stores::ledger::Reservation;

use super::asked::Asked;
use super::body::{self, BODY_MOST};
use super::endpoint::Handled;
use super::paging::Paging;
use super::respond::{Refused, Reply};
use super::wire::ReservationBody;
use crate::app::App;
use crate::batch::refusal;
use crate::reserve::{Told, change};

pub async fn mine(app: Arc<App>, asked: Asked) -> Handled {
    let user = asked.user(&app)?;
    let paging = Paging::asked(&asked)?;
    let after = paging.after(read_place)?;
    let found = app.ledger.reservations_of(user, after, paging.one_more()).await.map_err(|f| refusal(&f))?;
    let (found, next) = paging.cut(found, |r| format!("{}.{}", r.event, r.sale.seat.0));
    let mut reservations = Vec::with_capacity(found.len());
    for reservation in &found {
        reservations.push(describe(&app, reservation).await?);
    }
    Ok(Reply::ok(&json!({ "success": true, "reservations": reservations, "next": next })))
}

fn read_place(text: &str) -> Option<(EventId, Seat)> {
    let (event, seat) = text.split_once('.')?;
    Some((EventId(whole(event)?.try_into().ok()?), Seat(whole(seat)?.try_into().ok()?)))
}

async fn describe(app: &App, reservation: &Reservation) -> Result<ReservationBody, Refusal> {
    let hall = app.lanes.find(reservation.event).await?.hall();
    Ok(ReservationBody::of(reservation, &hall))
}

pub async fn one(app: Arc<App>, asked: Asked) -> Handled {
    let user = asked.user(&app)?;
    let found = app.ledger.reservation(asked.id("reservationId")?).await.map_err(|f| refusal(&f))?;
    let reservation = found.ok_or(Refusal::NotFound)?;
    if reservation.sale.owner.as_ref().is_none_or(|owner| owner.user != user) {
        return Err(Refusal::Forbidden(Forbidden::Anothers).into());
    }
    Ok(Reply::ok(&json!({ "success": true, "reservation": describe(&app, &reservation).await? })))
}

pub async fn cancel(app: Arc<App>, mut asked: Asked) -> Handled {
    let sent = body::bytes(&mut asked, BODY_MOST).await?;
    let user = asked.user(&app)?;
    let key = asked.key(&sent)?;
    let id: ReservationId = asked.id("reservationId")?;
    let told = change(&app, id.event, Actor::User(user), key, Action::Cancel { n: id.n }).await?;
    app.metrics.outcome(told.answer.outcome.code());
    asked.tell_gateway_freed(id.event);
    tell_cancelled(told)
}

pub fn tell_cancelled(told: Told) -> Handled {
    match &told.answer.outcome {
        Outcome::Done(Done::Cancelled) => Ok(Reply::ok(&json!({ "success": true })).replayed(told.answer.replayed)),
        Outcome::Refused(refusal) => Err(Refused::told(refusal.clone(), &told)),
        Outcome::Done(_) => Err(Refusal::Internal.into()),
    }
}
