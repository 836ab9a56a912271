//! Reservations: making one, and a buyer's own.

pub mod buyer;
mod create;

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
use crate::refusals::Failure;

pub async fn mine(app: Arc<App>, Call { request, caller: user, .. }: Call<User>) -> Handled {
    let paging = Paging::of(&request)?;
    let ids = &app.secrets.get().await?.ids;
    let after = paging.after(|text| OwnPlace::read(text, ids))?;
    let found = reservations_of(&app, &user, after, paging.one_more()).await?;
    let (found, next) = paging.cut(found, |(place, _)| place.written(ids));
    let reservations = found.into_iter().map(|(_, reservation)| reservation).collect();
    Ok(Reply::ok(&ReservationsAnswer { success: Succeeded, reservations, next }))
}

/// What a user has, for the user and the operator alike: seats first, then stays.
pub async fn reservations_of(
    app: &App,
    user: &User,
    after: Option<OwnPlace>,
    most: usize,
) -> Result<Vec<(OwnPlace, AnyReservationBody)>, Failure> {
    let mut found = Vec::new();
    if !matches!(after, Some(OwnPlace::Stay(_))) {
        let seat = if let Some(OwnPlace::Seat(event, seat)) = after { Some((event, seat)) } else { None };
        for seat in app.ledger.reservations_of(user.clone(), seat, most).await?.shown(app) {
            let place = OwnPlace::Seat(seat.event, seat.sale.seat);
            found.push((place, AnyReservationBody::Seat(describe(app, &seat).await?)));
        }
    }
    if found.len() < most {
        let stay = if let Some(OwnPlace::Stay(id)) = after { Some(id) } else { None };
        for stay in app.ledger.stays_of(user.clone(), stay, most - found.len()).await?.shown(app) {
            found.push((OwnPlace::Stay(stay.id), AnyReservationBody::Stay(describe_stay(app, &stay).await?)));
        }
    }
    Ok(found)
}

/// A seat or a stay in the list of what a user has.
#[derive(Clone, Copy)]
pub enum OwnPlace {
    Seat(EventId, Seat),
    Stay(StayId),
}

impl OwnPlace {
    pub fn written(self, ids: &PublicIds) -> String {
        match self {
            OwnPlace::Seat(event, seat) => format!("{event}.{}", seat.0),
            OwnPlace::Stay(id) => ids.of_stay(id),
        }
    }

    pub fn read(text: &str, ids: &PublicIds) -> Option<OwnPlace> {
        if let Some(AnyReservation::Stay(id)) = ids.read(text) {
            return Some(OwnPlace::Stay(id));
        }
        let (event, seat) = text.split_once('.')?;
        Some(OwnPlace::Seat(EventId(whole(event)?.try_into().ok()?), Seat(whole(seat)?.try_into().ok()?)))
    }
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
