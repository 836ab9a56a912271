//! What a row of the route table declares, and how it becomes code that enforces it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rules::outcome::Refusal;
use salvo::http::Method;

use super::access::{Access, AccessRule};
use super::body::{BodyRule, Takes};
use super::call::{Call, Incoming};
use super::strict::KnownParameters;
use crate::app::App;
use crate::gate::RequestKind;
use crate::http::openapi::Doc;
use crate::http::respond::{self, Refused, Reply, Speech};

/// What a handler hands back.
pub type Handled = Result<Reply, Refused>;

type Run = Box<dyn Fn(Arc<App>, Incoming) -> Pin<Box<dyn Future<Output = Completion> + Send>> + Send + Sync>;

/// Longer than any deadline inside: a handler still running by then is stuck.
const REQUEST_TIME: Duration = Duration::from_secs(15);

/// One path: the dialects it speaks, its methods, and what each does.
pub struct Route {
    pub path: &'static str,
    pub speech: Speech,
    pub operations: Vec<Operation>,
}

/// One method of one path. Its outcomes are counted under `doc.id`.
pub struct Operation {
    pub method: Method,
    pub access: Access,
    pub takes: Takes,
    /// A request for a seat: see `AccessRule::THROUGH_DOOR`.
    pub through_door: bool,
    /// The budget that a request of it spends.
    pub spends: Option<RequestKind>,
    pub time: TimeLimit,
    pub doc: Doc,
    pub(super) run: Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// The endpoint ends it after this long.
    Within(Duration),
    /// Everything it waits for has a limit of its own, so it needs no timer around the whole.
    OfItsOwn,
}

impl Route {
    pub fn at(path: &'static str, speech: Speech) -> Route {
        Route { path, speech, operations: Vec::new() }
    }

    /// An operation: who may call it, which body it takes, and its handler, which gets just that.
    pub fn on<A, B, F, W>(mut self, method: Method, who: A, body: B, handler: F, doc: Doc) -> Route
    where
        A: AccessRule,
        B: BodyRule,
        F: Fn(Arc<App>, Call<A::Caller, B::Sent>) -> W + Copy + Send + Sync + 'static,
        W: Future<Output: Into<Completion>> + Send,
    {
        let spends = RequestKind::spent(&method, self.path);
        let known = Arc::new(KnownParameters::of(&method, self.path, A::ACCESS, &doc));
        let run: Run = Box::new(move |app, mut request| {
            let known = known.clone();
            Box::pin(async move {
                match admit(&app, &mut request, (who, body, &*known), spends).await {
                    Ok((caller, sent)) => handler(app, Call { request, caller, sent }).await.into(),
                    Err(refusal) => {
                        if A::THROUGH_DOOR {
                            request.release_mark(&app).await;
                        }
                        Completion::Refused(refusal.into())
                    }
                }
            })
        });
        self.operations.push(Operation {
            method,
            access: A::ACCESS,
            takes: body.takes(),
            through_door: A::THROUGH_DOOR,
            spends,
            time: TimeLimit::Within(REQUEST_TIME),
            doc,
            run,
        });
        self
    }

    /// The newest operation needs no timer around it.
    pub fn limits_itself(mut self) -> Route {
        if let Some(newest) = self.operations.last_mut() {
            newest.time = TimeLimit::OfItsOwn;
        }
        self
    }
}

/// In the order of the contract: the form of the body, then the caller. The body itself is read before the
/// caller is checked, unless the access rule says otherwise. Then unknown parameters, and the budgets of the caller.
async fn admit<A: AccessRule, B: BodyRule>(
    app: &App,
    request: &mut Incoming,
    (_, body, known): (A, B, &KnownParameters),
    spends: Option<RequestKind>,
) -> Result<(A::Caller, B::Sent), Refusal> {
    body.check_form(request)?;
    if A::BEFORE_BODY {
        let caller = A::check(app, request).await?;
        known.check(request)?;
        return Ok((caller, body.read(request).await?));
    }
    let sent = body.read(request).await?;
    let caller = A::check(app, request).await?;
    known.check(request)?;
    if let Some(kind) = spends {
        app.rates.spend(kind, A::user(&caller), request.client_address(app))?;
    }
    Ok((caller, sent))
}

/// How an operation ended.
#[derive(Debug)]
pub enum Completion {
    Done(Reply),
    Refused(Refused),
    /// `/readyz` says no: not a success, but not an outcome with a refusal's body either.
    Unready(Reply),
}

impl Completion {
    /// The code that the end is counted under; `done` is the operation's own for success.
    pub fn code(&self, done: &'static str) -> &'static str {
        match self {
            Completion::Done(_) => done,
            Completion::Refused(refused) => respond::code(&refused.refusal),
            Completion::Unready(_) => respond::code(&Refusal::Overloaded),
        }
    }
}

impl From<Handled> for Completion {
    fn from(handled: Handled) -> Completion {
        handled.map_or_else(Completion::Refused, Completion::Done)
    }
}

impl From<Refusal> for Completion {
    fn from(refusal: Refusal) -> Completion {
        Completion::Refused(refusal.into())
    }
}
