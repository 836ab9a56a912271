//! What was decided for room types, written with a constant number of statements.

use std::pin::Pin;

use futures_util::future::try_join_all;
use rules::holds::{Hold, On};
use rules::ids::User;
use rules::nights::Dates;
use rules::once::NewAnswer;
use rules::stays::RoomTypeWrites;
use rules::stays::{RoomRecord, RoomType, Stay};
use rules::subject::SubjectId;
use rules::time::Moment;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Statement};

use super::super::queries;
use super::super::session::Session;
use super::super::trouble::Trouble;
use super::super::writes::{execute, keep};
use crate::ledger::holds::{write_numbers, write_stock};

pub struct Writer {
    new_nights: Statement,
    shift_nights: Statement,
    amend_nights: Statement,
    change_holds: Statement,
    begin_holds: Statement,
    book_stays: Statement,
    end_stays: Statement,
    append_history: Statement,
    keep_answers: Statement,
    forget_answers: Statement,
    move_room_types: Statement,
}

/// What was decided for one room type, on its way to the tables.
pub struct Page<'a> {
    pub before: &'a RoomType,
    pub after: &'a RoomType,
    pub writes: &'a RoomTypeWrites,
    pub now: Moment,
}

impl Page<'_> {
    fn subject(&self) -> i64 {
        SubjectId::RoomType(self.before.id).row()
    }

    /// The new total of nights from some day on, if they have one.
    fn amended(&self) -> Option<(i32, i32)> {
        self.writes.amended.map(|night| (night.0, self.after.total as i32))
    }
}

type Sent<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

impl Writer {
    pub async fn prepare(session: &Session) -> Result<Writer, Trouble> {
        Ok(Writer {
            new_nights: session.prepared(queries::NEW_NIGHTS).await?,
            shift_nights: session.prepared(queries::SHIFT_NIGHTS).await?,
            amend_nights: session.prepared(queries::AMEND_NIGHTS).await?,
            change_holds: session.prepared(queries::CHANGE_HOLDS).await?,
            begin_holds: session.prepared(queries::BEGIN_HOLDS).await?,
            book_stays: session.prepared(queries::BOOK_STAYS).await?,
            end_stays: session.prepared(queries::END_STAYS).await?,
            append_history: session.prepared(queries::APPEND_ROOM_HISTORY).await?,
            keep_answers: session.prepared(queries::KEEP_ANSWERS).await?,
            forget_answers: session.prepared(queries::FORGET_ANSWERS).await?,
            move_room_types: session.prepared(queries::MOVE_ROOM_TYPES).await?,
        })
    }

