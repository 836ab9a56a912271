//! The tidier: removes expired data in the background, in bounded steps, so that storage does not grow without bound.
//! Sales continue between two steps, and nothing depends on it: whether data counts follows from its time.
//!
//! The record is kept forever: the history, the row of every event, stays, and the holds they came from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use rules::event::Event;
use rules::ids::EventId;
use stores::ledger::LedgerFault;
use stores::ledger::tidy::{Aged, Tidied};

use crate::app::App;

/// Rows per step.
const STEP: usize = 500;
/// Deleted events per round.
const EVENTS: usize = 100;
/// Between two rounds, and between two steps of one.
const ROUND: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// How long expired data is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    pub holds_ms: i64,
    /// Users who were passed over in line.
    pub silent_ms: i64,
    /// The remains of a deleted event.
    pub deleted_ms: i64,
    /// Names, phones and addresses. None: they are kept.
    pub personal_ms: Option<i64>,
    /// Unused entries in this process's memory.
    pub unused: Duration,
}

pub struct Tidier {
    app: Weak<App>,
    /// Events whose lines may have users to forget, as last seen.
    lines: Mutex<HashMap<EventId, Arc<Event>>>,
    swept: Mutex<Instant>,
}

impl Tidier {
    pub fn new(app: &Arc<App>) -> Tidier {
        Tidier { app: Arc::downgrade(app), lines: Mutex::default(), swept: Mutex::new(Instant::now()) }
    }

    /// Runs until the server is dropped.
    pub async fn run(self) {
        loop {
            tokio::time::sleep(ROUND).await;
            let Some(app) = self.app.upgrade() else { return };
            if let Err(fault) = self.round(&app).await {
                // Requests see the same fault from the stores; the next round retries.
                tracing::debug!(%fault, "nothing was tidied");
            }
        }
    }

    /// Removes all that has expired by now.
    pub async fn round(&self, app: &App) -> Result<(), LedgerFault> {
        self.lines(app).await;
        self.memory(app);
        let keep = app.settings.keep;
        aged(app, Aged::Answers, app.settings.terms.key_ttl_ms).await?;
        aged(app, Aged::Holds, keep.holds_ms).await?;
        if let Some(personal_ms) = keep.personal_ms {
            aged(app, Aged::Personal, personal_ms).await?;
        }
        for event in app.ledger.deleted_events(keep.deleted_ms, EVENTS).await? {
            self.deleted(app, event).await?;
        }
        Ok(())
    }

    /// The door first: the event counts as tidied only when its keys are gone too.
    async fn deleted(&self, app: &App, event: EventId) -> Result<(), LedgerFault> {
        if let Err(fault) = app.door.forget(event).await {
            tracing::debug!(%event, %fault, "the door still knows a deleted event");
            return Ok(());
        }
        app.forget(event);
        self.known_lines().remove(&event);
        loop {
            let tidied = app.ledger.tidy_event(event, STEP).await?;
            count(app, &tidied);
            if tidied.events > 0 || tidied.rows() == 0 {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Forgets users who left a line long ago.
    async fn lines(&self, app: &App) {
        let seen = app.lines.seen().into_iter().filter(|event| event.waiting_room.is_some());
        let known: HashMap<EventId, Arc<Event>> = seen.map(|event| (event.id, event)).collect();
        self.known_lines().extend(known.clone());
        let all: Vec<Arc<Event>> = self.known_lines().values().cloned().collect();
        for seen in all {
            if self.gathers(app, &seen).await {
                continue;
            }
            let (event, Some(room)) = (seen.id, seen.waiting_room) else { continue };
            loop {
                let Ok(done) = app.door.forget_silent(event, room, app.settings.keep.silent_ms, STEP).await else {
                    break;
                };
                app.metrics.tidied("silent", done.forgotten);
                if done.left == 0 && !known.contains_key(&event) {
                    self.known_lines().remove(&event);
                }
                if done.forgotten < STEP {
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Users who gather are not forgotten: they may come back for the opening without a ticket. `queueMost` bounds them.
    async fn gathers(&self, app: &App, seen: &Event) -> bool {
        if !seen.has_draw() || seen.gathered {
            return false;
        }
        // The opening may have been postponed without a request since.
        match app.ledger.event(seen.id).await {
            Ok(Some(now)) if now.has_draw() && !now.deleted => {
                let gathers = now.gathers(app.ledger.wall());
                self.known_lines().insert(now.id, Arc::new(now));
                gathers
            }
            Ok(_) => false,
            Err(_) => true,
        }
    }

    /// Forgets what was not used lately from this process's memory. Each server does so for itself, so it also
    /// forgets events that another server deleted.
    fn memory(&self, app: &App) {
        let mut swept = self.swept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if swept.elapsed() >= app.settings.keep.unused {
            *swept = Instant::now();
            forget_unused(app);
        }
    }

    fn known_lines(&self) -> std::sync::MutexGuard<'_, HashMap<EventId, Arc<Event>>> {
        self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Forgets what was not used since the last call. It is read again when somebody asks.
pub fn forget_unused(app: &App) {
    app.metrics.remembered("lanes", app.lanes.forget_unused());
    app.metrics.remembered("boards", app.boards.forget_unused());
    app.metrics.remembered("lines", app.lines.forget_unused());
    app.inside.forget_unused();
    app.metrics.remembered("halls", app.ledger.forget_unused());
    app.metrics.remembered("series", app.metrics.events.forget_unused());
}

/// Repeats the step until one is not full.
async fn aged(app: &App, what: Aged, keep_ms: i64) -> Result<(), LedgerFault> {
    loop {
        let tidied = app.ledger.tidy(what, keep_ms, STEP).await?;
        count(app, &tidied);
        if tidied.rows() < STEP {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn count(app: &App, tidied: &Tidied) {
    for (kind, rows) in tidied.kinds() {
        app.metrics.tidied(kind, rows);
    }
}
