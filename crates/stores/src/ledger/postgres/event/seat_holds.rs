//! Seats on hold in a batch of their event: what is read of holds, and what is written.

use futures_util::future::try_join;
use rules::buyer::Metadata;
use rules::command::Terms;
use rules::event::stock::Was;
use rules::event::{ConfirmedSeat, Event, EventKnown, EventNeeds, EventWrites, HeldSeat};
use rules::holds::{COUNTED_MOST, CountStep, Hold, HoldState, LapsedMark, On};
use rules::ids::EventId;
use rules::time::Moment;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use super::super::holds::{begin_holds, change_holds, hold, lapsed};
use super::super::session::{Sent, Session, execute, within};
use super::super::trouble::Trouble;
use super::super::{queries, seat_column};
use crate::chain::Chain;
use crate::ledger::details::sparse;
use crate::ledger::holds::write_stock;

pub struct SeatHoldReads {
    holds: Statement,
    first_end: Statement,
}

impl SeatHoldReads {
    pub async fn prepare(session: &Session) -> Result<SeatHoldReads, Trouble> {
        Ok(SeatHoldReads {
            holds: session.prepared(queries::HOLDS_IN_EVENT).await?,
            first_end: session.prepared(queries::FIRST_END).await?,
        })
    }

    pub async fn read(
        &self,
        session: &Session,
        event: EventId,
        needs: &EventNeeds<'_>,
        terms: &Terms,
    ) -> Result<SeatHoldRows, Error> {
        let numbers: Vec<i64> = needs.holds.iter().map(|n| *n as i64).collect();
        let seats: Vec<i32> = needs.seats.iter().map(|seat| seat_column(*seat)).collect();
        let users: Vec<&str> = needs.users.iter().map(|user| user.as_str()).collect();
        let keys: Vec<&str> = needs.hold_keys.iter().map(|(key, _)| *key).collect();
        let stocks: Vec<String> = needs.hold_keys.iter().map(|(_, on)| write_stock(on)).collect();
        let owners: Vec<&str> = needs.given_back.iter().map(|(user, _)| user.as_str()).collect();
        let given_back: Vec<String> = needs.given_back.iter().map(|(_, on)| write_stock(on)).collect();
        let lapsed_most = needs.lapsed_holds();
        let most = lapsed_most as i64;
        let again_after = terms.holds.again_after_ms;
        let wanted: [&(dyn ToSql + Sync); 10] =
            [&event.0, &numbers, &seats, &users, &keys, &stocks, &most, &owners, &given_back, &again_after];
        let first_end = async { session.query_one(&self.first_end, &[&event.0]).await };
        let (holds, first_end) = try_join(session.query(&self.holds, &wanted), first_end).await?;
        Ok(SeatHoldRows { holds, first_end, lapsed_most, count: None })
    }
}

/// Rows as they were received.
pub struct SeatHoldRows {
    holds: Vec<Row>,
    first_end: Row,
    lapsed_most: usize,
    count: Option<CountStep<u32>>,
}

impl SeatHoldRows {
    /// As many holds have lapsed as one batch marks expired: the others must be counted.
    pub fn misses_count(&self, now: Moment) -> bool {
        self.count.is_none() && self.holds.iter().filter(|row| lapsed(row, now)).count() >= self.lapsed_most
    }

    /// Counts lapsed seats beyond the event's mark, up to the limit of a step.
    pub async fn count(&mut self, session: &Session, event: &Event, now: Moment) -> Result<(), Trouble> {
        let step = session.prepared(queries::COUNT_LAPSED_SEATS).await?;
        let (mark, most) = (event.counts.counted, COUNTED_MOST as i64);
        let row: [&(dyn ToSql + Sync); 5] = [&event.id.0, &mark.ends_at.0, &(mark.place as i32), &now.0, &most];
        let found = within(session.query_opt(&step, &row)).await??;
        let (mut count, mut to) = (0, mark);
        if let Some(row) = found {
            count = row.try_get::<_, i32>(0)? as u32;
            to = LapsedMark { ends_at: Moment(row.try_get(1)?), place: row.try_get::<_, i32>(2)? as u64 };
        }
        self.count = Some(CountStep { found: count, to, more: count as usize == COUNTED_MOST });
        Ok(())
    }

    pub fn understand(&self, known: &mut EventKnown) -> Result<(), Trouble> {
        for row in &self.holds {
            let hold = hold(row)?;
            known.holds.insert(hold.id.n, hold);
        }
        known.first_end = self.first_end.try_get::<_, Option<i64>>(0)?.map(Moment);
        known.count = self.count.clone();
        Ok(())
    }
}

pub struct SeatHoldWriter {
    change_holds: Statement,
    begin_holds: Statement,
    hold_seats: Statement,
    hold_seats_again: Statement,
    extend_seats: Statement,
    confirm_seats: Statement,
}

