//! A watcher whose socket is written directly. A task, a timer and body framing per watcher and round cost more than
//! the write itself. So hyper sends the head and the first messages, and then only waits for the end.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use salvo::hyper::body::{Buf, Bytes};
use tokio::sync::Notify;

use super::round_log::{NextRound, RoundReader};
use super::series::LiveSeries;
use crate::connections::ClientSocket;

/// A watcher that reads nothing for this long is disconnected, like every client.
const WRITE_STALL: Duration = Duration::from_secs(10);
/// Private messages that may wait behind a part that the client does not read.
const OWN_BEHIND: usize = 64;

pub struct DirectWatcher {
    state: Mutex<DirectState>,
    ended: Notify,
    series: LiveSeries,
}

enum DirectState {
    Open(OpenWatcher),
    Ended(StreamEnd),
}

struct OpenWatcher {
    client: ClientSocket,
    rounds: RoundReader,
    /// Each framed as a chunk.
    own: VecDeque<Bytes>,
    /// The bytes being written.
    part: Bytes,
    /// Whether some of the part is written.
    begun: bool,
    /// Whether hyper has written everything it will before the end.
    ready: bool,
    blocked_since: Option<Instant>,
    last: bool,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// After a whole chunk: hyper may end the body.
    Whole,
    /// Within a chunk: the connection has to be cut.
    Cut,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketWrite {
    All,
    /// The client's socket is full.
    Blocked,
    Ended,
}

impl DirectWatcher {
    pub fn new(client: ClientSocket, rounds: RoundReader, series: LiveSeries) -> DirectWatcher {
        let open = OpenWatcher {
            client,
            rounds,
            own: VecDeque::new(),
            part: Bytes::new(),
            begun: false,
            ready: false,
            blocked_since: None,
            last: false,
        };
        DirectWatcher { state: Mutex::new(DirectState::Open(open)), ended: Notify::new(), series }
    }

    /// Starts direct writes.
    pub fn begin(&self) {
        if let DirectState::Open(open) = &mut *self.lock() {
            open.ready = true;
        }
    }

    /// Writes all rounds since the last write, as far as the socket takes them.
    pub fn write(&self) -> SocketWrite {
        let mut state = self.lock();
        let DirectState::Open(open) = &mut *state else { return SocketWrite::Ended };
        let end = match open.write(&self.series) {
            Ok(written) => return written,
            Err(end) => end,
        };
        *state = DirectState::Ended(end);
        self.ended.notify_one();
        SocketWrite::Ended
    }

    /// Adds a private message, framed as a chunk. A watcher with too many unread ones is disconnected.
    pub fn say(&self, chunk: Bytes) -> SocketWrite {
        if let DirectState::Open(open) = &mut *self.lock() {
            if open.own.len() < OWN_BEHIND {
                open.own.push_back(chunk);
            } else {
                open.last = true;
                open.own.clear();
            }
        }
        self.write()
    }

    /// Completes when writing has ended.
    pub async fn ended(&self) -> StreamEnd {
        loop {
            let ended = self.ended.notified();
            if let DirectState::Ended(end) = &*self.lock() {
                return *end;
            }
            ended.await;
        }
    }

    /// Ends writing.
    pub fn close(&self) -> StreamEnd {
        let mut state = self.lock();
        let end = match &*state {
            DirectState::Open(open) => open.end(),
            DirectState::Ended(end) => *end,
        };
        *state = DirectState::Ended(end);
        end
    }

    fn lock(&self) -> MutexGuard<'_, DirectState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl OpenWatcher {
    fn write(&mut self, series: &LiveSeries) -> Result<SocketWrite, StreamEnd> {
        if !self.ready {
            return Ok(SocketWrite::All);
        }
        loop {
            while !self.part.is_empty() {
                // After a full buffer, writes only once the runtime reports the socket writable.
                let written = match self.blocked_since {
                    None => self.client.send_now(&self.part),
                    Some(_) => self.client.try_write(&self.part),
                };
                match written {
                    Ok(0) => return Err(StreamEnd::Cut),
                    Ok(bytes) => {
                        self.part.advance(bytes);
                        (self.begun, self.blocked_since) = (!self.part.is_empty(), None);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.blocked(series),
                    Err(_) => return Err(StreamEnd::Cut),
                }
            }
            if self.last {
                return Err(StreamEnd::Whole);
            }
            if let Some(own) = self.own.pop_front() {
                series.messages.inc();
                self.part = own;
                continue;
            }
            match self.rounds.next() {
                NextRound::Said(round) => {
                    series.messages.inc_by(round.messages as u64);
                    (self.part, self.last) = (round.chunk, round.last);
                }
                NextRound::None => return Ok(SocketWrite::All),
                NextRound::Lagged => {
                    series.dropped.inc();
                    return Err(StreamEnd::Whole);
                }
            }
        }
    }

    fn blocked(&mut self, series: &LiveSeries) -> Result<SocketWrite, StreamEnd> {
        let now = Instant::now();
        let since = *self.blocked_since.get_or_insert(now);
        // It cannot catch up on rounds that are no longer kept.
        if now.duration_since(since) >= WRITE_STALL || self.rounds.has_lagged() {
            series.dropped.inc();
            return Err(self.end());
        }
        Ok(SocketWrite::Blocked)
    }

    fn end(&self) -> StreamEnd {
        if self.begun { StreamEnd::Cut } else { StreamEnd::Whole }
    }
}

#[cfg(test)]
mod tests;
