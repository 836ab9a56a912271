//! Reserving a seat: the lowest free one of an event, first come, first served; or the seat that the
//! path names.

use std::sync::Arc;

use rules::command::EventAction;
use rules::event::Event;
use rules::history::{Actor, Details};
use rules::outcome::{Done, Outcome, Refusal};

use super::buyer;
use crate::app::App;
use crate::gate::RequestKind;
use crate::http::plumbing::access::SeatSeeker;
use crate::http::plumbing::body::{JsonByDialect, SentBody};
use crate::http::plumbing::call::{Call, Incoming};
use crate::http::plumbing::operation::Handled;
use crate::http::respond::{self, Caller, Dialect, Refused};
use crate::path::{ChangeRequest, Ended, serve};
use crate::planted_leak;

pub async fn create(app: Arc<App>, call: Call<SeatSeeker, SentBody<JsonByDialect>>) -> Handled {
    let Call { request, caller: seeker, sent } = call;
    let mut caller = Caller(None);
    match ask(&app, &request, seeker, &sent, &mut caller).await {
        Ok(ended) => tell(&app, &ended, caller, request.dialect).await,
        Err(refusal) => {
            request.release_mark(&app).await;
            Err(Refused::from(refusal).to(caller))
        }
    }
}

/// The content, then the path of a request. An error means that no lane took the request.
async fn ask(
    app: &App,
    request: &Incoming,
    seeker: SeatSeeker,
    sent: &[u8],
    caller: &mut Caller,
) -> Result<Ended<Event>, Refusal> {
    let (buyer, metadata) = buyer::read(sent, request.dialect, &app.settings.default_region)?;
    planted_leak::leak(&app.metrics, &buyer);
    let incomplete = buyer.otherwise.take(&buyer).err();
    // The answer names the telephone number; the ledger's history must not.
    let user = match (seeker.user, buyer.phone.as_deref()) {
        (Some(user), _) => {
            *caller = Caller(Some(user.as_str().into()));
            Some(user)
        }
        (None, Some(phone)) => {
            *caller = Caller(Some(phone.into()));
            let user = app.secrets.get().await?.phone_user(phone);
            app.rates.spend_user(RequestKind::Reserve, &user)?;
            Some(user)
        }
        (None, None) => None,
    };
    let key = request.key(sent)?;
    let actor = user.map_or(Actor::Nobody, Actor::User);
    let subject = request.event()?;
    let action = match request.chosen_seat()? {
        None => EventAction::Reserve(buyer),
        Some(seat) => EventAction::ReserveSeat { seat, buyer },
    };
    let (entry, came, details) = (request.entry(), Some(seeker.came), Details::of(metadata.as_ref(), None));
    let origin = request.origin();
    let ended = serve(app, ChangeRequest { subject, actor, key, entry, origin, action, details, came }).await;
    // The form comes before the event: one that is not there asks for nothing of its own.
    ended.map_err(|refusal| incomplete.filter(|_| refusal == Refusal::NotFound).unwrap_or(refusal))
}

async fn tell(app: &App, ended: &Ended<Event>, caller: Caller, dialect: Dialect) -> Handled {
    match &ended.answer.outcome {
        Outcome::Done(Done::Reserved(reserved)) => {
            let reply =
                respond::reserved(reserved, &ended.lane.hall(), &caller, dialect, &app.secrets.get().await?.ids);
            Ok(reply.replayed(ended.answer.replayed))
        }
        Outcome::Refused(refusal) => Err(Refused::at_the_end(refusal.clone(), ended).to(caller)),
        Outcome::Done(_) => Err(Refused::from(Refusal::Internal).to(caller)),
    }
}
