//! Creating and changing events.

use std::sync::Arc;
use std::time::Duration;

use rules::buyer::AskedFields;
use rules::command::EventAction;
use rules::entries::WaitingRoomAmendment;
use rules::event::{
    EVENT_NAME_CHARS, Event, EventAmendment, HOLD_TTL_MOST_S, MAX_PER_USER, NewEvent, Occasion, OccasionAmendment,
    PLACE_CHARS, SEATS_PER_EVENT, Turn, check_gathering,
};
use rules::hall::{Hall, HallRow, ROWS_MOST, SEATS_PER_ROW, SECTIONS_MOST, Section};
use rules::history::{AdminName, RequestOrigin};
use rules::holds::HoldTerms;
use rules::ids::EventId;
use rules::outcome::{Done, Expected, FieldError, Outcome, Problem, Refusal};
use rules::price::Price;
use rules::time::Moment;

use super::fields::AdminFields;
use super::orders;
use super::search::listed;
use super::subject_lists::ListedEvents;
use super::waiting_room;
use crate::app::App;
use crate::auth::{Admin, Viewer};
use crate::http::plumbing::body::{Json, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::json::{self, Node};
use crate::http::plumbing::operation::Handled;
use crate::http::resources::events as public;
use crate::http::respond::{Refused, Reply};
use crate::http::wire::Succeeded;
use crate::http::wire::answers::{AdminEventAnswer, AdminEventsAnswer};
use crate::path::{ChangeRequest, serve};
use crate::zones;

/// A deletion is answered after this time even if the door does not answer.
const CLOSING: Duration = Duration::from_millis(500);

/// What an operator sends about an event. Null removes what is not a count or a name.
struct EventFields<'a>(AdminFields<'a, 12>);

