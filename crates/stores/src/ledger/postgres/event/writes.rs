//! Writes a decision with a constant number of statements: arrays as parameters, one statement per table and kind of
//! change.

use futures_util::future::try_join_all;
use rules::buyer::Metadata;
use rules::event::{Event, EventWrites};
use rules::history::{AdminName, EventRecord};
use rules::ids::User;
use rules::seats::Sale;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Statement};

use super::super::engine::{DecidedBatch, Mark};
use super::super::link_columns::LinkColumns;
use super::super::session::{Sent, Session, execute};
use super::super::trouble::Trouble;
use super::super::{answers, queries};
use super::entries::{self, EntryWriter};
use super::seat_holds::SeatHoldWriter;
use crate::chain::{Chain, Link};
use crate::ledger::details::sparse;

type Decided<'a> = DecidedBatch<'a, Event>;

pub struct EventWriter {
    free: Statement,
    resell: Statement,
    sell: Statement,
    append_history: Statement,
    keep_answers: Statement,
    amend_event: Statement,
    move_counts: Statement,
    entries: EntryWriter,
    /// Only if holds are written too.
    holds: Option<SeatHoldWriter>,
}

impl EventWriter {
    pub async fn prepare(session: &Session) -> Result<EventWriter, Trouble> {
        Ok(EventWriter {
            free: session.prepared(queries::FREE).await?,
            resell: session.prepared(queries::RESELL).await?,
            sell: session.prepared(queries::SELL).await?,
            append_history: session.prepared(queries::APPEND_HISTORY).await?,
            keep_answers: session.prepared(queries::KEEP_ANSWERS).await?,
            amend_event: session.prepared(queries::AMEND_EVENT).await?,
            move_counts: session.prepared(queries::MOVE_COUNTS).await?,
            entries: EntryWriter::prepare(session).await?,
            holds: None,
        })
    }

