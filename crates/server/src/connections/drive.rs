//! Drives one connection: HTTP/1 over its stream, until the client, the server or a lack of places ends it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use salvo::conn::StraightStream;
use salvo::conn::http1::Builder;
use tokio::io::Join;
use tokio::sync::watch;

use super::heads::HEAD_BYTES;
use super::open::OpenConnection;
use super::paced::PacedReads;
use super::service::{GatedService, SalvoHandler};
use super::unparsed::OwnWords;

/// A gateway forwards up to 100 headers of a client and adds its own. Without a gateway the limit stays at hyper's
/// 100, which need no allocation.
const HEADERS_BEHIND_GATEWAY: usize = 110;
/// From the end of one request to the end of the next one's headers. Longer than a gateway's idle timeout.
const HEADER_TIME: Duration = Duration::from_secs(35);

pub fn http1(behind_gateway: bool) -> Builder {
    let mut http1 = Builder::new();
    http1.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(HEAD_BYTES);
    // Otherwise hyper reads ahead while a request waits, to detect a disconnect, and allocates 8 KiB for
    // each.
    http1.half_close(true);
    if behind_gateway {
        http1.max_headers(HEADERS_BEHIND_GATEWAY);
    }
    http1
}

/// What the server does with its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Serving,
    /// Requests in progress are answered, and no others are read.
    Draining,
    Stopped,
}

pub async fn drive<H: SalvoHandler>(
    http1: Builder,
    stream: StraightStream<Join<PacedReads, OwnWords>>,
    service: GatedService<H>,
    place: Arc<OpenConnection>,
    mut stage: watch::Receiver<Stage>,
) {
    let mut connection = pin!(http1.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // An error is the client's: it left, was too slow, or did not send HTTP. It has been answered.
        _ = &mut connection => return,
        _ = stage.wait_for(|stage| *stage >= Stage::Draining) => {}
        () = place.asked_to_end() => {
            // No request has come, so no client waits for an answer.
            if place.unused() {
                return;
            }
        }
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = &mut connection => {}
        _ = stage.wait_for(|stage| *stage >= Stage::Stopped) => {}
    }
}
