//! What was decided, written with a constant number of statements: arrays in, one statement per
//! table and kind of change.

use std::pin::Pin;

use futures_util::future::try_join_all;
use rules::event::Event;
use rules::event::EventWrites;
use rules::history::EventRecord;
use rules::ids::User;
use rules::once::NewAnswer;
use rules::seats::Sale;
use rules::time::Moment;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Statement};

use super::seat_holds::HoldWrites;
use super::session::Session;
use super::trouble::Trouble;
use super::{entries, queries};

pub struct Writer {
    free: Statement,
    resell: Statement,
    sell: Statement,
    append_history: Statement,
    keep_answers: Statement,
    forget_answers: Statement,
    amend_event: Statement,
    move_counts: Statement,
    entries: entries::Writer,
}

/// One decided batch, on its way to the tables.
pub struct Page<'a> {
    pub before: &'a Event,
    pub after: &'a Event,
    pub writes: &'a EventWrites,
    /// Where holds are written too.
    pub holds: Option<&'a HoldWrites>,
    pub now: Moment,
    pub key_ttl_ms: i64,
    /// The batch's own id, written into its first history row.
    pub batch: &'a str,
}

impl Page<'_> {
    /// The number of the history row that carries the batch's id.
    fn first(&self) -> Option<i64> {
        self.writes.history.first().map(|entry| entry.n as i64)
    }
}

pub type Sent<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

impl Writer {
    pub async fn prepare(session: &Session) -> Result<Writer, Trouble> {
        Ok(Writer {
            free: session.prepared(queries::FREE).await?,
            resell: session.prepared(queries::RESELL).await?,
            sell: session.prepared(queries::SELL).await?,
            append_history: session.prepared(queries::APPEND_HISTORY).await?,
            keep_answers: session.prepared(queries::KEEP_ANSWERS).await?,
            forget_answers: session.prepared(queries::FORGET_ANSWERS).await?,
            amend_event: session.prepared(queries::AMEND_EVENT).await?,
            move_counts: session.prepared(queries::MOVE_COUNTS).await?,
            entries: entries::Writer::prepare(session).await?,
        })
    }

    /// Sends everything at its first poll, in this order; the first error is the one that counts.
    pub async fn write(&self, session: &Session, page: &Page<'_>) -> Result<(), Error> {
        let Page { before, after, writes, now, .. } = page;
        let id = before.id.0;
        let mut sent: Vec<Sent<'_>> = Vec::with_capacity(8);
        if !writes.freed.is_empty() {
            let seats: Vec<i32> = writes.freed.iter().map(|f| f.seat.0 as i32).collect();
            let numbers: Vec<i64> = writes.freed.iter().map(|f| f.n as i64).collect();
            sent.push(Box::pin(async move { execute(session, &self.free, &[&id, &seats, &numbers, &now.0]).await }));
        }
        if !writes.resold.is_empty() {
            sent.push(Box::pin(
                async move { execute(session, &self.resell, &Columns::of(&writes.resold).row(&id)).await },
            ));
        }
        let (of_sales, others) = by_sale(writes);
        if !writes.sold.is_empty() {
            sent.push(Box::pin(self.sell(session, page, of_sales)));
        }
        if let Some(holds) = page.holds {
            holds.send(session, id, writes, &mut sent);
        }
        sent.push(Box::pin(self.entries.write(session, id, writes)));
        if !others.is_empty() {
            sent.push(Box::pin(self.append(session, page, others)));
        }
        if !writes.answers.is_empty() {
            sent.push(Box::pin(keep(
                session,
                &self.keep_answers,
                writes.answers.iter().map(|new| (id, new)).collect(),
            )));
            let old = now.0 - page.key_ttl_ms;
            sent.push(Box::pin(async move { execute(session, &self.forget_answers, &[&[id].as_slice(), &old]).await }));
        }
        if writes.event_changed {
            sent.push(Box::pin(self.amend(session, after)));
        }
        sent.push(Box::pin(self.move_counts(session, before, after, *now)));
        try_join_all(sent).await.map(|_| ())
    }

    /// `entries` are what the history says of these sales, one each, in their order.
    async fn sell(&self, session: &Session, page: &Page<'_>, entries: Vec<&EventRecord>) -> Result<(), Error> {
        let id = page.before.id.0;
        let columns = Columns::of(&page.writes.sold);
        let by_admin: Vec<bool> = entries.iter().map(|e| e.by_admin).collect();
        let first = page.first();
        let mut row = columns.row(&id).to_vec();
        row.extend([&by_admin as &(dyn ToSql + Sync), &first, &page.batch]);
        execute(session, &self.sell, &row).await
    }

