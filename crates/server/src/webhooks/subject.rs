//! Delivers the history of one subject to an endpoint, a page at a time.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use rules::event::State;
use rules::subject::SubjectId;
use rules::time::Moment;
use stores::ledger::LedgerFault;
use stores::ledger::webhooks::{
    CursorMoved, Webhook, WebhookChange, WebhookCursor, WebhookDelivery, WebhookDue, WebhookState,
};
use stores::limited;
use tokio::sync::watch;

use super::courier::{Attempt, Courier};
use super::message::{MessageMaker, WebhookMessage};
use crate::app::App;
use crate::refusals::Failure;
use crate::tickets::random;

/// Rows per page; more than the rows of one hold.
const ROWS: usize = 256;
/// Pages of an urgent subject before the endpoint's settings are checked again.
const URGENT_PAGES: usize = 64;
/// Attempts of one page that are kept for the operator.
const KEPT: usize = 50;
/// The first retry, and the longest wait for one.
const RETRY_FIRST_MS: i64 = 1_000;
const RETRY_MOST_MS: i64 = 3_600_000;
/// Three days.
const GIVE_UP_MS: i64 = 259_200_000;

pub struct SubjectRun {
    app: Arc<App>,
    webhook: Arc<Webhook>,
    subject: SubjectId,
    cursor: WebhookCursor,
    /// The subjects that do not yield now.
    urgent: watch::Receiver<HashSet<SubjectId>>,
    stored: Instant,
    made: Vec<WebhookDelivery>,
}

/// The page ends early.
struct Stopped;

enum Told {
    Everything,
    /// There are more rows.
    More,
    Stopped,
}

impl SubjectRun {
    pub async fn page(
        app: Arc<App>,
        webhook: Arc<Webhook>,
        due: WebhookDue,
        urgent: watch::Receiver<HashSet<SubjectId>>,
    ) {
        let (subject, cursor) = (due.subject, due.cursor);
        let id = webhook.id;
        let (stored, made) = (Instant::now(), Vec::new());
        let mut run = SubjectRun { app, webhook, subject, cursor, urgent, stored, made };
        if let Err(failure) = run.tell().await {
            limited!(warn, webhook = id, %subject, %failure, "a webhook's history could not be read");
        }
        let first = run.made.len().saturating_sub(KEPT);
        let made: Vec<WebhookDelivery> = run.made.drain(first..).collect();
        if !made.is_empty()
            && let Err(fault) = run.app.ledger.keep_deliveries(id, made).await
        {
            limited!(warn, webhook = id, %fault, "deliveries were not noted");
        }
    }

    /// One page; if the subject is urgent, all pages: between two pages the endpoint checks what is due, and a crowd
    /// would outpace it.
    async fn tell(&mut self) -> Result<(), Failure> {
        for page in 1.. {
            match self.tell_page().await? {
                Told::Stopped => return Ok(()),
                Told::More if page < URGENT_PAGES && self.is_urgent() => {}
                Told::More | Told::Everything => break,
            }
        }
        self.store().await?;
        Ok(())
    }

    fn is_urgent(&self) -> bool {
        self.urgent.borrow().contains(&self.subject)
    }

    async fn tell_page(&mut self) -> Result<Told, Failure> {
        let app = self.app.clone();
        let secret = app.secrets.get().await?;
        let rows = app.ledger.records(Some(self.subject), Some((self.subject, self.cursor.n)), ROWS).await?;
        // After the rows: if one of them is a sale, the event is seen as open.
        let event = match self.subject {
            SubjectId::Event(id) => app.ledger.event(id).await?,
            SubjectId::RoomType(_) | SubjectId::Ledger => None,
        };
        let webhook = self.webhook.clone();
        let maker = MessageMaker {
            subject: self.subject,
            event: event.as_ref(),
            types: &webhook.types,
            secret,
            shift_ms: app.ledger.shift_ms(),
        };
        let mut courier = Courier::new(&app, self.webhook.clone());
        let opening = event.as_ref().and_then(|event| {
            let opening = match (event.state, event.opens_at) {
                (State::Scheduled, Some(opens_at)) => (opens_at <= app.ledger.wall()).then_some(opens_at),
                (State::Scheduled | State::Open, None) => Some(event.created_at),
                _ => None,
            };
            opening.filter(|_| !event.deleted)
        });
        if let Some(opening) = opening.filter(|opening| self.cursor.opened != Some(*opening)) {
            let at = event.as_ref().and_then(|event| event.opens_at).map_or(opening, |wall| self.unshifted(wall));
            let message = maker.opened(self.cursor.n, opening, at);
            if self.send(&mut courier, &message).await?.is_err() {
                return Ok(Told::Stopped);
            }
            self.cursor.opened = Some(opening);
        }
        let steps = maker.steps(&rows, self.cursor.sold, rows.len() == ROWS);
        if app.webhooks.planted().moves_cursor_first()
            && let Some(last) = steps.last()
        {
            let cursor = WebhookCursor { n: last.n, sold: last.sold, attempts: 0, ..self.cursor };
            self.moved(cursor, None).await?;
        }
        for step in steps {
            for message in &step.messages {
                if self.send(&mut courier, message).await?.is_err() {
                    return Ok(Told::Stopped);
                }
            }
            (self.cursor.n, self.cursor.sold) = (step.n, step.sold);
            let every = app.webhooks.pace.store_every(app.gate.in_progress());
            if self.stored.elapsed() >= every && !self.store().await? {
                return Ok(Told::Stopped);
            }
        }
        Ok(if rows.len() == ROWS { Told::More } else { Told::Everything })
    }

