//! The links that a batch adds to the chain of its subject, computed under the subject's row lock, before it is
//! written.

use std::borrow::Cow;

use rules::event::{ConfirmedSeat, Event};
use rules::history::{AdminName, Details, RequestOrigin};
use rules::ids::User;
use rules::room_type::RoomType;
use rules::seats::Sale;
use rules::subject::{Subject, SubjectId};

use super::{ChainRow, ContactFields, ErasableFields, GENESIS, PersonalDigests, RowHash, Salt};
use crate::ledger::details::write_details;

/// The columns that the chain adds to a history row.
#[derive(Clone, Debug)]
pub struct Link {
    pub hash: RowHash,
    pub address: Option<Box<str>>,
    pub details: Option<Box<str>>,
    /// Salt of the digest of address and details.
    pub salt: Option<Salt>,
    pub contact: Option<RowHash>,
    /// Salt of the contact digest. It is stored with the contact in the row of the seat.
    pub contact_salt: Option<Salt>,
}

/// The links of a batch's history rows, in the same order.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    first_n: u64,
    pub links: Vec<Link>,
    /// The hash of the newest row. None: the subject has no row with a hash yet.
    pub head: Option<RowHash>,
}

impl Chain {
    /// Continues the chain after `head`.
    pub fn extend(head: Option<RowHash>, rows: Vec<ChainRow<'_>>) -> Chain {
        let first_n = rows.first().map_or(0, |row| row.n);
        let (mut salts, mut before) = (Salts::draw(rows.len()), head);
        let links = rows.into_iter().map(|row| {
            let salt = (!row.erasable.is_empty()).then(|| salts.next());
            let contact_salt = (!row.contact.is_empty()).then(|| salts.next());
            let digests = PersonalDigests {
                erasable: salt.map(|salt| row.erasable.digest(&salt)),
                contact: contact_salt.map(|salt| row.contact.digest(&salt)),
            };
            let hash = row.hash(before.as_ref().unwrap_or(&GENESIS), digests);
            before = Some(hash);
            let ErasableFields { address, details } = row.erasable;
            let owned = |text: Option<Cow<'_, str>>| text.map(|text| text.into_owned().into());
            let (address, details) = (owned(address), owned(details));
            Link { hash, address, details, salt, contact: digests.contact, contact_salt }
        });
        let links = links.collect();
        Chain { first_n, links, head: before }
    }

    /// The salt of the buyer's contact, by the history number of the sale.
    pub fn contact_salt(&self, n: u64) -> Option<&[u8]> {
        let link = usize::try_from(n.checked_sub(self.first_n)?).ok().and_then(|i| self.links.get(i))?;
        link.contact_salt.as_ref().map(|salt| &salt[..])
    }

    pub fn head(&self) -> Option<&[u8]> {
        self.head.as_ref().map(|head| &head[..])
    }
}

/// Random salts for a batch, two per row, from one call to the system.
struct Salts {
    bytes: Vec<u8>,
    used: usize,
}

impl Salts {
    fn draw(count: usize) -> Salts {
        let mut bytes = vec![0; 2 * count * size_of::<Salt>()];
        crate::random::fill(&mut bytes);
        Salts { bytes, used: 0 }
    }

    fn next(&mut self) -> Salt {
        let mut salt = Salt::default();
        let end = self.used + salt.len();
        salt.copy_from_slice(&self.bytes[self.used..end]);
        self.used = end;
        salt
    }
}

/// A kind of subject whose history is a chain.
pub trait ChainedSubject: Subject {
    /// The history rows of a batch in the form that the chain hashes. The first one carries the id `batch`.
    fn chain_rows<'a>(id: Self::Id, writes: &'a Self::Writes, batch: Option<&'a str>) -> Vec<ChainRow<'a>>;

    fn chain(&self, head: Option<RowHash>, writes: &Self::Writes, batch: Option<&str>) -> Chain {
        Chain::extend(head, Self::chain_rows(self.id(), writes, batch))
    }
}

/// The fields of a row that may be personal, as the history stores them.
pub fn erasable(origin: &RequestOrigin, details: Option<&Details>) -> ErasableFields<'static> {
    ErasableFields {
        address: origin.address.map(|address| address.to_canonical().to_string().into()),
        details: details.map(|details| write_details(details).into()),
    }
}

/// The contact of the buyer of a sale.
fn contact(sale: &Sale) -> ContactFields<'_> {
    ContactFields { name: sale.buyer_name.as_deref(), phone: sale.phone.as_deref(), email: sale.email.as_deref() }
}

/// The contact of the buyer of a held seat.
fn contact_of_confirmed(sale: &ConfirmedSeat) -> ContactFields<'_> {
    ContactFields { name: sale.buyer_name.as_deref(), phone: sale.phone.as_deref(), email: sale.email.as_deref() }
}

impl ChainedSubject for Event {
    fn chain_rows<'a>(id: Self::Id, writes: &'a Self::Writes, batch: Option<&'a str>) -> Vec<ChainRow<'a>> {
        let (mut sold, mut resold) = (writes.sold.iter().peekable(), writes.resold.iter().peekable());
        let mut confirmed = writes.confirmed.iter().peekable();
        let row = |(i, record): (usize, &'a rules::history::EventRecord)| ChainRow {
            subject: SubjectId::Event(id).row(),
            n: record.n,
            at: record.at.0,
            what: record.what.as_str(),
            seat: record.seat.map(|seat| seat.0),
            owner: record.owner.as_ref().map(User::as_str),
            by_admin: record.admin.is_some(),
            admin: record.admin.as_ref().map(AdminName::as_str),
            number: record.number.map(|number| number.0),
            hold: record.hold,
            check_in: None,
            check_out: None,
            trace: record.origin.trace.as_deref(),
            detail: None,
            batch: batch.filter(|_| i == 0),
            erasable: erasable(&record.origin, record.details.as_deref()),
            contact: sold
                .next_if(|sale| sale.n == record.n)
                .or_else(|| resold.next_if(|sale| sale.n == record.n))
                .map(contact)
                .or_else(|| confirmed.next_if(|sale| sale.n == record.n).map(contact_of_confirmed))
                .unwrap_or_default(),
        };
        writes.history.iter().enumerate().map(row).collect()
    }
}

impl ChainedSubject for RoomType {
    fn chain_rows<'a>(id: Self::Id, writes: &'a Self::Writes, batch: Option<&'a str>) -> Vec<ChainRow<'a>> {
        let row = |(i, record): (usize, &'a rules::room_type::RoomRecord)| ChainRow {
            subject: SubjectId::RoomType(id).row(),
            n: record.n,
            at: record.at.0,
            what: record.what.as_str(),
            seat: None,
            owner: record.owner.as_ref().map(User::as_str),
            by_admin: record.admin.is_some(),
            admin: record.admin.as_ref().map(AdminName::as_str),
            number: None,
            hold: record.hold,
            check_in: record.dates.map(|dates| dates.check_in.0),
            check_out: record.dates.map(|dates| dates.check_out.0),
            trace: record.origin.trace.as_deref(),
            detail: None,
            batch: batch.filter(|_| i == 0),
            erasable: erasable(&record.origin, record.details.as_deref()),
            contact: ContactFields::default(),
        };
        writes.history.iter().enumerate().map(row).collect()
    }
}