    /// Prepares the statements that write holds, if any are needed.
    pub async fn complete(&mut self, session: &Session, decided: &[Decided<'_>]) -> Result<(), Trouble> {
        if self.holds.is_none() && decided.iter().any(|decided| SeatHoldWriter::needed(decided.writes)) {
            self.holds = Some(SeatHoldWriter::prepare(session).await?);
        }
        Ok(())
    }

    /// Sends everything at its first poll. Only the first error counts.
    pub async fn write(&self, session: &Session, decided: &[Decided<'_>], mark: Mark<'_>) -> Result<(), Error> {
        let mut sent: Vec<Sent<'_>> = Vec::with_capacity(8);
        for decided in decided {
            self.send(session, decided, mark, &mut sent);
        }
        try_join_all(sent).await.map(drop)
    }

    fn send<'a>(&'a self, session: &'a Session, decided: &'a Decided<'_>, mark: Mark<'a>, sent: &mut Vec<Sent<'a>>) {
        let DecidedBatch { before, after, writes, now, chain } = decided;
        let id = before.id.0;
        if !writes.freed.is_empty() {
            let seats: Vec<i32> = writes.freed.iter().map(|f| f.seat.0 as i32).collect();
            let numbers: Vec<i64> = writes.freed.iter().map(|f| f.n as i64).collect();
            sent.push(Box::pin(async move { execute(session, &self.free, &[&id, &seats, &numbers, &now.0]).await }));
        }
        if !writes.resold.is_empty() {
            sent.push(Box::pin(async move {
                let (columns, salts) = (SaleColumns::of(&writes.resold), contact_salts(&writes.resold, chain));
                let mut row = columns.row(&id).to_vec();
                row.push(&salts);
                execute(session, &self.resell, &row).await
            }));
        }
        let (of_sales, others) = by_sale(writes, chain);
        if !writes.sold.is_empty() {
            sent.push(Box::pin(self.sell(session, decided, mark, of_sales)));
        }
        if let Some(holds) = &self.holds {
            holds.send(session, id, writes, chain, sent);
        }
        sent.push(Box::pin(self.entries.write(session, id, writes)));
        if !others.is_empty() {
            let batch = Some((first(writes), mark.batch));
            sent.push(Box::pin(append(session, &self.append_history, id, others, batch)));
        }
        if !writes.answers.is_empty() {
            let new = writes.answers.iter().map(|new| (id, new)).collect();
            sent.push(Box::pin(answers::keep(session, &self.keep_answers, new)));
        }
        if writes.event_changed {
            sent.push(Box::pin(self.amend(session, after)));
        }
        sent.push(Box::pin(self.move_counts(session, decided)));
    }

    /// `entries` are the history rows of these sales, one each, in the same order.
    async fn sell(
        &self,
        session: &Session,
        decided: &Decided<'_>,
        mark: Mark<'_>,
        entries: Vec<Entry<'_>>,
    ) -> Result<(), Error> {
        let id = decided.before.id.0;
        let columns = SaleColumns::of(&decided.writes.sold);
        let admin: Vec<Option<&str>> = entries.iter().map(|(e, _)| e.admin.as_ref().map(AdminName::as_str)).collect();
        let first = first(decided.writes);
        let links = LinkColumns::of(entries.iter().map(|(e, link)| (&e.origin, *link)));
        let mut row = columns.row(&id).to_vec();
        row.extend([&admin as &(dyn ToSql + Sync), &first, &mark.batch]);
        row.extend(links.row());
        let contact: Vec<Option<&[u8]>> = entries.iter().map(|(_, link)| contact(link)).collect();
        let salts = contact_salts(&decided.writes.sold, &decided.chain);
        row.extend([&contact as &(dyn ToSql + Sync), &salts]);
        execute(session, &self.sell, &row).await
    }

    async fn amend(&self, session: &Session, after: &Event) -> Result<(), Error> {
        let ([most, queue, pace], [ttl, age, idle, gather]) = entries::room(after.waiting_room.as_ref());
        let row: [&(dyn ToSql + Sync); 22] = [
            &after.id.0,
            &&*after.name,
            &(after.max_per_user as i32),
            &after.opens_at.map(|m| m.0),
            &after.state.as_str(),
            &after.deleted,
            &most,
            &ttl,
            &age,
            &idle,
            &after.hold_ttl_ms,
            &queue,
            &after.buyer_fields.written(),
            &after.price.as_ref().map(|price| &*price.amount),
            &after.price.as_ref().map(|price| &*price.currency),
            &after.archived_at.map(|at| at.0),
            &gather,
            &pace,
            &after.gathered,
            &after.occasion.starts_at.map(|at| at.0),
            &after.occasion.time_zone.as_deref(),
            &after.occasion.place.as_deref(),
        ];
        execute(session, &self.amend_event, &row).await
    }

    async fn move_counts(&self, session: &Session, decided: &Decided<'_>) -> Result<(), Error> {
        let DecidedBatch { before, after, now, chain, .. } = decided;
        let counts = after.counts;
        let row: [&(dyn ToSql + Sync); 13] = [
            &before.id.0,
            &(before.counts.n as i64),
            &(counts.n as i64),
            &(counts.cursor as i32),
            &(counts.sold as i32),
            &(counts.held as i32),
            &(counts.came_back as i32),
            &(counts.inside as i32),
            &now.0,
            &(counts.lapsed as i32),
            &counts.counted.ends_at.0,
            &(counts.counted.place as i64),
            &chain.head(),
        ];
        execute(session, &self.move_counts, &row).await
    }
}

/// `batch` is the history number of the batch's first row, and the id in this row.
pub async fn append(
    session: &Session,
    statement: &Statement,
    id: i64,
    history: Vec<Entry<'_>>,
    batch: Option<(Option<i64>, &str)>,
) -> Result<(), Error> {
    let links = LinkColumns::of(history.iter().map(|(e, link)| (&e.origin, *link)));
    let contact: Vec<Option<&[u8]>> = history.iter().map(|(_, link)| contact(link)).collect();
    let history: Vec<&EventRecord> = history.into_iter().map(|(entry, _)| entry).collect();
    let n: Vec<i64> = history.iter().map(|e| e.n as i64).collect();
    let what: Vec<&str> = history.iter().map(|e| e.what.as_str()).collect();
    let seat: Vec<Option<i32>> = history.iter().map(|e| e.seat.map(|s| s.0 as i32)).collect();
    let owner: Vec<Option<&str>> = history.iter().map(|e| e.owner.as_ref().map(User::as_str)).collect();
    let admin: Vec<Option<&str>> = history.iter().map(|e| e.admin.as_ref().map(AdminName::as_str)).collect();
    let number: Vec<Option<i64>> = history.iter().map(|e| e.number.map(|n| n.0 as i64)).collect();
    let at: Vec<i64> = history.iter().map(|e| e.at.0).collect();
    let hold: Vec<Option<i64>> = history.iter().map(|e| e.hold.map(|n| n as i64)).collect();
    let (first, batch) = batch.map_or((None, None), |(first, batch)| (first, Some(batch)));
    let mut row: Vec<&(dyn ToSql + Sync)> = vec![&id, &n, &what, &seat, &owner, &admin, &number];
    row.extend([&at as &(dyn ToSql + Sync), &hold, &first, &batch, &contact]);
    row.extend(links.row());
    execute(session, statement, &row).await
}

/// The digests of the buyers' contacts.
fn contact(link: &Link) -> Option<&[u8]> {
    link.contact.as_ref().map(|digest| &digest[..])
}

/// The salts of these digests, which are stored with the sales.
fn contact_salts<'a>(sales: &[Sale], chain: &'a Chain) -> Vec<Option<&'a [u8]>> {
    sales.iter().map(|sale| chain.contact_salt(sale.n)).collect()
}