    /// Wall clock time back to the ledger's time: messages shift it again.
    fn unshifted(&self, wall: Moment) -> Moment {
        wall.plus_ms(-self.app.ledger.shift_ms())
    }

    /// Delivers a message that the endpoint subscribes to.
    async fn send(
        &mut self,
        courier: &mut Courier<'_>,
        message: &WebhookMessage,
    ) -> Result<Result<(), Stopped>, LedgerFault> {
        if !self.webhook.types.contains(&message.kind) {
            return Ok(Ok(()));
        }
        self.turn().await;
        let (attempt, made) = courier.deliver(self.subject, message).await;
        self.made.push(made);
        let retry_after = match attempt {
            Attempt::Taken => {
                // The next failure counts as the first: a receiver that fails occasionally is not one that is down.
                if !self.app.webhooks.planted().counts_all_failures() {
                    self.cursor.attempts = 0;
                }
                return Ok(Ok(()));
            }
            Attempt::Failed(_) if self.app.webhooks.planted().skips_failed() => return Ok(Ok(())),
            Attempt::Failed(retry_after) => retry_after,
            Attempt::Gone => {
                self.end(WebhookState::Disabled, "the receiver answered 410 Gone").await?;
                return Ok(Err(Stopped));
            }
        };
        if self.app.webhooks.planted().moves_cursor_first() {
            return Ok(Err(Stopped));
        }
        let attempts = self.cursor.attempts.saturating_add(1);
        let cursor = WebhookCursor { attempts, ..self.cursor };
        if let Some(CursorMoved { failing_since: Some(since), now }) =
            self.moved(cursor, Some(retry_ms(attempts, retry_after))).await?
            && since.ms_until(now) >= GIVE_UP_MS
        {
            self.end(WebhookState::Failing, "deliveries failed for three days").await?;
        }
        Ok(Err(Stopped))
    }

    /// Yields to a crowd, unless the subject is urgent or becomes so meanwhile.
    async fn turn(&mut self) {
        if self.is_urgent() {
            return;
        }
        let in_progress = self.app.gate.in_progress();
        tokio::select! {
            () = self.app.webhooks.pace.turn(in_progress) => {}
            _ = self.urgent.wait_for(|subjects| subjects.contains(&self.subject)) => {}
        }
    }

    /// Stops deliveries until an operator enables the endpoint again.
    async fn end(&self, state: WebhookState, why: &str) -> Result<(), LedgerFault> {
        tracing::warn!(webhook = self.webhook.id, why, "a webhook is {}", state.as_str());
        let change = WebhookChange { state: Some((state, Some(why.to_owned()))), ..WebhookChange::default() };
        self.app.ledger.change_webhook(self.webhook.id, change, None).await?;
        Ok(())
    }

    /// Stores the cursor: everything up to it was delivered. False: another server has taken over.
    async fn store(&mut self) -> Result<bool, LedgerFault> {
        self.stored = Instant::now();
        self.cursor.attempts = 0;
        Ok(self.moved(self.cursor, None).await?.is_some())
    }

    async fn moved(&self, cursor: WebhookCursor, retry_ms: Option<i64>) -> Result<Option<CursorMoved>, LedgerFault> {
        let server = self.app.webhooks.server.clone();
        self.app.ledger.move_cursor(self.webhook.id, server, self.subject, cursor, retry_ms).await
    }
}

/// Doubles with each attempt, with jitter; longer if the receiver asks for it.
fn retry_ms(attempts: u32, retry_after: Option<u64>) -> i64 {
    let doubled = RETRY_FIRST_MS.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(RETRY_MOST_MS);
    let [random] = random::<1>().unwrap_or_default();
    // Four to five fifths.
    let jittered = doubled - doubled / 5 * i64::from(random) / 255;
    let asked = retry_after.map_or(0, |seconds| i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000));
    jittered.max(asked.min(RETRY_MOST_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_back_off_and_heed_the_receiver() {
        for (attempts, most) in
            [(1, 1_000), (2, 2_000), (5, 16_000), (12, 2_048_000), (13, RETRY_MOST_MS), (999, RETRY_MOST_MS)]
        {
            for _ in 0..20 {
                let ms = retry_ms(attempts, None);
                assert!((most * 4 / 5..=most).contains(&ms), "{attempts}: {ms}");
            }
        }
        assert_eq!((retry_ms(1, Some(30)), retry_ms(1, Some(u64::MAX))), (30_000, RETRY_MOST_MS));
    }
}
