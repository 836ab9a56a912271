//! Webhooks, on PostgreSQL. A lease determines which server delivers to an endpoint.

use rules::history::AdminName;
use rules::subject::SubjectId;
use rules::time::Moment;
use tokio_postgres::Row;

use super::trouble::{Trouble, unknown};
use super::{PostgresLedger, all, first, queries, values};
use crate::ledger::webhooks::{
    CursorMoved, DELIVERIES_KEPT, KeptDelivery, NewWebhook, Webhook, WebhookBacklog, WebhookChange, WebhookCursor,
    WebhookDelivery, WebhookDue, WebhookNote, WebhookSecret, WebhookState, WebhookType, Webhooks,
};
use crate::ledger::{Answered, LedgerFault};

impl Webhooks for PostgresLedger {
    fn webhooks(&self) -> Answered<Vec<Webhook>> {
        self.read(queries::WEBHOOKS, values![], |_, rows| all(&rows, webhook))
    }

    fn create_webhook(&self, new: NewWebhook, note: WebhookNote) -> Answered<Webhook> {
        let state = if new.enabled { WebhookState::Enabled } else { WebhookState::Disabled };
        let (types, by) = (WebhookType::write(&new.types), new.by.as_str().to_owned());
        let row = values![new.url, types, state.as_str().to_owned(), new.secret, by];
        let made = self.noted(queries::CREATE_WEBHOOK, row, note, |rows| first(rows, webhook));
        Box::pin(async move { made.await?.ok_or_else(|| LedgerFault::Broken("no endpoint was made".into())) })
    }

    fn change_webhook(&self, id: i64, change: WebhookChange, note: WebhookNote) -> Answered<bool> {
        let types = change.types.as_deref().map(WebhookType::write);
        let (state, why) = change.state.map_or((None, None), |(state, why)| (Some(state.as_str().to_owned()), why));
        self.hits(queries::CHANGE_WEBHOOK, values![id, change.url, types, state, why], note)
    }

    fn rotate_webhook(&self, id: i64, secret: WebhookSecret, overlap_ms: i64, note: WebhookNote) -> Answered<bool> {
        self.hits(queries::ROTATE_WEBHOOK, values![id, secret, overlap_ms], note)
    }

    fn delete_webhook(&self, id: i64, note: WebhookNote) -> Answered<bool> {
        self.hits(queries::DELETE_WEBHOOK, values![id], note)
    }

    fn lease_webhook(&self, id: i64, server: String, lease_ms: i64) -> Answered<bool> {
        self.hits(queries::LEASE_WEBHOOK, values![id, server, lease_ms], None)
    }

    fn webhook_due(&self, id: i64, limit: usize) -> Answered<Vec<WebhookDue>> {
        self.read(queries::WEBHOOK_DUE, values![id, limit as i64], |_, rows| {
            all(&rows, |row| {
                let cursor = WebhookCursor {
                    n: row.try_get::<_, i64>(1)? as u64,
                    sold: row.try_get::<_, i64>(2)? as u64,
                    opened: row.try_get::<_, Option<i64>>(3)?.map(Moment),
                    rewound: row.try_get::<_, i64>(4)? as u64,
                    attempts: row.try_get::<_, i32>(5)? as u32,
                };
                let newest = row.try_get::<_, i64>(6)? as u64;
                Ok(WebhookDue { subject: SubjectId::of_row(row.try_get(0)?), cursor, newest })
            })
        })
    }

    fn webhook_outstanding(&self, id: i64) -> Answered<WebhookBacklog> {
        self.read(queries::WEBHOOK_OUTSTANDING, values![id], |_, rows| {
            let found = first(&rows, |row| {
                let oldest = row.try_get::<_, Option<i64>>(1)?.map(Moment);
                Ok(WebhookBacklog { rows: row.try_get::<_, i64>(0)? as u64, oldest })
            })?;
            Ok(found.unwrap_or_default())
        })
    }

