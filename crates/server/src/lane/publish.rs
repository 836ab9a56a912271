//! Publish: before the answers are sent, the door learns what changed. It is a hint for others, never the source of
//! truth, so a slow or broken door delays an answer by at most 50 ms and costs none.

use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use rules::holds::Hold;
use stores::Working;
use stores::door::Release;
use stores::limited;

use super::Lane;
use super::respond::Decided;
use super::served::Served;
use crate::telemetry::traces::batch::BatchSpan;

/// The most that one call to the door may delay answers.
const SETTLE: Duration = Duration::from_millis(50);

impl<S: Served> Lane<S> {
    /// Releases the marks of requests that are about to be answered, so that their users may ask again, and publishes
    /// what a batch changed. A panic here must not cost the answers of a durable batch.
    pub(crate) async fn publish(&self, mut decided: Decided<S>) -> Decided<S> {
        let ended: Vec<Release> = decided.waiters.iter().filter_map(|waiter| waiter.mark.clone()).collect();
        let news = decided.news.take();
        if news.is_some() || !ended.is_empty() {
            let began = Instant::now();
            self.survive("publish", S::publish(self, ended, news)).await;
            self.shared.metrics.steps.published(began.elapsed(), decided.span.as_ref().and_then(BatchSpan::trace));
        }
        decided
    }

    /// Writes holds that began or changed into the door, for people who inspect its keys. Our code does not read
    /// them.
    pub(super) async fn show_holds(&self, holds: Vec<Hold>) {
        if holds.is_empty() {
            return;
        }
        if let Some(Err(fault)) = briefly(self.shared.door.show_holds(self.subject(), holds)).await {
            limited!(warn, subject = %self.subject(), %fault, "the door did not store which holds changed");
        }
    }
}

/// Waits at most `SETTLE`. None: it takes longer, and continues in the background.
pub(super) async fn briefly<T: Send + 'static>(mut working: Working<T>) -> Option<T> {
    if let Some(done) = (&mut working).now_or_never() {
        return Some(done);
    }
    match tokio::time::timeout(SETTLE, tokio::spawn(working)).await {
        Ok(Ok(done)) => Some(done),
        Ok(Err(stopped)) => stopped.try_into_panic().map_or(None, |panic| resume_unwind(panic)),
        Err(_) => None,
    }
}
