//! Garbage collection in SQLite. Each step is one job of the writer, in a transaction with the other waiting jobs.

use rules::ids::EventId;
use rules::time::Moment;
use rusqlite::{Connection, OptionalExtension, Result};

use super::job::{Task, Transaction};
use super::personal::erase_aged;
use super::{SqliteLedger, ask, queries};
use crate::ledger::Answered;
use crate::ledger::tidy::{Aged, Tidied};

impl SqliteLedger {
    pub(super) fn tidy_aged(&self, what: Aged, keep_ms: i64, most: usize) -> Answered<Tidied> {
        // An answer is stored for as long as the rules replay it.
        let keep_ms = if what == Aged::Answers { keep_ms.max(self.key_ttl_ms) } else { keep_ms };
        let before = self.clock.now().plus_ms(-keep_ms).0;
        // If nothing is due, send the writer no job: it makes a checkpoint when it is idle.
        let due = self.readers.read(move |conn| {
            let query = match what {
                Aged::Answers => queries::ANSWERS_DUE,
                Aged::Holds => queries::HOLDS_DUE,
                Aged::Personal => return conn.prepare_cached(queries::PERSONAL_DUE)?.exists([before]),
            };
            conn.prepare_cached(query)?.query_row([before], |row| row.get::<_, bool>(0))
        });
        let jobs = self.jobs.clone();
        let step = move |tx: &Transaction<'_>| {
            Ok(Some(match what {
                Aged::Answers => {
                    Tidied { answers: remove(tx.conn, queries::FORGET_ANSWERS, before, most)?, ..Tidied::default() }
                }
                Aged::Holds => {
                    Tidied { holds: remove(tx.conn, queries::FORGET_HOLDS, before, most)?, ..Tidied::default() }
                }
                Aged::Personal => Tidied { personal: erase_aged(tx, Moment(before), most)?, ..Tidied::default() },
            }))
        };
        Box::pin(async move {
            if !due.await? {
                return Ok(Tidied::default());
            }
            ask(&jobs, |reply| Box::new(Task::new(step, reply))).await
        })
    }

    pub(super) fn to_tidy(&self, keep_ms: i64, most: usize) -> Answered<Vec<EventId>> {
        let before = self.clock.now().plus_ms(-keep_ms);
        self.readers.read(move |conn| {
            let mut statement = conn.prepare_cached(queries::DELETED_EVENTS)?;
            statement.query_map((before.0, most as i64), |row| row.get(0).map(EventId))?.collect()
        })
    }

    pub(super) fn tidy_deleted(&self, event: EventId, most: usize) -> Answered<Tidied> {
        self.write(move |tx| tidy_event(tx.conn, event, most, tx.read.now).map(Some))
    }
}

fn tidy_event(conn: &Connection, event: EventId, most: usize, now: Moment) -> Result<Tidied> {
    let mut tidied = Tidied::default();
    let deleted: Option<bool> =
        conn.prepare_cached(queries::IS_DELETED)?.query_row([event.0], |row| row.get(0)).optional()?;
    if deleted != Some(true) {
        return Ok(tidied);
    }
    let rest = |tidied: &Tidied| most - tidied.rows();
    tidied.entries = remove(conn, queries::TIDY_ENTRIES, event.0, rest(&tidied))?;
    tidied.holds = remove(conn, queries::TIDY_HOLDS, event.0, rest(&tidied))?;
    tidied.answers = remove(conn, queries::TIDY_ANSWERS, event.0, rest(&tidied))?;
    tidied.seats = remove(conn, queries::TIDY_SEATS, event.0, rest(&tidied))?;
    tidied.halls = remove(conn, queries::TIDY_HALL, event.0, rest(&tidied))?;
    if rest(&tidied) > 0 {
        tidied.events = conn.prepare_cached(queries::EVENT_TIDIED)?.execute((event.0, now.0))?;
    }
    Ok(tidied)
}

fn remove(conn: &Connection, query: &str, which: i64, most: usize) -> Result<usize> {
    conn.prepare_cached(query)?.execute((which, most as i64))
}
