//! Encodes messages as Server-Sent Events. Each is encoded once and shared by all watchers.

use rules::history::EventRecord;
use salvo::hyper::body::Bytes;
use serde::Serialize;

use crate::planted_leak;

/// First in every stream: how long an `EventSource` waits before it reconnects.
pub const RETRY: &str = "retry: 2000\n\n";
/// A comment: it keeps the stream alive, and detects clients that are gone.
pub const HEARTBEAT: &str = ": heartbeat\n\n";

/// A position in the history of a subject that a watcher can resume from: the number of a row, and a hash of its
/// contents. After a restore from a backup the same number may be another row; then the hash differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPosition {
    pub n: u64,
    pub mark: u32,
}

impl StreamPosition {
    pub fn of(row: &EventRecord) -> StreamPosition {
        let mut hash = crc32fast::Hasher::new();
        hash.update(&row.n.to_be_bytes());
        hash.update(row.what.as_str().as_bytes());
        hash.update(&row.seat.map_or(0, |seat| seat.0).to_be_bytes());
        hash.update(&row.at.0.to_be_bytes());
        StreamPosition { n: row.n, mark: hash.finalize() }
    }

    /// Parses the value that a client sends back in `Last-Event-ID`.
    pub fn read(text: &str) -> Option<StreamPosition> {
        let (n, mark) = text.split_once('.')?;
        Some(StreamPosition { n: n.parse().ok()?, mark: u32::from_str_radix(mark, 16).ok()? })
    }
}

impl std::fmt::Display for StreamPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:08x}", self.n, self.mark)
    }
}

/// The text as an HTTP/1.1 chunk.
pub fn chunk(text: &[u8]) -> Bytes {
    let mut chunk = format!("{:x}\r\n", text.len()).into_bytes();
    chunk.extend_from_slice(text);
    chunk.extend_from_slice(b"\r\n");
    chunk.into()
}

/// Messages that are sent together.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    text: Vec<u8>,
    pub count: usize,
}

impl Messages {
    pub fn add(&mut self, event: &str, id: Option<StreamPosition>, data: &impl Serialize) {
        self.count += 1;
        self.text.extend_from_slice(format!("event: {event}\n").as_bytes());
        if let Some(id) = id {
            self.text.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        self.text.extend_from_slice(b"data: ");
        let mut data = serde_json::to_vec(data).unwrap_or_default();
        planted_leak::into_message(&mut data);
        self.text.extend(data);
        self.text.extend_from_slice(b"\n\n");
    }

    /// A message that was written in parts.
    pub fn of_one(parts: &[&[u8]]) -> Messages {
        Messages { text: parts.concat(), count: 1 }
    }

    pub fn extend(&mut self, more: Messages) {
        self.count += more.count;
        self.text.extend(more.text);
    }

    pub fn written(self) -> Bytes {
        self.text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_round_trip_and_nothing_else_is_one() {
        let position = StreamPosition { n: 8_412, mark: 0x0a };
        assert_eq!(position.to_string(), "8412.0000000a");
        assert_eq!(StreamPosition::read("8412.0000000a"), Some(position));
        for bad in ["", "8412", "8412.", ".a", "x.a", "1.g", "1.1.1", "-1.a", "1.123456789", "18446744073709551616.a"] {
            assert_eq!(StreamPosition::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn messages_have_the_lines_of_an_event_stream() {
        let mut messages = Messages::default();
        messages.add("seats", Some(StreamPosition { n: 2, mark: 1 }), &serde_json::json!({ "free": [1] }));
        messages.add("remaining", None, &serde_json::json!({}));
        let text = String::from_utf8(messages.written().to_vec()).unwrap();
        assert_eq!(text, "event: seats\nid: 2.00000001\ndata: {\"free\":[1]}\n\nevent: remaining\ndata: {}\n\n");
    }
}
