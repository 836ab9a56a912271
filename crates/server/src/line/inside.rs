//! Keeps the door's set of users inside equal to the ledger's. The ledger is the source of truth. The door is told of
//! every change, and may miss one: Redis was unreachable, or the server crashed between its commit and the call.
//!
//! A server that could not tell the door compares until it succeeds. While users poll a line, one server at a time
//! compares once a second, whichever server missed a change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use rules::entries::{InsideDigest, corrections};
use rules::ids::EventId;
use stores::door::Door;
use stores::ledger::Ledger;
use stores::verify::{DOOR_AGREES, Finding, SHOWN_MOST};

use crate::refusals::Failure;

/// While users poll a line, it is compared at this interval, or less often if comparing takes long.
pub const INTERVAL: Duration = Duration::from_millis(700);
/// No server compares if another did within this time.
const SHARED_MS: i64 = 500;
/// Comparing takes at most one part in this many of a line's time.
const SHARE: u32 = 20;
/// Users may enter and leave between two readings. After this many a difference is real.
const READINGS: usize = 4;

/// How often door and ledger are read before a difference is reported.
pub const LOOKS: usize = 4;

const FORGOTTEN: Duration = Duration::from_secs(60);

const BACKOFF_LEAST: Duration = Duration::from_millis(25);
const BACKOFF_MOST: Duration = Duration::from_millis(400);

pub struct InsideCheck {
    ledger: Arc<dyn Ledger>,
    door: Arc<dyn Door>,
    lines: Mutex<HashMap<EventId, Checked>>,
    own: Weak<InsideCheck>,
}

#[derive(Default)]
struct Checked {
    /// The earliest next comparison. None: not compared yet.
    next: Option<Instant>,
    /// The door missed a change, and a task sends it.
    owed: bool,
}

impl InsideCheck {
    pub fn new(ledger: Arc<dyn Ledger>, door: Arc<dyn Door>) -> Arc<InsideCheck> {
        Arc::new_cyclic(|own| InsideCheck { ledger, door, lines: Mutex::default(), own: own.clone() })
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<EventId, Checked>> {
        self.lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn forget(&self, event: EventId) {
        self.lines().remove(&event);
    }

    /// Forgets lines that nobody asked about for a while. Returns how many are left.
    pub fn forget_unused(&self) -> usize {
        let (mut lines, now) = (self.lines(), Instant::now());
        lines.retain(|_, checked| checked.owed || checked.next.is_some_and(|next| now < next + FORGOTTEN));
        lines.shrink_to_fit();
        lines.len()
    }

    /// The door missed an entry or exit. The line is compared in the background until that succeeds; one task per
    /// event, however much was missed.
    pub fn owed(&self, event: EventId) {
        if std::mem::replace(&mut self.lines().entry(event).or_default().owed, true) {
            return;
        }
        let own = self.own.clone();
        tokio::spawn(async move {
            let mut pause = BACKOFF_LEAST;
            loop {
                tokio::time::sleep(pause).await;
                // This server is shutting down: the others compare.
                let Some(check) = own.upgrade() else { return };
                check.lines().entry(event).or_default().owed = false;
                let Err(failure) = check.compare(event, None).await else { return };
                tracing::debug!(%event, %failure, "the door still was not told who is inside");
                if std::mem::replace(&mut check.lines().entry(event).or_default().owed, true) {
                    // Another task has begun meanwhile.
                    return;
                }
                pause = (pause * 2).min(BACKOFF_MOST);
            }
        });
    }

    /// A user polled the line. Compares in the background if that is due.
    pub fn asked(&self, event: EventId) {
        let now = Instant::now();
        {
            let mut lines = self.lines();
            let checked = lines.entry(event).or_default();
            if checked.next.is_some_and(|next| now < next) {
                return;
            }
            checked.next = Some(now + INTERVAL);
        }
        let Some(check) = self.own.upgrade() else { return };
        tokio::spawn(async move {
            if let Err(failure) = check.compare(event, Some(SHARED_MS)).await {
                tracing::debug!(%event, %failure, "who is inside was not compared");
            }
            let pause = INTERVAL.max(now.elapsed() * SHARE);
            if let Some(checked) = check.lines().get_mut(&event) {
                checked.next = Some(now + pause);
            }
        });
    }

    /// Whether door and ledger agree. A difference is reported if it persists while the line is compared.
    pub async fn agreement(&self, lines: &[EventId]) -> Finding {
        let mut broken = Vec::new();
        for _ in 0..LOOKS {
            broken = self.differences(lines).await;
            if broken.is_empty() {
                break;
            }
            lines.iter().for_each(|event| self.asked(*event));
            tokio::time::sleep(INTERVAL).await;
        }
        Finding { name: DOOR_AGREES, broken }
    }

    /// A store that does not answer reports no difference.
    async fn differences(&self, lines: &[EventId]) -> Vec<String> {
        let mut found = Vec::new();
        for event in lines {
            let (Ok(Some(door)), Ok(ledger)) = (self.door.inside(*event, None).await, self.ledger.inside(*event).await)
            else {
                continue;
            };
            found.extend(difference(*event, &door, &ledger));
            if found.len() >= SHOWN_MOST {
                break;
            }
        }
        found
    }

    /// The ledger has just contradicted the door: corrects the door before the caller is answered.
    pub async fn recount(&self, event: EventId) {
        if let Err(failure) = self.correct(event).await {
            tracing::warn!(%event, %failure, "the door was not told who is inside");
            self.owed(event);
        }
    }

    /// Compares, and corrects the door if it differs from the ledger.
    async fn compare(&self, event: EventId, unless_within_ms: Option<i64>) -> Result<(), Failure> {
        let mut unless = unless_within_ms;
        for reading in 1..=READINGS {
            // None: another server compares, or the line will start with the ledger's state.
            let Some(before) = self.door.inside(event, unless.take()).await? else { return Ok(()) };
            let truth = self.ledger.inside(event).await?;
            if before.agrees(&truth) {
                return Ok(());
            }
            let Some(after) = self.door.inside(event, None).await? else { return Ok(()) };
            if after.agrees(&truth) {
                return Ok(());
            }
            // Changes may be in flight, unless the door stayed the same.
            if after == before || reading == READINGS {
                tracing::info!(%event, door = before.count, ledger = truth.count, "the door is told who is inside");
                self.correct(event).await?;
            }
        }
        Ok(())
    }

    /// Reads the door first: what it has and the ledger does not has certainly ended.
    async fn correct(&self, event: EventId) -> Result<(), Failure> {
        let known = self.door.insiders(event).await?;
        let truth = self.ledger.begin_line(event).await?;
        let corrections = corrections(&known, &truth.inside, truth.at);
        if !corrections.is_empty() {
            self.door.moved(event, corrections, truth.at).await?;
        }
        Ok(())
    }
}

/// None: they agree.
pub fn difference(event: EventId, door: &InsideDigest, ledger: &InsideDigest) -> Option<String> {
    let (inside, known) = (ledger.count, door.count);
    (!door.agrees(ledger)).then(|| format!("event {event}: {inside} inside by the ledger, {known} by the door"))
}
