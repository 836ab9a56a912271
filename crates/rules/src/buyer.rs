//! What a sale requires of its buyer, per event: name, phone and email are each required, optional or absent.

use crate::history::Details;
use crate::outcome::{FieldError, Problem, Refusal};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldNeed {
    Required,
    #[default]
    Optional,
    /// Not requested. It is not stored, even if it is sent.
    Absent,
}

impl FieldNeed {
    pub const ALL: [FieldNeed; 3] = [FieldNeed::Required, FieldNeed::Optional, FieldNeed::Absent];
    pub const NAMES: [&'static str; 3] = ["required", "optional", "absent"];

    pub fn as_str(self) -> &'static str {
        match self {
            FieldNeed::Required => "required",
            FieldNeed::Optional => "optional",
            FieldNeed::Absent => "absent",
        }
    }

    pub fn named(text: &str) -> Option<FieldNeed> {
        FieldNeed::ALL.into_iter().find(|need| need.as_str() == text)
    }

    /// The value to store for a field that was sent like this.
    fn of<'a>(self, field: &'static str, sent: Option<&'a str>) -> Result<Option<&'a str>, Refusal> {
        match (self, sent) {
            (FieldNeed::Absent, _) => Ok(None),
            (FieldNeed::Required, None) => Err(FieldError::refused(field, Problem::Missing)),
            (FieldNeed::Required | FieldNeed::Optional, sent) => Ok(sent),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BuyerFields {
    pub name: FieldNeed,
    pub phone: FieldNeed,
    pub email: FieldNeed,
}

impl BuyerFields {
    /// The default of the seeds: name and phone.
    pub const NAME_AND_PHONE: BuyerFields =
        BuyerFields { name: FieldNeed::Required, phone: FieldNeed::Required, email: FieldNeed::Absent };
    /// Dialect 1.0 has no name field.
    pub const PHONE: BuyerFields =
        BuyerFields { name: FieldNeed::Absent, phone: FieldNeed::Required, email: FieldNeed::Absent };
    /// Dialect 2025-08-17 requires nothing.
    pub const PERHAPS_PHONE: BuyerFields =
        BuyerFields { name: FieldNeed::Absent, phone: FieldNeed::Optional, email: FieldNeed::Absent };

    /// A hold requires nothing, unless the event does.
    pub const PERHAPS_ANY: BuyerFields =
        BuyerFields { name: FieldNeed::Optional, phone: FieldNeed::Optional, email: FieldNeed::Optional };

    /// Checks what a buyer sent, and drops the fields that are not requested.
    pub fn take(self, buyer: &Buyer) -> Result<TakenBuyer<'_>, Refusal> {
        let name = self.name.of("userName", buyer.name.as_deref())?;
        let phone = self.phone.of("phone", buyer.phone.as_deref())?;
        let email = self.email.of("email", buyer.email.as_deref())?;
        if email.is_some_and(|email| !is_email(email)) {
            return Err(FieldError::refused("email", Problem::NotAnEmail));
        }
        Ok(TakenBuyer { name, phone, email })
    }
}

/// The buyer fields of one event. A field that is None follows the caller's dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AskedFields {
    pub name: Option<FieldNeed>,
    pub phone: Option<FieldNeed>,
    pub email: Option<FieldNeed>,
}

impl AskedFields {
    pub fn or(self, otherwise: BuyerFields) -> BuyerFields {
        BuyerFields {
            name: self.name.unwrap_or(otherwise.name),
            phone: self.phone.unwrap_or(otherwise.phone),
            email: self.email.unwrap_or(otherwise.email),
        }
    }

    /// A field that is None in the change stays as it is.
    pub fn changed(self, change: AskedFields) -> AskedFields {
        AskedFields {
            name: change.name.or(self.name),
            phone: change.phone.or(self.phone),
            email: change.email.or(self.email),
        }
    }

    /// The stored form: `required,-,absent` for name, phone and email. None: the event sets no fields of its own.
    pub fn written(self) -> Option<String> {
        let needs = [self.name, self.phone, self.email];
        let own = needs.iter().any(Option::is_some);
        own.then(|| needs.map(|need| need.map_or("-", FieldNeed::as_str)).join(","))
    }

    pub fn read(text: &str) -> Option<AskedFields> {
        let mut needs = text.split(',').map(|need| match need {
            "-" => Some(None),
            named => FieldNeed::named(named).map(Some),
        });
        let fields = AskedFields { name: needs.next()??, phone: needs.next()??, email: needs.next()?? };
        needs.next().is_none().then_some(fields)
    }

    /// Packed into one byte, so that it can be shared without a lock.
    pub fn bits(self) -> u8 {
        let bits = |need: Option<FieldNeed>| need.map_or(0, |need| need as u8 + 1);
        bits(self.name) | bits(self.phone) << 2 | bits(self.email) << 4
    }

