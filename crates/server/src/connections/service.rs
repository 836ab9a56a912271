//! Between hyper and the router: a request passes the gate or gets its prepared refusal.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use salvo::http::body::HyperBody;
use salvo::http::header::RETRY_AFTER;
use salvo::http::{HeaderMap, HeaderValue, ResBody};
use salvo::hyper::body::{Body, Bytes, Frame, SizeHint};
use salvo::hyper::service::Service;
use salvo::hyper::{Error, Request, Response};
use tokio::runtime::Handle;

use super::listener::ListenerKind;
use super::open::{BusyConnection, OpenConnection};
use crate::app::App;
use crate::auth::from_gateway;
use crate::gate::{Admitted, ExpectedRequest, GateFull, GateRequest, take_client_wait};
use crate::http::plumbing::endpoint::trace_id;
use crate::http::plumbing::gateway::FULL;

/// Salvo's router as a service of hyper. Its type has no public name.
pub trait SalvoHandler:
    Service<Request<HyperBody>, Response = Response<ResBody>, Error = Error, Future = Answering> + Send + 'static
{
}

impl<H> SalvoHandler for H where
    H: Service<Request<HyperBody>, Response = Response<ResBody>, Error = Error, Future = Answering> + Send + 'static
{
}

pub type Answering = Pin<Box<dyn Future<Output = Result<Response<ResBody>, Error>> + Send>>;

pub struct GatedService<H> {
    pub(super) app: Arc<App>,
    pub(super) place: Arc<OpenConnection>,
    pub(super) handler: H,
    pub(super) kind: ListenerKind,
    /// The place reserved for its first request.
    pub(super) coming: Mutex<Option<ExpectedRequest>>,
}

impl<H: SalvoHandler> Service<Request<HyperBody>> for GatedService<H> {
    type Response = Response<ResBody>;
    type Error = Error;
    type Future = GatedAnswer;

    fn call(&self, request: Request<HyperBody>) -> GatedAnswer {
        let busy = self.place.busy();
        let cross_origin = self.app.cross_origin.as_ref();
        if let Some(answer) = cross_origin.and_then(|other| other.preflight(request.method(), request.headers())) {
            return GatedAnswer::Immediate { answer: Some(answer), _busy: busy };
        }
        let reader =
            cross_origin.map(|other| CrossReader { app: self.app.clone(), origin: other.allowed(request.headers()) });
        match &self.kind {
            // These depend on no store, so they wait for nothing.
            ListenerKind::Operators(_) if matches!(request.uri().path(), "/livez" | "/readyz" | "/metrics") => {
                GatedAnswer::Served { answering: self.handler.call(request), reader, admitted: None, busy: Some(busy) }
            }
            ListenerKind::Operators(lanes) => {
                let _home = lanes.enter();
                let answering: Answering =
                    Box::pin(AtHome { lanes: lanes.clone(), answering: self.handler.call(request) });
                GatedAnswer::Served { answering, reader, admitted: None, busy: Some(busy) }
            }
            ListenerKind::Crowd => {
                let asked = GateRequest::of(request.method(), request.uri().path());
                let called = self.place.was_called();
                let coming = self.coming.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
                let entered = if called { Ok(self.app.gate.admit(asked)) } else { self.app.gate.enter(asked) };
                // After it is counted, so that no other request takes its place.
                drop(coming);
                match entered {
                    Ok(admitted) => {
                        let answering = self.handler.call(request);
                        GatedAnswer::Served { answering, reader, admitted, busy: Some(busy) }
                    }
                    Err(GateFull) => {
                        let answer = refusal(&self.app, self.place.scarce(), asked, request.headers());
                        GatedAnswer::Immediate { answer: Some(answer), _busy: busy }
                    }
                }
            }
        }
    }
}

/// Polled on the listener's own thread, where a crowd does not delay it. Tasks that it spawns run on the runtime of
/// the lanes, and outlive this listener.
struct AtHome {
    lanes: Handle,
    answering: Answering,
}

impl Future for AtHome {
    type Output = Result<Response<ResBody>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let lanes = self.lanes.clone();
        let _home = lanes.enter();
        self.answering.as_mut().poll(context)
    }
}

/// The answer to a request that the gate refuses.
fn refusal(app: &Arc<App>, close: bool, asked: GateRequest, headers: &HeaderMap) -> Response<ResBody> {
    let mut answer = app.gate.refusal(asked, headers, &trace_id(app, headers), close);
    let retry = answer.headers().get(RETRY_AFTER).cloned();
    let others = beside_refusal(app, headers, retry);
    answer.headers_mut().extend(others);
    answer
}

/// The headers that a refusal has for a gateway and for a page of another origin.
pub fn beside_refusal(app: &App, headers: &HeaderMap, retry: Option<HeaderValue>) -> HeaderMap {
    let mut others = HeaderMap::new();
    if let Some(seconds) = retry
        && from_gateway(&app.settings, headers)
    {
        others.insert(FULL, seconds);
    }
    if let Some(other) = &app.cross_origin {
        other.mark(&mut others, other.allowed(headers));
    }
    others
}

/// With `CORS_ORIGINS`: the origin of the request, if it may read the response.
pub struct CrossReader {
    app: Arc<App>,
    origin: Option<HeaderValue>,
}

impl CrossReader {
    fn mark(&self, answer: &mut Response<ResBody>) {
        if let Some(other) = &self.app.cross_origin {
            other.mark(answer.headers_mut(), self.origin.clone());
        }
    }
}

/// The pending response. Its guards count the request and the busy connection.
pub enum GatedAnswer {
    Served {
        answering: Answering,
        reader: Option<CrossReader>,
        admitted: Option<Admitted>,
        busy: Option<BusyConnection>,
    },
    /// A preflight's answer, or a refusal.
    Immediate { answer: Option<Response<ResBody>>, _busy: BusyConnection },
}

/// A body that is generated while it is sent. Until it ends the connection is not idle, so it is not closed to make
/// room for others.
struct StreamedBody {
    body: ResBody,
    _busy: BusyConnection,
}

impl Body for StreamedBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Future for GatedAnswer {
    type Output = Result<Response<ResBody>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            GatedAnswer::Served { answering, reader, admitted, busy } => {
                take_client_wait();
                let polled = answering.as_mut().poll(context);
                let waits = take_client_wait();
                if let Some(admitted) = admitted {
                    admitted.waits_for_client(waits);
                }
                let mut told = ready!(polled);
                if let (Ok(answer), Some(reader)) = (&mut told, reader) {
                    reader.mark(answer);
                }
                if let Ok(answer) = &mut told
                    && answer.body().is_stream()
                    && let Some(busy) = busy.take()
                {
                    let body = std::mem::take(answer.body_mut());
                    *answer.body_mut() = ResBody::Boxed(Box::pin(StreamedBody { body, _busy: busy }));
                }
                Poll::Ready(told)
            }
            GatedAnswer::Immediate { answer, .. } => match answer.take() {
                Some(answer) => Poll::Ready(Ok(answer)),
                None => Poll::Pending,
            },
        }
    }
}
