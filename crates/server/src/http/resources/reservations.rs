//! Reservations: making one, and a buyer's own.

pub mod buyer;
mod create;
mod planted;

use std::sync::Arc;

use rules::command::{EventAction, Key};
use rules::event::Event;
use rules::history::{Actor, Details};
use rules::ids::{EventId, Seat, User, whole};
use rules::outcome::{Done, Forbidden, Outcome, Refusal};
use rules::room_type::{RoomAction, RoomType, Stay};
use rules::subject::{AnyReservation, StayId};
use stores::ledger::Reservation;

pub use self::create::create;
use crate::app::App;
use crate::http::plumbing::body::{AnyBytes, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::resources::details::{self, Sender};
use crate::http::respond::Reply;
use crate::http::shown::ShownTimes;
use crate::http::wire::answers::{ReservationAnswer, ReservationsAnswer};
use crate::http::wire::stays::{AnyReservationBody, StayBody};
use crate::http::wire::{ReservationBody, Succeeded};
use crate::path::{ChangeRequest, serve};
use crate::public_ids::PublicIds;

pub async fn mine(app: Arc<App>, Call { request, caller: user, .. }: Call<User>) -> Handled {
    reservations_of(&app, &request, user).await
}

/// A page of what a user has, for the user and the operator alike.
pub async fn reservations_of(app: &App, request: &Incoming, user: User) -> Handled {
    let paging = Paging::of(request)?;
    let ids = &app.secrets.get().await?.ids;
    let after = paging.after(|text| read_place(text, ids))?;
    let mut found = Vec::new();
    if !matches!(after, Some(Place::Stay(_))) {
        let seat = after.and_then(Place::seat);
        let seats = app.ledger.reservations_of(user.clone(), seat, paging.one_more()).await?.shown(app);
        found.extend(seats.into_iter().map(Mine::Seat));
    }
    // Seats first; stays fill what is left of the page.
    if found.len() < paging.one_more() {
        let (stay, most) = (after.and_then(Place::stay), paging.one_more() - found.len());
        let stays = app.ledger.stays_of(user, stay, most).await?.shown(app);
        found.extend(stays.into_iter().map(Mine::Stay));
    }
    let (found, next) = paging.cut(found, |one| one.place(ids));
    let mut reservations = Vec::with_capacity(found.len());
    for one in &found {
        reservations.push(match one {
            Mine::Seat(reservation) => AnyReservationBody::Seat(describe(app, reservation).await?),
            Mine::Stay(stay) => AnyReservationBody::Stay(describe_stay(app, stay).await?),
        });
    }
    Ok(Reply::ok(&ReservationsAnswer { success: Succeeded, reservations, next }))
}

/// What a user has.
enum Mine {
    Seat(Reservation),
    Stay(Stay),
}

impl Mine {
    fn place(&self, ids: &PublicIds) -> String {
        match self {
            Mine::Seat(r) => format!("{}.{}", r.event, r.sale.seat.0),
            Mine::Stay(stay) => ids.of_stay(stay.id),
        }
    }
}

/// Where a page ended.
#[derive(Clone, Copy)]
enum Place {
    Seat(EventId, Seat),
    Stay(StayId),
}

impl Place {
    fn seat(self) -> Option<(EventId, Seat)> {
        if let Place::Seat(event, seat) = self { Some((event, seat)) } else { None }
    }

    fn stay(self) -> Option<StayId> {
        if let Place::Stay(id) = self { Some(id) } else { None }
    }
}

fn read_place(text: &str, ids: &PublicIds) -> Option<Place> {
    if let Some(AnyReservation::Stay(id)) = ids.read(text) {
        return Some(Place::Stay(id));
    }
    let (event, seat) = text.split_once('.')?;
    Some(Place::Seat(EventId(whole(event)?.try_into().ok()?), Seat(whole(seat)?.try_into().ok()?)))
}

async fn describe(app: &App, reservation: &Reservation) -> Result<ReservationBody, Refusal> {
    let hall = app.lanes.find(reservation.event).await?.hall();
    let reservation_id = app.secrets.get().await?.ids.of_seat(reservation.id());
    Ok(ReservationBody { reservation_id, ..ReservationBody::of(reservation, &hall) })
}

async fn describe_stay(app: &App, stay: &Stay) -> Result<StayBody, Refusal> {
    let reservation_id = app.secrets.get().await?.ids.of_stay(stay.id);
    Ok(StayBody { reservation_id, ..StayBody::of(stay) })
}

/// The reservation in the path, by either of its ids.
async fn id_in_path(app: &App, request: &Incoming) -> Result<AnyReservation, Refusal> {
    let text: String = request.id("reservationId")?;
    app.secrets.get().await?.ids.read(&text).ok_or(Refusal::NotFound)
}

pub async fn one(app: Arc<App>, Call { request, caller: user, .. }: Call<User>) -> Handled {
    let anothers = || Refusal::Forbidden(Forbidden::Anothers);
    let body = match id_in_path(&app, &request).await? {
        AnyReservation::Seat(id) => {
            let found = app.ledger.reservation(id).await?.shown(&app);
            let reservation = found.ok_or(Refusal::NotFound)?;
            if reservation.sale.owner.as_ref().is_none_or(|owner| owner.user != user) {
                return Err(anothers().into());
            }
            AnyReservationBody::Seat(describe(&app, &reservation).await?)
        }
        AnyReservation::Stay(id) => {
            let stay = app.ledger.stay(id).await?.shown(&app).ok_or(Refusal::NotFound)?;
            if stay.owner != user {
                return Err(anothers().into());
            }
            AnyReservationBody::Stay(describe_stay(&app, &stay).await?)
        }
    };
    Ok(Reply::ok(&ReservationAnswer { success: Succeeded, reservation: body }))
}

pub async fn cancel(app: Arc<App>, call: Call<User, SentBody<AnyBytes>>) -> Handled {
    let details = details::reason(&call.request, &call.sent, Sender::Buyer)?;
    let key = call.request.key(&call.sent)?;
    give_back(&app, &call.request, Actor::User(call.caller), key, details).await
}

/// Cancels the seat or the stay in the path.
pub async fn give_back(
    app: &App,
    request: &Incoming,
    actor: Actor,
    key: Option<Key>,
    details: Option<Box<Details>>,
) -> Handled {
    let origin = request.origin();
    let answer = match id_in_path(app, request).await? {
        AnyReservation::Seat(id) => {
            let action = EventAction::Cancel { n: id.n };
            let asks = ChangeRequest { key, origin, details, ..ChangeRequest::new(id.event, actor, action) };
            let ended = serve::<Event>(app, asks).await?;
            request.tell_gateway_freed(id.event, &ended.answer);
            ended.answer
        }
        AnyReservation::Stay(id) => {
            let action = RoomAction::Cancel { n: id.n };
            let asks = ChangeRequest { key, origin, details, ..ChangeRequest::new(id.room_type, actor, action) };
            serve::<RoomType>(app, asks).await?.answer
        }
    };
    match answer.outcome {
        Outcome::Done(Done::Cancelled) => Ok(Reply::done().replayed(answer.replayed)),
        Outcome::Refused(refusal) => Err(refusal.into()),
        Outcome::Done(_) => Err(Refusal::Internal.into()),
    }
}
