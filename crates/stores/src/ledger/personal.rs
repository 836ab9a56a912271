//! Erasure of personal data: removes names, phones, emails, addresses, metadata of orders and reasons, of one user or
//! by age. The events themselves stay, and the hash chain stays valid: a digest replaces the text that it covered.

use rules::ids::User;
use rules::subject::SubjectId;

use super::Answered;
use super::records::LedgerNote;
use crate::chain::{ErasableFields, RowHash, Salt};

/// The maximum number of rows that one call reads.
pub const PERSONAL_WINDOW: usize = 20_000;
/// The maximum number of rows that one call erases.
pub const ERASED_MOST: usize = 500;

/// The result of scanning a part of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonalRows {
    pub rows: Vec<(SubjectId, u64)>,
    /// Where to continue. None: this was the end.
    pub next: Option<(SubjectId, u64)>,
}

/// What was erased with rows of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasedRows {
    /// Rows with an address or details.
    pub history: u64,
    /// Holds with metadata or a reason.
    pub holds: u64,
    /// Stays with metadata.
    pub stays: u64,
}

impl std::ops::AddAssign for ErasedRows {
    fn add_assign(&mut self, other: ErasedRows) {
        self.history += other.history;
        self.holds += other.holds;
        self.stays += other.stays;
    }
}

/// What was erased outside the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasedBeside {
    /// Sales that still had a name, a phone, an email or metadata.
    pub sales: u64,
    pub answers: u64,
}

pub trait PersonalData {
    /// The history rows about this user among the next rows after `after`.
    fn personal_rows(&self, of: User, after: Option<(SubjectId, u64)>) -> Answered<PersonalRows>;

    /// Erases addresses and details of these rows, and the metadata and reasons of the holds and stays that they name.
    fn erase_rows(&self, rows: Vec<(SubjectId, u64)>) -> Answered<ErasedRows>;

    /// Ends an erasure: erases this user's data outside the history, and appends the note.
    fn end_erasure(&self, of: User, note: LedgerNote) -> Answered<ErasedBeside>;
}

/// The digest that replaces the texts of a row in the chain once they are erased. None: there are no texts, or the salt
/// has the wrong length.
pub(super) fn digest(address: Option<&str>, details: Option<&str>, salt: Option<&[u8]>) -> Option<RowHash> {
    let salt = Salt::try_from(salt?).ok()?;
    let fields = ErasableFields { address: address.map(Into::into), details: details.map(Into::into) };
    Some(fields.digest(&salt))
}