/// The number of the history row that carries the batch's id.
fn first(writes: &EventWrites) -> Option<i64> {
    writes.history.first().map(|entry| entry.n as i64)
}

/// The history of a batch in two lists: first-time sales, whose own statement appends them, and everything else. Both
/// lists are in the order of their numbers.
fn by_sale<'a>(writes: &'a EventWrites, chain: &'a Chain) -> (Vec<Entry<'a>>, Vec<Entry<'a>>) {
    let mut sold = writes.sold.iter().peekable();
    let entries = writes.history.iter().zip(&chain.links);
    entries.partition(|(entry, _)| sold.next_if(|sale| sale.n == entry.n).is_some())
}

/// A history row and its link in the chain.
type Entry<'a> = (&'a EventRecord, &'a Link);

/// Sales in the form of the statements' parameters.
struct SaleColumns<'a> {
    seat: Vec<i32>,
    owner: Vec<Option<&'a str>>,
    unit: Vec<Option<i32>>,
    limit: Vec<Option<i32>>,
    n: Vec<i64>,
    at: Vec<i64>,
    number: Vec<Option<i64>>,
    buyer: Vec<Option<&'a str>>,
    phone: Vec<Option<&'a str>>,
    email: Vec<Option<&'a str>>,
    metadata: Vec<Option<&'a str>>,
}

impl<'a> SaleColumns<'a> {
    fn of(sales: &'a [Sale]) -> SaleColumns<'a> {
        SaleColumns {
            seat: sales.iter().map(|s| s.seat.0 as i32).collect(),
            owner: sales.iter().map(|s| s.owner.as_ref().map(|o| o.user.as_str())).collect(),
            unit: sales.iter().map(|s| s.owner.as_ref().map(|o| o.unit as i32)).collect(),
            limit: sales.iter().map(|s| s.owner.as_ref().map(|o| o.limit as i32)).collect(),
            n: sales.iter().map(|s| s.n as i64).collect(),
            at: sales.iter().map(|s| s.at.0).collect(),
            number: sales.iter().map(|s| s.number.map(|n| n.0 as i64)).collect(),
            buyer: sales.iter().map(|s| s.buyer_name.as_deref()).collect(),
            phone: sales.iter().map(|s| s.phone.as_deref()).collect(),
            email: sparse(sales.iter().map(|s| s.email.as_deref())),
            metadata: sparse(sales.iter().map(|s| s.metadata.as_ref().map(Metadata::as_str))),
        }
    }

    fn row<'b>(&'b self, event: &'b i64) -> [&'b (dyn ToSql + Sync); 12] {
        let SaleColumns { seat, owner, unit, limit, n, at, number, buyer, phone, email, metadata } = self;
        [event, seat, owner, unit, limit, n, at, number, buyer, phone, email, metadata]
    }
}
