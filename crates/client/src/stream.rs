//! A stream of Server-Sent Events, message by message.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Incoming};

use crate::connection::drive;
use crate::{ClientError, Connection, HttpResponse};

/// An open stream. Dropping it closes its connection.
pub struct EventStream {
    /// Status and headers, without a body.
    pub head: HttpResponse,
    connection: Connection,
    body: Incoming,
    /// What was read and is not a whole message yet.
    read: Vec<u8>,
}

/// One message, or a comment, which has neither name nor data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEvent {
    pub event: String,
    pub id: Option<String>,
    pub data: String,
}

impl EventStream {
    pub(crate) fn new(head: HttpResponse, connection: Connection, body: Incoming) -> EventStream {
        EventStream { head, connection, body, read: Vec::new() }
    }

    /// The next message; none at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<StreamEvent>, ClientError> {
        loop {
            if let Some(end) = self.read.windows(2).position(|pair| pair == b"\n\n") {
                let message: Vec<u8> = self.read.drain(..end + 2).collect();
                return Ok(Some(parse(&String::from_utf8_lossy(&message))));
            }
            match poll_fn(|cx| self.poll_part(cx)).await? {
                Some(part) => self.read.extend_from_slice(&part),
                None => return Ok(None),
            }
        }
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ClientError>> {
        // The body asks for more, and the driver brings it.
        for _ in 0..2 {
            if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
                let part = frame.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default()));
                return Poll::Ready(part.transpose().map_err(ClientError::Broken));
            }
            drive(&mut self.connection.driver, cx);
        }
        Poll::Pending
    }
}

fn parse(message: &str) -> StreamEvent {
    let mut event = StreamEvent::default();
    for line in message.lines() {
        match line.split_once(": ") {
            Some(("event", name)) => event.event = name.to_owned(),
            Some(("id", id)) => event.id = Some(id.to_owned()),
            Some(("data", data)) => event.data = data.to_owned(),
            _ => {}
        }
    }
    event
}
