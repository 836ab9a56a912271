//! Making and changing events.

use std::sync::Arc;

use rules::command::Action;
use rules::event::{Amendment, EVENT_NAME_CHARS, MAX_PER_USER, NewEvent, SEATS_PER_EVENT, Turn};
use rules::history::Actor;
use rules::outcome::{Done, Fault, Outcome, Problem, Refusal};
use rules::seats::Hall;
use rules::time::Moment;
use serde::Deserialize;
use serde_json::json;

use crate::app::App;
use crate::auth;
use crate::batch::refusal;
use crate::http::asked::Asked;
use crate::http::body::{self, ADMIN_BODY_MOST};
use crate::http::endpoint::Handled;
use crate::http::events as public;
use crate::http::respond::{Refused, Reply};
use crate::http::wire::{EventBody, read_moment};
use crate::reserve::change;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventFields {
    name: Option<String>,
    seats: Option<i64>,
    max_per_user: Option<i64>,
    #[serde(default, deserialize_with = "present")]
    opens_at: Option<Option<String>>,
}

/// Tells `null` from absent.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(from).map(Some)
}

const FIELDS: &[(&str, &str)] =
    &[("name", "text"), ("seats", "a whole number"), ("maxPerUser", "a whole number"), ("opensAt", "text")];

impl EventFields {
    fn name(&self) -> Result<Box<str>, Refusal> {
        body::text("name", self.name.as_deref(), EVENT_NAME_CHARS)
    }

    fn max_per_user(&self) -> Result<Option<u32>, Refusal> {
        self.max_per_user.map(|most| within("maxPerUser", most, 1, MAX_PER_USER)).transpose()
    }

    fn opens_at(&self) -> Result<Option<Option<Moment>>, Refusal> {
        let read = |text: &String| read_moment(text).ok_or_else(|| Fault::refused("opensAt", Problem::NotAMoment));
        self.opens_at.as_ref().map(|given| given.as_ref().map(read).transpose()).transpose()
    }
}

fn within(field: &'static str, number: i64, least: u32, most: u32) -> Result<u32, Refusal> {
    let fits = u32::try_from(number).ok().filter(|n| (least..=most).contains(n));
    fits.ok_or_else(|| Fault::refused(field, Problem::OutOfRange { least: least.into(), most: most.into() }))
}

pub async fn create(app: Arc<App>, mut asked: Asked) -> Handled {
    auth::admin(&app.admin_token, &asked.headers)?;
    let sent = body::json_bytes(&mut asked, ADMIN_BODY_MOST).await?;
    let fields: EventFields = body::object(&sent, FIELDS)?;
    let seats = fields.seats.ok_or_else(|| Fault::refused("seats", Problem::Missing))?;
    let new = NewEvent {
        name: fields.name()?,
        hall: Hall::Count(within("seats", seats, 0, SEATS_PER_EVENT)?),
        max_per_user: fields.max_per_user()?.unwrap_or(1),
        opens_at: fields.opens_at()?.flatten(),
    };
    let event = app.ledger.create_event(new, None).await.map_err(|f| refusal(&f))?;
    tracing::info!(event = %event.id, seats = event.seat_count(), "an event was made");
    Ok(Reply::created(&json!({ "success": true, "event": EventBody::of(&event, app.ledger.now()) })))
}

pub async fn list(app: Arc<App>, asked: Asked) -> Handled {
    auth::admin(&app.admin_token, &asked.headers)?;
    public::list(app, asked).await
}

pub async fn one(app: Arc<App>, asked: Asked) -> Handled {
    auth::admin(&app.admin_token, &asked.headers)?;
    public::one(app, asked).await
}

pub async fn amend(app: Arc<App>, mut asked: Asked) -> Handled {
    auth::admin(&app.admin_token, &asked.headers)?;
    let sent = body::json_bytes(&mut asked, ADMIN_BODY_MOST).await?;
    let fields: EventFields = body::object(&sent, FIELDS)?;
    if fields.seats.is_some() {
        return Err(
            Fault::refused("seats", Problem::Expected("no change: seats are fixed when an event is made")).into()
        );
    }
    let amendment = Amendment {
        name: fields.name.as_ref().map(|_| fields.name()).transpose()?,
        max_per_user: fields.max_per_user()?,
        opens_at: fields.opens_at()?,
    };
    operate(&app, &asked, Action::Amend(amendment)).await
}

pub async fn delete(app: Arc<App>, asked: Asked) -> Handled {
    auth::admin(&app.admin_token, &asked.headers)?;
    operate(&app, &asked, Action::Delete).await
}

pub async fn open(app: Arc<App>, asked: Asked) -> Handled {
    turn(app, asked, Turn::Open).await
}

pub async fn close(app: Arc<App>, asked: Asked) -> Handled {
    turn(app, asked, Turn::Close).await
}

pub async fn pause(app: Arc<App>, asked: Asked) -> Handled {
    turn(app, asked, Turn::Pause).await
}

pub async fn resume(app: Arc<App>, asked: Asked) -> Handled {
    turn(app, asked, Turn::Resume).await
}

async fn turn(app: Arc<App>, asked: Asked, turn: Turn) -> Handled {
    auth::admin(&app.admin_token, &asked.headers)?;
    operate(&app, &asked, Action::Turn(turn)).await
}

async fn operate(app: &App, asked: &Asked, action: Action) -> Handled {
    let told = change(app, asked.event()?, Actor::Admin, None, action).await?;
    match &told.answer.outcome {
        Outcome::Done(Done::Changed(event)) => {
            Ok(Reply::ok(&json!({ "success": true, "event": EventBody::of(event, app.ledger.now()) })))
        }
        Outcome::Refused(refusal) => Err(Refused::told(refusal.clone(), &told)),
        Outcome::Done(_) => Err(Refusal::Internal.into()),
    }
}
