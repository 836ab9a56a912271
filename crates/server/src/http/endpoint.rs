//! What every request passes, whatever it asks: a trace id, the method, the dialect, a limit in
//! time, and an answer even if the handler panics.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use rules::outcome::Refusal;
use salvo::http::{HeaderName, HeaderValue, Method, ReqBody};
use salvo::{Depot, FlowCtrl, Handler, Request, Response, async_trait};
use tokio::time::timeout;

use super::asked::Asked;
use super::gateway::Aside;
use super::openapi::Doc;
use super::respond::{self, Dialect, Language, Refused, Reply, Speech};
use crate::app::App;

pub type Handled = Result<Reply, Refused>;
type Run = Box<dyn Fn(Arc<App>, Asked) -> Pin<Box<dyn Future<Output = Handled> + Send>> + Send + Sync>;

/// Longer than any deadline inside: a handler that is not done by then has lost its way.
const REQUEST_TIME: Duration = Duration::from_secs(15);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// One path: what it speaks, its methods, and what each does.
pub struct Route {
    pub path: &'static str,
    pub speech: Speech,
    pub operations: Vec<Operation>,
}

pub struct Operation {
    pub method: Method,
    run: Run,
    pub doc: Doc,
    /// Everything it waits for has a limit of its own, so it needs no timer around the whole.
    limits_itself: bool,
}

impl Route {
    pub fn at(path: &'static str, speech: Speech) -> Route {
        Route { path, speech, operations: Vec::new() }
    }

    pub fn on<F, W>(mut self, method: Method, run: F, doc: Doc) -> Route
    where
        F: Fn(Arc<App>, Asked) -> W + Send + Sync + 'static,
        W: Future<Output = Handled> + Send + 'static,
    {
        let run: Run = Box::new(move |app, asked| Box::pin(run(app, asked)));
        self.operations.push(Operation { method, run, doc, limits_itself: false });
        self
    }

    /// On the path of a reservation.
    pub fn crowded(&self) -> bool {
        self.operations.iter().any(|operation| operation.limits_itself)
    }

    /// The newest operation limits itself: one timer less on the path of a reservation.
    pub fn limiting_itself(mut self) -> Route {
        if let Some(newest) = self.operations.last_mut() {
            newest.limits_itself = true;
        }
        self
    }
}

pub struct Endpoint {
    app: Arc<App>,
    route: Route,
    allow: &'static str,
}

impl Endpoint {
    pub fn new(app: &Arc<App>, route: Route) -> Endpoint {
        let names: Vec<&str> = route.operations.iter().map(|operation| operation.method.as_str()).collect();
        // Once per path at the start of the server.
        let allow = names.join(", ").leak();
        Endpoint { app: app.clone(), route, allow }
    }

    async fn run(&self, request: &mut Request, trace: &HeaderValue) -> Reply {
        let aside = Aside::of(&self.app, request.headers());
        let language = Language::asked(request.headers());
        let (dialect, handled) = match Dialect::asked(request.headers(), self.route.speech) {
            Ok(dialect) => (dialect, self.handle(request, dialect, aside.as_ref()).await),
            Err(refusal) => (Dialect::V1_1, Err(refusal.into())),
        };
        let reply = handled.unwrap_or_else(|refused| {
            respond::refused(&refused, dialect, language, trace.to_str().unwrap_or_default())
        });
        match aside {
            Some(aside) => aside.write(&self.app, reply),
            None => reply,
        }
    }

    async fn handle(&self, request: &mut Request, dialect: Dialect, aside: Option<&Arc<Aside>>) -> Handled {
        let method = if request.method() == Method::HEAD { Method::GET } else { request.method().clone() };
        let Some(operation) = self.route.operations.iter().find(|operation| operation.method == method) else {
            let nothing_here = self.route.operations.is_empty();
            let refusal = if nothing_here { Refusal::NoSuchPath } else { Refusal::WrongMethod { allow: self.allow } };
            return Err(refusal.into());
        };
        let mut asked = take_apart(request, dialect);
        asked.gateway = aside.cloned();
        let running = AssertUnwindSafe((operation.run)(self.app.clone(), asked)).catch_unwind();
        let ended = if operation.limits_itself {
            running.await
        } else {
            let Ok(ended) = timeout(REQUEST_TIME, running).await else { return Err(Refusal::Overloaded.into()) };
            ended
        };
        ended.unwrap_or_else(|_| Err(Refusal::Internal.into()))
    }
}

fn take_apart(request: &mut Request, dialect: Dialect) -> Asked {
    let peer = request.remote_addr().clone().into_std().unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
    Asked {
        method: request.method().clone(),
        uri: request.uri().clone(),
        params: std::mem::take(request.params_mut()),
        peer,
        dialect,
        body: std::mem::replace(request.body_mut(), ReqBody::None),
        gateway: None,
        headers: std::mem::take(request.headers_mut()),
    }
}

#[async_trait]
impl Handler for Endpoint {
    async fn handle(&self, request: &mut Request, _: &mut Depot, response: &mut Response, _: &mut FlowCtrl) {
        self.app.metrics.request();
        let trace = trace_id(&self.app, request);
        let reply = self.run(request, &trace).await;
        reply.write(response);
        response.headers_mut().insert(REQUEST_ID, trace);
    }
}

/// The caller's own id if it can stand in a header and a log line, else one of ours.
fn trace_id(app: &App, request: &Request) -> HeaderValue {
    match request.headers().get(REQUEST_ID) {
        Some(id) if !id.is_empty() && id.len() <= 128 && id.as_bytes().iter().all(u8::is_ascii_graphic) => id.clone(),
        _ => HeaderValue::from_bytes(&app.names.next().hex()).unwrap_or(HeaderValue::from_static("unknown")),
    }
}
