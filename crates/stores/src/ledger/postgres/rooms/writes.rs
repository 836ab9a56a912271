//! What was decided for a room type, written with a constant number of statements.

use std::pin::Pin;

use futures_util::future::try_join_all;
use rules::holds::{Hold, On};
use rules::ids::User;
use rules::nights::Dates;
use rules::stays::decide::Writes;
use rules::stays::{Entry, RoomType, Stay};
use rules::subject::Subject;
use rules::time::Moment;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Statement};

use super::super::queries;
use super::super::session::Session;
use super::super::trouble::Trouble;
use super::super::writes::{execute, keep};
use crate::ledger::rooms::{write_numbers, write_stock};

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
    move_room_type: Statement,
}

/// One decided batch, on its way to the tables.
pub struct Page<'a> {
    pub before: &'a RoomType,
    pub after: &'a RoomType,
    pub writes: &'a Writes,
    pub now: Moment,
    pub key_ttl_ms: i64,
    /// The batch's own id, written into its first history row.
    pub batch: &'a str,
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
            move_room_type: session.prepared(queries::MOVE_ROOM_TYPE).await?,
        })
    }

    /// Sends everything at its first poll, in this order; the first error is the one that counts.
    pub async fn write(&self, session: &Session, page: &Page<'_>) -> Result<(), Error> {
        let Page { before, after, writes, now, .. } = page;
        let (id, subject) = (before.id.0, Subject::RoomType(before.id).row());
        let mut sent: Vec<Sent<'_>> = Vec::with_capacity(11);
        self.nights(session, id, after.total as i32, writes, &mut sent);
        if !writes.changed.is_empty() {
            sent.push(Box::pin(change_holds(session, &self.change_holds, subject, &writes.changed)));
        }
        if !writes.begun.is_empty() {
            sent.push(Box::pin(begin_holds(session, &self.begin_holds, subject, &writes.begun)));
        }
        if !writes.stays.is_empty() {
            sent.push(Box::pin(self.book(session, id, &writes.stays)));
        }
        if !writes.ended.is_empty() {
            let ended: Vec<i64> = writes.ended.iter().map(|n| *n as i64).collect();
            sent.push(Box::pin(async move { execute(session, &self.end_stays, &[&id, &ended, &now.0]).await }));
        }
        sent.push(Box::pin(append(session, &self.append_history, subject, &writes.history, Some(page.batch))));
        if !writes.answers.is_empty() {
            sent.push(Box::pin(keep(session, &self.keep_answers, subject, &writes.answers)));
            let old = now.0 - page.key_ttl_ms;
            sent.push(Box::pin(async move { execute(session, &self.forget_answers, &[&subject, &old]).await }));
        }
        sent.push(Box::pin(self.move_room_type(session, before, after, *now)));
        try_join_all(sent).await.map(|_| ())
    }

    fn nights<'a>(&'a self, session: &'a Session, id: i64, total: i32, writes: &Writes, sent: &mut Vec<Sent<'a>>) {
        if !writes.new_nights.is_empty() {
            let days: Vec<i32> = writes.new_nights.iter().map(|night| night.0).collect();
            sent.push(Box::pin(async move { execute(session, &self.new_nights, &[&id, &days, &total]).await }));
        }
        let from = writes.amended.map_or(i32::MAX, |night| night.0);
        if !writes.shifts.is_empty() {
            let days: Vec<i32> = writes.shifts.iter().map(|s| s.night.0).collect();
            let reserved: Vec<i32> = writes.shifts.iter().map(|s| s.reserved).collect();
            let held: Vec<i32> = writes.shifts.iter().map(|s| s.held).collect();
            sent.push(Box::pin(async move {
                execute(session, &self.shift_nights, &[&id, &days, &reserved, &held, &from, &total]).await
            }));
        }
        if writes.amended.is_some() {
            sent.push(Box::pin(async move { execute(session, &self.amend_nights, &[&id, &from, &total]).await }));
        }
    }

    async fn book(&self, session: &Session, id: i64, stays: &[Stay]) -> Result<(), Error> {
        let n: Vec<i64> = stays.iter().map(|s| s.id.n as i64).collect();
        let owner: Vec<&str> = stays.iter().map(|s| s.owner.as_str()).collect();
        let check_in: Vec<i32> = stays.iter().map(|s| s.dates.check_in.0).collect();
        let check_out: Vec<i32> = stays.iter().map(|s| s.dates.check_out.0).collect();
        let hold: Vec<i64> = stays.iter().map(|s| s.hold as i64).collect();
        let at: Vec<i64> = stays.iter().map(|s| s.at.0).collect();
        execute(session, &self.book_stays, &[&id, &n, &owner, &check_in, &check_out, &hold, &at]).await
    }

    async fn move_room_type(
        &self,
        session: &Session,
        before: &RoomType,
        after: &RoomType,
        now: Moment,
    ) -> Result<(), Error> {
        let row: [&(dyn ToSql + Sync); 9] = [
            &before.id.0,
            &(before.n as i64),
            &(after.n as i64),
            &now.0,
            &&*after.name,
            &after.description.as_deref(),
            &after.price.as_deref(),
            &&*after.time_zone,
            &(after.total as i32),
        ];
        execute(session, &self.move_room_type, &row).await
    }
}

pub async fn change_holds(session: &Session, statement: &Statement, subject: i64, holds: &[Hold]) -> Result<(), Error> {
    let n: Vec<i64> = holds.iter().map(|h| h.id.n as i64).collect();
    let state: Vec<&str> = holds.iter().map(|h| h.state.as_str()).collect();
    let ends_at: Vec<i64> = holds.iter().map(|h| h.ends_at.0).collect();
    let ended_at: Vec<Option<i64>> = holds.iter().map(|h| h.ended_at.map(|at| at.0)).collect();
    let reserved: Vec<Option<String>> = holds.iter().map(reserved).collect();
    execute(session, statement, &[&subject, &n, &state, &ends_at, &ended_at, &reserved]).await
}

pub async fn begin_holds(session: &Session, statement: &Statement, subject: i64, holds: &[Hold]) -> Result<(), Error> {
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
    let reserved: Vec<Option<String>> = holds.iter().map(reserved).collect();
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

pub async fn append(
    session: &Session,
    statement: &Statement,
    subject: i64,
    history: &[Entry],
    batch: Option<&str>,
) -> Result<(), Error> {
    let n: Vec<i64> = history.iter().map(|e| e.n as i64).collect();
    let what: Vec<&str> = history.iter().map(|e| e.what.as_str()).collect();
    let owner: Vec<Option<&str>> = history.iter().map(|e| e.owner.as_ref().map(User::as_str)).collect();
    let by_admin: Vec<bool> = history.iter().map(|e| e.by_admin).collect();
    let at: Vec<i64> = history.iter().map(|e| e.at.0).collect();
    let hold: Vec<Option<i64>> = history.iter().map(|e| e.hold.map(|n| n as i64)).collect();
    let check_in: Vec<Option<i32>> = history.iter().map(|e| e.dates.map(|d| d.check_in.0)).collect();
    let check_out: Vec<Option<i32>> = history.iter().map(|e| e.dates.map(|d| d.check_out.0)).collect();
    let first = n.first().copied();
    let row: [&(dyn ToSql + Sync); 11] =
        [&subject, &n, &what, &owner, &by_admin, &at, &hold, &check_in, &check_out, &first, &batch];
    execute(session, statement, &row).await
}