    async fn append(&self, session: &Session, page: &Page<'_>, history: Vec<&EventRecord>) -> Result<(), Error> {
        let n: Vec<i64> = history.iter().map(|e| e.n as i64).collect();
        let what: Vec<&str> = history.iter().map(|e| e.what.as_str()).collect();
        let seat: Vec<Option<i32>> = history.iter().map(|e| e.seat.map(|s| s.0 as i32)).collect();
        let owner: Vec<Option<&str>> = history.iter().map(|e| e.owner.as_ref().map(User::as_str)).collect();
        let by_admin: Vec<bool> = history.iter().map(|e| e.by_admin).collect();
        let number: Vec<Option<i64>> = history.iter().map(|e| e.number.map(|n| n.0 as i64)).collect();
        let at: Vec<i64> = history.iter().map(|e| e.at.0).collect();
        let hold: Vec<Option<i64>> = history.iter().map(|e| e.hold.map(|n| n as i64)).collect();
        let first = page.first();
        let row: [&(dyn ToSql + Sync); 11] =
            [&page.before.id.0, &n, &what, &seat, &owner, &by_admin, &number, &at, &hold, &first, &page.batch];
        execute(session, &self.append_history, &row).await
    }

    async fn amend(&self, session: &Session, after: &Event) -> Result<(), Error> {
        let (most, [ttl, age, idle]) = entries::room(after.waiting_room.as_ref());
        let row: [&(dyn ToSql + Sync); 11] = [
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
        ];
        execute(session, &self.amend_event, &row).await
    }

    async fn move_counts(&self, session: &Session, before: &Event, after: &Event, now: Moment) -> Result<(), Error> {
        let counts = after.counts;
        let row: [&(dyn ToSql + Sync); 9] = [
            &before.id.0,
            &(before.counts.n as i64),
            &(counts.n as i64),
            &(counts.cursor as i32),
            &(counts.sold as i32),
            &(counts.held as i32),
            &(counts.came_back as i32),
            &(counts.inside as i32),
            &now.0,
        ];
        execute(session, &self.move_counts, &row).await
    }
}

/// Each with its subject.
pub async fn keep(session: &Session, statement: &Statement, new: Vec<(i64, &NewAnswer)>) -> Result<(), Error> {
    let (subject, new): (Vec<i64>, Vec<&NewAnswer>) = new.into_iter().unzip();
    let user: Vec<&str> = new.iter().map(|a| a.user.as_str()).collect();
    let key: Vec<&str> = new.iter().map(|a| &*a.key).collect();
    let content: Vec<&[u8]> = new.iter().map(|a| &a.answer.content[..]).collect();
    let at: Vec<i64> = new.iter().map(|a| a.answer.at.0).collect();
    // Plain data: writing it as JSON cannot fail.
    let kept: Vec<String> = new.iter().map(|a| serde_json::to_string(&a.answer.kept).unwrap_or_default()).collect();
    execute(session, statement, &[&subject, &user, &key, &content, &at, &kept]).await
}

/// The history of a batch: what it says of seats that are sold for the first time, which their own statement
/// writes, and everything else. Both lists are in the order of their numbers.
fn by_sale(writes: &EventWrites) -> (Vec<&EventRecord>, Vec<&EventRecord>) {
    let mut sold = writes.sold.iter().peekable();
    writes.history.iter().partition(|entry| sold.next_if(|sale| sale.n == entry.n).is_some())
}

/// Sales as the statements take them.
struct Columns<'a> {
    seat: Vec<i32>,
    owner: Vec<Option<&'a str>>,
    unit: Vec<Option<i32>>,
    limit: Vec<Option<i32>>,
    n: Vec<i64>,
    at: Vec<i64>,
    number: Vec<Option<i64>>,
    buyer: Vec<Option<&'a str>>,
    phone: Vec<Option<&'a str>>,
}

impl<'a> Columns<'a> {
    fn of(sales: &'a [Sale]) -> Columns<'a> {
        Columns {
            seat: sales.iter().map(|s| s.seat.0 as i32).collect(),
            owner: sales.iter().map(|s| s.owner.as_ref().map(|o| o.user.as_str())).collect(),
            unit: sales.iter().map(|s| s.owner.as_ref().map(|o| o.unit as i32)).collect(),
            limit: sales.iter().map(|s| s.owner.as_ref().map(|o| o.limit as i32)).collect(),
            n: sales.iter().map(|s| s.n as i64).collect(),
            at: sales.iter().map(|s| s.at.0).collect(),
            number: sales.iter().map(|s| s.number.map(|n| n.0 as i64)).collect(),
            buyer: sales.iter().map(|s| s.buyer_name.as_deref()).collect(),
            phone: sales.iter().map(|s| s.phone.as_deref()).collect(),
        }
    }

    fn row<'b>(&'b self, event: &'b i64) -> [&'b (dyn ToSql + Sync); 10] {
        let Columns { seat, owner, unit, limit, n, at, number, buyer, phone } = self;
        [event, seat, owner, unit, limit, n, at, number, buyer, phone]
    }
}

pub async fn execute(session: &Session, statement: &Statement, row: &[&(dyn ToSql + Sync)]) -> Result<(), Error> {
    session.execute(statement, row).await.map(|_| ())
}
