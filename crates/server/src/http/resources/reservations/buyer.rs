//! What a buyer sends with a reservation, in each dialect.

use rules::command::Buyer;
use rules::outcome::{FieldError, Problem, Refusal};
use rules::phone::{self, PhoneReading};
use serde::Deserialize;

use crate::http::plumbing::json::{self, Node, given};
use crate::http::respond::Dialect;

pub const BUYER_NAME_CHARS: usize = 100;

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "userName")]
    user_name: Option<String>,
    phone: Option<String>,
}

#[derive(Deserialize)]
struct Phoned {
    phone: Option<String>,
}

/// The buyer that a body describes; numbers without a country code are of `region`.
pub fn read(sent: &[u8], dialect: Dialect, region: &str) -> Result<Buyer, Refusal> {
    let (name, phone) = match dialect {
        Dialect::V1_1 | Dialect::Seed004 => {
            let (name, phone) = named(sent)?;
            (Some(json::text("userName", name.as_deref(), BUYER_NAME_CHARS)?), required(phone)?)
        }
        Dialect::V1_0 => (None, required(phoned(sent)?)?),
        Dialect::V2025_08_17 if sent.is_empty() => return Ok(Buyer::default()),
        Dialect::V2025_08_17 => match phoned(sent)? {
            Some(phone) => (None, phone),
            None => return Ok(Buyer::default()),
        },
    };
    Ok(Buyer { name, phone: Some(e164(&phone, region)?) })
}

fn required(phone: Option<String>) -> Result<String, Refusal> {
    phone.ok_or_else(|| FieldError::refused("phone", Problem::Missing))
}

/// The common case is parsed in one pass; only a body that does not fit is read field by field.
fn named(sent: &[u8]) -> Result<(Option<String>, Option<String>), Refusal> {
    if let Some(Named { user_name, phone }) = at_once(sent) {
        return Ok((user_name, phone));
    }
    let [name, phone] = Node::read(sent)?.fields(["userName", "phone"])?;
    Ok((text(name)?, text(phone)?))
}

fn phoned(sent: &[u8]) -> Result<Option<String>, Refusal> {
    if let Some(Phoned { phone }) = at_once(sent) {
        return Ok(phone);
    }
    let [phone] = Node::read(sent)?.fields(["phone"])?;
    text(phone)
}

/// Only what begins as an object: derived readers would take a list for one.
fn at_once<'a, T: Deserialize<'a>>(sent: &'a [u8]) -> Option<T> {
    let opens = sent.iter().find(|b| !b.is_ascii_whitespace());
    if opens == Some(&b'{') { serde_json::from_slice(sent).ok() } else { None }
}

fn text(node: Option<Node<'_>>) -> Result<Option<String>, Refusal> {
    given(node).map(|node| node.text()).transpose()
}

