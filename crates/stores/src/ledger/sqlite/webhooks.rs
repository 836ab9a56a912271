//! Webhooks, on SQLite. Only one process uses the data directory, so it delivers to every endpoint.

use rules::history::AdminName;
use rules::subject::SubjectId;
use rules::time::Moment;
use rusqlite::{OptionalExtension, Result, Row, params};

use super::job::{Task, Transaction};
use super::records::append_note;
use super::trouble::unknown;
use super::{SqliteLedger, ask, queries};
use crate::ledger::Answered;
use crate::ledger::webhooks::{
    CursorMoved, DELIVERIES_KEPT, KeptDelivery, NewWebhook, Webhook, WebhookBacklog, WebhookChange, WebhookCursor,
    WebhookDelivery, WebhookDue, WebhookNote, WebhookSecret, WebhookState, WebhookType, Webhooks,
};

impl Webhooks for SqliteLedger {
    fn webhooks(&self) -> Answered<Vec<Webhook>> {
        self.readers.read(|conn| conn.prepare_cached(queries::WEBHOOKS)?.query_map([], webhook)?.collect())
    }

    fn create_webhook(&self, new: NewWebhook, note: WebhookNote) -> Answered<Webhook> {
        self.write(move |tx| {
            let state = if new.enabled { WebhookState::Enabled } else { WebhookState::Disabled };
            let row = params![
                new.url,
                WebhookType::write(&new.types),
                state.as_str(),
                new.secret,
                tx.read.now.0,
                new.by.as_str()
            ];
            tx.conn.prepare_cached(queries::ADD_WEBHOOK)?.execute(row)?;
            let id = tx.conn.last_insert_rowid();
            tx.conn.prepare_cached(queries::BEGIN_CURSORS)?.execute((id, tx.read.wall.0))?;
            noted(tx, true, &note)?;
            Ok(Some(Webhook {
                id,
                url: new.url.clone(),
                types: new.types.clone(),
                state,
                why: None,
                secret: new.secret.clone(),
                old_secret: None,
                made_at: tx.read.now,
                made_by: new.by.clone(),
            }))
        })
    }

    fn change_webhook(&self, id: i64, change: WebhookChange, note: WebhookNote) -> Answered<bool> {
        self.write(move |tx| {
            let types = change.types.as_deref().map(WebhookType::write);
            let (state, why) =
                change.state.as_ref().map_or((None, None), |(state, why)| (Some(*state), why.as_deref()));
            let row = params![id, change.url, types, state.map(WebhookState::as_str), why];
            let changed = tx.conn.prepare_cached(queries::CHANGE_WEBHOOK)?.execute(row)?;
            if state == Some(WebhookState::Enabled) {
                tx.conn.prepare_cached(queries::FORGET_FAILURES)?.execute([id])?;
            }
            noted(tx, changed > 0, &note).map(Some)
        })
    }

    fn rotate_webhook(&self, id: i64, secret: WebhookSecret, overlap_ms: i64, note: WebhookNote) -> Answered<bool> {
        self.write(move |tx| {
            let row = params![id, secret, overlap_ms, tx.read.now.0];
            let rotated = tx.conn.prepare_cached(queries::ROTATE_WEBHOOK)?.execute(row)?;
            noted(tx, rotated > 0, &note).map(Some)
        })
    }

    fn delete_webhook(&self, id: i64, note: WebhookNote) -> Answered<bool> {
        self.write(move |tx| {
            for rows in [queries::DELETE_CURSORS, queries::DELETE_DELIVERIES] {
                tx.conn.prepare_cached(rows)?.execute([id])?;
            }
            let deleted = tx.conn.prepare_cached(queries::DELETE_WEBHOOK)?.execute([id])?;
            noted(tx, deleted > 0, &note).map(Some)
        })
    }

    fn lease_webhook(&self, _: i64, _: String, _: i64) -> Answered<bool> {
        Box::pin(async { Ok(true) })
    }

    fn webhook_due(&self, id: i64, limit: usize) -> Answered<Vec<WebhookDue>> {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        self.readers.read(move |conn| {
            let mut due = conn.prepare_cached(queries::WEBHOOK_DUE)?;
            due.query_map((id, now.0, wall.0, limit as i64), |row| {
                let cursor = WebhookCursor {
                    n: row.get::<_, i64>(1)? as u64,
                    sold: row.get::<_, i64>(2)? as u64,
                    opened: row.get::<_, Option<i64>>(3)?.map(Moment),
                    rewound: row.get::<_, i64>(4)? as u64,
                    attempts: row.get(5)?,
                };
                let newest = row.get::<_, i64>(6)? as u64;
                Ok(WebhookDue { subject: SubjectId::of_row(row.get(0)?), cursor, newest })
            })?
            .collect()
        })
    }

