//! What hyper reads from a connection. While the gate is under pressure, a request is peeked at before it is read: it
//! waits unread for its turn, which costs nothing, or it is refused here and never reaches hyper.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use salvo::http::Method;
use tokio::io::{AsyncRead, ReadBuf};

use super::client::ClientSocket;
use super::heads::CheckedHeads;
use super::linger::linger;
use super::open::OpenConnection;
use super::unrouted::refused;
use crate::app::App;
use crate::gate::{GateRequest, Parked, Unread, thread_time};

/// Enough of a request to see its method and path.
const SEEN: usize = 96;

pub struct PacedReads {
    heads: CheckedHeads<ClientSocket>,
    client: ClientSocket,
    place: Arc<OpenConnection>,
    /// None: no request is refused here, as at the listener for operators.
    app: Option<Arc<App>>,
    parked: Option<Parked>,
}

impl PacedReads {
    pub fn new(client: ClientSocket, place: Arc<OpenConnection>, app: Option<Arc<App>>) -> PacedReads {
        PacedReads { heads: CheckedHeads::new(client.clone()), client, place, app, parked: None }
    }

    /// What comes next is a request that has no place yet.
    fn may_wait(&self) -> bool {
        self.heads.between_requests() && !self.place.is_called()
    }

    /// Ready: the request may be read, to be served or refused.
    fn poll_turn(&mut self, context: &mut Context<'_>, app: &App) -> Poll<io::Result<Unread>> {
        if let Some(parked) = &self.parked {
            if !parked.is_called(context.waker()) {
                return Poll::Pending;
            }
            self.parked = None;
            self.place.called();
            return Poll::Ready(Ok(Unread::Serve));
        }
        let mut start = [0; SEEN];
        let seen = ready!(self.client.poll_peek(context, &mut start))?;
        let Some(asked) = asked(&start[..seen]) else { return Poll::Ready(Ok(Unread::Serve)) };
        let becomes = app.gate.before_reading(asked);
        if becomes == Unread::Park {
            self.place.parked();
            self.parked = Some(app.gate.park(context.waker()));
            return Poll::Pending;
        }
        Poll::Ready(Ok(becomes))
    }

    /// Reads while the gate is pressed. Refused requests leave nothing in `into`.
    fn poll_pressed(
        &mut self,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
        app: &Arc<App>,
    ) -> Poll<io::Result<()>> {
        loop {
            let becomes = ready!(self.poll_turn(context, app))?;
            let (before, began) = (into.filled().len(), thread_time());
            ready!(Pin::new(&mut self.heads).poll_read(context, into))?;
            if becomes != Unread::Refuse || !self.heads.holds_one_request() {
                return Poll::Ready(Ok(()));
            }
            let close = self.place.scarce();
            let Some(answer) = refused(app, &into.filled()[before..], false, close) else { return Poll::Ready(Ok(())) };
            into.set_filled(before);
            let written = self.client.try_write(&answer);
            app.gate.refusals().spend(thread_time().saturating_sub(began));
            // Does not wait for a client that has no room even for an answer this short.
            if close || written.is_ok_and(|bytes| bytes < answer.len()) {
                return Poll::Ready(Ok(()));
            }
            self.place.refused();
        }
    }
}

/// The method and path of a request, from its first bytes. None: they are incomplete.
fn asked(start: &[u8]) -> Option<GateRequest> {
    let mut words = std::str::from_utf8(start).ok()?.split(' ');
    let (method, path) = (words.next()?.parse::<Method>().ok()?, words.next()?);
    // A path that is cut off is longer than any that matters.
    Some(GateRequest::of(&method, path.split('?').next()?))
}

impl AsyncRead for PacedReads {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match &this.app {
            Some(app) if this.parked.is_some() || (this.may_wait() && app.gate.is_pressed()) => {
                let app = app.clone();
                this.poll_pressed(context, into, &app)
            }
            _ => Pin::new(&mut this.heads).poll_read(context, into),
        }
    }
}

impl Drop for PacedReads {
    fn drop(&mut self) {
        if self.heads.in_body() {
            linger(self.client.clone(), self.place.clone());
        }
    }
}
