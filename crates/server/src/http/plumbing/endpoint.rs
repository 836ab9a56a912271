//! What every request passes: a trace id, the dialect, the method, the declared checks, a time limit,
//! an answer even if the handler panics, and the count of how it ended.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use rules::outcome::Refusal;
use salvo::http::header::CONNECTION;
use salvo::http::{HeaderMap, HeaderName, HeaderValue, Method, ReqBody};
use salvo::{Depot, FlowCtrl, Handler, Request, Response, async_trait};
use tokio::time::timeout;

use super::call::Incoming;
use super::counted::Counted;
use super::form::{check_framing, check_path};
use super::gateway::Aside;
use super::operation::{Completion, Operation, Route, TimeLimit};
use super::refused_admin::AdminAttempt;
use crate::app::App;
use crate::connections::{client_left, current_client};
use crate::gate::waiting_for_client;
use crate::http::resources::page;
use crate::http::respond::{self, Dialect, Language, Reply, Speech};
use crate::logins::GuessConnection;
use crate::telemetry::durations::OperationTimes;
use crate::telemetry::journey::{self, Journey};
use crate::telemetry::shards::ShardedCounter;
use crate::telemetry::slow::EndedRequest;
use crate::telemetry::switch;
use crate::telemetry::traces::context::{TraceId, Traceparent};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What requests are counted under that no operation answers: unknown paths, wrong methods.
pub const UNMATCHED: &str = "unmatched";

/// Health checks and scrapes.
const QUIET: [&str; 3] = ["/livez", "/readyz", "/metrics"];

/// One path of the route table, served.
pub struct Endpoint {
    app: Arc<App>,
    speech: Speech,
    path: &'static str,
    operations: Vec<Served>,
    /// Of requests that no operation answers.
    unmatched: OperationTimes,
    allow: &'static str,
    /// Asked for all the time by machines: nobody wants its traces.
    quiet: bool,
}

struct Served {
    operation: Operation,
    method: &'static str,
    /// Found once: success is counted on the path of every reservation.
    succeeded: ShardedCounter,
    times: OperationTimes,
}

impl Endpoint {
    pub fn new(app: &Arc<App>, route: Route) -> Endpoint {
        let names: Vec<&str> = route.operations.iter().map(|operation| operation.method.as_str()).collect();
        // Once per path at the start of the server.
        let allow = names.join(", ").leak();
        let operations = route.operations.into_iter().map(|operation| Served {
            succeeded: app.metrics.outcomes(operation.doc.id, operation.doc.done),
            times: app.metrics.durations.of(operation.doc.id),
            method: method_name(&operation.method),
            operation,
        });
        let (path, quiet) = (route.path, QUIET.contains(&route.path));
        let unmatched = app.metrics.durations.of(UNMATCHED);
        let (speech, operations) = (route.speech, operations.collect());
        Endpoint { app: app.clone(), speech, path, operations, unmatched, allow, quiet }
    }

    async fn run(&self, request: &mut Request, trace: &HeaderValue) -> Reply {
        let began = Instant::now();
        let aside = Aside::of(&self.app, request.headers());
        let language = Language::asked(request.headers());
        let wants_page = page::wants_page(request.method(), request.uri().path(), request.headers());
        let served = self.find(request.method());
        let framed = check_framing(request.version(), request.headers());
        let sound = framed.is_ok();
        let asked = framed.and_then(|()| check_path(request.uri().path()));
        let (dialect, completion) = match asked.and_then(|()| Dialect::asked(request.headers(), self.speech)) {
            Err(refusal) => (self.speech.own(), refusal.into()),
            Ok(dialect) => match served {
                Some(served) => {
                    (dialect, self.perform(&served.operation, request, dialect, aside.as_ref(), trace).await)
                }
                None => (dialect, self.nothing_here().into()),
            },
        };
        self.count(served, &completion);
        let guessed_from = match &completion {
            Completion::Refused(refused) => refused.guessed_from,
            Completion::Done(_) | Completion::Unready(_) => None,
        };
        let outcome = completion.code(served.map_or("", |served| served.operation.doc.done));
        let reply = match completion {
            Completion::Done(reply) | Completion::Unready(reply) => reply.ended(dialect),
            Completion::Refused(mut refused) => {
                if matches!(refused.refusal, Refusal::Overloaded) {
                    refused.retry_after = Some(self.app.gate.retry_after());
                }
                let nothing = matches!(refused.refusal, Refusal::NoSuchPath | Refusal::NotFound);
                let page = if nothing && wants_page { page::missing(&self.app) } else { None };
                page.unwrap_or_else(|| {
                    let trace = trace.to_str().unwrap_or_default();
                    if refused.refusal == Refusal::Internal {
                        tracing::error!(trace, "answered internal_error");
                    }
                    respond::refused(&refused, dialect, language, trace)
                })
            }
        };
        if let Some(served) = served {
            let ended = EndedRequest {
                trace,
                method: served.method,
                operation: served.operation.doc.id,
                outcome,
                status: reply.code(),
                began,
                ended: Instant::now(),
                marks: journey::marks(),
            };
            let (span, slow) = (journey::span(), ended.is_slow(self.app.settings.watching.slow));
            // The log has a slow request under its id, traced or not.
            let unsampled = || slow.then(|| TraceId::of_hex(trace.as_bytes())).flatten();
            let exemplar = span.map(|span| span.context.trace).or_else(unsampled);
            served.times.took(reply.class(), ended.ended.saturating_duration_since(began), exemplar);
            if let Some((_, lane)) = ended.marks.lane {
                let read = lane.arrived.saturating_duration_since(began);
                let respond = ended.ended.saturating_duration_since(lane.answered);
                self.app.metrics.steps.passed_lane(read, respond, exemplar);
            }
            if slow {
                ended.log();
            }
            if let Some(span) = span {
                self.app.metrics.traces.request(span, &ended, self.path);
            }
        } else {
            self.unmatched.took(reply.class(), began.elapsed(), None);
        }
        let from_gateway = aside.is_some();
        let reply = match aside {
            Some(aside) => aside.write(&self.app, reply),
            None => reply,
        };
        // The connections of a gateway are those of many clients.
        let after_guess = match guessed_from {
            Some(from) => self.answer_late(from).await == GuessConnection::Closed && !from_gateway,
            None => false,
        };
        // Where the next request begins is not certain. In a shutdown, a client that keeps its connection would
        // otherwise ask here until it is cut off.
        let closes = after_guess || !sound || self.app.draining();
        if closes { reply.with(CONNECTION, HeaderValue::from_static("close")) } else { reply }
    }

