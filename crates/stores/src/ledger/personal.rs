//! Personal data and its end: names, phones, emails, addresses, metadata of orders and reasons are removed, of one person or
//! by their age. What happened stays, and the chain of hashes stays whole: a digest takes the place of what it covered.

use rules::ids::User;
use rules::subject::SubjectId;

use super::Answered;
use super::records::LedgerNote;
use crate::chain::{ErasableFields, RowHash, Salt};

/// Rows that one call looks at.
pub const PERSONAL_WINDOW: usize = 20_000;
/// Rows that one call erases.
pub const ERASED_MOST: usize = 500;

/// What a look at a part of the history found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonalRows {
    pub rows: Vec<(SubjectId, u64)>,
    /// Where to go on; none: this was the end.
    pub next: Option<(SubjectId, u64)>,
}

/// What was removed with rows of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasedRows {
    /// Rows that had an address or details.
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

/// What was removed beside the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasedBeside {
    /// Sales that still had a name, a phone, an email or metadata.
    pub sales: u64,
    pub answers: u64,
}

pub trait PersonalData {
    /// The history rows about this user among the next rows behind `after`.
    fn personal_rows(&self, of: User, after: Option<(SubjectId, u64)>) -> Answered<PersonalRows>;

    /// Erases addresses and details of these rows, and what was written to the holds and stays that they tell of.
    fn erase_rows(&self, rows: Vec<(SubjectId, u64)>) -> Answered<ErasedRows>;

    /// The end of an erasure: what is kept of this user beside the history goes, and the note is appended.
    fn end_erasure(&self, of: User, note: LedgerNote) -> Answered<ErasedBeside>;
}

/// What stands for the texts of a row in the chain once they are erased. None: there are none, or the salt is not one
/// of ours.
pub(super) fn digest(address: Option<&str>, details: Option<&str>, salt: Option<&[u8]>) -> Option<RowHash> {
    let salt = Salt::try_from(salt?).ok()?;
    let fields = ErasableFields { address: address.map(Into::into), details: details.map(Into::into) };
    Some(fields.digest(&salt))
}
