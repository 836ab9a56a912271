//! What a caller wants kept with what happens: the metadata of an order, and the reason of a cancellation.

use rules::buyer::{METADATA_BYTES, METADATA_KEY_CHARS, METADATA_KEYS, Metadata, REASON_CHARS};
use rules::history::Details;
use rules::ids::printable;
use rules::outcome::{FieldError, Problem, Refusal};

use crate::auth::problem_with;
use crate::http::plumbing::body::says_json;
use crate::http::plumbing::call::Incoming;
use crate::http::plumbing::json::{self, Node, given};
use crate::http::respond::Dialect;

/// An object of plain values; empty: none. Stored without superfluous spaces; numbers keep their spelling.
pub fn metadata(node: Option<Node<'_>>) -> Result<Option<Metadata>, Refusal> {
    let Some(node) = given(node) else { return Ok(None) };
    let fields = node.entries(METADATA_KEYS)?;
    let mut written = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        if !printable(&name, METADATA_KEY_CHARS) {
            return Err(FieldError::refused(value.path(), problem_with(&name, METADATA_KEY_CHARS)));
        }
        written.push(format!("{}:{}", serde_json::Value::from(name), value.plain()?));
    }
    if written.is_empty() {
        return Ok(None);
    }
    let text = format!("{{{}}}", written.join(","));
    if text.len() > METADATA_BYTES {
        return Err(FieldError::refused(node.path(), Problem::Size { most_bytes: METADATA_BYTES }));
    }
    Ok(Some(Metadata::stored(&text)))
}

/// Whose body it is: unknown fields of a buyer's are ignored, those of an operator's are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    Buyer,
    Operator,
}

/// `{"reason":"..."}`, where JSON was sent. The seeds' dialects know no reason; what is not JSON is ignored.
pub fn reason(request: &Incoming, sent: &[u8], sender: Sender) -> Result<Option<Box<Details>>, Refusal> {
    let spoken = request.dialect == Dialect::V1_1 && says_json(request);
    if !spoken || sent.trim_ascii().is_empty() {
        return Ok(None);
    }
    let body = Node::read(sent)?;
    let [reason] = match sender {
        Sender::Buyer => body.fields(["reason"])?,
        Sender::Operator => body.only_fields(["reason"])?,
    };
    let text = given(reason).map(|node| node.text()).transpose()?;
    // Blank is none.
    let text = text.filter(|text| !text.trim().is_empty());
    let text = text.map(|text| json::text("reason", Some(&text), REASON_CHARS)).transpose()?;
    Ok(Details::of(None, text.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<String>, (String, Problem)> {
        let sent = format!(r#"{{"metadata":{text}}}"#);
        let [node] = Node::read(sent.as_bytes()).unwrap().fields(["metadata"]).unwrap();
        metadata(node).map(|found| found.map(|metadata| metadata.as_str().to_owned())).map_err(
            |refusal| match refusal {
                Refusal::Invalid(FieldError { field, problem }) => (field, problem),
                other => panic!("{other:?}"),
            },
        )
    }

    #[test]
    fn metadata_is_bounded_and_plain() {
        let given = r#" { "order" : "A-1\u00e9", "n": 1.50, "big": 12345678901234567890123, "gift":true } "#;
        let stored = r#"{"order":"A-1é","n":1.50,"big":12345678901234567890123,"gift":true}"#;
        assert_eq!(read(given), Ok(Some(stored.into())));
        assert_eq!((read("{}"), read("null")), (Ok(None), Ok(None)));
        let field = |text: &str| read(text).unwrap_err().0;
        for bad in ["1", "[]", r#""x""#, "true"] {
            assert_eq!(field(bad), "metadata", "{bad}");
        }
        for bad in [r#"{"a":null}"#, r#"{"a":[]}"#, r#"{"a":{}}"#, r#"{"a":1e999}"#, r#"{"a":"\ud800"}"#] {
            assert_eq!(field(bad), "metadata.a", "{bad}");
        }
        for bad in [r#"{"a":"\u0000"}"#, r#"{"a":"x\u001b[31m"}"#, r#"{"a":"\u007f"}"#, r#"{"a":"\u0085"}"#] {
            assert_eq!(read(bad), Err(("metadata.a".into(), Problem::Unprintable)), "{bad}");
        }
        assert_eq!(read(r#"{"a":" 1\n\t2\r\n"}"#), Ok(Some(r#"{"a":" 1\n\t2\r\n"}"#.into())), "lines may stand there");
        assert_eq!(read(r#"{"a":1,"a":2}"#), Err(("metadata.a".into(), Problem::Repeated)));
        assert_eq!(field(r#"{"":1}"#), "metadata.");
        assert_eq!(field(r#"{"a\u0007":1}"#), "metadata.a?");
        assert_eq!(field(&format!(r#"{{"{}":1}}"#, "k".repeat(65))), format!("metadata.{}", "k".repeat(64)));
        let keys =
            |count: usize| format!("{{{}}}", (0..count).map(|i| format!("\"k{i}\":1")).collect::<Vec<_>>().join(","));
        assert!(read(&keys(32)).is_ok());
        assert_eq!(read(&keys(33)), Err(("metadata".into(), Problem::Count { least: 0, most: 32 })));
        let sized = |bytes: usize| format!(r#"{{"k":"{}"}}"#, "x".repeat(bytes - 8));
        assert_eq!(read(&sized(2_048)).unwrap().map(|text| text.len()), Some(2_048));
        assert_eq!(read(&sized(2_049)), Err(("metadata".into(), Problem::Size { most_bytes: 2_048 })));
    }
}
