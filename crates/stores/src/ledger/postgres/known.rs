//! What must be read to decide a batch, sent together and awaited together.

use futures_util::future::{OptionFuture, try_join, try_join3, try_join4};
use rules::command::Command;
use rules::event::Event;
use rules::event::{EventKnown, EventNeeds, needs};
use rules::ids::{EventId, User};
use tokio_postgres::{Error, Row, Statement};

use super::seat_holds::{HoldReads, RawHolds};
use super::session::Session;
use super::trouble::Trouble;
use super::{entries, queries, rows};

/// The statements of a batch, prepared before any of them is sent: nothing may come between the
/// parts of a pipeline.
pub struct Reads {
    pub lock: Statement,
    pub event: Statement,
    pub now: Statement,
    holdings: Statement,
    answers: Statement,
    sales: Statement,
    free_seats: Statement,
    rows_of_seats: Statement,
    gaps: Statement,
    entries: entries::Reads,
}

impl Reads {
    pub async fn prepare(session: &Session) -> Result<Reads, Trouble> {
        Ok(Reads {
            lock: session.prepared(queries::LOCK_EVENT).await?,
            event: session.prepared(queries::EVENT).await?,
            now: session.prepared(queries::NOW).await?,
            holdings: session.prepared(queries::HOLDINGS).await?,
            answers: session.prepared(queries::ANSWERS).await?,
            sales: session.prepared(queries::SALES).await?,
            free_seats: session.prepared(queries::FREE_SEATS).await?,
            rows_of_seats: session.prepared(queries::ROWS_OF_SEATS).await?,
            gaps: session.prepared(queries::GAPS).await?,
            entries: entries::Reads::prepare(session).await?,
        })
    }

    /// Sends every read at its first poll, so that it can stand behind the lock in one pipeline.
    /// `stock`: where rows must be looked for, as far as is known. `holds`: where something is on hold, as
    /// far as is known, or is asked for.
    pub async fn known(
        &self,
        session: &Session,
        event: EventId,
        commands: &[Command],
        stock: bool,
        holds: Option<&HoldReads>,
    ) -> Result<Raw, Error> {
        let needs = needs(commands);
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
        let seats: Vec<i32> = needs.seats.iter().map(|seat| seat.0 as i32).collect();
        let chosen =
            (!seats.is_empty()).then_some(async { session.query(&self.rows_of_seats, &[&event.0, &seats]).await });
        let people = try_join3(rows_of(holdings), rows_of(answers), rows_of(sales));
        let stock = OptionFuture::from(stock.then(|| self.stock(session, event, &needs)));
        let seats = try_join(async { stock.await.transpose() }, rows_of(chosen));
        let inside = self.entries.known(session, event, &needs);
        let holds = OptionFuture::from(holds.map(|holds| holds.read(session, event, &needs)));
        let holds = async { holds.await.transpose() };
        let ((holdings, answers, sales), (stock, chosen), inside, holds) =
            try_join4(people, seats, inside, holds).await?;
        Ok(Raw { inside, holdings, answers, sales, stock, chosen, gaps_wanted: needs.gaps, holds })
    }

    /// Seats that came back, and gaps behind the cursor.
    pub async fn stock(&self, session: &Session, event: EventId, needs: &EventNeeds<'_>) -> Result<RawStock, Error> {
        let (wanted, most) = (needs.free_seats as i64, needs.gaps as i64);
        let free = (wanted > 0).then_some(async { session.query(&self.free_seats, &[&event.0, &wanted]).await });
        let gaps = (most > 0).then_some(async { session.query(&self.gaps, &[&event.0, &most]).await });
        let (free, gaps) = try_join(rows_of(free), rows_of(gaps)).await?;
        Ok(RawStock { free, gaps })
    }
}

pub async fn rows_of(query: Option<impl Future<Output = Result<Vec<Row>, Error>>>) -> Result<Vec<Row>, Error> {
    OptionFuture::from(query).await.unwrap_or(Ok(Vec::new()))
}

/// Rows as they came.
pub struct Raw {
    inside: entries::Raw,
    holdings: Vec<Row>,
    answers: Vec<Row>,
    sales: Vec<Row>,
    /// None: nobody looked.
    pub stock: Option<RawStock>,
    chosen: Vec<Row>,
    gaps_wanted: usize,
    /// None: nobody looked.
    pub holds: Option<RawHolds>,
}

pub struct RawStock {
    free: Vec<Row>,
    gaps: Vec<Row>,
}

impl Raw {
    /// Where nobody looked for its seats, the event is in order.
    pub fn understand(&self, event: &Event) -> Result<EventKnown, Trouble> {
        let (free, gaps) = match &self.stock {
            Some(stock) => (rows::seats(&stock.free)?, rows::gaps(&stock.gaps, self.gaps_wanted)?),
            None => (Vec::new(), event.behind(event.counts.cursor).into_iter().collect()),
        };
        let mut known = EventKnown {
            holdings: rows::holdings(&self.holdings)?,
            answers: self.answers.iter().map(rows::answer).collect::<Result<_, _>>()?,
            free,
            rows: rows::seat_rows(&self.chosen)?,
            gaps: (self.gaps_wanted > 0).then_some(gaps),
            ..EventKnown::default()
        };
        self.inside.understand(&mut known)?;
        if let Some(holds) = &self.holds {
            (known.holds, known.first_end) = holds.understand()?;
        }
        for row in &self.sales {
            let sale = rows::sale(row)?;
            known.sales.insert(sale.n, sale);
        }
        Ok(known)
    }
}
