//! The history of a subject as a hash chain. Each row's hash covers the row and the previous hash. So whoever alters,
//! removes, swaps or adds a row must change every later hash, and the head, which others may have recorded.
//!
//! The input of a hash is defined only here: [`ChainRow::hash`], [`ErasableFields::digest`] and
//! [`ContactFields::digest`].

mod links;
pub mod planted;
pub mod walk;

pub use self::links::{Chain, ChainedSubject, Link, erasable};

use std::borrow::Cow;

use sha2::{Digest, Sha256};

pub type RowHash = [u8; 32];
pub type Salt = [u8; 16];

/// The previous hash of the first row of a chain.
pub const GENESIS: RowHash = [0; 32];

/// A history row in the form that its hash covers. The subject is the number in the table: positive for events,
/// negative for room types, 0 for the ledger itself.
#[derive(Clone, Debug, Default)]
pub struct ChainRow<'a> {
    pub subject: i64,
    pub n: u64,
    pub at: i64,
    pub what: &'a str,
    pub seat: Option<u32>,
    pub owner: Option<&'a str>,
    pub by_admin: bool,
    pub admin: Option<&'a str>,
    pub number: Option<u64>,
    pub hold: Option<u64>,
    pub check_in: Option<i32>,
    pub check_out: Option<i32>,
    pub trace: Option<&'a str>,
    pub detail: Option<&'a str>,
    pub batch: Option<&'a str>,
    /// The hash covers the digests of these fields, and of the buyer's contact.
    pub erasable: ErasableFields<'a>,
    pub contact: ContactFields<'a>,
}

/// The fields of the row that may be personal: the origin of the request, and what the shop or the caller wrote.
#[derive(Clone, Debug, Default)]
pub struct ErasableFields<'a> {
    pub address: Option<Cow<'a, str>>,
    /// Metadata and reason, in their stored form.
    pub details: Option<Cow<'a, str>>,
}

/// The contact of the buyer of a reservation. It is stored in the row of the seat, and removed with it. A user id is
/// not erased: it is a pseudonym, and seats and limits are counted by it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContactFields<'a> {
    pub name: Option<&'a str>,
    pub phone: Option<&'a str>,
    pub email: Option<&'a str>,
}

/// The digests that replace personal data in a row's hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct PersonalDigests {
    pub erasable: Option<RowHash>,
    pub contact: Option<RowHash>,
}

impl ChainRow<'_> {
    /// A new field gets the next tag. An absent field adds no bytes, so that older rows keep their hash.
    pub fn hash(&self, before: &RowHash, personal: PersonalDigests) -> RowHash {
        let mut fields = Fields::new(b"tickettock history 1");
        fields.bytes(1, if planted::covers_link() { before } else { &GENESIS });
        fields.number(2, Some(self.subject));
        fields.number(3, Some(self.n as i64));
        fields.number(4, Some(self.at));
        fields.text(5, Some(self.what));
        fields.number(6, self.seat.map(i64::from));
        fields.text(7, self.owner);
        fields.number(8, self.by_admin.then_some(1));
        fields.text(9, self.admin);
        fields.number(10, self.number.map(|number| number as i64));
        fields.number(11, self.hold.map(|hold| hold as i64));
        fields.number(12, self.check_in.map(i64::from));
        fields.number(13, self.check_out.map(i64::from));
        fields.text(14, self.trace);
        fields.text(15, self.detail);
        fields.text(16, self.batch);
        for (tag, digest) in [(17, personal.erasable), (18, personal.contact)] {
            if let Some(digest) = digest {
                fields.bytes(tag, &digest);
            }
        }
        fields.finish()
    }
}

impl ErasableFields<'_> {
    pub fn is_empty(&self) -> bool {
        self.address.is_none() && self.details.is_none()
    }

    /// The salt prevents guessing the erased values by trial. A new field gets the next tag, here and in `is_empty`.
    pub fn digest(&self, salt: &Salt) -> RowHash {
        let mut fields = Fields::new(b"tickettock erasable 1");
        fields.bytes(1, salt);
        fields.text(2, self.address.as_deref());
        fields.text(3, self.details.as_deref());
        fields.finish()
    }
}

