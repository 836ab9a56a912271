//! The history and the audit, for the operator.

use rules::history::Happened;
use rules::subject::{HoldId, SubjectId};
use schemars::JsonSchema;
use serde::Serialize;
use stores::ledger::records::{HistoryHead, LedgerRecord};
use stores::verify::{Finding, Looked};

use super::orders::MetadataBody;
use super::{Succeeded, moment};

#[derive(Serialize, JsonSchema)]
pub struct HistoryAnswer {
    pub success: Succeeded,
    pub history: Vec<HistoryBody>,
    /// `after` of the next page; null: this is the last one. A page may be short, even empty, and still
    /// have a next one: a request reads a bounded part of the history.
    pub next: Option<String>,
}

/// One thing that happened to an event or a room type.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HistoryRecord")]
#[serde(rename_all = "camelCase")]
pub struct HistoryBody {
    pub event_id: Option<i64>,
    pub room_type_id: Option<i64>,
    /// Counts up by one within its event or room type.
    pub n: u64,
    /// `reserved`, `cancelled`, `held`, `expired` and so on.
    pub what: &'static str,
    pub by: HistoryActor,
    /// The name of the admin's token.
    pub by_name: Option<String>,
    /// Whose seat, stay, hold or entry it is about.
    pub user_id: Option<String>,
    pub seat_id: Option<u32>,
    pub hold_id: Option<String>,
    pub check_in: Option<String>,
    pub check_out: Option<String>,
    /// The arrival number.
    pub sequence: Option<u64>,
    pub at: String,
    /// Why it was cancelled.
    pub reason: Option<String>,
    /// Of the order. A hold on several seats has it with its first one.
    #[schemars(with = "Option<MetadataBody>")]
    pub metadata: Option<MetadataBody>,
    /// Where the request came from; null once it was erased.
    pub address: Option<String>,
    /// The id in the answer to the request.
    pub trace_id: Option<String>,
    /// What else there is to tell, such as why a request was refused.
    pub detail: Option<String>,
    /// Personal data of this row was removed.
    pub erased: bool,
    /// SHA-256 over this row and the hash of the row before it, in hexadecimal; null: it is from before the history
    /// became a chain.
    pub hash: Option<String>,
}

/// Who did it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum HistoryActor {
    /// The user that `userId` names.
    User,
    Admin,
    /// A buyer without an identity.
    Nobody,
    /// It ended by itself.
    Clock,
}

impl HistoryActor {
    pub fn as_str(self) -> &'static str {
        match self {
            HistoryActor::User => "user",
            HistoryActor::Admin => "admin",
            HistoryActor::Nobody => "nobody",
            HistoryActor::Clock => "clock",
        }
    }
}

fn owned(text: &Option<Box<str>>) -> Option<String> {
    text.as_deref().map(str::to_owned)
}

impl HistoryBody {
    pub fn of(record: &LedgerRecord) -> HistoryBody {
        let by = match record {
            LedgerRecord { admin: Some(_), .. } => HistoryActor::Admin,
            LedgerRecord { what: Happened::Expired, .. } => HistoryActor::Clock,
            LedgerRecord { owner: Some(_), .. } => HistoryActor::User,
            _ => HistoryActor::Nobody,
        };
        let (event_id, room_type_id) = match record.subject {
            SubjectId::Event(event) => (Some(event.0), None),
            SubjectId::RoomType(room_type) => (None, Some(room_type.0)),
            SubjectId::Ledger => (None, None),
        };
        HistoryBody {
            event_id,
            room_type_id,
            n: record.n,
            what: record.what.as_str(),
            by,
            by_name: record.admin.as_ref().map(|name| name.as_str().to_owned()),
            user_id: record.owner.as_ref().map(|owner| owner.as_str().to_owned()),
            seat_id: record.seat.map(|seat| seat.0),
            hold_id: record.hold.map(|n| HoldId { subject: record.subject, n }.to_string()),
            check_in: record.dates.map(|dates| dates.check_in.to_string()),
            check_out: record.dates.map(|dates| dates.check_out.to_string()),
            sequence: record.number.map(|number| number.0),
            at: moment(record.at),
            reason: record.details.as_ref().and_then(|details| details.reason.as_deref().map(str::to_owned)),
            metadata: MetadataBody::of(record.details.as_ref().and_then(|details| details.metadata.as_ref())),
            address: owned(&record.address),
            trace_id: owned(&record.trace),
            detail: owned(&record.detail),
            erased: record.erased,
            hash: record.hash.map(hex::encode),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct HistoryHeadAnswer {
    pub success: Succeeded,
    pub head: HistoryHeadBody,
}

/// The newest row of a history. Whoever keeps it can later show that nothing before it was changed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HistoryHead")]
pub struct HistoryHeadBody {
    pub number: u64,
    /// SHA-256 in hexadecimal; null: nothing happened since the history became a chain.
    pub hash: Option<String>,
    pub time: String,
    /// Row and hash in one word, as `tickettock verify --head` takes it.
    pub kept: Option<String>,
}

impl HistoryHeadAnswer {
    pub fn of(subject: SubjectId, head: &HistoryHead) -> HistoryHeadAnswer {
        let hash = head.hash.map(hex::encode);
        let kept = hash.as_ref().map(|hash| format!("{subject}-{}:{hash}", head.n));
        let head = HistoryHeadBody { number: head.n, hash, time: moment(head.at), kept };
        HistoryHeadAnswer { success: Succeeded, head }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct ErasedAnswer {
    pub success: Succeeded,
    pub erased: ErasedBody,
}

/// What was removed of one user.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Erased")]
#[serde(rename_all = "camelCase")]
pub struct ErasedBody {
    /// Rows of history that had the address of a request, or details.
    pub history_rows: u64,
    /// Seats whose buyer's name, phone, email and metadata were removed just now.
    pub reservations: u64,
    /// Holds that had metadata, or a reason of their end.
    pub holds: u64,
    /// Stays that had metadata.
    pub stays: u64,
    /// Answers kept for an `Idempotency-Key`.
    pub answers: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditAnswer {
    pub success: Succeeded,
    /// Every invariant holds.
    pub holds: bool,
    /// When the check ended.
    pub checked_at: String,
    pub events: u64,
    pub reservations: u64,
    pub history: u64,
    /// Rows of history whose hashes are checked.
    pub chained: u64,
    /// Rows from before the history became a chain: nothing shows whether they were altered.
    pub before_chain: u64,
    /// Rows whose personal data was removed.
    pub erased: u64,
    pub invariants: Vec<InvariantBody>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Invariant")]
pub struct InvariantBody {
    pub name: &'static str,
    pub holds: bool,
    /// What breaks it, in words; the first few.
    pub broken: Vec<String>,
}

impl AuditAnswer {
    pub fn of(looked: &Looked, findings: &[Finding], checked_at: rules::time::Moment) -> AuditAnswer {
        let invariant = |f: &Finding| InvariantBody { name: f.name, holds: f.holds(), broken: f.broken.clone() };
        AuditAnswer {
            success: Succeeded,
            holds: findings.iter().all(Finding::holds),
            checked_at: moment(checked_at),
            events: looked.events,
            reservations: looked.reservations,
            history: looked.history,
            chained: looked.chain.chained,
            before_chain: looked.chain.before,
            erased: looked.chain.erased,
            invariants: findings.iter().map(invariant).collect(),
        }
    }
}
