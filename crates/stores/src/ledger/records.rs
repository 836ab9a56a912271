//! The whole history, for the operator: who did what when, over all events and room types; and the
//! invariants, checked now.

use rules::history::{AdminName, Details, Happened};
use rules::ids::{Number, Seat, User};
use rules::nights::Dates;
use rules::subject::SubjectId;
use rules::time::Moment;

use super::Answered;
use crate::verify::{Finding, Looked};

/// A row of the history of any subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRecord {
    pub subject: SubjectId,
    pub n: u64,
    pub what: Happened,
    pub seat: Option<Seat>,
    pub owner: Option<User>,
    /// The operator who did it.
    pub admin: Option<AdminName>,
    pub number: Option<Number>,
    pub at: Moment,
    /// The hold it is about, by the number it began with.
    pub hold: Option<u64>,
    pub dates: Option<Dates>,
    pub details: Option<Box<Details>>,
}

pub trait Records {
    /// History rows by subject and number, from behind `after`; of one subject where one is given.
    /// Room types come first, then events.
    fn records(
        &self,
        of: Option<SubjectId>,
        after: Option<(SubjectId, u64)>,
        limit: usize,
    ) -> Answered<Vec<LedgerRecord>>;

    /// The number of the newest history row of each of these subjects that exists. One cheap read, however many
    /// they are: it is asked several times a second while somebody watches.
    fn positions(&self, subjects: Vec<SubjectId>) -> Answered<Vec<(SubjectId, u64)>>;

    /// Every invariant with what breaks it, in one snapshot. It reads the whole ledger.
    fn audit(&self) -> Answered<(Looked, Vec<Finding>)>;
}

/// The bounds of a read: the least and the greatest subject, and where to begin.
pub(super) fn bounds(of: Option<SubjectId>, after: Option<(SubjectId, u64)>) -> [i64; 4] {
    let (least, greatest) = of.map_or((i64::MIN, i64::MAX), |subject| (subject.row(), subject.row()));
    let (subject, n) = after.map_or((least, 0), |(subject, n)| (subject.row(), n as i64));
    [least, greatest, subject, n]
}

/// The operator in a row. Before tokens had names there was one.
pub(super) fn admin(by_admin: bool, name: Option<&str>) -> Option<AdminName> {
    by_admin.then(|| name.map_or_else(AdminName::default, AdminName::stored))
}