impl ContactFields<'_> {
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.phone.is_none() && self.email.is_none()
    }

    /// A new field gets the next tag, here and in `is_empty`.
    pub fn digest(&self, salt: &Salt) -> RowHash {
        let mut fields = Fields::new(b"tickettock contact 1");
        fields.bytes(1, salt);
        fields.text(2, self.name);
        fields.text(3, self.phone.filter(|_| planted::covers_phone()));
        fields.text(4, self.email);
        fields.finish()
    }
}

/// Fields in the order of their tags, each preceded by its tag and length, so that two different rows never give the
/// same bytes.
struct Fields(Vec<u8>);

impl Fields {
    fn new(purpose: &[u8]) -> Fields {
        let mut bytes = Vec::with_capacity(384);
        bytes.extend_from_slice(purpose);
        Fields(bytes)
    }

    fn bytes(&mut self, tag: u8, value: &[u8]) {
        self.0.push(tag);
        self.0.extend_from_slice(&(value.len() as u32).to_be_bytes());
        self.0.extend_from_slice(value);
    }

    fn text(&mut self, tag: u8, value: Option<&str>) {
        if let Some(value) = value {
            self.bytes(tag, value.as_bytes());
        }
    }

    fn number(&mut self, tag: u8, value: Option<i64>) {
        if let Some(value) = value {
            self.bytes(tag, &value.to_be_bytes());
        }
    }

    fn finish(self) -> RowHash {
        Sha256::digest(&self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> ChainRow<'static> {
        ChainRow { subject: 1, n: 2, at: 3, what: "reserved", owner: Some("ab"), ..ChainRow::default() }
    }

    /// Every field counts, and no text can pass for that of another field.
    #[test]
    fn every_field_changes_the_hash() {
        let rows = [
            row(),
            ChainRow { subject: -1, ..row() },
            ChainRow { n: 3, ..row() },
            ChainRow { at: 4, ..row() },
            ChainRow { what: "cancelled", ..row() },
            ChainRow { seat: Some(2), ..row() },
            ChainRow { owner: None, ..row() },
            ChainRow { owner: Some("a"), admin: Some("b"), ..row() },
            ChainRow { by_admin: true, ..row() },
            ChainRow { admin: Some("ab"), ..row() },
            ChainRow { number: Some(2), ..row() },
            ChainRow { hold: Some(2), ..row() },
            ChainRow { check_in: Some(2), ..row() },
            ChainRow { check_out: Some(2), ..row() },
            ChainRow { trace: Some("ab"), ..row() },
            ChainRow { detail: Some("ab"), ..row() },
            ChainRow { batch: Some("ab"), ..row() },
        ];
        let mut hashes: Vec<RowHash> = rows.iter().map(|row| row.hash(&GENESIS, PersonalDigests::default())).collect();
        hashes.push(row().hash(&[1; 32], PersonalDigests::default()));
        hashes.push(row().hash(&GENESIS, PersonalDigests { erasable: Some([7; 32]), contact: None }));
        hashes.push(row().hash(&GENESIS, PersonalDigests { erasable: None, contact: Some([7; 32]) }));
        let all = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), all);
    }

    #[test]
    fn personal_fields_and_salt_change_the_digest() {
        let plain = ContactFields { name: Some("Alice"), phone: Some("+8210"), email: None };
        let digest = plain.digest(&[1; 16]);
        assert_ne!(digest, plain.digest(&[2; 16]));
        assert_ne!(digest, ContactFields { name: Some("Alicf"), ..plain }.digest(&[1; 16]));
        assert_ne!(digest, ContactFields { phone: None, ..plain }.digest(&[1; 16]));
        assert_ne!(digest, ContactFields { email: Some("a@b"), ..plain }.digest(&[1; 16]));
        let row = ErasableFields { address: Some("10.0.0.1".into()), details: Some("{}".into()) };
        assert_ne!(row.digest(&[1; 16]), row.digest(&[2; 16]));
        assert_ne!(row.digest(&[1; 16]), ErasableFields { details: None, ..row.clone() }.digest(&[1; 16]));
        assert!(ContactFields::default().is_empty());
    }

    /// Heads that somebody kept must verify with every later version.
    #[test]
    fn the_encoding_is_pinned() {
        let hash = row().hash(&GENESIS, PersonalDigests { erasable: Some([7; 32]), contact: None });
        assert_eq!(hex(&hash), "758d803d5c1c67d673e04599d2718453360d7a8b4023949b7856238f782f3c14");
    }

    fn hex(hash: &RowHash) -> String {
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