    pub fn of_bits(bits: u8) -> AskedFields {
        let need = |bits: u8| usize::from(bits & 3).checked_sub(1).and_then(|i| FieldNeed::ALL.get(i).copied());
        AskedFields { name: need(bits), phone: need(bits >> 2), email: need(bits >> 4) }
    }
}

/// What the buyer gave. Stored with the sale, shown to the admin only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buyer {
    pub name: Option<Box<str>>,
    /// E.164.
    pub phone: Option<Box<str>>,
    /// As sent. It is validated only where an event asks for it.
    pub email: Option<Box<str>>,
    /// The rule of the caller's dialect, for events without fields of their own.
    pub otherwise: BuyerFields,
}

/// What is stored about a buyer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenBuyer<'a> {
    pub name: Option<&'a str>,
    pub phone: Option<&'a str>,
    pub email: Option<&'a str>,
}

pub const EMAIL_CHARS: usize = 254;
const LOCAL_PART_CHARS: usize = 64;

/// A loose check: one @ with something before it and a domain after it, no spaces or control characters. Only sending a
/// mail shows whether the address works.
pub fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"<>(),;:\"[]\\@".contains(c);
    let label = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    let named = domain.contains('.') && domain.split('.').all(label);
    let bounded = text.len() <= EMAIL_CHARS && (1..=LOCAL_PART_CHARS).contains(&local.len());
    bounded && named && local.chars().all(plain) && domain.chars().all(plain)
}

/// Metadata that a shop stores with an order: a JSON object, validated when it was received.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Metadata(Box<str>);

pub const METADATA_BYTES: usize = 2_048;
pub const METADATA_KEYS: usize = 32;
pub const METADATA_KEY_CHARS: usize = 64;
pub const REASON_CHARS: usize = 200;

impl Metadata {
    /// Text that was validated when it was received.
    pub fn stored(text: &str) -> Metadata {
        Metadata(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Details {
    /// None if there is nothing to report.
    pub fn of(metadata: Option<&Metadata>, reason: Option<&str>) -> Option<Box<Details>> {
        let told = metadata.is_some() || reason.is_some();
        let details = || Details { metadata: metadata.cloned(), reason: reason.map(Into::into), reservation: None };
        told.then(|| Box::new(details()))
    }

    /// The details of a cancellation.
    pub fn of_cancelled(reservation: u64, metadata: Option<&Metadata>, reason: Option<&str>) -> Option<Box<Details>> {
        let (metadata, reason) = (metadata.cloned(), reason.map(Into::into));
        Some(Box::new(Details { metadata, reason, reservation: Some(reservation) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emails_are_checked_loosely() {
        for good in
            ["a@b.co", "a.b+c@mail.example.com", "김@예시.한국", "o'neil@x-y.org", &format!("{}@b.co", "x".repeat(64))]
        {
            assert!(is_email(good), "{good}");
        }
        for bad in [
            "", "a", "@b.co", "a@", "a@b", "a b@c.de", "a@b..c", "a@.b", "a@b.", "a@@b.co", "a@-b.co", "<a@b.co>",
            "a\n@b.co",
        ] {
            assert!(!is_email(bad), "{bad}");
        }
        assert!(!is_email(&format!("{}@b.co", "x".repeat(65))) && !is_email(&format!("a@{}.co", "x".repeat(260))));
    }

    #[test]
    fn fields_are_required_kept_or_left_out() {
        let sent = Buyer { name: Some("A".into()), phone: None, email: Some("not one".into()), ..Buyer::default() };
        let taken = BuyerFields::PERHAPS_PHONE.take(&sent).unwrap();
        assert_eq!((taken.name, taken.phone, taken.email), (None, None, None), "what is not asked for is not stored");
        let missing = |field: &str| Err(FieldError::refused(field, Problem::Missing));
        assert_eq!(BuyerFields::NAME_AND_PHONE.take(&sent), missing("phone"));
        let email = BuyerFields { email: FieldNeed::Optional, ..BuyerFields::default() };
        assert_eq!(email.take(&sent), Err(FieldError::refused("email", Problem::NotAnEmail)));
        let required = BuyerFields { email: FieldNeed::Required, ..BuyerFields::default() };
        assert_eq!(required.take(&Buyer::default()), missing("email"));
    }

    #[test]
    fn stored_forms_are_read_back() {
        let needs = || FieldNeed::ALL.into_iter().map(Some).chain([None]);
        for name in needs() {
            for phone in needs() {
                for email in needs() {
                    let fields = AskedFields { name, phone, email };
                    assert_eq!(
                        fields.written().map_or(Some(AskedFields::default()), |t| AskedFields::read(&t)),
                        Some(fields)
                    );
                    assert_eq!(AskedFields::of_bits(fields.bits()), fields);
                }
            }
        }
        for bad in ["", "required", "required,optional", "required,optional,absent,absent", "a,b,c"] {
            assert_eq!(AskedFields::read(bad), None, "{bad}");
        }
    }
}
