//! The path of a request: arrive, admit, batch, decide, commit, publish, respond.
//!
//! Two tasks run it. The handler's task runs `serve`: it arrives and waits. Its future is dropped when the client
//! disconnects. The lane's task runs `serve_batch` for all waiting requests, so that accepted requests are finished
//! even if their clients are gone. The lane answers every request in time, so `serve` needs no timer.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use rules::arrive::Arrival;
use rules::command::{Command, Key};
use rules::decide::Answer;
use rules::entries::EntryToken;
use rules::history::{Actor, Details, RequestOrigin};
use rules::ids::{ClientAddress, Number, RequestName};
use rules::outcome::{Outcome, Refusal};
use rules::subject::Subject;

use crate::app::App;
use crate::lane::{Lane, Served};
use crate::names::Names;
use crate::telemetry::journey;

/// The time from arrival until an unserved request leaves the queue.
pub const DEADLINE: Duration = Duration::from_secs(3);

/// The same for requests about holds.
pub const HOLD_DEADLINE: Duration = Duration::from_secs(1);

/// A request to change a subject.
#[derive(Debug)]
pub struct ChangeRequest<S: Subject> {
    pub subject: S::Id,
    pub actor: Actor,
    pub key: Option<Key>,
    /// The entry that the caller presents, for events with a waiting room.
    pub entry: Option<EntryToken>,
    /// Where it came from, for the history.
    pub origin: RequestOrigin,
    pub action: S::Action,
    /// Details that the caller stores with the change.
    pub details: Option<Box<Details>>,
    /// Present: the request passes the door. Absent: it is ordered by the queue alone.
    pub came: Option<Came>,
}

/// Where a request came from, and how a gateway admitted it, if one did.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    pub address: ClientAddress,
    pub let_in: Option<LetIn>,
}

/// What a gateway got from the door for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetIn {
    /// The name in its mark.
    pub name: RequestName,
    pub number: Number,
}

/// How a request ended, and the lane that served it.
pub struct Ended<S: Served> {
    pub answer: Answer,
    /// The arrival number, if it got one: refusals carry it too.
    pub number: Option<Number>,
    pub lane: Arc<Lane<S>>,
}

/// The handler's side of the path.
pub async fn serve<S: Served>(app: &App, request: ChangeRequest<S>) -> Result<Ended<S>, Refusal> {
    let lane = S::lanes(&app.lanes).find(request.subject).await?;
    lane.check(&request.action)?;
    if let Some(refusal) = S::refused_from_memory(&lane, &request) {
        return Err(refusal);
    }
    let (limit, subject) = (request.limit(), request.subject);
    let (command, arrival) = request.named(&app.names);
    let answer = lane.arrive(command, arrival, limit)?.await;
    // A closed channel means that the batch panicked: no answer will come.
    let (answer, number) = match answer {
        Ok((answer, number, marks)) => {
            journey::passed_lane(S::subject(subject), marks);
            (answer, number)
        }
        Err(_) => (Outcome::from(Refusal::Internal).into(), None),
    };
    Ok(Ended { answer, number, lane })
}

/// The lane's side of the path, for one batch. `commit` is admit, decide and commit in one call: the ledger does all
/// three under the subject's lock, with the rules in `rules::decide`. It reports when it has the lock, what it read,
/// and when it has decided ([`crate::telemetry::ledger_marks`]).
pub(crate) async fn serve_batch<S: Served>(lane: &Arc<Lane<S>>) -> ControlFlow<()> {
    let Some(batch) = lane.next_batch().await else { return ControlFlow::Break(()) };
    let decided = lane.commit(batch).await;
    let finish = |lane: Arc<Lane<S>>| async move {
        let published = lane.publish(decided).await;
        published.respond();
    };
    lane.finish(finish(lane.clone())).await;
    ControlFlow::Continue(())
}

impl<S: Subject> ChangeRequest<S> {
    /// A request without a key or an entry that does not pass the door.
    pub fn new(subject: S::Id, actor: Actor, action: S::Action) -> ChangeRequest<S> {
        let origin = RequestOrigin::default();
        ChangeRequest { subject, actor, key: None, entry: None, origin, action, details: None, came: None }
    }

    fn limit(&self) -> Duration {
        if S::about_a_hold(&self.action) { HOLD_DEADLINE } else { DEADLINE }
    }

    /// The command for the ledger, and what the door is asked if the request passes it.
    fn named(self, names: &Names) -> (Command<S>, Option<Arrival>) {
        let ChangeRequest { actor, key, entry, origin, action, details, came, .. } = self;
        let let_in = came.and_then(|came| came.let_in);
        let name = let_in.map_or_else(|| names.next(), |let_in| let_in.name);
        let arrival =
            came.map(|came| Arrival { name, user: actor.user().cloned(), address: came.address, keyed: key.is_some() });
        let number = let_in.map(|let_in| let_in.number);
        (Command { actor, number, name, key, entry, origin, action, details }, arrival)
    }
}