/// The usual forms by own code; national forms of other regions by the library.
fn e164(text: &str, region: &str) -> Result<Box<str>, Refusal> {
    let not_a_phone = || FieldError::refused("phone", Problem::NotAPhone);
    match phone::read(text, region) {
        PhoneReading::Number(number) => Ok(number.into()),
        PhoneReading::Impossible => Err(not_a_phone()),
        PhoneReading::National => {
            let country = region.parse::<phonenumber::country::Id>().ok();
            let number = phonenumber::parse(country, text).map_err(|_| not_a_phone())?;
            let e164 = number.format().mode(phonenumber::Mode::E164).to_string();
            match phone::read(&e164, region) {
                PhoneReading::Number(number) => Ok(number.into()),
                PhoneReading::Impossible | PhoneReading::National => Err(not_a_phone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn national_numbers_of_other_regions_are_read() {
        assert_eq!(e164("(415) 555-2671", "US").unwrap().as_ref(), "+14155552671");
        assert_eq!(e164("03-1234-5678", "JP").unwrap().as_ref(), "+81312345678");
        assert!(e164("12", "US").is_err());
        assert_eq!(e164("010-1234-5678", "KR").unwrap().as_ref(), "+821012345678");
    }

    fn field(sent: &str, dialect: Dialect) -> String {
        match read(sent.as_bytes(), dialect, "KR") {
            Err(Refusal::Invalid(fault)) => fault.field,
            other => panic!("{sent}: {other:?}"),
        }
    }

    #[test]
    fn each_dialect_requires_its_own_fields() {
        let alice = r#"{"userName":"Alice","phone":"010-1234-5678","more":[1]}"#.as_bytes();
        let phone: Option<Box<str>> = Some("+821012345678".into());
        assert_eq!(
            read(alice, Dialect::V1_1, "KR").unwrap(),
            Buyer { name: Some("Alice".into()), phone: phone.clone() }
        );
        for dialect in [Dialect::V1_0, Dialect::V2025_08_17] {
            assert_eq!(read(alice, dialect, "KR").unwrap(), Buyer { name: None, phone: phone.clone() });
            assert_eq!(field(r#"{"phone":"12"}"#, dialect), "phone");
        }
        assert_eq!(read(b"", Dialect::V2025_08_17, "KR").unwrap(), Buyer::default());
        assert_eq!(read(b"{}", Dialect::V2025_08_17, "KR").unwrap(), Buyer::default());
        assert_eq!(field("{}", Dialect::V1_0), "phone");
        assert_eq!(field(r#"{"phone":"010-1234-5678"}"#, Dialect::V1_1), "userName");
        assert_eq!(field(r#"{"userName":"A\u0000","phone":"010-1234-5678"}"#, Dialect::V1_1), "userName");
        assert_eq!(field(r#"{"userName":"A","phone":1e309}"#, Dialect::V1_1), "phone");
        assert_eq!(field(r#"{"userName":"A","phone":"1","phone":"2"}"#, Dialect::V1_1), "phone");
        assert_eq!(field("", Dialect::V1_1), "body");
    }

    /// Values that a client may put where text is expected, and hostile text.
    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap_or_default()),
            "[0-9+() .-]{0,20}".prop_map(|s| format!("{s:?}")),
            Just("null".into()),
            Just("1e309".into()),
            Just("-0".into()),
            Just(r#""\ud800""#.into()),
            Just(r#""\u0000""#.into()),
            Just("[[[[]]]]".into()),
            Just(r#"{"phone":"x"}"#.into()),
            any::<i64>().prop_map(|n| n.to_string()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// Any body is either a buyer or a refusal that names a field.
        #[test]
        fn bodies_are_read_or_refused_by_field(
            keys in prop::collection::vec(prop_oneof![Just("userName"), Just("phone"), Just("x")], 0..5),
            values in prop::collection::vec(value(), 5),
            cut in 0usize..400,
        ) {
            let pairs: Vec<String> = keys.iter().zip(&values).map(|(k, v)| format!("{k:?}:{v}")).collect();
            let mut sent = format!("{{{}}}", pairs.join(",")).into_bytes();
            if cut < 40 {
                sent.truncate(cut);
            }
            reads_or_refuses(&sent)?;
        }

        #[test]
        fn noise_is_refused(sent in prop::collection::vec(any::<u8>(), 0..200)) {
            reads_or_refuses(&sent)?;
        }

        /// The fast reader and the field-by-field reader agree.
        #[test]
        fn both_readers_agree(name in value(), phone in value(), more in value()) {
            let sent = format!(r#"{{"x":{more},"userName":{name},"phone":{phone}}}"#);
            let slowly = Node::read(sent.as_bytes()).and_then(|node| node.fields(["userName", "phone"]));
            if let (Some(Named { user_name, phone }), Ok([n, p])) = (at_once(sent.as_bytes()), slowly) {
                prop_assert_eq!(Ok(user_name), text(n));
                prop_assert_eq!(Ok(phone), text(p));
            }
        }
    }

    fn reads_or_refuses(sent: &[u8]) -> Result<(), TestCaseError> {
        for dialect in Dialect::BY_HEADER {
            match read(sent, dialect, "KR") {
                Ok(buyer) => {
                    prop_assert!(buyer.phone.is_some() || dialect == Dialect::V2025_08_17);
                    prop_assert!(buyer.phone.iter().all(|phone| phone.starts_with('+')));
                }
                Err(Refusal::Invalid(fault)) => {
                    prop_assert!(["body", "phone", "userName"].contains(&fault.field.as_str()), "{}", fault.field);
                }
                Err(other) => prop_assert!(false, "{other:?}"),
            }
        }
        Ok(())
    }
}
