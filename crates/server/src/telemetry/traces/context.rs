//! Ids of traces and spans, and the header in which they travel (W3C Trace Context, `traceparent`).

use std::fmt;

use salvo::http::{HeaderMap, HeaderName};

use crate::names::Names;

pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(u128);

/// Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    pub trace: TraceId,
    pub span: SpanId,
}

/// The span of a request, and that of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSpan {
    pub context: SpanContext,
    pub parent: Option<SpanId>,
}

/// What a caller says about the trace that its request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traceparent {
    pub context: SpanContext,
    pub sampled: bool,
}

impl TraceId {
    pub fn new(names: &Names) -> TraceId {
        TraceId(names.next().0.max(1))
    }

    /// 32 digits in lower case.
    pub fn of_hex(text: &[u8]) -> Option<TraceId> {
        if text.len() != 32 { None } else { number(text).map(TraceId) }
    }

    /// The half that is compared with the sampling threshold.
    pub fn low(self) -> u128 {
        self.0 & u128::from(u64::MAX)
    }
}

impl SpanId {
    pub fn new(names: &Names) -> SpanId {
        SpanId((names.next().0 as u64).max(1))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl SpanContext {
    /// As a header, or a name that PostgreSQL shows.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace, self.span)
    }
}

impl Traceparent {
    /// The one that a request carries. What is not well formed counts as none, as the standard has it.
    pub fn of(headers: &HeaderMap) -> Option<Traceparent> {
        let mut all = headers.get_all(TRACEPARENT).iter();
        match (all.next(), all.next()) {
            (Some(one), None) => Traceparent::read(one.as_bytes()),
            _ => None,
        }
    }

    /// `00-<trace>-<span>-<flags>`. A later version may have more behind that.
    fn read(text: &[u8]) -> Option<Traceparent> {
        let dashes = [2, 35, 52].iter().all(|place| text.get(*place) == Some(&b'-'));
        if text.len() < 55 || !dashes {
            return None;
        }
        let version = two_digits(&text[..2])?;
        let ends = if version == 0 { text.len() == 55 } else { text.get(55).is_none_or(|byte| *byte == b'-') };
        if version == 0xff || !ends {
            return None;
        }
        let trace = TraceId::of_hex(&text[3..35])?;
        let span = SpanId(number(&text[36..52])? as u64);
        let flags = two_digits(&text[53..55])?;
        Some(Traceparent { context: SpanContext { trace, span }, sampled: flags & 1 == 1 })
    }
}

/// Of digits in lower case; not zero.
fn number(text: &[u8]) -> Option<u128> {
    let digit = |number: u128, byte: &u8| Some(number << 4 | u128::from(value(*byte)?));
    text.iter().try_fold(0, digit).filter(|number| *number != 0)
}

fn two_digits(text: &[u8]) -> Option<u8> {
    Some(value(text[0])? << 4 | value(text[1])?)
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn traceparent_is_read_as_the_standard_says() {
        let read = |text: &str| Traceparent::read(text.as_bytes());
        let whole = read(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!((whole.context.trace.to_string(), whole.context.span.to_string()), (TRACE.into(), SPAN.into()));
        assert!(whole.sampled && !read(&format!("00-{TRACE}-{SPAN}-00")).unwrap().sampled);
        assert!(!read(&format!("00-{TRACE}-{SPAN}-02")).unwrap().sampled, "another flag");
        assert_eq!(whole.context.traceparent(), format!("00-{TRACE}-{SPAN}-01"));
        // A later version, with and without more.
        assert_eq!(read(&format!("cc-{TRACE}-{SPAN}-01-what")), Some(whole));
        assert_eq!(read(&format!("cc-{TRACE}-{SPAN}-01")), Some(whole));
        for bad in [
            String::new(),
            "00".into(),
            format!("00-{TRACE}-{SPAN}-0"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("cc-{TRACE}-{SPAN}-01more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}-{SPAN}-0g"),
            format!("00_{TRACE}-{SPAN}-01"),
            format!("00-{}é-{SPAN}-01", &TRACE[..30]),
        ] {
            assert_eq!(read(&bad), None, "{bad}");
        }
    }

    #[test]
    fn two_headers_are_none() {
        let mut headers = HeaderMap::new();
        let value = || format!("00-{TRACE}-{SPAN}-01").parse().unwrap();
        headers.append(TRACEPARENT, value());
        assert!(Traceparent::of(&headers).is_some());
        headers.append(TRACEPARENT, value());
        assert_eq!(Traceparent::of(&headers), None);
    }
}
