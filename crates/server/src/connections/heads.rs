//! Validates the heads of requests while they are read, before hyper parses them. hyper accepts a bare line feed as
//! the end of a line, a repeated `Content-Length`, `Content-Length` with `Transfer-Encoding`, and any encoding that
//! ends in `chunked`. A proxy in front may parse each differently, and see one request where hyper sees two.
//!
//! To find the heads, the scanner tracks where bodies end. It buffers only the beginning of the current line. It
//! corrupts an invalid head in place, so that hyper itself refuses the request and closes the connection: 400, or 431
//! for a head of more than 64 KiB. `unparsed` writes the answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::memchr;
use tokio::io::{AsyncRead, ReadBuf};

/// The request line and all headers together, with the empty line after them.
pub const HEAD_BYTES: usize = 64 * 1024;
/// No line that matters is longer: a name, spaces, and 20 digits.
const LINE_BYTES: usize = 64;
/// Not allowed anywhere in a head.
const WRONG: u8 = 0;
/// Allowed in every line, and does not end one.
const ANY: u8 = b'x';

/// Tracks the bytes of one connection.
#[derive(Debug)]
pub struct HeadScan {
    part: Part,
    /// The beginning of the line that is being read.
    line: [u8; LINE_BYTES],
    /// The length of that line so far.
    length: usize,
    /// The previous byte.
    last: u8,
    /// Heads read so far.
    requests: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Head(Head),
    /// Bytes left of a body.
    Body(u64),
    Chunked(Chunk),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    bytes: usize,
    lines: u32,
    length: Option<u64>,
    chunked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    /// The chunk-size line.
    Size,
    /// Bytes left, with the CRLF after the data.
    Data(u64),
    /// The lines after the last chunk.
    Trailer,
}

impl Default for HeadScan {
    fn default() -> Self {
        HeadScan { part: Part::Head(Head::default()), line: [0; LINE_BYTES], length: 0, last: 0, requests: 0 }
    }
}

impl HeadScan {
    /// The next byte is the first of a request.
    fn between_requests(&self) -> bool {
        self.length == 0 && self.part == Part::Head(Head::default())
    }

    /// The next byte belongs to the body of a request.
    fn in_body(&self) -> bool {
        !matches!(self.part, Part::Head(_))
    }

    /// Checks what was just read.
    pub fn check(&mut self, mut read: &mut [u8]) {
        while !read.is_empty() {
            let left = match &mut self.part {
                Part::Body(left) | Part::Chunked(Chunk::Data(left)) => left,
                Part::Head(_) | Part::Chunked(Chunk::Size | Chunk::Trailer) => {
                    let taken = self.check_line(read);
                    read = &mut read[taken..];
                    continue;
                }
            };
            let taken = (*left).min(read.len() as u64);
            *left -= taken;
            if *left == 0 {
                self.part = match self.part {
                    Part::Body(_) => Part::Head(Head::default()),
                    _ => Part::Chunked(Chunk::Size),
                };
            }
            read = &mut read[taken as usize..];
        }
    }

    /// Takes the rest of a line, or as much as was read. Returns the number of bytes taken.
    fn check_line(&mut self, read: &mut [u8]) -> usize {
        let end = memchr(b'\n', read);
        let taken = end.map_or(read.len(), |end| end + 1);
        let before = if taken > 1 { read[taken - 2] } else { self.last };
        self.last = read[taken - 1];
        let kept = self.length.min(LINE_BYTES);
        let more = taken.min(LINE_BYTES - kept);
        self.line[kept..kept + more].copy_from_slice(&read[..more]);
        self.length += taken;
        if let Part::Head(head) = &mut self.part {
            head.bytes += taken;
            if head.bytes > HEAD_BYTES {
                // The line never ends, until hyper reaches its size limit.
                if let Some(end) = end {
                    read[end] = ANY;
                }
                return taken;
            }
        }
        let Some(end) = end else { return taken };
        let sound = self.length >= 2 && before == b'\r' && self.end_line();
        if !sound {
            read[end] = WRONG;
        }
        (self.length, self.last) = (0, 0);
        taken
    }

    /// Handles a line that ended in CRLF. Returns whether a head may contain it.
    fn end_line(&mut self) -> bool {
        let line = &self.line[..(self.length - 2).min(LINE_BYTES)];
        let cut = self.length - 2 > LINE_BYTES;
        match &mut self.part {
            Part::Head(head) if !line.is_empty() => {
                head.lines += 1;
                // The first line is the request's.
                return head.lines == 1 || head.takes(line, cut);
            }
            // Empty lines before a request are skipped.
            Part::Head(Head { lines: 0, .. }) => {}
            Part::Head(head) => {
                self.requests = self.requests.wrapping_add(1);
                let Head { length, chunked, .. } = *head;
                self.part = match length {
                    Some(0) | None if !chunked => Part::Head(Head::default()),
                    Some(length) if !chunked => Part::Body(length),
                    _ => Part::Chunked(Chunk::Size),
                };
                return !(chunked && length.is_some());
            }
            Part::Chunked(Chunk::Size) => {
                let size = line.split(|b| matches!(b, b';' | b' ' | b'\t')).next().unwrap_or_default();
                let size = std::str::from_utf8(size).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
                // hyper refuses an invalid size.
                self.part = Part::Chunked(match size.unwrap_or(0) {
                    0 => Chunk::Trailer,
                    size => Chunk::Data(size.saturating_add(2)),
                });
            }
            Part::Chunked(Chunk::Trailer) if line.is_empty() => self.part = Part::Head(Head::default()),
            Part::Chunked(_) | Part::Body(_) => {}
        }
        true
    }
}

