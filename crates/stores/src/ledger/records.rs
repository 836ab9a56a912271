//! The whole history, for the operator: who did what and when, over all events and room types. Also checks the
//! invariants on request.

use rules::history::{AdminName, Details, Happened, RequestOrigin};
use rules::ids::{Number, Seat, User};
use rules::nights::Dates;
use rules::subject::SubjectId;
use rules::time::Moment;

use super::Answered;
use crate::chain::{ChainRow, RowHash, erasable};
use crate::verify::{Finding, Looked};

/// A history row of any subject.
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
    /// The hold it is about, by the history number at which it began.
    pub hold: Option<u64>,
    pub dates: Option<Dates>,
    pub details: Option<Box<Details>>,
    pub trace: Option<Box<str>>,
    pub detail: Option<Box<str>>,
    /// The address of the request, until it is erased.
    pub address: Option<Box<str>>,
    pub erased: bool,
    /// None: the row was written before the chain of its subject began.
    pub hash: Option<RowHash>,
}

/// The newest row of a subject's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryHead {
    pub n: u64,
    /// None: no row was written since its history became a chain.
    pub hash: Option<RowHash>,
    pub at: Moment,
}

/// What an operator did, or tried, that concerns the ledger as a whole.
#[derive(Clone, Debug)]
pub struct LedgerNote {
    pub what: Happened,
    /// None: the caller presented no valid token.
    pub by: Option<AdminName>,
    /// The user it is about.
    pub owner: Option<User>,
    pub origin: RequestOrigin,
    pub detail: Option<Box<str>>,
}

pub trait Records {
    /// History rows by subject and number, after `after`; of one subject if it is given. Room types come first, then
    /// events.
    fn records(
        &self,
        of: Option<SubjectId>,
        after: Option<(SubjectId, u64)>,
        limit: usize,
    ) -> Answered<Vec<LedgerRecord>>;

    /// The number of the newest history row of each of these subjects that exists. One cheap read for any number of
    /// subjects, because it runs several times a second while clients are subscribed.
    fn positions(&self, subjects: Vec<SubjectId>) -> Answered<Vec<(SubjectId, u64)>>;

    /// None: the event or room type does not exist.
    fn head(&self, of: SubjectId) -> Answered<Option<HistoryHead>>;

    /// Appends a row to the history of the ledger itself.
    fn note(&self, note: LedgerNote) -> Answered<()>;

    /// Checks every invariant in one snapshot. It reads the whole ledger.
    fn audit(&self) -> Answered<(Looked, Vec<Finding>)>;
}

/// The bounds of a read: the lowest and the highest subject, and where to begin.
pub(super) fn bounds(of: Option<SubjectId>, after: Option<(SubjectId, u64)>) -> [i64; 4] {
    let (least, greatest) = of.map_or((i64::MIN, i64::MAX), |subject| (subject.row(), subject.row()));
    let (subject, n) = after.map_or((least, 0), |(subject, n)| (subject.row(), n as i64));
    [least, greatest, subject, n]
}

/// The operator in a row. Before tokens had names there was only one.
pub(super) fn admin(by_admin: bool, name: Option<&str>) -> Option<AdminName> {
    by_admin.then(|| name.map_or_else(AdminName::default, AdminName::stored))
}

impl LedgerNote {
    /// The history row for this note.
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