    /// Sends everything at its first poll, in this order; the first error is the one that counts.
    /// `batch` is the batch's own id, written into the first history row of each room type.
    pub async fn write(
        &self,
        session: &Session,
        pages: &[Page<'_>],
        key_ttl_ms: i64,
        batch: &str,
    ) -> Result<(), Error> {
        let mut sent: Vec<Sent<'_>> = Vec::with_capacity(11);
        self.nights(session, pages, &mut sent);
        let changed: Vec<&Hold> = pages.iter().flat_map(|page| &page.writes.changed).collect();
        if !changed.is_empty() {
            sent.push(Box::pin(change_holds(session, &self.change_holds, changed)));
        }
        let begun: Vec<&Hold> = pages.iter().flat_map(|page| &page.writes.begun).collect();
        if !begun.is_empty() {
            sent.push(Box::pin(begin_holds(session, &self.begin_holds, begun)));
        }
        let stays: Vec<&Stay> = pages.iter().flat_map(|page| &page.writes.stays).collect();
        if !stays.is_empty() {
            sent.push(Box::pin(self.book(session, stays)));
        }
        if pages.iter().any(|page| !page.writes.ended.is_empty()) {
            sent.push(Box::pin(self.end(session, pages)));
        }
        let history = pages.iter().flat_map(|page| page.writes.history.iter().map(|entry| (page.subject(), entry)));
        sent.push(Box::pin(append(session, &self.append_history, history.collect(), Some(batch))));
        let answers = pages.iter().flat_map(|page| page.writes.answers.iter().map(|new| (page.subject(), new)));
        let answers: Vec<(i64, &NewAnswer)> = answers.collect();
        if !answers.is_empty() {
            sent.push(Box::pin(keep(session, &self.keep_answers, answers)));
            sent.push(Box::pin(self.forget(session, pages, key_ttl_ms)));
        }
        sent.push(Box::pin(self.move_room_types(session, pages)));
        try_join_all(sent).await.map(|_| ())
    }

    fn nights<'a>(&'a self, session: &'a Session, pages: &'a [Page<'a>], sent: &mut Vec<Sent<'a>>) {
        if pages.iter().any(|page| !page.writes.new_nights.is_empty()) {
            sent.push(Box::pin(self.new_nights(session, pages)));
        }
        if pages.iter().any(|page| !page.writes.shifts.is_empty()) {
            sent.push(Box::pin(self.shift_nights(session, pages)));
        }
        if pages.iter().any(|page| page.writes.amended.is_some()) {
            sent.push(Box::pin(self.amend_nights(session, pages)));
        }
    }

    async fn new_nights(&self, session: &Session, pages: &[Page<'_>]) -> Result<(), Error> {
        let (mut id, mut day, mut total): (Vec<i64>, Vec<i32>, Vec<i32>) = Default::default();
        for page in pages {
            day.extend(page.writes.new_nights.iter().map(|night| night.0));
            id.resize(day.len(), page.before.id.0);
            total.resize(day.len(), page.after.total as i32);
        }
        execute(session, &self.new_nights, &[&id, &day, &total]).await
    }

    async fn shift_nights(&self, session: &Session, pages: &[Page<'_>]) -> Result<(), Error> {
        let (mut id, mut day, mut total): (Vec<i64>, Vec<i32>, Vec<Option<i32>>) = Default::default();
        let (mut reserved, mut held): (Vec<i32>, Vec<i32>) = Default::default();
        for page in pages {
            for shift in &page.writes.shifts {
                id.push(page.before.id.0);
                day.push(shift.night.0);
                reserved.push(shift.reserved);
                held.push(shift.held);
                total.push(page.amended().filter(|(from, _)| shift.night.0 >= *from).map(|(_, total)| total));
            }
        }
        execute(session, &self.shift_nights, &[&id, &day, &reserved, &held, &total]).await
    }

    async fn amend_nights(&self, session: &Session, pages: &[Page<'_>]) -> Result<(), Error> {
        let (mut id, mut day, mut total): (Vec<i64>, Vec<i32>, Vec<i32>) = Default::default();
        for (page, amended) in pages.iter().filter_map(|page| Some((page, page.amended()?))) {
            id.push(page.before.id.0);
            day.push(amended.0);
            total.push(amended.1);
        }
        execute(session, &self.amend_nights, &[&id, &day, &total]).await
    }

    async fn book(&self, session: &Session, stays: Vec<&Stay>) -> Result<(), Error> {
        let id: Vec<i64> = stays.iter().map(|s| s.id.room_type.0).collect();
        let n: Vec<i64> = stays.iter().map(|s| s.id.n as i64).collect();
        let owner: Vec<&str> = stays.iter().map(|s| s.owner.as_str()).collect();
        let check_in: Vec<i32> = stays.iter().map(|s| s.dates.check_in.0).collect();
        let check_out: Vec<i32> = stays.iter().map(|s| s.dates.check_out.0).collect();
        let hold: Vec<i64> = stays.iter().map(|s| s.hold as i64).collect();
        let at: Vec<i64> = stays.iter().map(|s| s.at.0).collect();
        execute(session, &self.book_stays, &[&id, &n, &owner, &check_in, &check_out, &hold, &at]).await
    }

    async fn end(&self, session: &Session, pages: &[Page<'_>]) -> Result<(), Error> {
        let (mut id, mut n, mut at): (Vec<i64>, Vec<i64>, Vec<i64>) = Default::default();
        for page in pages {
            n.extend(page.writes.ended.iter().map(|n| *n as i64));
            id.resize(n.len(), page.before.id.0);
            at.resize(n.len(), page.now.0);
        }
        execute(session, &self.end_stays, &[&id, &n, &at]).await
    }

    async fn forget(&self, session: &Session, pages: &[Page<'_>], key_ttl_ms: i64) -> Result<(), Error> {
        let subject: Vec<i64> = pages.iter().map(Page::subject).collect();
        let now = pages.iter().map(|page| page.now.0).min().unwrap_or_default();
        execute(session, &self.forget_answers, &[&subject, &(now - key_ttl_ms)]).await
    }

    async fn move_room_types(&self, session: &Session, pages: &[Page<'_>]) -> Result<(), Error> {
        let id: Vec<i64> = pages.iter().map(|p| p.before.id.0).collect();
        let before: Vec<i64> = pages.iter().map(|p| p.before.n as i64).collect();
        let n: Vec<i64> = pages.iter().map(|p| p.after.n as i64).collect();
        let now: Vec<i64> = pages.iter().map(|p| p.now.0).collect();
        let name: Vec<&str> = pages.iter().map(|p| &*p.after.name).collect();
        let description: Vec<Option<&str>> = pages.iter().map(|p| p.after.description.as_deref()).collect();
        let price: Vec<Option<&str>> = pages.iter().map(|p| p.after.price.as_deref()).collect();
        let time_zone: Vec<&str> = pages.iter().map(|p| &*p.after.time_zone).collect();
        let total: Vec<i32> = pages.iter().map(|p| p.after.total as i32).collect();
        let row: [&(dyn ToSql + Sync); 9] = [&id, &before, &n, &now, &name, &description, &price, &time_zone, &total];
        execute(session, &self.move_room_types, &row).await
    }
}

pub async fn change_holds(session: &Session, statement: &Statement, holds: Vec<&Hold>) -> Result<(), Error> {
    let subject: Vec<i64> = holds.iter().map(|h| h.id.subject.row()).collect();
    let n: Vec<i64> = holds.iter().map(|h| h.id.n as i64).collect();
    let state: Vec<&str> = holds.iter().map(|h| h.state.as_str()).collect();
    let ends_at: Vec<i64> = holds.iter().map(|h| h.ends_at.0).collect();
    let ended_at: Vec<Option<i64>> = holds.iter().map(|h| h.ended_at.map(|at| at.0)).collect();
    let reserved: Vec<Option<String>> = holds.iter().map(|h| reserved(h)).collect();
    execute(session, statement, &[&subject, &n, &state, &ends_at, &ended_at, &reserved]).await
}

pub async fn begin_holds(session: &Session, statement: &Statement, holds: Vec<&Hold>) -> Result<(), Error> {
    let subject: Vec<i64> = holds.iter().map(|h| h.id.subject.row()).collect();
    let n: Vec<i64> = holds.iter().map(|h| h.id.n as i64).collect();
    let owner: Vec<&str> = holds.iter().map(|h| h.owner.as_str()).collect();
    let key: Vec<&str> = holds.iter().map(|h| &*h.key).collect();
    let stock: Vec<String> = holds.iter().map(|h| write_stock(&h.on)).collect();
    let check_in: Vec<Option<i32>> = holds.iter().map(|h| dates(h).map(|d| d.check_in.0)).collect();
    let check_out: Vec<Option<i32>> = holds.iter().map(|h| dates(h).map(|d| d.check_out.0)).collect();
    let first_at: Vec<i64> = holds.iter().map(|h| h.first_at.0).collect();
    let at: Vec<i64> = holds.iter().map(|h| h.at.0).collect();
    let ends_at: Vec<i64> = holds.iter().map(|h| h.ends_at.0).collect();
    let state: Vec<&str> = holds.iter().map(|h| h.state.as_str()).collect();
    let ended_at: Vec<Option<i64>> = holds.iter().map(|h| h.ended_at.map(|at| at.0)).collect();
    let reserved: Vec<Option<String>> = holds.iter().map(|h| reserved(h)).collect();
    let row: [&(dyn ToSql + Sync); 13] = [
        &subject, &n, &owner, &key, &stock, &check_in, &check_out, &first_at, &at, &ends_at, &state, &ended_at,
        &reserved,
    ];
    execute(session, statement, &row).await
}

fn dates(hold: &Hold) -> Option<Dates> {
    match &hold.on {
        On::Nights(dates) => Some(*dates),
        On::Seats(_) => None,
    }
}

fn reserved(hold: &Hold) -> Option<String> {
    (!hold.reserved.is_empty()).then(|| write_numbers(hold.reserved.iter().copied()))
}

/// Entries with their subject, those of one subject together.
pub async fn append(
    session: &Session,
    statement: &Statement,
    history: Vec<(i64, &RoomRecord)>,
    batch: Option<&str>,
) -> Result<(), Error> {
    let (subject, history): (Vec<i64>, Vec<&RoomRecord>) = history.into_iter().unzip();
    let n: Vec<i64> = history.iter().map(|e| e.n as i64).collect();
    let what: Vec<&str> = history.iter().map(|e| e.what.as_str()).collect();
    let owner: Vec<Option<&str>> = history.iter().map(|e| e.owner.as_ref().map(User::as_str)).collect();
    let by_admin: Vec<bool> = history.iter().map(|e| e.by_admin).collect();
    let at: Vec<i64> = history.iter().map(|e| e.at.0).collect();
    let hold: Vec<Option<i64>> = history.iter().map(|e| e.hold.map(|n| n as i64)).collect();
    let check_in: Vec<Option<i32>> = history.iter().map(|e| e.dates.map(|d| d.check_in.0)).collect();
    let check_out: Vec<Option<i32>> = history.iter().map(|e| e.dates.map(|d| d.check_out.0)).collect();
    let first = |i: usize| i == 0 || subject[i - 1] != subject[i];
    let batch: Vec<Option<&str>> = (0..subject.len()).map(|i| batch.filter(|_| first(i))).collect();
    let row: [&(dyn ToSql + Sync); 10] =
        [&subject, &n, &what, &owner, &by_admin, &at, &hold, &check_in, &check_out, &batch];
    execute(session, statement, &row).await
}