    fn webhook_outstanding(&self, id: i64) -> Answered<WebhookBacklog> {
        self.readers.read(move |conn| {
            conn.prepare_cached(queries::WEBHOOK_OUTSTANDING)?.query_row([id], |row| {
                let oldest = row.get::<_, Option<i64>>(1)?.map(Moment);
                Ok(WebhookBacklog { rows: row.get::<_, i64>(0)? as u64, oldest })
            })
        })
    }

    fn move_cursor(
        &self,
        id: i64,
        _: String,
        subject: SubjectId,
        cursor: WebhookCursor,
        retry_ms: Option<i64>,
    ) -> Answered<Option<CursorMoved>> {
        self.write(move |tx| {
            let now = tx.read.now;
            let row = params![
                id,
                subject.row(),
                cursor.n as i64,
                cursor.sold as i64,
                cursor.opened.map(|at| at.0),
                cursor.rewound as i64,
                cursor.attempts,
                retry_ms,
                now.0,
            ];
            let mut moving = tx.conn.prepare_cached(queries::MOVE_CURSOR)?;
            let moved = moving.query_row(row, |row| row.get::<_, Option<i64>>(0)).optional()?;
            Ok(Some(moved.map(|since| CursorMoved { failing_since: since.map(Moment), now })))
        })
    }

    fn rewind_webhook(&self, id: i64, subject: SubjectId, after: u64, note: WebhookNote) -> Answered<bool> {
        let (row, after) = (subject.row(), after as i64);
        // A reader counts, because a long history on the writer would block sales.
        let sold = self.readers.read(move |conn| {
            let mut sold = conn.prepare_cached(queries::SOLD_AT)?;
            sold.query_row((row, after), |row| row.get::<_, i64>(0)).optional()
        });
        let jobs = self.jobs.clone();
        Box::pin(async move {
            let Some(sold) = sold.await? else { return Ok(false) };
            let rewind = move |tx: &Transaction<'_>| {
                let rewound = tx.conn.prepare_cached(queries::REWIND_WEBHOOK)?.execute((id, row, after, sold))?;
                noted(tx, rewound > 0, &note).map(Some)
            };
            ask(&jobs, |reply| Box::new(Task::new(rewind, reply))).await
        })
    }

    fn keep_deliveries(&self, id: i64, deliveries: Vec<WebhookDelivery>) -> Answered<()> {
        self.write(move |tx| {
            let mut keep = tx.conn.prepare_cached(queries::KEEP_DELIVERY)?;
            for made in &deliveries {
                keep.execute(params![
                    id,
                    made.subject.map(SubjectId::row),
                    made.n as i64,
                    made.kind,
                    made.message,
                    made.at.0,
                    made.took_ms,
                    made.status,
                    made.error,
                ])?;
            }
            tx.conn.prepare_cached(queries::FORGET_DELIVERIES)?.execute((id, DELIVERIES_KEPT))?;
            Ok(Some(()))
        })
    }

    fn deliveries(&self, id: i64, before: Option<i64>, limit: usize) -> Answered<Vec<KeptDelivery>> {
        self.readers.read(move |conn| {
            let mut found = conn.prepare_cached(queries::DELIVERIES)?;
            found
                .query_map((id, before.unwrap_or(i64::MAX), limit as i64), |row| {
                    let made = WebhookDelivery {
                        subject: row.get::<_, Option<i64>>(1)?.map(SubjectId::of_row),
                        n: row.get::<_, i64>(2)? as u64,
                        kind: row.get(3)?,
                        message: row.get(4)?,
                        at: Moment(row.get(5)?),
                        took_ms: row.get(6)?,
                        status: row.get(7)?,
                        error: row.get(8)?,
                    };
                    Ok(KeptDelivery { seq: row.get(0)?, made })
                })?
                .collect()
        })
    }
}

/// Appends the note if something changed. Returns whether it did.
fn noted(tx: &Transaction<'_>, changed: bool, note: &WebhookNote) -> Result<bool> {
    if changed && let Some(note) = note {
        append_note(tx, note)?;
    }
    Ok(changed)
}

fn webhook(row: &Row<'_>) -> Result<Webhook> {
    let state: String = row.get(3)?;
    let old: (Option<WebhookSecret>, Option<i64>) = (row.get(6)?, row.get(7)?);
    Ok(Webhook {
        id: row.get(0)?,
        url: row.get(1)?,
        types: WebhookType::read(row.get_ref(2)?.as_str()?),
        state: WebhookState::named(&state).ok_or_else(|| unknown(3, &state))?,
        why: row.get(4)?,
        secret: row.get(5)?,
        old_secret: old.0.zip(old.1.map(Moment)),
        made_at: Moment(row.get(8)?),
        made_by: AdminName::stored(row.get_ref(9)?.as_str()?),
    })
}
