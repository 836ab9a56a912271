//! Delivers to one endpoint while this server holds its lease: several subjects at a time, each in order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rules::subject::SubjectId;
use stores::ledger::LedgerFault;
use stores::ledger::webhooks::{Webhook, WebhookDue, WebhookState, WebhookType};
use stores::limited;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::LEASE;
use super::subject::SubjectRun;
use super::urgent::{HOLD_ENDS_WITHIN_MS, UrgentSubjects};
use crate::app::App;

/// The interval of checks for due subjects and changed settings.
const TICK: Duration = Duration::from_millis(250);
/// It pauses for this multiple of a check's duration, so that sales get most of the ledger's time.
const REST: u32 = 3;
const RENEW: Duration = Duration::from_secs(2);
const COUNT: Duration = Duration::from_secs(5);
/// Subjects delivered concurrently.
const PARALLEL: usize = 8;
/// Additional slots for urgent subjects: in a crowd the others take long.
const URGENT_MORE: usize = 8;
const DUE_MOST: usize = 1_024;
const ENDING_MOST: usize = 10_000;

/// Ends when this server has no lease on the endpoint, or it is disabled. It is checked again later.
pub async fn serve(app: Weak<App>, id: i64) {
    if let Err(fault) = deliver(&app, id).await {
        limited!(warn, webhook = id, %fault, "webhooks could not be delivered");
    }
    if let Some(app) = app.upgrade() {
        app.webhooks.held().remove(&id);
        app.webhooks.series.forget(id);
        app.webhooks.pace.forget(id);
    }
}

async fn deliver(app: &Weak<App>, id: i64) -> Result<(), LedgerFault> {
    let (lease, leased) = watch::channel(Instant::now());
    let (urgent, told_urgent) = watch::channel(HashSet::new());
    let mut urgent_subjects = UrgentSubjects::default();
    let mut runs = JoinSet::new();
    let mut busy: HashMap<tokio::task::Id, SubjectId> = HashMap::new();
    let mut waiting: VecDeque<WebhookDue> = VecDeque::new();
    let mut webhook: Option<Arc<Webhook>> = None;
    let (mut renewed, mut counted, mut next_look) = (None::<Instant>, None::<Instant>, Instant::now());
    loop {
        let Some(strong) = app.upgrade() else { return Ok(()) };
        if strong.draining() {
            return Ok(());
        }
        if Instant::now() >= next_look {
            let began = Instant::now();
            let all = strong.ledger.webhooks().await?;
            let found = all.into_iter().find(|one| one.id == id && one.state == WebhookState::Enabled);
            let Some(found) = found else { return Ok(()) };
            let tells_ends = found.types.contains(&WebhookType::HoldExpired);
            webhook = Some(Arc::new(found));
            if renewed.is_none_or(|at| at.elapsed() >= RENEW) {
                let (asked, server) = (Instant::now(), strong.webhooks.server.clone());
                if !strong.ledger.lease_webhook(id, server, LEASE.as_millis() as i64).await? {
                    return Ok(());
                }
                strong.webhooks.held().insert(id);
                lease.send_replace(asked + LEASE);
                renewed = Some(asked);
            }
            let ending = if tells_ends && !strong.webhooks.planted().expiry_gives_way() {
                strong.ledger.with_holds_ending(HOLD_ENDS_WITHIN_MS, ENDING_MOST).await?
            } else {
                Vec::new()
            };
            let due = strong.ledger.webhook_due(id, DUE_MOST).await?;
            urgent.send_replace(urgent_subjects.look(&ending, &due));
            let told: HashSet<SubjectId> = busy.values().copied().collect();
            let (first, others): (Vec<_>, Vec<_>) = due
                .into_iter()
                .filter(|due| !told.contains(&due.subject))
                .partition(|due| urgent.borrow().contains(&due.subject));
            waiting = first.into_iter().chain(others).collect();
            if counted.is_none_or(|at| at.elapsed() >= COUNT) {
                let backlog = strong.ledger.webhook_outstanding(id).await?;
                let age_ms = backlog.oldest.map_or(0, |at| at.ms_until(strong.ledger.now()).max(0));
                strong.webhooks.series.outstanding(id, backlog.rows, age_ms);
                strong.webhooks.pace.outstanding(id, backlog.rows);
                counted = Some(Instant::now());
            }
            next_look = Instant::now() + TICK.max(began.elapsed() * REST);
        }
        let room = |due: &WebhookDue, busy: usize| {
            busy < PARALLEL || (busy < PARALLEL + URGENT_MORE && urgent.borrow().contains(&due.subject))
        };
        while let Some(webhook) = &webhook
            && let Some(due) = waiting.pop_front_if(|due| room(due, busy.len()))
        {
            let run = SubjectRun::page(strong.clone(), webhook.clone(), due, told_urgent.clone());
            let leased = leased.clone();
            let task = runs.spawn(async move {
                tokio::select! {
                    () = run => {}
                    // Another server may begin: deliveries in flight are aborted.
                    () = ended(leased) => {}
                }
            });
            busy.insert(task.id(), due.subject);
        }
        drop(strong);
        tokio::select! {
            Some(done) = runs.join_next_with_id() => {
                busy.remove(&done.map_or_else(|failed| failed.id(), |(id, ())| id));
                if waiting.is_empty() {
                    // A subject with more than one page continues at once.
                    next_look = next_look.min(Instant::now() + TICK / 10);
                }
            }
            () = tokio::time::sleep_until(next_look) => {}
        }
    }
}

/// The lease has ended without being renewed.
async fn ended(mut leased: watch::Receiver<Instant>) {
    loop {
        let until = *leased.borrow_and_update();
        tokio::select! {
            () = tokio::time::sleep_until(until) => {
                if *leased.borrow() <= Instant::now() {
                    return;
                }
            }
            changed = leased.changed() => {
                if changed.is_err() {
                    // The endpoint's task has ended, and ends this one too.
                    return;
                }
            }
        }
    }
}
