//! Holds on nights and on seats: create, read, confirm, cancel, extend.

use std::sync::Arc;

use rules::buyer::{Buyer, BuyerFields, Metadata};
use rules::command::{EventAction, Key};
use rules::decide::Answer;
use rules::event::Event;
use rules::history::{Actor, Details, RequestOrigin};
use rules::holds::{Ask, Hold, HoldState, is_hold_key};
use rules::ids::{EventId, Seat, User};
use rules::nights::{Dates, Night};
use rules::outcome::{Done, Expected, FieldError, Forbidden, Outcome, Problem, Refusal};
use rules::room_type::{RoomAction, RoomType};
use rules::seats::Hall;
use rules::subject::{HoldId, RoomTypeId, SubjectId};
use rules::time::Moment;
use serde::Serialize;
use stores::ledger::holds::At;

use crate::app::App;
use crate::http::plumbing::access::Confirmer;
use crate::http::plumbing::body::{AnyBytes, Json, SentBody, says_json};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::json::{Node, given};
use crate::http::plumbing::operation::Handled;
use crate::http::plumbing::paging::Paging;
use crate::http::resources::details::{self, Sender};
use crate::http::resources::reservations::buyer;
use crate::http::respond::{Dialect, Refused, Reply};
use crate::http::shown::ShownTimes;
use crate::http::wire::Succeeded;
use crate::http::wire::answers::{ConfirmedAnswer, HoldAnswer, HoldsAnswer, SeedHoldAnswer, SeedHoldsAnswer};
use crate::http::wire::stays::{HoldBody, HoldReservations, SeedHoldBody};
use crate::lane::Served;
use crate::path::{ChangeRequest, Ended, serve};
use crate::refusals::Failure;
use crate::zones;

/// Seats of one hold at most.
pub const SEATS_MOST: usize = 10;

/// What is to be held.
#[derive(Debug)]
enum Wanted {
    Nights(RoomTypeId, Dates),
    Seats(EventId, Vec<Seat>),
}

/// What is asked of a hold, and what is kept with it.
struct Asked {
    ask: Ask,
    details: Option<Box<Details>>,
}

impl Asked {
    fn plain(ask: Ask) -> Asked {
        Asked { ask, details: None }
    }
}

/// The ledger's answer, with the hall that names its seats.
struct HoldEnded {
    answer: Answer,
    hall: Option<Arc<Hall>>,
}

impl HoldEnded {
    fn of<S: Served>(app: &App, ended: Ended<S>) -> HoldEnded {
        HoldEnded { hall: S::hall(&ended.lane), answer: ended.answer.shown(app) }
    }
}

fn read(sent: &[u8], dialect: Dialect) -> Result<(Wanted, Box<str>, Option<Metadata>), Refusal> {
    let names = ["roomTypeId", "checkIn", "checkOut", "eventId", "seatIds", "clientHoldKey", "metadata"];
    let [room_type, check_in, check_out, event, seats, key, metadata] = Node::read(sent)?.fields(names)?.map(given);
    let wanted = match (room_type, event) {
        (Some(_), Some(_)) => {
            return Err(FieldError::refused("eventId", Problem::Expected(Expected::RoomTypeOrEvent)));
        }
        (None, None) => return Err(FieldError::refused("roomTypeId", Problem::Missing)),
        (Some(room_type), None) => {
            let dates = Dates::new(night("checkIn", check_in)?, night("checkOut", check_out)?)?;
            Wanted::Nights(RoomTypeId(room_type.whole()?), dates)
        }
        (None, Some(event)) => Wanted::Seats(EventId(event.whole()?), seat_ids(seats)?),
    };
    let key = key.ok_or_else(|| FieldError::refused("clientHoldKey", Problem::Missing))?.text()?;
    if !is_hold_key(&key) {
        return Err(FieldError::refused("clientHoldKey", Problem::Expected(Expected::HoldKey)));
    }
    let metadata = metadata.filter(|_| dialect == Dialect::V1_1);
    Ok((wanted, key.into(), details::metadata(metadata)?))
}

fn night(name: &'static str, node: Option<Node<'_>>) -> Result<Night, Refusal> {
    let text = node.ok_or_else(|| FieldError::refused(name, Problem::Missing))?.text()?;
    text.parse().map_err(|_| FieldError::refused(name, Problem::NotADate))
}

/// In seat order; a seat named twice is refused.
fn seat_ids(node: Option<Node<'_>>) -> Result<Vec<Seat>, Refusal> {
    let list = node.ok_or_else(|| FieldError::refused("seatIds", Problem::Missing))?.list(SEATS_MOST)?;
    let seats: Result<Vec<Seat>, Refusal> = list.iter().map(|seat| seat.whole_within(1, u32::MAX).map(Seat)).collect();
    let mut seats = seats?;
    seats.sort_unstable();
    if seats.is_empty() {
        return Err(FieldError::refused("seatIds", Problem::Count { least: 1, most: SEATS_MOST }));
    }
    if seats.windows(2).any(|two| two[0] == two[1]) {
        return Err(FieldError::refused("seatIds", Problem::Repeated));
    }
    Ok(seats)
}

