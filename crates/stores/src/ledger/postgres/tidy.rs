//! Garbage collection in PostgreSQL. Each step is one statement; several servers skip each other's rows.

use rules::ids::EventId;

use super::trouble::Trouble;
use super::{Inner, PostgresLedger, all, queries, values};
use crate::ledger::Answered;
use crate::ledger::tidy::{Aged, Tidied};

impl PostgresLedger {
    pub(super) fn tidy_aged(&self, what: Aged, keep_ms: i64, most: usize) -> Answered<Tidied> {
        self.run(move |inner| async move {
            // An answer is stored for as long as the rules replay it.
            let keep_ms = if what == Aged::Answers { keep_ms.max(inner.key_ttl_ms) } else { keep_ms };
            let removed = match what {
                Aged::Answers => {
                    let answers = inner.removed(queries::FORGET_ANSWERS, keep_ms, most).await;
                    answers.map(|answers| Tidied { answers, ..Tidied::default() })
                }
                Aged::Holds => {
                    let holds = inner.removed(queries::FORGET_HOLDS, keep_ms, most).await;
                    holds.map(|holds| Tidied { holds, ..Tidied::default() })
                }
                Aged::Personal => {
                    let personal = inner.erase_aged(keep_ms, most).await;
                    personal.map(|personal| Tidied { personal, ..Tidied::default() })
                }
            };
            removed.map_err(Trouble::fault)
        })
    }

    pub(super) fn to_tidy(&self, keep_ms: i64, most: usize) -> Answered<Vec<EventId>> {
        self.read(queries::DELETED_EVENTS, values![keep_ms, most as i64], |_, rows| {
            all(&rows, |row| Ok(EventId(row.try_get(0)?)))
        })
    }

    pub(super) fn tidy_deleted(&self, event: EventId, most: usize) -> Answered<Tidied> {
        self.run(move |inner| async move { inner.tidy_event(event, most).await.map_err(Trouble::fault) })
    }
}

impl Inner {
    async fn tidy_event(&self, event: EventId, most: usize) -> Result<Tidied, Trouble> {
        let mut tidied = Tidied::default();
        let rest = |tidied: &Tidied| most - tidied.rows();
        tidied.entries = self.removed(queries::TIDY_ENTRIES, event.0, rest(&tidied)).await?;
        tidied.holds = self.removed(queries::TIDY_HOLDS, event.0, rest(&tidied)).await?;
        tidied.answers = self.removed(queries::TIDY_ANSWERS, event.0, rest(&tidied)).await?;
        tidied.seats = self.removed(queries::TIDY_SEATS, event.0, rest(&tidied)).await?;
        tidied.halls = self.removed(queries::TIDY_HALL, event.0, rest(&tidied)).await?;
        if rest(&tidied) > 0 {
            let rows = self.rows(queries::EVENT_TIDIED, &[Box::new(event.0)]).await?;
            tidied.events = rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0))? as usize;
        }
        Ok(tidied)
    }

    async fn removed(&self, query: &str, which: i64, most: usize) -> Result<usize, Trouble> {
        if most == 0 {
            return Ok(0);
        }
        let rows = self.rows(query, &[Box::new(which), Box::new(most as i64)]).await?;
        Ok(rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0))? as usize)
    }
}