    fn find(&self, method: &Method) -> Option<&Served> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.operations.iter().find(|served| served.operation.method == method)
    }

    fn nothing_here(&self) -> Refusal {
        if self.operations.is_empty() { Refusal::NoSuchPath } else { Refusal::WrongMethod { allow: self.allow } }
    }

    async fn perform(
        &self,
        operation: &Operation,
        request: &mut Request,
        dialect: Dialect,
        aside: Option<&Arc<Aside>>,
        trace: &HeaderValue,
    ) -> Completion {
        let incoming = take_apart(request, dialect, aside.cloned(), trace);
        let guesses = operation.access.takes_admin_token(&self.app.settings).then(|| incoming.guess()).flatten();
        let attempt = operation.access.is_operators().then(|| AdminAttempt::of(&incoming));
        let counted = Counted::of(&incoming);
        let running = AssertUnwindSafe((operation.run)(self.app.clone(), incoming)).catch_unwind();
        let ended = match operation.time {
            TimeLimit::OfItsOwn => running.await,
            TimeLimit::Within(limit) => match timeout(limit, running).await {
                Ok(ended) => ended,
                Err(_) => return Refusal::Overloaded.into(),
            },
        };
        // After a panic the gateway hears nothing, and so removes the request's mark itself.
        let Ok(completion) = ended else { return Refusal::Internal.into() };
        let mut completion = counted.hides_anothers(completion);
        if let (Some(from), Completion::Refused(refused)) = (guesses, &mut completion)
            && refused.refusal == Refusal::Unauthorized
        {
            self.app.metrics.failed_login();
            refused.guessed_from = Some(from);
        }
        if let (Some(attempt), Completion::Refused(refused)) = (attempt, &completion) {
            attempt.refused(&self.app, &refused.refusal).await;
        }
        if let Some(aside) = aside
            && operation.through_door
        {
            aside.tell_outcome(completion.code(operation.doc.done));
        }
        completion
    }

    /// Waits until a wrong token may be answered. That says nothing about how fast this server is: the request was
    /// measured before, and the gate does not count it meanwhile.
    async fn answer_late(&self, from: IpAddr) -> GuessConnection {
        let client = current_client();
        let left = client_left(client.as_ref());
        waiting_for_client(self.app.failed_logins.failed(from, left)).await
    }

    /// Every outcome of every operation, refused or not.
    fn count(&self, served: Option<&Served>, completion: &Completion) {
        if switch::is_off() {
            return;
        }
        match (served, completion) {
            (Some(served), Completion::Done(_)) => {
                served.succeeded.inc();
            }
            (served, completion) => {
                let (id, done) = served.map_or((UNMATCHED, ""), |s| (s.operation.doc.id, s.operation.doc.done));
                self.app.metrics.outcomes(id, completion.code(done)).inc();
            }
        }
    }
}

fn take_apart(request: &mut Request, dialect: Dialect, gateway: Option<Arc<Aside>>, trace: &HeaderValue) -> Incoming {
    let peer = request.remote_addr().clone().into_std().unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
    Incoming {
        method: request.method().clone(),
        uri: request.uri().clone(),
        version: request.version(),
        params: std::mem::take(request.params_mut()),
        peer,
        dialect,
        trace: trace.clone(),
        body: std::mem::replace(request.body_mut(), ReqBody::None),
        gateway,
        headers: std::mem::take(request.headers_mut()),
    }
}

#[async_trait]
impl Handler for Endpoint {
    async fn handle(&self, request: &mut Request, _: &mut Depot, response: &mut Response, _: &mut FlowCtrl) {
        self.app.metrics.request();
        let trace = trace_id(&self.app, request.headers());
        let span = if self.quiet { None } else { self.app.metrics.traces.begin(request.headers(), &trace) };
        let reply = Journey::of(span, self.run(request, &trace)).await;
        reply.write(response);
        response.headers_mut().insert(REQUEST_ID, trace);
    }
}

fn method_name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "_OTHER",
    }
}

/// The caller's own id if it fits into a header and a log line, else that of the caller's trace, else one of ours.
pub fn trace_id(app: &App, headers: &HeaderMap) -> HeaderValue {
    let given = headers.get(REQUEST_ID);
    if let Some(id) =
        given.filter(|id| !id.is_empty() && id.len() <= 128 && id.as_bytes().iter().all(u8::is_ascii_graphic))
    {
        return id.clone();
    }
    let made = match Traceparent::of(headers) {
        Some(caller) => HeaderValue::try_from(caller.context.trace.to_string()).ok(),
        None => HeaderValue::from_bytes(&app.names.next().hex()).ok(),
    };
    made.unwrap_or(HeaderValue::from_static("unknown"))
}
