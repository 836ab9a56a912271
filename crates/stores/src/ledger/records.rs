//! The whole history, for the operator: who did what when, over all events and room types; and the
//! invariants, checked now.

use rules::history::{AdminName, Details, Happened, RequestOrigin};
use rules::ids::{Number, Seat, User};
use rules::nights::Dates;
use rules::subject::SubjectId;
use rules::time::Moment;

use super::Answered;
use crate::chain::{ChainRow, RowHash, erasable};
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
    pub trace: Option<Box<str>>,
    pub detail: Option<Box<str>>,
    /// Where the request came from, while it is not erased.
    pub address: Option<Box<str>>,
    pub erased: bool,
    /// None: it is from before the chain of its subject.
    pub hash: Option<RowHash>,
}

/// The newest row of a subject's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryHead {
    pub n: u64,
    /// None: nothing happened since its history became a chain.
    pub hash: Option<RowHash>,
    pub at: Moment,
}

/// What an operator did, or tried, that concerns the ledger and no one subject.
#[derive(Clone, Debug)]
pub struct LedgerNote {
    pub what: Happened,
    /// None: whoever it was showed no valid token.
    pub by: Option<AdminName>,
    /// The user it is about.
    pub owner: Option<User>,
    pub origin: RequestOrigin,
    pub detail: Option<Box<str>>,
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

    /// None: there is no such event or room type.
    fn head(&self, of: SubjectId) -> Answered<Option<HistoryHead>>;

    /// Appends a row to the history of the ledger itself.
    fn note(&self, note: LedgerNote) -> Answered<()>;

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

impl LedgerNote {
    /// The history row that it becomes.
    pub(super) fn row(&self, n: u64, at: Moment) -> ChainRow<'_> {
        ChainRow {
            subject: SubjectId::Ledger.row(),
            n,
            at: at.0,
            what: self.what.as_str(),
            owner: self.owner.as_ref().map(User::as_str),
            by_admin: self.by.is_some(),
            admin: self.by.as_ref().map(AdminName::as_str),
            trace: self.origin.trace.as_deref(),
            detail: self.detail.as_deref(),
            erasable: erasable(&self.origin, None),
            ..ChainRow::default()
        }
    }
}