impl<'a> EventFields<'a> {
    fn read(sent: &'a [u8]) -> Result<EventFields<'a>, Refusal> {
        let names = [
            "name",
            "seats",
            "maxPerUser",
            "opensAt",
            "startsAt",
            "timeZone",
            "place",
            "holdTtl",
            "waitingRoom",
            "buyerFields",
            "price",
            "rehearsal",
        ];
        AdminFields::read(sent, names).map(EventFields)
    }

    fn max_per_user(&self) -> Result<Option<u32>, Refusal> {
        self.0.whole("maxPerUser", 1, MAX_PER_USER)
    }

    /// Sent in seconds; null: `HOLD_TTL`. Longer than `HOLD_MAX_AGE` is refused: no hold would last that long.
    fn hold_ttl_ms(&self, holds: HoldTerms) -> Result<Option<Option<i64>>, Refusal> {
        let max_age_s = u32::try_from(holds.max_age_ms / 1_000).unwrap_or(HOLD_TTL_MOST_S);
        let most = HOLD_TTL_MOST_S.min(max_age_s);
        self.0.removable("holdTtl", |node| Ok(i64::from(node.whole_within(1, most)?) * 1_000))
    }

    fn opens_at(&self) -> Result<Option<Option<Moment>>, Refusal> {
        self.0.removable("opensAt", Node::moment)
    }

    fn occasion(&self) -> Result<OccasionAmendment, Refusal> {
        Ok(OccasionAmendment {
            starts_at: self.0.removable("startsAt", Node::moment)?,
            time_zone: self.0.removable("timeZone", zones::name_sent)?,
            place: self.0.removable("place", |node| json::text("place", Some(&node.text()?), PLACE_CHARS))?,
        })
    }

    fn waiting_room(&self) -> Result<Option<Option<WaitingRoomAmendment>>, Refusal> {
        self.0.removable("waitingRoom", waiting_room::read)
    }

    fn buyer_fields(&self) -> Result<Option<Option<AskedFields>>, Refusal> {
        self.0.removable("buyerFields", orders::buyer_fields)
    }

    fn price(&self) -> Result<Option<Option<Price>>, Refusal> {
        self.0.removable("price", orders::price)
    }

    /// A count, or sections of rows.
    fn hall(&self) -> Result<Hall, Refusal> {
        let seats = self.0.required("seats")?;
        if !seats.is_object() {
            return seats.whole_within(0, SEATS_PER_EVENT).map(Hall::Count);
        }
        let hall = AdminFields::of(seats, ["sections"])?;
        let sections = hall.required("sections")?.list(SECTIONS_MOST)?;
        Hall::of_sections(sections.iter().map(section).collect::<Result<_, _>>()?)
    }
}

fn section(node: &Node<'_>) -> Result<Section, Refusal> {
    let fields = AdminFields::of(node, ["name", "rows"])?;
    let rows = fields.required("rows")?.list(ROWS_MOST)?;
    let rows = rows.iter().map(row).collect::<Result<_, _>>()?;
    Ok(Section { name: fields.required("name")?.text()?.into(), rows })
}

fn row(node: &Node<'_>) -> Result<HallRow, Refusal> {
    let fields = AdminFields::of(node, ["name", "seats", "accessible"])?;
    let seats = fields.required("seats")?.whole_within(1, SEATS_PER_ROW)?;
    let places = fields.given("accessible").map(|node| node.list(seats as usize)).transpose()?.unwrap_or_default();
    let accessible = places.iter().map(|place| place.whole_within(1, seats)).collect::<Result<_, _>>()?;
    Ok(HallRow { name: fields.required("name")?.text()?.into(), seats, accessible })
}

fn new_event(sent: &[u8], holds: HoldTerms, by: AdminName, origin: RequestOrigin) -> Result<NewEvent, Refusal> {
    let fields = EventFields::read(sent)?;
    let opens_at = fields.opens_at()?.flatten();
    let waiting_room = fields.waiting_room()?.flatten().map(|room| room.apply(None)).transpose()?;
    check_gathering(waiting_room, opens_at)?;
    let mut occasion = Occasion::default();
    occasion.change(&fields.occasion()?);
    Ok(NewEvent {
        by,
        origin,
        name: fields.0.text("name", EVENT_NAME_CHARS)?,
        hall: fields.hall()?,
        max_per_user: fields.max_per_user()?.unwrap_or(1),
        opens_at,
        occasion,
        waiting_room,
        hold_ttl_ms: fields.hold_ttl_ms(holds)?.flatten(),
        buyer_fields: fields.buyer_fields()?.flatten().unwrap_or_default(),
        price: fields.price()?.flatten(),
        rehearsal: fields.0.given("rehearsal").map(Node::yes_or_no).transpose()?.unwrap_or(false),
    })
}

pub async fn create(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let new = new_event(&call.sent, app.settings.terms.holds, call.caller.name(), call.request.origin())?;
    let event = app.ledger.create_event(new).await?;
    tracing::info!(event = %event.id, seats = event.seat_count(), "an event was made");
    Ok(Reply::created(&AdminEventAnswer::of(&event, app.ledger.wall())))
}

pub async fn list(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let archived = yes(&call.request, "archived")?;
    listed(ListedEvents { app, archived }, &call.request, |events, next| {
        Reply::ok(&AdminEventsAnswer { success: Succeeded, events, next })
    })
    .await
}

pub async fn one(app: Arc<App>, call: Call<Viewer>) -> Handled {
    let event = public::find(&app, &call.request).await?;
    Ok(Reply::ok(&AdminEventAnswer::of(&event, app.ledger.wall())))
}

pub async fn amend(app: Arc<App>, Call { request, caller: admin, sent }: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = EventFields::read(&sent)?;
    if fields.0.given("seats").is_some() {
        return Err(FieldError::refused("seats", Problem::Expected(Expected::NoSeats)).into());
    }
    if fields.0.given("rehearsal").is_some() {
        return Err(FieldError::refused("rehearsal", Problem::Unknown { nearest: None }).into());
    }
    let amendment = EventAmendment {
        name: fields.0.new_text("name", EVENT_NAME_CHARS)?,
        max_per_user: fields.max_per_user()?,
        opens_at: fields.opens_at()?,
        occasion: fields.occasion()?,
        waiting_room: fields.waiting_room()?,
        hold_ttl_ms: fields.hold_ttl_ms(app.settings.terms.holds)?,
        buyer_fields: fields.buyer_fields()?,
        price: fields.price()?,
    };
    operate(&app, &request, &admin, EventAction::Amend(amendment)).await
}

pub async fn delete(app: Arc<App>, Call { request, caller: admin, .. }: Call<Admin>) -> Handled {
    let action = if yes(&request, "sold")? { EventAction::DeleteSold } else { EventAction::Delete };
    let reply = operate(&app, &request, &admin, action).await?;
    let event = request.event()?;
    close_door(&app, event).await;
    app.forget(event);
    Ok(reply)
}

/// The other servers and the gateways give no more numbers. What the door misses now it forgets when the
/// event's rows are removed.
async fn close_door(app: &App, event: EventId) {
    let closing = app.door.forget(event);
    let closed = tokio::time::timeout(CLOSING, closing).await;
    if !matches!(closed, Ok(Ok(()))) {
        tracing::warn!(%event, "the door still knows a deleted event");
    }
}

pub async fn open(app: Arc<App>, call: Call<Admin>) -> Handled {
    turn(&app, &call, Turn::Open).await
}

pub async fn close(app: Arc<App>, call: Call<Admin>) -> Handled {
    turn(&app, &call, Turn::Close).await
}

pub async fn pause(app: Arc<App>, call: Call<Admin>) -> Handled {
    turn(&app, &call, Turn::Pause).await
}

pub async fn resume(app: Arc<App>, call: Call<Admin>) -> Handled {
    turn(&app, &call, Turn::Resume).await
}

pub async fn archive(app: Arc<App>, call: Call<Admin>) -> Handled {
    turn(&app, &call, Turn::Archive).await
}

pub async fn unarchive(app: Arc<App>, call: Call<Admin>) -> Handled {
    turn(&app, &call, Turn::Unarchive).await
}

/// A parameter that is true or false; absent it is false.
fn yes(request: &Incoming, name: &'static str) -> Result<bool, Refusal> {
    match request.query(name)?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(FieldError::refused(name, Problem::Expected(Expected::YesOrNo))),
    }
}

