//! What a buyer sends with a reservation, in each dialect.

use rules::buyer::{Buyer, BuyerFields, EMAIL_CHARS, Metadata};
use rules::outcome::{FieldError, Problem, Refusal};
use rules::phone::{self, PhoneReading};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::http::plumbing::json::{self, Node, given};
use crate::http::resources::details;
use crate::http::respond::Dialect;

pub const BUYER_NAME_CHARS: usize = 100;

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(rename = "userName")]
    user_name: Option<String>,
    phone: Option<String>,
    email: Option<String>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Phoned {
    phone: Option<String>,
}

/// The buyer that a body describes, and what is to be kept with the order; numbers without a country code are of
/// `region`. Whether a field is required, the event decides.
pub fn read(sent: &[u8], dialect: Dialect, region: &str) -> Result<(Buyer, Option<Metadata>), Refusal> {
    match dialect {
        Dialect::V1_1 | Dialect::Seed004 => named(sent, region),
        Dialect::V1_0 => Ok((only_phone(phoned(sent)?, BuyerFields::PHONE, region)?, None)),
        Dialect::V2025_08_17 => {
            let phone = if sent.is_empty() { None } else { phoned(sent)? };
            Ok((only_phone(phone, BuyerFields::PERHAPS_PHONE, region)?, None))
        }
    }
}

fn only_phone(phone: Option<String>, otherwise: BuyerFields, region: &str) -> Result<Buyer, Refusal> {
    let phone = phone.map(|phone| e164(&phone, region)).transpose()?;
    Ok(Buyer { phone, otherwise, ..Buyer::default() })
}

/// The common case is parsed in one pass; only a body that does not fit is read field by field.
fn named(sent: &[u8], region: &str) -> Result<(Buyer, Option<Metadata>), Refusal> {
    let (name, phone, email, metadata) = match at_once(sent) {
        Some(Named { user_name, phone, email, metadata }) => {
            (user_name, phone, email, metadata.map(|raw| Node::at("metadata", raw)))
        }
        None => {
            let [name, phone, email, metadata] =
                Node::read(sent)?.fields(["userName", "phone", "email", "metadata"])?;
            (text(name)?, text(phone)?, text(email)?, metadata)
        }
    };
    let buyer = checked([name, phone, email], region, BuyerFields::NAME_AND_PHONE)?;
    Ok((buyer, details::metadata(metadata)?))
}

/// Name, phone and email as they were sent.
fn checked([name, phone, email]: [Option<String>; 3], region: &str, otherwise: BuyerFields) -> Result<Buyer, Refusal> {
    // What is blank was not given.
    let name = name.filter(|name| !name.trim().is_empty());
    let name = name.map(|name| json::text("userName", Some(&name), BUYER_NAME_CHARS)).transpose()?;
    let phone = phone.map(|phone| e164(&phone, region)).transpose()?;
    let email = email.filter(|email| !email.trim().is_empty());
    let email = email.map(|email| json::text("email", Some(&email), EMAIL_CHARS)).transpose()?;
    Ok(Buyer { name, phone, email, otherwise })
}

/// The buyer that the confirmation of a hold names.
pub fn of_hold(sent: &[u8], region: &str) -> Result<Buyer, Refusal> {
    let [name, phone, email] = Node::read(sent)?.fields(["userName", "phone", "email"])?;
    checked([text(name)?, text(phone)?, text(email)?], region, BuyerFields::PERHAPS_ANY)
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

    /// As an event without fields of its own takes it.
    fn taken(sent: &[u8], dialect: Dialect) -> Result<Buyer, Refusal> {
        let (buyer, _) = read(sent, dialect, "KR")?;
        buyer.otherwise.take(&buyer)?;
        Ok(buyer)
    }

    fn field(sent: &str, dialect: Dialect) -> String {
        match taken(sent.as_bytes(), dialect) {
            Err(Refusal::Invalid(fault)) => fault.field,
            other => panic!("{sent}: {other:?}"),
        }
    }

    #[test]
    fn each_dialect_requires_its_own_fields() {
        let alice = r#"{"userName":"Alice","phone":"010-1234-5678","more":[1]}"#.as_bytes();
        let phone: Option<Box<str>> = Some("+821012345678".into());
        assert_eq!(
            taken(alice, Dialect::V1_1).unwrap(),
            Buyer {
                name: Some("Alice".into()),
                phone: phone.clone(),
                email: None,
                otherwise: BuyerFields::NAME_AND_PHONE
            }
        );
        for dialect in [Dialect::V1_0, Dialect::V2025_08_17] {
            let buyer = taken(alice, dialect).unwrap();
            assert_eq!((buyer.name, buyer.phone, buyer.email), (None, phone.clone(), None));
            assert_eq!(field(r#"{"phone":"12"}"#, dialect), "phone");
        }
        for sent in ["", "{}"] {
            assert_eq!(taken(sent.as_bytes(), Dialect::V2025_08_17).unwrap().phone, None);
        }
        assert_eq!(field("{}", Dialect::V1_0), "phone");
        assert_eq!(field(r#"{"phone":"010-1234-5678"}"#, Dialect::V1_1), "userName");
        assert_eq!(field(r#"{"userName":"A\u0000","phone":"010-1234-5678"}"#, Dialect::V1_1), "userName");
        assert_eq!(field(r#"{"userName":"A","phone":1e309}"#, Dialect::V1_1), "phone");
        assert_eq!(field(r#"{"userName":"A","phone":"1","phone":"2"}"#, Dialect::V1_1), "phone");
        assert_eq!(field("", Dialect::V1_1), "body");
        assert_eq!(
            field(r#"{"userName":"A","phone":"010-1234-5678","metadata":{"a":[]}}"#, Dialect::V1_1),
            "metadata.a"
        );
    }

    #[test]
    fn email_and_metadata_are_those_of_1_1() {
        let sent = br#"{"userName":" Alice ","phone":"010-1234-5678","email":" a@b.co","metadata":{"order":"A-1"}}"#;
        let (buyer, metadata) = read(sent, Dialect::V1_1, "KR").unwrap();
        assert_eq!((buyer.name.as_deref(), buyer.email.as_deref()), (Some("Alice"), Some("a@b.co")));
        assert_eq!(metadata, Some(Metadata::stored(r#"{"order":"A-1"}"#)));
        for dialect in [Dialect::V1_0, Dialect::V2025_08_17] {
            let (buyer, metadata) = read(sent, dialect, "KR").unwrap();
            assert_eq!((buyer.email, metadata), (None, None));
        }
        // An event that asks for none refuses what cannot be one, as the document says.
        for odd in ["7".to_owned(), format!("{:?}", "x".repeat(255))] {
            let sent = format!(r#"{{"userName":"A","phone":"010-1234-5678","email":{odd}}}"#);
            assert_eq!(field(&sent, Dialect::V1_1), "email");
            assert!(taken(sent.as_bytes(), Dialect::V1_0).is_ok());
        }
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
            if let (Some(Named { user_name, phone, .. }), Ok([n, p])) = (at_once(sent.as_bytes()), slowly) {
                prop_assert_eq!(Ok(user_name), text(n));
                prop_assert_eq!(Ok(phone), text(p));
            }
        }
    }

    fn reads_or_refuses(sent: &[u8]) -> Result<(), TestCaseError> {
        for dialect in Dialect::BY_HEADER {
            match taken(sent, dialect) {
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
