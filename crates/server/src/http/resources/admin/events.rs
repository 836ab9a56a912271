//! Creating and changing events.

use std::sync::Arc;

use rules::command::EventAction;
use rules::entries::WaitingRoom;
use rules::event::{
    EVENT_NAME_CHARS, Event, EventAmendment, HOLD_TTL_MOST_S, MAX_PER_USER, NewEvent, SEATS_PER_EVENT, Turn,
};
use rules::hall::{Hall, HallRow, ROWS_MOST, SEATS_PER_ROW, SECTIONS_MOST, Section};
use rules::outcome::{Done, Expected, FieldError, Outcome, Problem, Refusal};
use rules::time::Moment;

use super::waiting_room;
use crate::app::App;
use crate::auth::Admin;
use crate::http::plumbing::body::{Json, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::json::{self, Node, given};
use crate::http::plumbing::operation::Handled;
use crate::http::resources::events as public;
use crate::http::respond::{Refused, Reply};
use crate::http::wire::answers::EventAnswer;
use crate::http::wire::read_moment;
use crate::path::{ChangeRequest, serve};

/// What an operator sends about an event. Null counts as absent, except where it removes a value:
/// `opensAt`, `waitingRoom`, `holdTtl`.
struct Fields<'a> {
    name: Option<Node<'a>>,
    seats: Option<Node<'a>>,
    max_per_user: Option<Node<'a>>,
    opens_at: Option<Node<'a>>,
    waiting_room: Option<Node<'a>>,
    hold_ttl: Option<Node<'a>>,
}