pub async fn create(app: Arc<App>, Call { request, caller: user, sent }: Call<User, SentBody<Json>>) -> Handled {
    let told = take(&app, &request, user, &sent).await?;
    match &told.answer.outcome {
        Outcome::Done(Done::Held { hold, now, fresh }) => {
            Ok(show(&app, &request, *fresh, hold, *now).await?.replayed(told.answer.replayed))
        }
        other => Err(refused(&app, other, told.hall).await),
    }
}

/// The content, then whether it exists, then the path of a request.
async fn take(app: &App, request: &Incoming, user: User, sent: &[u8]) -> Result<HoldEnded, Refusal> {
    let (wanted, hold_key, metadata) = read(sent, request.dialect)?;
    let details = Details::of(metadata.as_ref(), None);
    let (actor, key, origin) = (Actor::User(user), request.key(sent)?, request.origin());
    match wanted {
        Wanted::Nights(id, dates) => {
            let room_type = app.lanes.rooms.find(id).await?.room_type();
            let today = zones::today(&room_type.time_zone, app.ledger.wall());
            let dates = dates.sold_on(today, app.settings.max_days_ahead)?;
            let action = RoomAction::Hold { dates, key: hold_key };
            let asks = ChangeRequest { key, origin, details, ..ChangeRequest::new(id, actor, action) };
            Ok(HoldEnded::of(app, serve::<RoomType>(app, asks).await?))
        }
        Wanted::Seats(event, seats) => {
            let action = EventAction::Hold { seats, key: hold_key };
            let entry = request.entry();
            let asks = ChangeRequest { key, entry, origin, details, ..ChangeRequest::new(event, actor, action) };
            Ok(HoldEnded::of(app, serve::<Event>(app, asks).await?))
        }
    }
}

pub async fn confirm(app: Arc<App>, call: Call<Confirmer, SentBody<AnyBytes>>) -> Handled {
    let (actor, key) = match call.caller {
        Confirmer::Owner(user) => (Actor::User(user), call.request.key(&call.sent)?),
        Confirmer::Service(service) => (service.actor(), None),
    };
    let told = match (hold_id(&app, &call.request).await?, &actor) {
        (HoldId { subject: SubjectId::Event(event), n }, Actor::Admin(_)) => {
            let buyer = buyer_of(&app, &call.request, &call.sent)?;
            confirm_for(&app, event, n, actor, call.request.origin(), buyer).await?
        }
        (HoldId { subject: SubjectId::Event(event), n }, _) => {
            let action = match buyer_of(&app, &call.request, &call.sent)? {
                Some(buyer) => EventAction::ConfirmWith { n, buyer },
                None => EventAction::OnHold { n, ask: Ask::Confirm },
            };
            let asks = ChangeRequest { key, origin: call.request.origin(), ..ChangeRequest::new(event, actor, action) };
            HoldEnded::of(&app, serve::<Event>(&app, asks).await.map_err(no_hold)?)
        }
        _ => on_hold(&app, &call.request, actor, key, Asked::plain(Ask::Confirm)).await?,
    };
    match &told.answer.outcome {
        Outcome::Done(Done::Confirmed { hold }) => {
            let ids = &app.secrets.get().await?.ids;
            let reservations = HoldReservations::of(hold, told.hall.as_deref(), Some(ids), call.request.dialect);
            let body = ConfirmedAnswer::of(reservations).ok_or(Refusal::Internal)?;
            Ok(Reply::ok(&body).replayed(told.answer.replayed))
        }
        other => Err(refused(&app, other, told.hall).await),
    }
}

pub async fn cancel(app: Arc<App>, call: Call<User, SentBody<AnyBytes>>) -> Handled {
    let details = details::reason(&call.request, &call.sent, Sender::Buyer)?;
    let key = call.request.key(&call.sent)?;
    let asked = Asked { ask: Ask::Cancel, details };
    let told = on_hold(&app, &call.request, Actor::User(call.caller), key, asked).await?;
    match &told.answer.outcome {
        Outcome::Done(Done::Released) => Ok(Reply::done().replayed(told.answer.replayed)),
        other => Err(refused(&app, other, told.hall).await),
    }
}

