//! The reads for a batch of an event, sent together and awaited together.

use std::collections::HashMap;

use futures_util::future::{OptionFuture, try_join, try_join_all, try_join3, try_join4};
use rules::event::stock::WALK_MOST;
use rules::event::{Event, EventKnown, EventNeeds, needs};
use rules::ids::{EventId, User};
use rules::time::Moment;
use tokio_postgres::{Error, Row, Statement};

use super::super::engine::Portion;
use super::super::session::{Session, rows_of, within};
use super::super::trouble::Trouble;
use super::super::{answers, queries, seat_column};
use super::entries::{EntryReads, EntryRows};
use super::rows;
use super::seat_holds::{SeatHoldReads, SeatHoldRows};

pub struct EventReads {
    holdings: Statement,
    answers: Statement,
    sales: Statement,
    free_seats: Statement,
    rows_of_seats: Statement,
    gaps: Statement,
    entries: EntryReads,
    /// Only if something is on hold, as far as known, or a hold is requested.
    holds: Option<SeatHoldReads>,
}

fn wants_holds(portion: &Portion<'_, Event>) -> bool {
    portion.aside.hint.holds || portion.commands.iter().any(|command| command.action.about_a_hold())
}

impl EventReads {
    pub async fn prepare(session: &Session, portions: &[Portion<'_, Event>]) -> Result<EventReads, Trouble> {
        let holds = OptionFuture::from(portions.iter().any(wants_holds).then(|| SeatHoldReads::prepare(session)));
        Ok(EventReads {
            holdings: session.prepared(queries::HOLDINGS).await?,
            answers: session.prepared(queries::ANSWERS).await?,
            sales: session.prepared(queries::SALES).await?,
            free_seats: session.prepared(queries::FREE_SEATS).await?,
            rows_of_seats: session.prepared(queries::ROWS_OF_SEATS).await?,
            gaps: session.prepared(queries::GAPS).await?,
            entries: EntryReads::prepare(session).await?,
            holds: holds.await.transpose()?,
        })
    }

    /// Sends every read at its first poll.
    pub async fn read(&self, session: &Session, portions: &[Portion<'_, Event>]) -> Result<EventsFound, Error> {
        let all = try_join_all(portions.iter().map(|portion| self.read_one(session, portion))).await?;
        Ok(portions.iter().map(|portion| portion.id).zip(all).collect())
    }

    async fn read_one(&self, session: &Session, portion: &Portion<'_, Event>) -> Result<EventRows, Error> {
        let Portion { id: event, commands, terms, aside } = portion;
        let (stock, holds) = (aside.hint.stock, self.holds.as_ref().filter(|_| wants_holds(portion)));
        let needs = needs(commands, terms);
        let users: Vec<&str> = needs.users.iter().map(|user| user.as_str()).collect();
        let (key_users, keys): (Vec<&str>, Vec<&str>) =
            needs.keys.iter().map(|(user, key)| (User::as_str(user), *key)).unzip();
        let key_events = vec![event.0; keys.len()];
        let numbers: Vec<i64> = needs.sales.iter().map(|n| *n as i64).collect();
        let holdings =
            (!users.is_empty()).then_some(async { session.query(&self.holdings, &[&event.0, &users]).await });
        let answers = (!keys.is_empty())
            .then_some(async { session.query(&self.answers, &[&key_events, &key_users, &keys]).await });
        let sales = (!numbers.is_empty()).then_some(async { session.query(&self.sales, &[&event.0, &numbers]).await });
        let seats: Vec<i32> = needs.seats.iter().map(|seat| seat_column(*seat)).collect();
        let chosen =
            (!seats.is_empty()).then_some(async { session.query(&self.rows_of_seats, &[&event.0, &seats]).await });
        let people = try_join3(rows_of(holdings), rows_of(answers), rows_of(sales));
        let stock = OptionFuture::from(stock.then(|| self.stock(session, *event, &needs, WALK_MOST)));
        let seats = try_join(async { stock.await.transpose() }, rows_of(chosen));
        let inside = self.entries.read(session, *event, &needs);
        let holds = OptionFuture::from(holds.map(|holds| holds.read(session, *event, &needs, terms)));
        let holds = async { holds.await.transpose() };
        let ((holdings, answers, sales), (stock, chosen), inside, holds) =
            try_join4(people, seats, inside, holds).await?;
        Ok(EventRows { inside, holdings, answers, sales, stock, chosen, gaps_wanted: needs.gaps, holds })
    }

    /// Freed seats, and gaps beyond the cursor.
    async fn stock(
        &self,
        session: &Session,
        event: EventId,
        needs: &EventNeeds<'_>,
        depth: usize,
    ) -> Result<StockRows, Error> {
        let (wanted, most) = (needs.free_seats as i64, depth as i64);
        let free = (wanted > 0).then_some(async { session.query(&self.free_seats, &[&event.0, &wanted]).await });
        let gaps = (needs.gaps > 0).then_some(async { session.query(&self.gaps, &[&event.0, &most]).await });
        let (free, gaps) = try_join(rows_of(free), rows_of(gaps)).await?;
        Ok(StockRows { free, gaps, depth })
    }

    /// A seat that can be sold lies beyond what was read.
    pub async fn read_deeper(
        &self,
        session: &Session,
        portion: &Portion<'_, Event>,
        found: &mut EventRows,
        depth: usize,
    ) -> Result<(), Trouble> {
        let needs = needs(portion.commands, &portion.terms);
        found.stock = Some(within(self.stock(session, portion.id, &needs, depth)).await??);
        Ok(())
    }

    /// Another server has put seats on hold, sold ahead of the cursor or freed seats: each takes one more round trip.
    pub async fn read_rest(
        &self,
        session: &Session,
        event: &Event,
        portion: &Portion<'_, Event>,
        found: &mut EventRows,
        now: Moment,
    ) -> Result<(), Trouble> {
        let needs = needs(portion.commands, &portion.terms);
        if found.misses_holds(event) {
            let holds = SeatHoldReads::prepare(session).await?;
            found.holds = Some(within(holds.read(session, event.id, &needs, &portion.terms)).await??);
        }
        if let Some(holds) = found.holds.as_mut().filter(|holds| holds.misses_count(now)) {
            holds.count(session, event, now).await?;
        }
        if found.misses_stock(event) {
            found.stock = Some(within(self.stock(session, event.id, &needs, WALK_MOST)).await??);
        }
        Ok(())
    }
}

/// What was read for each event.
pub type EventsFound = HashMap<EventId, EventRows>;

/// Rows as they were received.
pub struct EventRows {
    inside: EntryRows,
    holdings: Vec<Row>,
    answers: Vec<Row>,
    sales: Vec<Row>,
    /// None: not read.
    stock: Option<StockRows>,
    chosen: Vec<Row>,
    gaps_wanted: usize,
    /// None: not read.
    holds: Option<SeatHoldRows>,
}

struct StockRows {
    free: Vec<Row>,
    gaps: Vec<Row>,
    depth: usize,
}

impl EventRows {
    fn misses_holds(&self, event: &Event) -> bool {
        event.counts.held > 0 && self.holds.is_none()
    }

    fn misses_stock(&self, event: &Event) -> bool {
        !event.counts.in_order() && self.stock.is_none()
    }

    pub fn whole(&self, event: &Event, now: Moment) -> bool {
        let misses_count = self.holds.as_ref().is_some_and(|holds| holds.misses_count(now));
        !self.misses_holds(event) && !misses_count && !self.misses_stock(event)
    }

    /// If the stock was not read, all seats beyond the cursor are free and in order.
    pub fn understand(&self, event: &Event) -> Result<EventKnown, Trouble> {
        let (free, walk) = match &self.stock {
            Some(stock) => (rows::seats(&stock.free)?, Some(rows::walk(&stock.gaps, event, stock.depth)?)),
            None => (Vec::new(), event.walk_unread()),
        };
        let mut known = EventKnown {
            holdings: rows::holdings(&self.holdings)?,
            answers: self.answers.iter().map(answers::kept).collect::<Result<_, _>>()?,
            free,
            rows: rows::seat_rows(&self.chosen)?,
            walk: walk.filter(|_| self.gaps_wanted > 0),
            ..EventKnown::default()
        };
        self.inside.understand(&mut known)?;
        if let Some(holds) = &self.holds {
            holds.understand(&mut known)?;
        }
        for row in &self.sales {
            let sale = rows::sale(row)?;
            known.sales.insert(sale.n, sale);
        }
        Ok(known)
    }
}
