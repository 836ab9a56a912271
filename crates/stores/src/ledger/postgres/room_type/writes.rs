//! Writes the decisions for room types with a constant number of statements.

use std::collections::HashSet;

use futures_util::future::try_join_all;
use rules::buyer::Metadata;
use rules::history::AdminName;
use rules::holds::Hold;
use rules::ids::User;
use rules::nights::Night;
use rules::once::NewAnswer;
use rules::room_type::{RoomRecord, RoomType, Stay};
use rules::subject::SubjectId;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Statement};

use super::super::engine::{DecidedBatch, Mark};
use super::super::holds::{begin_holds, change_holds};
use super::super::link_columns::LinkColumns;
use super::super::session::{Sent, Session, execute};
use super::super::trouble::Trouble;
use super::super::{answers, queries};
use crate::chain::Link;
use crate::ledger::details::sparse;

type Decided<'a> = DecidedBatch<'a, RoomType>;

pub struct RoomTypeWriter {
    new_nights: Statement,
    shift_nights: Statement,
    amend_nights: Statement,
    change_holds: Statement,
    begin_holds: Statement,
    book_stays: Statement,
    end_stays: Statement,
    append_history: Statement,
    keep_answers: Statement,
    move_room_types: Statement,
}

fn subject(decided: &Decided<'_>) -> i64 {
    SubjectId::RoomType(decided.before.id).row()
}

/// Nights whose total changes and nothing else.
fn amended<'a>(decided: &'a Decided<'_>) -> impl Iterator<Item = (Night, u32)> + 'a {
    let shifted: HashSet<Night> = decided.writes.shifts.iter().map(|shift| shift.night).collect();
    decided
        .writes
        .totals
        .iter()
        .map(|(night, total)| (*night, *total))
        .filter(move |(night, _)| !shifted.contains(night))
}

impl RoomTypeWriter {
    pub async fn prepare(session: &Session) -> Result<RoomTypeWriter, Trouble> {
        Ok(RoomTypeWriter {
            new_nights: session.prepared(queries::NEW_NIGHTS).await?,
            shift_nights: session.prepared(queries::SHIFT_NIGHTS).await?,
            amend_nights: session.prepared(queries::AMEND_NIGHTS).await?,
            change_holds: session.prepared(queries::CHANGE_HOLDS).await?,
            begin_holds: session.prepared(queries::BEGIN_HOLDS).await?,
            book_stays: session.prepared(queries::BOOK_STAYS).await?,
            end_stays: session.prepared(queries::END_STAYS).await?,
            append_history: session.prepared(queries::APPEND_ROOM_HISTORY).await?,
            keep_answers: session.prepared(queries::KEEP_ANSWERS).await?,
            move_room_types: session.prepared(queries::MOVE_ROOM_TYPES).await?,
        })
    }

    /// Sends everything at its first poll, in this order. Only the first error counts.
    pub async fn write<'a>(&self, session: &Session, all: &'a [Decided<'a>], mark: Mark<'_>) -> Result<(), Error> {
        let mut sent: Vec<Sent<'_>> = Vec::with_capacity(11);
        self.nights(session, all, &mut sent);
        let changed: Vec<&Hold> = all.iter().flat_map(|one| &one.writes.changed).collect();
        if !changed.is_empty() {
            sent.push(Box::pin(change_holds(session, &self.change_holds, changed)));
        }
        let begun: Vec<&Hold> = all.iter().flat_map(|one| &one.writes.begun).collect();
        if !begun.is_empty() {
            sent.push(Box::pin(begin_holds(session, &self.begin_holds, begun)));
        }
        let stays: Vec<&Stay> = all.iter().flat_map(|one| &one.writes.stays).collect();
        if !stays.is_empty() {
            sent.push(Box::pin(self.book(session, stays)));
        }
        if all.iter().any(|one| !one.writes.ended.is_empty()) {
            sent.push(Box::pin(self.end(session, all)));
        }
        let entries = |one: &'a Decided<'a>| one.writes.history.iter().zip(&one.chain.links);
        let history = all.iter().flat_map(|one| entries(one).map(|(entry, link)| (subject(one), entry, link)));
        sent.push(Box::pin(append(session, &self.append_history, history.collect(), Some(mark.batch))));
        let new = all.iter().flat_map(|one| one.writes.answers.iter().map(|new| (subject(one), new)));
        let new: Vec<(i64, &NewAnswer)> = new.collect();
        if !new.is_empty() {
            sent.push(Box::pin(answers::keep(session, &self.keep_answers, new)));
        }
        sent.push(Box::pin(self.move_room_types(session, all)));
        try_join_all(sent).await.map(|_| ())
    }

    fn nights<'a>(&'a self, session: &'a Session, all: &'a [Decided<'a>], sent: &mut Vec<Sent<'a>>) {
        if all.iter().any(|one| !one.writes.new_nights.is_empty()) {
            sent.push(Box::pin(self.new_nights(session, all)));
        }
        if all.iter().any(|one| !one.writes.shifts.is_empty()) {
            sent.push(Box::pin(self.shift_nights(session, all)));
        }
        if all.iter().any(|one| !one.writes.totals.is_empty()) {
            sent.push(Box::pin(self.amend_nights(session, all)));
        }
    }

