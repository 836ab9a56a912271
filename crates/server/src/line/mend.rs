//! Repairs a door that lost its data: the generation, who is inside, what is left. One caller per server and event
//! repairs it, however many found the data missing.

use std::sync::atomic::Ordering;

use rules::entries::Moved;
use rules::outcome::Refusal;
use stores::door::{DoorFault, Heard};

use super::EventLine;
use crate::lane::remaining;
use crate::refusals::Failure;
use crate::reopen::reopen;

/// Other servers may reopen the door, or Redis may lose its data again, meanwhile.
const TRIES: usize = 8;

/// What the door is missing.
enum Missing {
    Generation,
    /// Who is inside.
    Line,
    /// What is left.
    Remaining,
}

impl EventLine<'_> {
    /// Asks the door until it can answer, and first gives it the data that it is missing.
    pub(super) async fn heard<T, W>(self, ask: impl Fn() -> W) -> Result<T, Failure>
    where
        W: Future<Output = Result<Heard<T>, DoorFault>>,
    {
        let remembered = self.app.lines.of(self.event);
        for _ in 0..TRIES {
            let seen = remembered.mended.load(Ordering::Acquire);
            let missing = match ask().await? {
                Heard::Said(said) => {
                    self.app.inside.asked(self.event);
                    return Ok(said);
                }
                Heard::NotOpen => Missing::Generation,
                Heard::NotBegun => Missing::Line,
                Heard::NoRemaining => Missing::Remaining,
            };
            let _one = remembered.mending.lock().await;
            if remembered.mended.load(Ordering::Acquire) == seen {
                self.mend(missing).await?;
                remembered.mended.fetch_add(1, Ordering::AcqRel);
            }
        }
        Err(Refusal::NoNumber.into())
    }

    async fn mend(self, missing: Missing) -> Result<(), Failure> {
        let EventLine { app, event, room } = self;
        match missing {
            Missing::Generation => reopen(&*app.ledger, &*app.door, event).await?,
            Missing::Line => {
                let begun = app.ledger.begin_line(event).await?;
                tracing::info!(%event, inside = begun.inside.len(), used = begun.used, "a line begins");
                app.door.begin_line(event, room, begun).await?;
            }
            Missing::Remaining => {
                let found = app.ledger.event(event).await?.ok_or(Refusal::NotFound)?;
                let left = remaining(&found, None, &*app.ledger);
                app.door.settle(event, Some(left), Vec::new()).await?;
            }
        }
        Ok(())
    }

    /// The door counted fewer users inside than the ledger. It is told who is missing; all places in line stay.
    pub(super) async fn recount(self) {
        self.app.inside.recount(self.event).await;
    }

    /// Tells the door about an entry or exit, later if that fails.
    pub(super) async fn tell(self, moved: Moved) {
        let EventLine { app, event, .. } = self;
        if let Err(fault) = app.door.moved(event, vec![moved], app.ledger.now()).await {
            tracing::warn!(%event, %fault, "the door was not told who is inside");
            app.inside.owed(event);
        }
    }
}