impl SeatHoldWriter {
    /// Only if holds are written at all.
    pub fn needed(writes: &EventWrites) -> bool {
        !writes.holds_changed.is_empty() || !writes.holds_begun.is_empty()
    }

    pub async fn prepare(session: &Session) -> Result<SeatHoldWriter, Trouble> {
        Ok(SeatHoldWriter {
            change_holds: session.prepared(queries::CHANGE_HOLDS).await?,
            begin_holds: session.prepared(queries::BEGIN_HOLDS).await?,
            hold_seats: session.prepared(queries::HOLD_SEATS).await?,
            hold_seats_again: session.prepared(queries::HOLD_SEATS_AGAIN).await?,
            extend_seats: session.prepared(queries::EXTEND_SEATS).await?,
            confirm_seats: session.prepared(queries::CONFIRM_SEATS).await?,
        })
    }

    /// Sent after the freed and sold seats.
    pub fn send<'a>(
        &'a self,
        session: &'a Session,
        id: i64,
        writes: &'a EventWrites,
        chain: &'a Chain,
        sent: &mut Vec<Sent<'a>>,
    ) {
        if !writes.holds_changed.is_empty() {
            sent.push(Box::pin(change_holds(session, &self.change_holds, writes.holds_changed.iter().collect())));
        }
        if !writes.holds_begun.is_empty() {
            sent.push(Box::pin(begin_holds(session, &self.begin_holds, writes.holds_begun.iter().collect())));
        }
        for (statement, was) in [(&self.hold_seats, Was::Untouched), (&self.hold_seats_again, Was::Free)] {
            let held: Vec<&HeldSeat> = writes.held.iter().filter(|held| held.was == was).collect();
            if !held.is_empty() {
                sent.push(Box::pin(hold_seats(session, statement, id, held)));
            }
        }
        let extended: Vec<&Hold> = writes.holds_changed.iter().filter(|hold| hold.state == HoldState::Held).collect();
        if !extended.is_empty() {
            sent.push(Box::pin(extend_seats(session, &self.extend_seats, id, extended)));
        }
        if !writes.confirmed.is_empty() {
            sent.push(Box::pin(confirm_seats(session, &self.confirm_seats, id, &writes.confirmed, chain)));
        }
    }
}

async fn hold_seats(session: &Session, statement: &Statement, id: i64, held: Vec<&HeldSeat>) -> Result<(), Error> {
    let seat: Vec<i32> = held.iter().map(|h| h.seat.0 as i32).collect();
    let owner: Vec<&str> = held.iter().map(|h| h.unit.user.as_str()).collect();
    let unit: Vec<i32> = held.iter().map(|h| h.unit.unit as i32).collect();
    let limit: Vec<i32> = held.iter().map(|h| h.unit.limit as i32).collect();
    let n: Vec<i64> = held.iter().map(|h| h.n as i64).collect();
    let at: Vec<i64> = held.iter().map(|h| h.at.0).collect();
    let hold: Vec<i64> = held.iter().map(|h| h.hold as i64).collect();
    let ends_at: Vec<i64> = held.iter().map(|h| h.ends_at.0).collect();
    execute(session, statement, &[&id, &seat, &owner, &unit, &limit, &n, &at, &hold, &ends_at]).await
}

async fn extend_seats(session: &Session, statement: &Statement, id: i64, holds: Vec<&Hold>) -> Result<(), Error> {
    let (mut seat, mut hold, mut ends_at): (Vec<i32>, Vec<i64>, Vec<i64>) = Default::default();
    for extended in holds {
        let On::Seats(seats) = &extended.on else { continue };
        seat.extend(seats.iter().map(|seat| seat.0 as i32));
        hold.resize(seat.len(), extended.id.n as i64);
        ends_at.resize(seat.len(), extended.ends_at.0);
    }
    execute(session, statement, &[&id, &seat, &hold, &ends_at]).await
}

async fn confirm_seats(
    session: &Session,
    statement: &Statement,
    id: i64,
    sold: &[ConfirmedSeat],
    chain: &Chain,
) -> Result<(), Error> {
    let seat: Vec<i32> = sold.iter().map(|s| s.seat.0 as i32).collect();
    let hold: Vec<i64> = sold.iter().map(|s| s.hold as i64).collect();
    let n: Vec<i64> = sold.iter().map(|s| s.n as i64).collect();
    let at: Vec<i64> = sold.iter().map(|s| s.at.0).collect();
    let metadata = sparse(sold.iter().map(|s| s.metadata.as_ref().map(Metadata::as_str)));
    let buyer = sparse(sold.iter().map(|s| s.buyer_name.as_deref()));
    let phone = sparse(sold.iter().map(|s| s.phone.as_deref()));
    let email = sparse(sold.iter().map(|s| s.email.as_deref()));
    let salt = sparse(sold.iter().map(|s| chain.contact_salt(s.n)));
    execute(session, statement, &[&id, &seat, &hold, &n, &at, &metadata, &buyer, &phone, &email, &salt]).await
}
