//! Entries: what a batch reads and writes of them, and what a door needs that lost its state.

use futures_util::future::try_join3;
use rules::entries::WaitingRoom;
use rules::event::{EventKnown, EventNeeds, EventWrites};
use rules::ids::{EventId, Number};
use rules::time::Moment;
use tokio_postgres::{Error, Row, Statement};

use super::super::session::{Session, rows_of};
use super::super::trouble::Trouble;
use super::super::{Inner, queries};
use super::rows;
use crate::ledger::{LineBegun, TicketKey};

pub struct EntryReads {
    entries: Statement,
    spent: Statement,
    lapsed: Statement,
}

/// Rows as they were received.
#[derive(Default)]
pub struct EntryRows {
    entries: Vec<Row>,
    spent: Vec<Row>,
    lapsed: Vec<Row>,
}

impl EntryReads {
    pub async fn prepare(session: &Session) -> Result<EntryReads, Trouble> {
        Ok(EntryReads {
            entries: session.prepared(queries::ENTRIES_OF).await?,
            spent: session.prepared(queries::NUMBERS_SPENT).await?,
            lapsed: session.prepared(queries::LAPSED_ENTRIES).await?,
        })
    }

    pub async fn read(&self, session: &Session, event: EventId, needs: &EventNeeds<'_>) -> Result<EntryRows, Error> {
        let users: Vec<&str> = needs.entries.iter().map(|user| user.as_str()).collect();
        let numbers: Vec<i64> = needs.numbers.iter().map(|number| number.0 as i64).collect();
        let most = needs.lapsed_entries as i64;
        let entries = (!users.is_empty()).then_some(async { session.query(&self.entries, &[&event.0, &users]).await });
        let spent = (!numbers.is_empty()).then_some(async { session.query(&self.spent, &[&event.0, &numbers]).await });
        let lapsed = (most > 0).then_some(async { session.query(&self.lapsed, &[&event.0, &most]).await });
        let (entries, spent, lapsed) = try_join3(rows_of(entries), rows_of(spent), rows_of(lapsed)).await?;
        Ok(EntryRows { entries, spent, lapsed })
    }
}

impl EntryRows {
    pub fn understand(&self, known: &mut EventKnown) -> Result<(), Trouble> {
        for row in &self.entries {
            let entry = rows::entry(row)?;
            known.entries.insert(entry.user.clone(), entry);
        }
        for row in &self.spent {
            known.spent.insert(Number(row.try_get::<_, i64>(0)? as u64));
        }
        known.lapsed = self.lapsed.iter().map(rows::entry).collect::<Result<_, _>>()?;
        Ok(())
    }
}

pub struct EntryWriter {
    enter: Statement,
    renew: Statement,
    end: Statement,
}

impl EntryWriter {
    pub async fn prepare(session: &Session) -> Result<EntryWriter, Trouble> {
        Ok(EntryWriter {
            enter: session.prepared(queries::ENTER).await?,
            renew: session.prepared(queries::RENEW_ENTRIES).await?,
            end: session.prepared(queries::END_ENTRIES).await?,
        })
    }

    /// Sends its statements at its first poll, in this order.
    pub async fn write(&self, session: &Session, event: i64, writes: &EventWrites) -> Result<(), Error> {
        let (enter, renew, end) =
            (self.enter(session, event, writes), self.renew(session, event, writes), self.end(session, event, writes));
        try_join3(enter, renew, end).await.map(|_| ())
    }

    async fn enter(&self, session: &Session, event: i64, writes: &EventWrites) -> Result<(), Error> {
        let new = &writes.entered;
        if new.is_empty() {
            return Ok(());
        }
        let number: Vec<i64> = new.iter().map(|new| new.entry.number.0 as i64).collect();
        let user: Vec<&str> = new.iter().map(|new| new.entry.user.as_str()).collect();
        let token: Vec<&[u8]> = new.iter().map(|new| &new.entry.token.0[..]).collect();
        let n: Vec<i64> = new.iter().map(|new| new.entry.n as i64).collect();
        let begins: Vec<i64> = new.iter().map(|new| new.entry.begins.0).collect();
        let ends: Vec<i64> = new.iter().map(|new| new.entry.ends.0).collect();
        let cap: Vec<i64> = new.iter().map(|new| new.entry.cap.0).collect();
        let nth: Vec<i32> = new.iter().map(|new| new.nth as i32).collect();
        let most: Vec<i32> = new.iter().map(|new| new.most as i32).collect();
        let row: [&(dyn tokio_postgres::types::ToSql + Sync); 10] =
            [&event, &number, &user, &token, &n, &begins, &ends, &cap, &nth, &most];
        session.execute(&self.enter, &row).await.map(|_| ())
    }

    async fn renew(&self, session: &Session, event: i64, writes: &EventWrites) -> Result<(), Error> {
        if writes.renewed.is_empty() {
            return Ok(());
        }
        let number: Vec<i64> = writes.renewed.iter().map(|renewal| renewal.number.0 as i64).collect();
        let ends: Vec<i64> = writes.renewed.iter().map(|renewal| renewal.ends.0).collect();
        session.execute(&self.renew, &[&event, &number, &ends]).await.map(|_| ())
    }

    async fn end(&self, session: &Session, event: i64, writes: &EventWrites) -> Result<(), Error> {
        if writes.over.is_empty() {
            return Ok(());
        }
        let number: Vec<i64> = writes.over.iter().map(|over| over.number.0 as i64).collect();
        let at: Vec<i64> = writes.over.iter().map(|over| over.at.0).collect();
        session.execute(&self.end, &[&event, &number, &at]).await.map(|_| ())
    }
}

/// The columns of a waiting room.
pub fn room(room: Option<&WaitingRoom>) -> ([Option<i32>; 3], [Option<i64>; 4]) {
    let counts = [
        room.map(|room| room.max_concurrent as i32),
        room.map(|room| room.queue_most as i32),
        room.and_then(|room| room.admit_per_minute).map(|most| most as i32),
    ];
    let times = [
        room.map(|room| room.token_ttl_ms),
        room.map(|room| room.token_max_age_ms),
        room.map(|room| room.idle_ms),
        room.and_then(|room| room.gather_from).map(|from| from.0),
    ];
    (counts, times)
}

/// None: the event does not exist.
pub async fn begin_line(ledger: &Inner, event: EventId) -> Result<Option<LineBegun>, Trouble> {
    let found = ledger.rows(queries::LIVE_ENTRIES, &[Box::new(event.0)]).await?;
    let Some(first) = found.first() else { return Ok(None) };
    let (n, used): (i64, bool) = (first.try_get(7)?, first.try_get(8)?);
    let mut inside = Vec::new();
    for row in &found {
        if row.try_get::<_, Option<i64>>(0)?.is_some() {
            inside.push(rows::entry(row)?);
        }
    }
    if !used {
        ledger.rows(queries::BEGIN_LINE, &[Box::new(event.0)]).await?;
    }
    Ok(Some(LineBegun { used, n: n as u64, at: Moment(first.try_get("ledger_now")?), inside }))
}

pub fn ticket_key(row: &Row) -> Result<TicketKey, Trouble> {
    let secret: &[u8] = row.try_get(1)?;
    let secret = secret.try_into().map_err(|_| Trouble::Broken("a key of another length".into()))?;
    Ok(TicketKey { id: row.try_get::<_, i32>(0)? as u32, secret })
}