impl<'a> Fields<'a> {
    fn read(sent: &'a [u8]) -> Result<Fields<'a>, Refusal> {
        let names = ["name", "seats", "maxPerUser", "opensAt", "holdTtl", "waitingRoom"];
        let [name, seats, max_per_user, opens_at, hold_ttl, waiting_room] = Node::read(sent)?.fields(names)?;
        let (name, seats, max_per_user) = (given(name), given(seats), given(max_per_user));
        Ok(Fields { name, seats, max_per_user, opens_at, hold_ttl, waiting_room })
    }

    fn name(&self) -> Result<Box<str>, Refusal> {
        let name = self.name.as_ref().map(Node::text).transpose()?;
        json::text("name", name.as_deref(), EVENT_NAME_CHARS)
    }

    fn max_per_user(&self) -> Result<Option<u32>, Refusal> {
        self.max_per_user.as_ref().map(|most| most.whole_within(1, MAX_PER_USER)).transpose()
    }

    /// Sent in seconds; null: `HOLD_TTL`.
    fn hold_ttl_ms(&self) -> Result<Option<Option<i64>>, Refusal> {
        let Some(node) = &self.hold_ttl else { return Ok(None) };
        if node.is_null() {
            return Ok(Some(None));
        }
        let seconds = node.whole_within(1, HOLD_TTL_MOST_S)?;
        Ok(Some(Some(i64::from(seconds) * 1_000)))
    }

    fn opens_at(&self) -> Result<Option<Option<Moment>>, Refusal> {
        let Some(node) = &self.opens_at else { return Ok(None) };
        if node.is_null() {
            return Ok(Some(None));
        }
        let moment = read_moment(&node.text()?).ok_or_else(|| FieldError::refused("opensAt", Problem::NotAMoment))?;
        Ok(Some(Some(moment)))
    }

    fn waiting_room(&self) -> Result<Option<Option<WaitingRoom>>, Refusal> {
        self.waiting_room.as_ref().map(waiting_room::read).transpose()
    }

    /// A count, or sections of rows.
    fn hall(&self) -> Result<Hall, Refusal> {
        let seats = self.seats.as_ref().ok_or_else(|| FieldError::refused("seats", Problem::Missing))?;
        if !seats.is_object() {
            return seats.whole_within(0, SEATS_PER_EVENT).map(Hall::Count);
        }
        let [sections] = seats.fields(["sections"])?;
        let sections = sections.ok_or_else(|| FieldError::refused("seats.sections", Problem::Missing))?;
        let sections = sections.list(SECTIONS_MOST)?.iter().map(section).collect::<Result<_, _>>()?;
        Hall::of_sections(sections)
    }
}

fn section(node: &Node<'_>) -> Result<Section, Refusal> {
    let [name, rows] = node.fields(["name", "rows"])?;
    let rows = required(rows, node, "rows")?.list(ROWS_MOST)?;
    let rows = rows.iter().map(row).collect::<Result<_, _>>()?;
    Ok(Section { name: required(name, node, "name")?.text()?.into(), rows })
}

fn row(node: &Node<'_>) -> Result<HallRow, Refusal> {
    let [name, seats] = node.fields(["name", "seats"])?;
    let seats = required(seats, node, "seats")?.whole_within(1, SEATS_PER_ROW)?;
    Ok(HallRow { name: required(name, node, "name")?.text()?.into(), seats })
}

fn required<'a>(field: Option<Node<'a>>, of: &Node<'_>, name: &str) -> Result<Node<'a>, Refusal> {
    given(field).ok_or_else(|| FieldError::refused(format!("{}.{name}", of.path()), Problem::Missing))
}

fn new_event(sent: &[u8]) -> Result<NewEvent, Refusal> {
    let fields = Fields::read(sent)?;
    Ok(NewEvent {
        name: fields.name()?,
        hall: fields.hall()?,
        max_per_user: fields.max_per_user()?.unwrap_or(1),
        opens_at: fields.opens_at()?.flatten(),
        waiting_room: fields.waiting_room()?.flatten(),
        hold_ttl_ms: fields.hold_ttl_ms()?.flatten(),
    })
}

pub async fn create(app: Arc<App>, call: Call<Admin, SentBody<Json>>) -> Handled {
    let new = new_event(&call.sent)?;
    let event = app.ledger.create_event(new).await?;
    tracing::info!(event = %event.id, seats = event.seat_count(), "an event was made");
    Ok(Reply::created(&EventAnswer::of(&event, app.ledger.now())))
}

pub async fn list(app: Arc<App>, call: Call<Admin>) -> Handled {
    public::show_page(&app, &call.request).await
}

pub async fn one(app: Arc<App>, call: Call<Admin>) -> Handled {
    public::show(&app, &call.request).await
}

pub async fn amend(app: Arc<App>, Call { request, caller: admin, sent }: Call<Admin, SentBody<Json>>) -> Handled {
    let fields = Fields::read(&sent)?;
    if fields.seats.is_some() {
        return Err(FieldError::refused("seats", Problem::Expected(Expected::NoSeats)).into());
    }
    let amendment = EventAmendment {
        name: fields.name.as_ref().map(|_| fields.name()).transpose()?,
        max_per_user: fields.max_per_user()?,
        opens_at: fields.opens_at()?,
        waiting_room: fields.waiting_room()?,
        hold_ttl_ms: fields.hold_ttl_ms()?,
    };
    operate(&app, &request, &admin, EventAction::Amend(amendment)).await
}

pub async fn delete(app: Arc<App>, Call { request, caller: admin, .. }: Call<Admin>) -> Handled {
    let reply = operate(&app, &request, &admin, EventAction::Delete).await?;
    let event = request.event()?;
    app.lanes.forget(event);
    app.boards.forget(event);
    app.lines.forget(event);
    Ok(reply)
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

async fn turn(app: &App, call: &Call<Admin>, turn: Turn) -> Handled {
    operate(app, &call.request, &call.caller, EventAction::Turn(turn)).await
}

async fn operate(app: &App, request: &Incoming, admin: &Admin, action: EventAction) -> Handled {
    let event = request.event()?;
    let ended = serve::<Event>(app, ChangeRequest::new(event, admin.actor(), action)).await?;
    request.tell_gateway_freed(event, &ended.answer);
    match &ended.answer.outcome {
        Outcome::Done(Done::Changed(event)) => {
            app.lines.learn(event);
            Ok(Reply::ok(&EventAnswer::of(event, app.ledger.now())))
        }
        Outcome::Refused(refusal) => Err(Refused::at_the_end(refusal.clone(), &ended)),
        Outcome::Done(_) => Err(Refusal::Internal.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(sent: &str) -> String {
        match new_event(sent.as_bytes()) {
            Err(Refusal::Invalid(fault)) => fault.field,
            other => panic!("{sent}: {other:?}"),
        }
    }

    #[test]
    fn a_count_or_a_hall() {
        let hall = new_event(br#"{"name":"x","seats":500}"#).unwrap().hall;
        assert_eq!(hall, Hall::Count(500));
        let sent = r#"{"name":"x","seats":{"sections":[{"name":"1\uce35","rows":[{"name":"A","seats":20}]}]}}"#;
        let hall = new_event(sent.as_bytes()).unwrap().hall;
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
            (r#"{"name":"x","seats":5,"holdTtl":0}"#.to_owned(), "holdTtl"),
            (r#"{"name":"x","seats":5,"holdTtl":"60"}"#.to_owned(), "holdTtl"),
            (r#"{"name":"x","seats":5,"seats":6}"#.to_owned(), "seats"),
            (r#"{"name":"x\u0007","seats":5}"#.to_owned(), "name"),
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
