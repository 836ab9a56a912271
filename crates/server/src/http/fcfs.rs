//! First come, first served: the lowest free seat of an event; or the seat that the path names.

use std::sync::Arc;

use rules::command::EventAction;
use rules::history::Actor;
use rules::ids::User;
use rules::outcome::{Done, Outcome, Refusal};

use super::asked::Asked;
use super::body::{self, BODY_MOST};
use super::buyer;
use super::endpoint::Handled;
use super::respond::{self, Caller, Dialect, Refused};
use crate::app::App;
use crate::reserve::{Told, reserve};

pub async fn post(app: Arc<App>, mut asked: Asked) -> Handled {
    let mut caller = Caller(None);
    let result = ask(&app, &mut asked, &mut caller).await;
    let code = match &result {
        Ok(told) => respond::outcome_code(&told.answer.outcome),
        Err(refusal) => respond::code(refusal),
    };
    app.metrics.outcome(code);
    asked.tell_gateway_outcome(code);
    if result.is_err() {
        asked.let_go(&app).await;
    }
    match result {
        Ok(told) => tell(&told, caller, asked.dialect),
        Err(refusal) => Err(Refused::from(refusal).to(caller)),
    }
}

/// In the order of the contract: form, who asks, content; then the path of a request.
async fn ask(app: &App, asked: &mut Asked, caller: &mut Caller) -> Result<Told, Refusal> {
    let sent = match asked.dialect {
        Dialect::V1_1 | Dialect::V1_0 => body::json_bytes(asked, BODY_MOST).await?,
        Dialect::V2025_08_17 => body::maybe_json_bytes(asked, BODY_MOST).await?,
    };
    let came = asked.came()?;
    let named = who(app, asked)?;
    let buyer = buyer::read(&sent, asked.dialect, &app.settings.default_region)?;
    let user = named.or_else(|| buyer.phone.as_deref().and_then(User::new));
    *caller = Caller(user.as_ref().map(|user| user.as_str().into()));
    let key = asked.key(&sent)?;
    let actor = user.map_or(Actor::Nobody, Actor::User);
    let event = asked.event()?;
    let action = match asked.chosen_seat()? {
        None => EventAction::Reserve(buyer),
        Some(seat) => EventAction::ReserveSeat { seat, buyer },
    };
    reserve(app, event, actor, came, key, asked.entry(), action).await
}

/// The user, or none where the oldest dialect may ask without one.
fn who(app: &App, asked: &Asked) -> Result<Option<User>, Refusal> {
    let nameless = asked.dialect == Dialect::V2025_08_17 && asked.short_path() && app.settings.anonymous;
    match asked.named_user(app)? {
        None if !nameless => Err(Refusal::MissingUser),
        named => Ok(named),
    }
}

fn tell(told: &Told, caller: Caller, dialect: Dialect) -> Handled {
    match &told.answer.outcome {
        Outcome::Done(Done::Reserved(reserved)) => {
            let reply = respond::reserved(reserved, &told.hall, &caller, dialect);
            Ok(reply.replayed(told.answer.replayed))
        }
        Outcome::Refused(refusal) => Err(Refused::told(refusal.clone(), told).to(caller)),
        Outcome::Done(_) => Err(Refused::from(Refusal::Internal).to(caller)),
    }
}