    async fn new_nights(&self, session: &Session, all: &[Decided<'_>]) -> Result<(), Error> {
        let (mut id, mut day, mut total): (Vec<i64>, Vec<i32>, Vec<i32>) = Default::default();
        for one in all {
            day.extend(one.writes.new_nights.iter().map(|(night, _)| night.0));
            total.extend(one.writes.new_nights.iter().map(|(_, total)| *total as i32));
            id.resize(day.len(), one.before.id.0);
        }
        execute(session, &self.new_nights, &[&id, &day, &total]).await
    }

    async fn shift_nights(&self, session: &Session, all: &[Decided<'_>]) -> Result<(), Error> {
        let (mut id, mut day, mut total): (Vec<i64>, Vec<i32>, Vec<Option<i32>>) = Default::default();
        let (mut reserved, mut held, mut lapsed): (Vec<i32>, Vec<i32>, Vec<i32>) = Default::default();
        for one in all {
            for shift in &one.writes.shifts {
                id.push(one.before.id.0);
                day.push(shift.night.0);
                reserved.push(shift.by.reserved);
                held.push(shift.by.held);
                lapsed.push(shift.by.lapsed);
                total.push(one.writes.totals.get(&shift.night).map(|total| *total as i32));
            }
        }
        execute(session, &self.shift_nights, &[&id, &day, &reserved, &held, &total, &lapsed]).await
    }

    async fn amend_nights(&self, session: &Session, all: &[Decided<'_>]) -> Result<(), Error> {
        let (mut id, mut day, mut total): (Vec<i64>, Vec<i32>, Vec<i32>) = Default::default();
        for one in all {
            for (night, new) in amended(one) {
                id.push(one.before.id.0);
                day.push(night.0);
                total.push(new as i32);
            }
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
        let metadata = sparse(stays.iter().map(|s| s.metadata.as_ref().map(Metadata::as_str)));
        execute(session, &self.book_stays, &[&id, &n, &owner, &check_in, &check_out, &hold, &at, &metadata]).await
    }

    async fn end(&self, session: &Session, all: &[Decided<'_>]) -> Result<(), Error> {
        let (mut id, mut n, mut at): (Vec<i64>, Vec<i64>, Vec<i64>) = Default::default();
        for one in all {
            n.extend(one.writes.ended.iter().map(|n| *n as i64));
            id.resize(n.len(), one.before.id.0);
            at.resize(n.len(), one.now.0);
        }
        execute(session, &self.end_stays, &[&id, &n, &at]).await
    }

    async fn move_room_types(&self, session: &Session, all: &[Decided<'_>]) -> Result<(), Error> {
        let id: Vec<i64> = all.iter().map(|p| p.before.id.0).collect();
        let before: Vec<i64> = all.iter().map(|p| p.before.n as i64).collect();
        let n: Vec<i64> = all.iter().map(|p| p.after.n as i64).collect();
        let now: Vec<i64> = all.iter().map(|p| p.now.0).collect();
        let name: Vec<&str> = all.iter().map(|p| &*p.after.name).collect();
        let description: Vec<Option<&str>> = all.iter().map(|p| p.after.description.as_deref()).collect();
        let price: Vec<Option<&str>> = all.iter().map(|p| p.after.price.as_deref()).collect();
        let time_zone: Vec<&str> = all.iter().map(|p| &*p.after.time_zone).collect();
        let total: Vec<i32> = all.iter().map(|p| p.after.total as i32).collect();
        let counted_to: Vec<i64> = all.iter().map(|p| p.after.counted.ends_at.0).collect();
        let counted_place: Vec<i64> = all.iter().map(|p| p.after.counted.place as i64).collect();
        let currency: Vec<Option<&str>> = all.iter().map(|p| p.after.currency.as_deref()).collect();
        let head: Vec<Option<&[u8]>> = all.iter().map(|p| p.chain.head()).collect();
        let row: [&(dyn ToSql + Sync); 13] = [
            &id,
            &before,
            &n,
            &now,
            &name,
            &description,
            &price,
            &time_zone,
            &total,
            &counted_to,
            &counted_place,
            &currency,
            &head,
        ];
        execute(session, &self.move_room_types, &row).await
    }
}

/// Items with their subject, grouped by subject.
pub async fn append(
    session: &Session,
    statement: &Statement,
    history: Vec<(i64, &RoomRecord, &Link)>,
    batch: Option<&str>,
) -> Result<(), Error> {
    let links = LinkColumns::of(history.iter().map(|(_, e, link)| (&e.origin, *link)));
    let (subject, history): (Vec<i64>, Vec<&RoomRecord>) = history.iter().map(|(id, e, _)| (*id, *e)).unzip();
    let n: Vec<i64> = history.iter().map(|e| e.n as i64).collect();
    let what: Vec<&str> = history.iter().map(|e| e.what.as_str()).collect();
    let owner: Vec<Option<&str>> = history.iter().map(|e| e.owner.as_ref().map(User::as_str)).collect();
    let admin: Vec<Option<&str>> = history.iter().map(|e| e.admin.as_ref().map(AdminName::as_str)).collect();
    let at: Vec<i64> = history.iter().map(|e| e.at.0).collect();
    let hold: Vec<Option<i64>> = history.iter().map(|e| e.hold.map(|n| n as i64)).collect();
    let check_in: Vec<Option<i32>> = history.iter().map(|e| e.dates.map(|d| d.check_in.0)).collect();
    let check_out: Vec<Option<i32>> = history.iter().map(|e| e.dates.map(|d| d.check_out.0)).collect();
    let first = |i: usize| i == 0 || subject[i - 1] != subject[i];
    let batch: Vec<Option<&str>> = (0..subject.len()).map(|i| batch.filter(|_| first(i))).collect();
    let mut row: Vec<&(dyn ToSql + Sync)> =
        vec![&subject, &n, &what, &owner, &admin, &at, &hold, &check_in, &check_out];
    row.push(&batch);
    row.extend(links.row());
    execute(session, statement, &row).await
}