    fn move_cursor(
        &self,
        id: i64,
        server: String,
        subject: SubjectId,
        cursor: WebhookCursor,
        retry_ms: Option<i64>,
    ) -> Answered<Option<CursorMoved>> {
        let row = values![
            id,
            server,
            subject.row(),
            cursor.n as i64,
            cursor.sold as i64,
            cursor.opened.map(|at| at.0),
            cursor.rewound as i64,
            cursor.attempts as i32,
            retry_ms
        ];
        self.read(queries::MOVE_CURSOR, row, |_, rows| {
            first(&rows, |row| {
                let failing_since = row.try_get::<_, Option<i64>>(0)?.map(Moment);
                Ok(CursorMoved { failing_since, now: Moment(row.try_get(1)?) })
            })
        })
    }

    fn rewind_webhook(&self, id: i64, subject: SubjectId, after: u64, note: WebhookNote) -> Answered<bool> {
        self.hits(queries::REWIND_WEBHOOK, values![id, subject.row(), after as i64], note)
    }

    fn keep_deliveries(&self, id: i64, deliveries: Vec<WebhookDelivery>) -> Answered<()> {
        fn column<T>(deliveries: &[WebhookDelivery], read: impl Fn(&WebhookDelivery) -> T) -> Vec<T> {
            deliveries.iter().map(read).collect()
        }
        let made = &deliveries;
        let row = values![
            id,
            DELIVERIES_KEPT,
            column(made, |one| one.subject.map(SubjectId::row)),
            column(made, |one| one.n as i64),
            column(made, |one| one.kind.clone()),
            column(made, |one| one.message.clone()),
            column(made, |one| one.at.0),
            column(made, |one| one.took_ms),
            column(made, |one| one.status.map(i32::from)),
            column(made, |one| one.error.clone())
        ];
        self.read(queries::KEEP_DELIVERIES, row, |_, _| Ok(()))
    }

    fn deliveries(&self, id: i64, before: Option<i64>, limit: usize) -> Answered<Vec<KeptDelivery>> {
        self.read(queries::DELIVERIES, values![id, before.unwrap_or(i64::MAX), limit as i64], |_, rows| {
            all(&rows, |row| {
                let made = WebhookDelivery {
                    subject: row.try_get::<_, Option<i64>>(1)?.map(SubjectId::of_row),
                    n: row.try_get::<_, i64>(2)? as u64,
                    kind: row.try_get(3)?,
                    message: row.try_get(4)?,
                    at: Moment(row.try_get(5)?),
                    took_ms: row.try_get(6)?,
                    status: row.try_get::<_, Option<i32>>(7)?.map(|status| status as u16),
                    error: row.try_get(8)?,
                };
                Ok(KeptDelivery { seq: row.try_get(0)?, made })
            })
        })
    }
}

impl PostgresLedger {
    /// Whether a statement with RETURNING changed anything.
    fn hits(&self, query: &'static str, row: super::Values, note: WebhookNote) -> Answered<bool> {
        self.noted(query, row, note, |rows| Ok(!rows.is_empty()))
    }

    /// Appends the note in the same transaction, if there is one and something changed.
    fn noted<T: Default + PartialEq + Send + 'static>(
        &self,
        query: &'static str,
        row: super::Values,
        note: WebhookNote,
        changed: fn(&[Row]) -> Result<T, Trouble>,
    ) -> Answered<T> {
        let Some(note) = note else { return self.read(query, row, move |_, rows| changed(&rows)) };
        self.run(move |inner| async move { inner.noted(query, row, note, changed).await.map_err(Trouble::fault) })
    }
}

fn webhook(row: &Row) -> Result<Webhook, Trouble> {
    let state: &str = row.try_get(3)?;
    let old: (Option<WebhookSecret>, Option<i64>) = (row.try_get(6)?, row.try_get(7)?);
    Ok(Webhook {
        id: row.try_get(0)?,
        url: row.try_get(1)?,
        types: WebhookType::read(row.try_get(2)?),
        state: WebhookState::named(state).ok_or_else(|| unknown(state))?,
        why: row.try_get(4)?,
        secret: row.try_get(5)?,
        old_secret: old.0.zip(old.1.map(Moment)),
        made_at: Moment(row.try_get(8)?),
        made_by: AdminName::stored(row.try_get(9)?),
    })
}