async fn turn(app: &App, call: &Call<Admin>, turn: Turn) -> Handled {
    operate(app, &call.request, &call.caller, EventAction::Turn(turn)).await
}

async fn operate(app: &App, request: &Incoming, admin: &Admin, action: EventAction) -> Handled {
    let event = request.event()?;
    let asks = ChangeRequest { origin: request.origin(), ..ChangeRequest::new(event, admin.actor(), action) };
    let ended = serve::<Event>(app, asks).await?;
    request.tell_gateway_freed(event, &ended.answer);
    match &ended.answer.outcome {
        Outcome::Done(Done::Changed(event)) => {
            app.lines.learn(event);
            Ok(Reply::ok(&AdminEventAnswer::of(event, app.ledger.wall())))
        }
        Outcome::Refused(refusal) => Err(Refused::at_the_end(refusal.clone(), &ended)),
        Outcome::Done(_) => Err(Refusal::Internal.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(sent: &str) -> String {
        match new_event(sent.as_bytes(), HoldTerms::default(), AdminName::default(), RequestOrigin::default()) {
            Err(Refusal::Invalid(fault)) => fault.field,
            other => panic!("{sent}: {other:?}"),
        }
    }

    #[test]
    fn a_count_or_a_hall() {
        let hall = new_event(
            br#"{"name":"x","seats":500}"#,
            HoldTerms::default(),
            AdminName::default(),
            RequestOrigin::default(),
        )
        .unwrap()
        .hall;
        assert_eq!(hall, Hall::Count(500));
        let sent = r#"{"name":"x","seats":{"sections":[{"name":"1\uce35","rows":[{"name":"A","seats":20}]}]}}"#;
        let hall = new_event(sent.as_bytes(), HoldTerms::default(), AdminName::default(), RequestOrigin::default())
            .unwrap()
            .hall;
        assert_eq!((hall.seat_count(), hall.seat_name(rules::ids::Seat(20))), (20, "1층 A20".into()));
        // As ledgers store it.
        let stored = serde_json::to_string(&hall).unwrap();
        assert_eq!(stored, r#"{"sections":[{"name":"1층","rows":[{"name":"A","seats":20}]}]}"#);
        assert_eq!(serde_json::from_str::<Hall>(&stored).unwrap(), hall);
        assert_eq!(serde_json::from_str::<Hall>(r#"{"count":9}"#).unwrap(), Hall::Count(9));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let section = |section: &str| format!(r#"{{"name":"x","seats":{{"sections":[{section}]}}}}"#);
        for (sent, named) in [
            (r#"{"seats":1}"#.to_owned(), "name"),
            (r#"{"name":"x"}"#.to_owned(), "seats"),
            (r#"{"name":"x","seats":-1}"#.to_owned(), "seats"),
            (r#"{"name":"x","seats":10000001}"#.to_owned(), "seats"),
            (r#"{"name":"x","seats":1e309}"#.to_owned(), "seats"),
            (r#"{"name":"x","seats":9007199254740993}"#.to_owned(), "seats"),
            (r#"{"name":"x","seats":"5"}"#.to_owned(), "seats"),
            (r#"{"name":"x","seats":[5]}"#.to_owned(), "seats"),
            (r#"{"name":"x","seats":{}}"#.to_owned(), "seats.sections"),
            (r#"{"name":"x","seats":{"sections":{}}}"#.to_owned(), "seats.sections"),
            (r#"{"name":"x","seats":5,"maxPerUser":0}"#.to_owned(), "maxPerUser"),
            (r#"{"name":"x","seats":5,"opensAt":"tomorrow"}"#.to_owned(), "opensAt"),
            (
                r#"{"name":"x","seats":5,"waitingRoom":{"gatherFrom":"2027-01-01T00:00:00Z"}}"#.to_owned(),
                "waitingRoom.gatherFrom",
            ),
            (r#"{"name":"x","seats":5,"startsAt":"2027-02-30T19:00:00Z"}"#.to_owned(), "startsAt"),
            (r#"{"name":"x","seats":5,"timeZone":"Seoul"}"#.to_owned(), "timeZone"),
            (r#"{"name":"x","seats":5,"place":"a\u0007"}"#.to_owned(), "place"),
            (r#"{"name":"x","seats":5,"place":""}"#.to_owned(), "place"),
            (r#"{"name":"x","seats":5,"holdTtl":0}"#.to_owned(), "holdTtl"),
            (r#"{"name":"x","seats":5,"holdTtl":"60"}"#.to_owned(), "holdTtl"),
            (r#"{"name":"x","seats":5,"holdTtl":1801}"#.to_owned(), "holdTtl"),
            (r#"{"name":"x","seats":5,"rehearsal":1}"#.to_owned(), "rehearsal"),
            (r#"{"name":"x","seats":5,"price":5}"#.to_owned(), "price"),
            (r#"{"name":"x","seats":5,"price":{"amount":"5"}}"#.to_owned(), "price.currency"),
            (r#"{"name":"x","seats":5,"price":{"amount":5,"currency":"KRW"}}"#.to_owned(), "price.amount"),
            (r#"{"name":"x","seats":5,"price":{"amount":"5","currency":"KRV"}}"#.to_owned(), "price.currency"),
            (r#"{"name":"x","seats":5,"buyerFields":{"email":"must"}}"#.to_owned(), "buyerFields.email"),
            (r#"{"name":"x","seats":5,"buyerFields":{"mail":"required"}}"#.to_owned(), "buyerFields.mail"),
            (r#"{"name":"x","seats":5,"seats":6}"#.to_owned(), "seats"),
            (r#"{"name":"x\u0007","seats":5}"#.to_owned(), "name"),
            (r#"{"name":"x","seats":5,"maxPerUsr":2}"#.to_owned(), "maxPerUsr"),
            (r#"{"name":"x","seats":5,"waitingRoom":{"maxConcurent":2}}"#.to_owned(), "waitingRoom.maxConcurent"),
            (r#"{"name":"x","seats":{"section":[]}}"#.to_owned(), "seats.section"),
            (section(r#"{"name":"s","rows":[],"row":1}"#), "seats.sections[0].row"),
            (section(r#"{"name":"s","rows":[{"name":"A","seat":1}]}"#), "seats.sections[0].rows[0].seat"),
            (section("5"), "seats.sections[0]"),
            (section("{}"), "seats.sections[0].rows"),
            (section(r#"{"rows":[{"name":"A","seats":1}]}"#), "seats.sections[0].name"),
            (section(r#"{"name":"s","rows":[{"name":"A"}]}"#), "seats.sections[0].rows[0].seats"),
            (
                section(
                    r#"{"name":"s","rows":[{"name":"A","seats":1},{"name":"B","seats":1},{"name":"C","seats":"3"}]}"#,
                ),
                "seats.sections[0].rows[2].seats",
            ),
            (section(r#"{"name":"s","rows":[{"name":"A","seats":1,"seats":2}]}"#), "seats.sections[0].rows[0].seats"),
        ] {
            assert_eq!(field(&sent), named, "{sent}");
        }
    }
}
