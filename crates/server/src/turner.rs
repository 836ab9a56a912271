//! The turner: turns lapsed holds in the background, in bounded steps. No answer depends on it: a lapsed hold is free
//! at its end, and every batch turns some. It keeps the lapsed holds of idle subjects from piling up, and counts them
//! soon, so that reads stay cheap.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rules::event::Event;
use rules::holds::Backlog;
use rules::room_type::RoomType;
use rules::subject::{Subject, SubjectId};
use stores::ledger::{Batch, Commit, Committed, Ledger, LedgerFault};

use crate::app::App;

/// The interval of checks for lapsed holds when none are left.
const PAUSE: Duration = Duration::from_millis(250);
/// It pauses for this multiple of a step's duration, so that sales get most of the ledger's time.
const REST: u32 = 3;
/// Subjects that get a step per check.
const SUBJECTS_MOST: usize = 1_000;

/// Runs until the server is dropped.
pub async fn run(app: Weak<App>) {
    loop {
        let Some(app) = app.upgrade() else { return };
        let began = Instant::now();
        let backlog = app.begun() && round(&app).await.unwrap_or_else(not_turned);
        drop(app);
        let rest = if backlog { Duration::ZERO } else { PAUSE.max(began.elapsed() * REST) };
        tokio::time::sleep(rest).await;
    }
}

/// One step for every subject with lapsed holds. True: some have more.
async fn round(app: &App) -> Result<bool, LedgerFault> {
    let mut backlog = false;
    for subject in app.ledger.with_holds_ending(0, SUBJECTS_MOST).await? {
        let began = Instant::now();
        let left = match subject {
            SubjectId::Event(event) => step::<Event>(app, event).await,
            SubjectId::RoomType(room_type) => step::<RoomType>(app, room_type).await,
            SubjectId::Ledger => continue,
        };
        let left = left.unwrap_or_else(not_turned);
        backlog |= left != Backlog::None;
        // Uncounted holds make reads expensive: no pause.
        if left != Backlog::Uncounted {
            tokio::time::sleep(began.elapsed() * REST).await;
        }
    }
    Ok(backlog)
}

/// The next round tries again.
fn not_turned<T: Default>(fault: LedgerFault) -> T {
    tracing::debug!(%fault, "lapsed holds were not turned");
    T::default()
}

async fn step<S: Subject>(app: &App, subject: S::Id) -> Result<Backlog, LedgerFault>
where
    dyn Ledger: Commit<S>,
{
    Ok(turned::<S>(app, subject).await?.backlog)
}

/// A batch without commands: it turns and counts as every batch does, and stores the end of a draw.
pub async fn turned<S: Subject>(app: &App, subject: S::Id) -> Result<Committed<S>, LedgerFault>
where
    dyn Ledger: Commit<S>,
{
    let batch = Batch::<S>::new(subject, Arc::default(), app.settings.terms);
    let committed = app.ledger.commit(batch).await?;
    app.metrics.audits.holds_changed(&committed.holds);
    Ok(committed)
}
