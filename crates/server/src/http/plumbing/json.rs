//! JSON read field by field, so that an error names its path: `phone`,
//! `seats.sections[0].rows[2].seats`. A known field given twice is refused, because parsers do not agree
//! which one counts. Unknown fields of a buyer's body are ignored, those of an operator's are refused.

use std::fmt;

use rules::ids::printable;
use rules::outcome::{Expected, FieldError, Problem, Refusal};
use rules::time::Moment;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::nearest::{nearest, shown};
use crate::auth::problem_with;
use crate::http::wire::read_moment;

pub const PRICE_MOST: f64 = 1e12;

/// A value, and the way to it.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    path: String,
    raw: &'a RawValue,
}

impl<'a> Node<'a> {
    /// A whole body.
    pub fn read(body: &'a [u8]) -> Result<Node<'a>, Refusal> {
        let text = std::str::from_utf8(body).map_err(|_| FieldError::refused("body", Problem::NotUtf8))?;
        let raw = serde_json::from_str(text).map_err(|e| not_json("body", &e))?;
        Ok(Node { path: String::new(), raw })
    }

    pub fn path(&self) -> String {
        if self.path.is_empty() { "body".into() } else { self.path.clone() }
    }

    pub fn is_null(&self) -> bool {
        self.raw.get() == "null"
    }

    pub fn is_object(&self) -> bool {
        self.raw.get().starts_with('{')
    }

    pub fn fault(&self, problem: Problem) -> Refusal {
        FieldError::refused(self.path(), problem)
    }

    /// These fields of an object, where they are. Other fields are ignored.
    pub fn fields<const N: usize>(&self, names: [&'static str; N]) -> Result<[Option<Node<'a>>; N], Refusal> {
        self.found(names).map(|(nodes, _)| nodes)
    }

    /// The same of an object that may have no other fields.
    pub fn only_fields<const N: usize>(&self, names: [&'static str; N]) -> Result<[Option<Node<'a>>; N], Refusal> {
        let (nodes, unknown) = self.found(names)?;
        match unknown {
            None => Ok(nodes),
            Some(name) => {
                let nearest = nearest(&name, &names);
                Err(FieldError::refused(self.join(&shown(&name)), Problem::Unknown { nearest }))
            }
        }
    }

    /// These fields, and the first one beside them.
    fn found<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<([Option<Node<'a>>; N], Option<String>), Refusal> {
        if !self.is_object() {
            return Err(self.fault(Problem::Expected(Expected::JsonObject)));
        }
        let mut reader = serde_json::Deserializer::from_str(self.raw.get());
        let Sorted { found, twice, unknown } =
            reader.deserialize_map(Wanted { names }).map_err(|e| not_json(&self.path(), &e))?;
        if let Some(name) = twice {
            return Err(FieldError::refused(self.join(name), Problem::Repeated));
        }
        let mut i = 0;
        let nodes = found.map(|raw| {
            i += 1;
            raw.map(|raw| Node { path: self.join(names[i - 1]), raw })
        });
        Ok((nodes, unknown))
    }

    /// The path of a field of this object.
    pub fn join(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    /// The entries of a list of at most `most`.
    pub fn list(&self, most: usize) -> Result<Vec<Node<'a>>, Refusal> {
        if !self.raw.get().starts_with('[') {
            return Err(self.fault(Problem::Expected(Expected::List)));
        }
        let mut reader = serde_json::Deserializer::from_str(self.raw.get());
        let entries = reader.deserialize_seq(Entries { most }).map_err(|e| not_json(&self.path(), &e))?;
        if entries.len() > most {
            return Err(self.fault(Problem::Count { least: 1, most }));
        }
        let nodes = entries.into_iter().enumerate();
        Ok(nodes.map(|(i, raw)| Node { path: format!("{}[{i}]", self.path), raw }).collect())
    }

    /// The fields of an object whose names are the caller's own, in order: at most `most`, each once.
    pub fn entries(&self, most: usize) -> Result<Vec<(String, Node<'a>)>, Refusal> {
        if !self.is_object() {
            return Err(self.fault(Problem::Expected(Expected::JsonObject)));
        }
        let mut reader = serde_json::Deserializer::from_str(self.raw.get());
        let entries = reader.deserialize_map(Named { most }).map_err(|e| not_json(&self.path(), &e))?;
        if entries.len() > most {
            return Err(self.fault(Problem::Count { least: 0, most }));
        }
        let mut nodes: Vec<(String, Node<'a>)> = Vec::with_capacity(entries.len());
        for (name, raw) in entries {
            let node = Node { path: self.join(&shown(&name)), raw };
            if nodes.iter().any(|(known, _)| *known == name) {
                return Err(node.fault(Problem::Repeated));
            }
            nodes.push((name, node));
        }
        Ok(nodes)
    }

    /// Text, a number, true or false, as JSON. A number keeps its spelling if a client can read it. Text may have several
    /// lines and tabs, and no other control characters: not everything that reads JSON takes them.
    pub fn plain(&self) -> Result<String, Refusal> {
        let raw = self.raw.get();
        match raw.as_bytes().first() {
            Some(b'"') => {
                let text = self.text()?;
                let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
                if text.contains(control) {
                    return Err(self.fault(Problem::Unprintable));
                }
                Ok(serde_json::Value::from(text).to_string())
            }
            Some(b't' | b'f') => Ok(raw.into()),
            Some(b'-' | b'0'..=b'9') if serde_json::from_str::<f64>(raw).is_ok_and(f64::is_finite) => Ok(raw.into()),
            _ => Err(self.fault(Problem::Expected(Expected::PlainValue))),
        }
    }

    /// A value of a body that was read in another way.
    pub fn at(path: &str, raw: &'a RawValue) -> Node<'a> {
        Node { path: path.into(), raw }
    }

    pub fn text(&self) -> Result<String, Refusal> {
        let quoted = self.raw.get().starts_with('"');
        let expected = if quoted { Expected::ReadableEscapes } else { Expected::Text };
        serde_json::from_str(self.raw.get()).map_err(|_| self.fault(Problem::Expected(expected)))
    }

    pub fn moment(&self) -> Result<Moment, Refusal> {
        read_moment(&self.text()?).ok_or_else(|| self.fault(Problem::NotAMoment))
    }

    pub fn whole(&self) -> Result<i64, Refusal> {
        serde_json::from_str(self.raw.get()).map_err(|_| self.fault(Problem::Expected(Expected::WholeNumber)))
    }

    pub fn yes_or_no(&self) -> Result<bool, Refusal> {
        serde_json::from_str(self.raw.get()).map_err(|_| self.fault(Problem::Expected(Expected::YesOrNo)))
    }

    /// An amount of money as JSON writes it: not below zero, and not beyond what is a price.
    pub fn price(&self) -> Result<Box<str>, Refusal> {
        let number: Option<serde_json::Number> = serde_json::from_str(self.raw.get()).ok();
        let fits = number.filter(|number| number.as_f64().is_some_and(|price| (0.0..=PRICE_MOST).contains(&price)));
        let number = fits.ok_or_else(|| self.fault(Problem::OutOfRange { least: 0, most: PRICE_MOST as i64 }))?;
        Ok(number.to_string().into())
    }

    pub fn whole_within(&self, least: u32, most: u32) -> Result<u32, Refusal> {
        let fits = u32::try_from(self.whole()?).ok().filter(|n| (least..=most).contains(n));
        fits.ok_or_else(|| self.fault(Problem::OutOfRange { least: least.into(), most: most.into() }))
    }
}

/// A text field that must be there: bounded as it was sent, trimmed, printable.
pub fn text(field: &'static str, value: Option<&str>, most: usize) -> Result<Box<str>, Refusal> {
    let value = value.ok_or_else(|| FieldError::refused(field, Problem::Missing))?;
    if value.len() > most && value.chars().count() > most {
        return Err(FieldError::refused(field, Problem::Length { most }));
    }
    let value = value.trim();
    if value.is_empty() {
        return Err(FieldError::refused(field, Problem::Missing));
    }
    if !printable(value, most) {
        return Err(FieldError::refused(field, problem_with(value, most)));
    }
    Ok(value.into())
}

/// A field that is there and not null.
pub fn given<'a>(node: Option<Node<'a>>) -> Option<Node<'a>> {
    node.filter(|node| !node.is_null())
}

fn not_json(field: &str, error: &serde_json::Error) -> Refusal {
    FieldError::refused(field, Problem::NotJson { line: error.line(), column: error.column() })
}

struct Wanted<const N: usize> {
    names: [&'static str; N],
}

/// The fields that were wanted, the first that stands there twice, and the first that nobody wanted.
struct Sorted<'de, const N: usize> {
    found: [Option<&'de RawValue>; N],
    twice: Option<&'static str>,
    unknown: Option<String>,
}

impl<'de, const N: usize> Visitor<'de> for Wanted<N> {
    type Value = Sorted<'de, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        let mut twice = None;
        let mut unknown = None;
        while let Some(key) = map.next_key::<String>()? {
            let Some(i) = self.names.iter().position(|name| *name == key) else {
                map.next_value::<IgnoredAny>()?;
                unknown.get_or_insert(key);
                continue;
            };
            if found[i].replace(map.next_value::<&RawValue>()?).is_some() {
                twice = twice.or(Some(self.names[i]));
            }
        }
        Ok(Sorted { found, twice, unknown })
    }
}

/// Names and values of an object.
struct Named {
    most: usize,
}

impl<'de> Visitor<'de> for Named {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry::<String, &RawValue>()? {
            // One beyond the bound tells that there are too many; the rest is not kept.
            if entries.len() <= self.most {
                entries.push(entry);
            }
        }
        Ok(entries)
    }
}

struct Entries {
    most: usize,
}

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = seq.next_element::<&RawValue>()? {
            // One beyond the bound tells that it is too long; the rest is not kept.
            if entries.len() <= self.most {
                entries.push(entry);
            }
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(refusal: Refusal) -> (String, Problem) {
        match refusal {
            Refusal::Invalid(FieldError { field, problem }) => (field, problem),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let read = |body: &'static str| Node::read(body.as_bytes()).and_then(|node| node.fields(["a", "b"]));
        for body in ["", "{", "{\"a\":}", "nul", "{\"a\":1}x", "{\"a\":1,}", "'a'", "{\"\\ud800\":1}"] {
            let (field, problem) = field(read(body).unwrap_err());
            assert!(field == "body" && matches!(problem, Problem::NotJson { .. }), "{body}: {field} {problem:?}");
        }
        for body in ["null", "1", "[]", "\"a\""] {
            assert_eq!(field(read(body).unwrap_err()).1, Problem::Expected(Expected::JsonObject), "{body}");
        }
        assert_eq!(field(read(r#"{"a":1,"b":2,"a":3}"#).unwrap_err()), ("a".into(), Problem::Repeated));
        assert!(read(r#"{"c":1,"c":2}"#).is_ok(), "unknown fields are ignored");
        let only = Node::read(br#"{"a":1,"bb":2,"c":3}"#).unwrap().only_fields(["a", "b"]).unwrap_err();
        assert_eq!(field(only), ("bb".into(), Problem::Unknown { nearest: Some("b") }));
        let (name, problem) = field(Node::read(b"{\"a\":\"\xff\"}").unwrap_err());
        assert_eq!((name.as_str(), problem), ("body", Problem::NotUtf8));
    }

    #[test]
    fn kinds_and_bounds() {
        let body = br#"{"n":9007199254740993,"e":1e309,"f":1.5,"s":"\ud800","z":"a\u0000","big":99999999999999999999}"#;
        let [n, e, f, s, z, big] = Node::read(body).unwrap().fields(["n", "e", "f", "s", "z", "big"]).unwrap();
        assert_eq!(n.unwrap().whole().unwrap(), 9_007_199_254_740_993);
        for (node, name) in [(e, "e"), (f, "f"), (big, "big")] {
            assert_eq!(field(node.unwrap().whole().unwrap_err()).0, name);
        }
        assert_eq!(field(s.unwrap().text().unwrap_err()).0, "s");
        assert_eq!(z.unwrap().text().unwrap(), "a\u{0}", "whether it may stand there is asked later");
    }

    #[test]
    fn depth_costs_nothing() {
        let deep = format!("{{\"x\":{}{},\"a\":1}}", "[".repeat(100_000), "]".repeat(100_000));
        let [a] = Node::read(deep.as_bytes()).unwrap().fields(["a"]).unwrap();
        assert_eq!(a.unwrap().whole().unwrap(), 1);
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let [a] = Node::read(deep.as_bytes()).unwrap().fields(["a"]).unwrap();
        assert!(a.unwrap().text().is_err());
    }
}