impl Head {
    /// Records what a header says about the body. False: the header is not allowed here.
    fn takes(&mut self, line: &[u8], cut: bool) -> bool {
        if let Some(value) = value_of(line, b"content-length:") {
            let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
            let length = digits.filter(|_| !cut).and_then(|text| text.parse().ok());
            return length.is_some() && std::mem::replace(&mut self.length, length).is_none();
        }
        if let Some(value) = value_of(line, b"transfer-encoding:") {
            // The endpoint refuses a second one.
            self.chunked = true;
            return !cut && value.eq_ignore_ascii_case(b"chunked");
        }
        true
    }
}

/// The value after a name, which is given in lower case and with its colon.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

/// Whether this is exactly one valid, complete request.
pub fn is_one_request(bytes: &[u8]) -> bool {
    let mut checked = bytes.to_vec();
    let mut scan = HeadScan::default();
    scan.check(&mut checked);
    scan.requests == 1 && scan.between_requests() && checked == bytes
}

/// A stream whose heads are validated.
#[derive(Debug)]
pub struct CheckedHeads<S> {
    stream: S,
    scan: HeadScan,
    /// The last read began with a request's first byte, and ended with the last one of that request.
    one_request: bool,
}

impl<S> CheckedHeads<S> {
    pub fn new(stream: S) -> CheckedHeads<S> {
        CheckedHeads { stream, scan: HeadScan::default(), one_request: false }
    }

    /// The next byte is the first of a request.
    pub fn between_requests(&self) -> bool {
        self.scan.between_requests()
    }

    /// The next byte belongs to the body of a request.
    pub fn in_body(&self) -> bool {
        self.scan.in_body()
    }

    /// What was read last is one whole request and nothing else.
    pub fn holds_one_request(&self) -> bool {
        self.one_request
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CheckedHeads<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, into))?;
        let began = this.scan.between_requests().then_some(this.scan.requests);
        this.scan.check(&mut into.filled_mut()[before..]);
        let whole = began.is_some_and(|requests| this.scan.requests == requests.wrapping_add(1));
        this.one_request = whole && this.scan.between_requests();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &str = "GET /livez HTTP/1.1\r\nHost: t\r\nX-User-Id: alice\r\n\r\n";

    fn post(headers: &str, body: &str) -> String {
        format!("POST /x HTTP/1.1\r\nHost: t\r\n{headers}\r\n{body}")
    }

    /// What is left of the text after a check in reads of so many bytes.
    fn checked(text: &str, step: usize) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        let mut scan = HeadScan::default();
        bytes.chunks_mut(step).for_each(|read| scan.check(read));
        bytes
    }

    fn passes(text: &str) -> bool {
        let whole = checked(text, usize::MAX) == text.as_bytes();
        for step in [1, 2, 3, 7, 16] {
            assert_eq!(checked(text, step) == text.as_bytes(), whole, "in reads of {step}: {text:?}");
        }
        whole
    }

    #[test]
    fn sound_requests_pass_unchanged_in_any_reads() {
        let lines = "a\nb\n\n\nGET / HTTP/1.1\nHost: t\n\n";
        let length = format!("Content-Length: {}\r\n", lines.len());
        let chunked = "1\r\n\n\r\n5;x=y\r\n\n\n\n\n\n\r\n0\r\nX-Sum: 1\r\n\r\n";
        let parts = [
            GET.to_owned(),
            post(&length, lines),
            post(&length.to_lowercase(), lines),
            post("content-length:  0 \r\n", ""),
            post("Transfer-Encoding: Chunked\r\n", chunked),
            post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            format!("\r\n{GET}"),
            post(&format!("X-Long: {}\r\nX-Content-Length: x\r\n", "y".repeat(500)), ""),
        ];
        for part in &parts {
            assert!(passes(part), "{part:?}");
        }
        assert!(passes(&parts.concat()), "one behind the other");
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_spoiled() {
        for bad in [
            "GET / HTTP/1.1\nHost: t\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: t\n\r\n",
            "GET / HTTP/1.1\r\nHost: t\r\n\n",
            "GET / HTTP/1.1\nHost: t\n\n",
            "\nGET / HTTP/1.1\r\nHost: t\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: t\r\nX: a\nContent-Length: 5\r\n\r\n",
        ] {
            assert!(!passes(bad), "{bad:?}");
            assert!(!passes(&(GET.to_owned() + bad)), "behind another: {bad:?}");
            assert!(!passes(&(post("Content-Length: 3\r\n", "\n\n\n") + bad)), "behind a body: {bad:?}");
            assert!(!passes(&(post("Transfer-Encoding: chunked\r\n", "1\r\n\n\r\n0\r\n\r\n") + bad)), "{bad:?}");
        }
        for headers in [
            "Content-Length: 3\r\nContent-Length: 3\r\n",
            "Content-Length: 3\r\nContent-Length: 4\r\n",
            "Content-Length: +3\r\n",
            "Content-Length: 3, 3\r\n",
            "Content-Length: \r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: identity\r\n",
        ] {
            assert!(!passes(&post(headers, "abc")), "{headers:?}");
        }
        assert!(!passes(&post("Transfer-Encoding: chunked\r\n", "0\r\nX: a\nY: b\r\n\r\n")), "a trailer");
    }

    #[test]
    fn heads_end_at_64_kib() {
        let head = |bytes: usize| {
            let around = "GET / HTTP/1.1\r\nX: \r\n\r\n".len();
            format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(bytes - around))
        };
        assert!(passes(&head(HEAD_BYTES)) && passes(&head(HEAD_BYTES).repeat(2)));
        let spoiled = checked(&head(HEAD_BYTES + 1), usize::MAX);
        assert!(!spoiled.contains(&WRONG) && !spoiled.ends_with(b"\n"), "it never ends");
    }
}
