//! A scan over the history, row by row in order, that finds where a chain is broken. It keeps one row in memory.

use rules::subject::SubjectId;

use super::{ChainRow, GENESIS, PersonalDigests, RowHash, Salt};
use crate::verify::SHOWN_MOST;

/// Every history row with its chain columns, and its sale if that was not cancelled. Valid SQL on both ledgers.
pub const COLUMNS: &str = "h.event, h.n, h.what, h.seat, h.owner, h.by_admin, h.number, h.at, h.hold, h.check_in,
    h.check_out, h.by_name, h.trace, h.detail, h.address, h.details, h.salt, h.erased, h.hash, h.contact,
    t.n IS NOT NULL AS stands, t.buyer, t.phone, t.email, t.salt AS contact_salt";
pub const ROWS: &str = "FROM history h
    LEFT JOIN taken t ON t.event = h.event AND t.seat = h.seat AND t.n = h.n AND t.kind = 'sold'
    ORDER BY h.event, h.n";

/// The chain columns stored with a row.
#[derive(Clone, Debug, Default)]
pub struct StoredLink<'a> {
    pub salt: Option<&'a [u8]>,
    /// The digest of the erased fields.
    pub erased: Option<&'a [u8]>,
    pub hash: Option<&'a [u8]>,
    pub contact: Option<&'a [u8]>,
    /// Whether the sale of the row was not cancelled.
    pub stands: bool,
    pub contact_salt: Option<&'a [u8]>,
}

/// A head that somebody recorded: the hash of a row, which the scan must find again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptHead {
    pub subject: SubjectId,
    pub n: u64,
    pub hash: RowHash,
}

#[derive(Debug, Default)]
pub struct ChainWalk {
    place: Option<(i64, u64)>,
    /// The hash of the previous row. None: the chain of this subject has not begun.
    before: Option<RowHash>,
    broken: Vec<String>,
    kept: Vec<KeptHead>,
    seen: ChainSeen,
}

/// The counts of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainSeen {
    /// Rows in a chain.
    pub chained: u64,
    /// Rows written before the chain of their subject began.
    pub before: u64,
    /// Rows in a chain whose personal fields were erased.
    pub erased: u64,
}

impl ChainWalk {
    /// Also looks for the recorded heads.
    pub fn looking_for(kept: &[KeptHead]) -> ChainWalk {
        ChainWalk { kept: kept.to_vec(), ..ChainWalk::default() }
    }

    pub fn step(&mut self, row: &ChainRow<'_>, stored: &StoredLink<'_>) {
        let follows = self.place == Some((row.subject, row.n.wrapping_sub(1)));
        if self.place.is_none_or(|(subject, _)| subject != row.subject) {
            self.before = None;
        } else if !follows {
            self.complain(row, "does not follow the row before it");
        }
        self.place = Some((row.subject, row.n));
        let Some(hash) = stored.hash.and_then(|hash| RowHash::try_from(hash).ok()) else {
            match self.before {
                Some(_) => self.complain(row, "has no hash"),
                None => self.seen.before += 1,
            }
            return;
        };
        self.seen.chained += 1;
        let contact_gone = stored.contact.is_some() && stored.stands && stored.contact_salt.is_none();
        self.seen.erased += u64::from(stored.erased.is_some() || contact_gone);
        let before = self.before.replace(hash);
        match digests(row, stored) {
            Ok(personal) => {
                if row.hash(before.as_ref().unwrap_or(&GENESIS), personal) != hash {
                    self.complain(row, "is not what its hash says, or the row before it is another");
                }
            }
            Err(why) => self.complain(row, why),
        }
        self.kept.retain(|kept| (kept.subject.row(), kept.n, kept.hash) != (row.subject, row.n, hash));
    }

    fn complain(&mut self, row: &ChainRow<'_>, what: &str) {
        if self.broken.len() < SHOWN_MOST {
            self.broken.push(format!("row {} of {} {what}", row.n, named(SubjectId::of_row(row.subject))));
        }
    }

    /// The scan was aborted. Unreadable data counts as broken too.
    pub fn unreadable(&mut self, why: &str) {
        self.broken.push(why.to_owned());
    }

    /// The counts, what is broken, and the recorded heads that were not found.
    pub fn finish(self) -> (ChainSeen, Vec<String>, Vec<String>) {
        let missing = |kept: &KeptHead| format!("row {} of {} has another hash now", kept.n, named(kept.subject));
        (self.seen, self.broken, self.kept.iter().map(missing).collect())
    }
}

fn named(subject: SubjectId) -> String {
    match subject {
        SubjectId::Event(event) => format!("event {event}"),
        SubjectId::RoomType(room_type) => format!("room type {room_type}"),
        SubjectId::Ledger => "the ledger".to_owned(),
    }
}

fn digests(row: &ChainRow<'_>, stored: &StoredLink<'_>) -> Result<PersonalDigests, &'static str> {
    Ok(PersonalDigests { erasable: of_erasable(row, stored)?, contact: of_contact(row, stored)? })
}

fn salt(stored: &[u8]) -> Result<Salt, &'static str> {
    Salt::try_from(stored).map_err(|_| "has a salt of another length")
}

/// Computed while the texts exist, stored once they are erased.
fn of_erasable(row: &ChainRow<'_>, stored: &StoredLink<'_>) -> Result<Option<RowHash>, &'static str> {
    match (row.erasable.is_empty(), stored.salt, stored.erased) {
        (false, Some(stored), None) => Ok(Some(row.erasable.digest(&salt(stored)?))),
        (true, None, Some(digest)) => RowHash::try_from(digest).map(Some).map_err(|_| "has a digest of another length"),
        (true, None, None) => Ok(None),
        _ => Err("was erased by half, or has no salt"),
    }
}

/// Always stored. Compared with the buyer's contact if the sale was not cancelled.
fn of_contact(row: &ChainRow<'_>, stored: &StoredLink<'_>) -> Result<Option<RowHash>, &'static str> {
    let digest = stored.contact.map(RowHash::try_from).transpose().map_err(|_| "has a digest of another length")?;
    if let Some(stored) = stored.contact_salt {
        let given = row.contact.digest(&salt(stored)?);
        return if Some(given) == digest { Ok(digest) } else { Err("tells of a sale with another name or phone") };
    }
    if row.contact.is_empty() { Ok(digest) } else { Err("tells of a sale whose name and phone have no salt") }
}
