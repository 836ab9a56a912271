//! Replaces hyper's answers to what it cannot parse. hyper has no hook for them: it writes its own response, without
//! a body, `Content-Type` or `nosniff`. That response is constant, and none of ours begins like it. It is recognised
//! when it is written, and the usual envelope is sent in its place.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use salvo::http::HeaderMap;
use tokio::io::AsyncWrite;

use super::client::ClientSocket;
use crate::app::App;
use crate::http::plumbing::endpoint::trace_id;
use crate::http::respond::{Unparsed, unparsed};

/// The beginning of hyper's own responses.
const NO_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n";
const TOO_LARGE: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n";

/// Passes hyper's writes to the client, except hyper's own responses.
pub struct OwnWords {
    client: ClientSocket,
    app: Arc<App>,
}

impl OwnWords {
    pub fn new(client: ClientSocket, app: Arc<App>) -> OwnWords {
        OwnWords { client, app }
    }

    /// Sends our answer in place of hyper's own. Returns whether this was one.
    fn worded(&self, written: &[u8]) -> bool {
        let why = if written.starts_with(NO_HTTP) {
            Unparsed::Malformed
        } else if written.starts_with(TOO_LARGE) {
            Unparsed::HeadTooLarge
        } else {
            return false;
        };
        let answer = unparsed(why, &trace_id(&self.app, &HeaderMap::new()));
        // The connection ends here. It does not wait for a client that has no room even for an answer this short.
        let _ = self.client.try_write(&answer);
        true
    }
}

impl AsyncWrite for OwnWords {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.worded(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut this.client).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if parts.first().is_some_and(|first| this.worded(first)) {
            return Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()));
        }
        Pin::new(&mut this.client).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.client.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_shutdown(context)
    }
}