pub async fn extend(app: Arc<App>, call: Call<User, SentBody<AnyBytes>>) -> Handled {
    let key = call.request.key(&call.sent)?;
    let told = on_hold(&app, &call.request, Actor::User(call.caller), key, Asked::plain(Ask::Extend)).await?;
    match &told.answer.outcome {
        Outcome::Done(Done::Extended { hold, now }) => {
            Ok(show(&app, &call.request, false, hold, *now).await?.replayed(told.answer.replayed))
        }
        other => Err(refused(&app, other, told.hall).await),
    }
}

/// Who buys, where JSON was sent. The seed's dialect knows no buyer of a hold, and asks for none.
fn buyer_of(app: &App, request: &Incoming, sent: &[u8]) -> Result<Option<Box<Buyer>>, Refusal> {
    if request.dialect != Dialect::V1_1 {
        return Ok(None);
    }
    let told = says_json(request) && !sent.trim_ascii().is_empty();
    let buyer = told.then(|| buyer::of_hold(sent, &app.settings.default_region)).transpose()?;
    Ok(Some(Box::new(buyer.unwrap_or(Buyer { otherwise: BuyerFields::PERHAPS_ANY, ..Buyer::default() }))))
}

/// A missing event or room type is, to this caller, a missing hold.
fn no_hold(refusal: Refusal) -> Refusal {
    if refusal == Refusal::NotFound { Refusal::HoldNotFound } else { refusal }
}

/// A hold keeps its owner for life, so the owner may be read before the lock.
async fn confirm_for(
    app: &App,
    event: EventId,
    n: u64,
    actor: Actor,
    origin: RequestOrigin,
    buyer: Option<Box<Buyer>>,
) -> Result<HoldEnded, Failure> {
    let found = app.ledger.hold(HoldId { subject: SubjectId::Event(event), n }).await?.found;
    let owner = found.ok_or(Refusal::HoldNotFound)?.owner;
    let action = EventAction::ConfirmFor { n, owner, buyer };
    let asks = ChangeRequest { origin, ..ChangeRequest::new(event, actor, action) };
    Ok(HoldEnded::of(app, serve::<Event>(app, asks).await?))
}

async fn on_hold(
    app: &App,
    request: &Incoming,
    actor: Actor,
    key: Option<Key>,
    Asked { ask, details }: Asked,
) -> Result<HoldEnded, Refusal> {
    let HoldId { subject, n } = hold_id(app, request).await?;
    let origin = request.origin();
    match subject {
        SubjectId::Ledger => Err(Refusal::HoldNotFound),
        SubjectId::RoomType(id) => {
            let action = RoomAction::OnHold { n, ask };
            let asks = ChangeRequest { key, origin, details, ..ChangeRequest::new(id, actor, action) };
            Ok(HoldEnded::of(app, serve::<RoomType>(app, asks).await.map_err(no_hold)?))
        }
        SubjectId::Event(event) => {
            let action = EventAction::OnHold { n, ask };
            let asks = ChangeRequest { key, origin, details, ..ChangeRequest::new(event, actor, action) };
            let ended = serve::<Event>(app, asks).await.map_err(no_hold)?;
            // Only a cancellation frees seats; a confirmation must not mute the gateway's hint.
            if ask == Ask::Cancel {
                request.tell_gateway_freed(event, &ended.answer);
            }
            Ok(HoldEnded::of(app, ended))
        }
    }
}

/// The hold in the path. An id that does not parse cannot exist.
async fn hold_id(app: &App, request: &Incoming) -> Result<HoldId, Failure> {
    let ids = &app.secrets.get().await?.ids;
    let text = request.param("holdId").unwrap_or_default();
    Ok(ids.read_hold(text).ok_or(Refusal::HoldNotFound)?)
}

pub async fn mine(app: Arc<App>, Call { request, caller: user, .. }: Call<User>) -> Handled {
    let ids = &app.secrets.get().await?.ids;
    let paging = Paging::of(&request)?;
    let after = paging.after(|text| ids.read_hold(text))?;
    let at = app.ledger.holds_of(user, after, paging.one_more()).await?.shown(&app);
    let (found, next) = paging.cut(at.found, |hold| ids.of_hold(hold.id));
    let at = At { found, now: at.now };
    Ok(match request.dialect {
        Dialect::Seed004 => {
            let holds = at.found.iter().map(|hold| SeedHoldBody::of(hold, at.now, ids)).collect();
            Reply::ok(&SeedHoldsAnswer { success: Succeeded, holds, next })
        }
        Dialect::V1_1 | Dialect::V1_0 | Dialect::V2025_08_17 => {
            let holds = at.found.iter().map(|hold| HoldBody::of(hold, at.now, ids)).collect();
            Reply::ok(&HoldsAnswer { success: Succeeded, holds, next })
        }
    })
}

pub async fn one(app: Arc<App>, Call { request, caller: user, .. }: Call<User>) -> Handled {
    let at = app.ledger.hold(hold_id(&app, &request).await?).await?.shown(&app);
    let hold = at.found.filter(|hold| hold.state != HoldState::Replaced).ok_or(Refusal::HoldNotFound)?;
    if hold.owner != user {
        return Err(Refusal::Forbidden(Forbidden::AnothersHold).into());
    }
    show(&app, &request, false, &hold, at.now).await
}

/// One hold, in the caller's dialect.
async fn show(app: &App, request: &Incoming, fresh: bool, hold: &Hold, now: Moment) -> Handled {
    fn reply(fresh: bool, body: &impl Serialize) -> Reply {
        if fresh { Reply::created(body) } else { Reply::ok(body) }
    }
    let ids = &app.secrets.get().await?.ids;
    Ok(match request.dialect {
        Dialect::Seed004 => {
            reply(fresh, &SeedHoldAnswer { success: Succeeded, hold: SeedHoldBody::of(hold, now, ids) })
        }
        Dialect::V1_1 | Dialect::V1_0 | Dialect::V2025_08_17 => {
            reply(fresh, &HoldAnswer { success: Succeeded, hold: HoldBody::of(hold, now, ids) })
        }
    })
}

async fn refused(app: &App, outcome: &Outcome, hall: Option<Arc<Hall>>) -> Refused {
    let refusal = match outcome {
        Outcome::Refused(refusal) => refusal.clone(),
        Outcome::Done(_) => Refusal::Internal,
    };
    let ids = app.secrets.get().await.ok().map(|secret| secret.ids.clone());
    Refused { hall, ids, ..refusal.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(sent: &str) -> String {
        match read(sent.as_bytes(), Dialect::V1_1) {
            Err(Refusal::Invalid(fault)) => fault.field,
            other => panic!("{sent}: {other:?}"),
        }
    }

    #[test]
    fn errors_name_the_field() {
        const KEY: &str = r#""clientHoldKey":"01ARZ3NDEKTSV4RRFFQ69G5FAV""#;
        let nights = |check_in: &str, check_out: &str| {
            format!(r#"{{"roomTypeId":7,"checkIn":"{check_in}","checkOut":"{check_out}",{KEY}}}"#)
        };
        let seats = |ids: &str| format!(r#"{{"eventId":2,"seatIds":{ids},{KEY}}}"#);
        assert!(read(nights("2026-12-24", "2026-12-26").as_bytes(), Dialect::V1_1).is_ok());
        let read_seats = read(seats("[4,3]").as_bytes(), Dialect::V1_1);
        assert!(matches!(read_seats, Ok((Wanted::Seats(_, s), ..)) if s == [Seat(3), Seat(4)]));
        let noted = r#"{"eventId":2,"seatIds":[1],"metadata":5,"clientHoldKey":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#;
        assert_eq!(field(noted), "metadata");
        assert!(read(noted.as_bytes(), Dialect::Seed004).is_ok(), "the seed knows no metadata");
        for (sent, named) in [
            (nights("2026-12-26", "2026-12-24"), "checkOut"),
            (nights("2026-12-24", "2026-12-24"), "checkOut"),
            (nights("2026-02-30", "2026-03-02"), "checkIn"),
            (nights("2026-02-28", "2026-02-29"), "checkOut"),
            (nights("2026-01-01", "2027-02-05"), "checkOut"),
            (nights("20261224", "2026-12-26"), "checkIn"),
            (format!(r#"{{"roomTypeId":7,"checkIn":20261224,{KEY}}}"#), "checkIn"),
            (format!(r#"{{"roomTypeId":7,"checkIn":"2026-12-24",{KEY}}}"#), "checkOut"),
            (format!(r#"{{"roomTypeId":"7",{KEY}}}"#), "checkIn"),
            (format!("{{{KEY}}}"), "roomTypeId"),
            (format!(r#"{{"roomTypeId":7,"eventId":2,{KEY}}}"#), "eventId"),
            (format!(r#"{{"eventId":2,{KEY}}}"#), "seatIds"),
            (seats("[]"), "seatIds"),
            (seats("[1,2,3,4,5,6,7,8,9,10,11]"), "seatIds"),
            (seats("[1,1]"), "seatIds"),
            (seats("[0]"), "seatIds[0]"),
            (seats("[1,\"2\"]"), "seatIds[1]"),
            (seats("3"), "seatIds"),
            (r#"{"eventId":2,"seatIds":[1]}"#.to_owned(), "clientHoldKey"),
            (r#"{"eventId":2,"seatIds":[1],"clientHoldKey":"mine"}"#.to_owned(), "clientHoldKey"),
            (r#"{"eventId":2,"seatIds":[1],"clientHoldKey":1}"#.to_owned(), "clientHoldKey"),
        ] {
            assert_eq!(field(&sent), named, "{sent}");
        }
    }
}
