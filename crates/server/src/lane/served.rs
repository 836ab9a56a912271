//! What a lane needs to know of a kind of subject. To add a kind, implement this trait in a file here.

use std::sync::Arc;
use std::time::Instant;

use rules::command::Command;
use rules::decide::Answer;
use rules::holds::Hold;
use rules::ids::EventId;
use rules::outcome::Refusal;
use rules::seats::Hall;
use rules::subject::Subject;
use stores::door::Release;
use stores::ledger::{Answered, Batch, Committed, Ledger};

use super::{Lane, Lanes, LanesOf};
use crate::path::ChangeRequest;

pub trait Served: Subject {
    /// What this server caches about a subject.
    type Facts: Send + Sync + 'static;

    /// Whether the lane takes its next batch only after this one is published. Otherwise it publishes and answers in
    /// a separate task.
    const NEXT_BATCH_WAITS_FOR_PUBLISH: bool;

    /// Whether requests whose deadline passes behind a slow batch wait a little longer for its result: if the batch
    /// did not get the lock, they are answered `contention`. Otherwise they are answered `overloaded` at their
    /// deadline.
    const LATE_WAIT_FOR_LOCK_RESULT: bool;

    fn lanes(lanes: &Lanes) -> &LanesOf<Self>;

    /// The subject, if it exists.
    fn find(ledger: &dyn Ledger, id: Self::Id) -> Answered<Option<Self>>;

    fn commit(ledger: &dyn Ledger, batch: Batch<Self>) -> Answered<Committed<Self>>;

    /// How many batches may be in flight at once.
    fn overlap(ledger: &dyn Ledger) -> usize;

    /// The event whose door its requests may pass. None: the queue alone orders them.
    fn door(id: Self::Id) -> Option<EventId>;

    fn facts(self) -> Self::Facts;

    /// The hall whose names its answers use, if it has one.
    fn hall(lane: &Lane<Self>) -> Option<Arc<Hall>>;

    /// The ledger returned this state of the subject for a call made at `asked`.
    fn learn(facts: &Self::Facts, after: &Self, asked: Instant);

    /// Caches the answers of a batch.
    fn remember(_: &Self::Facts, _: &[Command<Self>], _: &[Answer]) {}

    /// The refusal of a request that this server knows must be refused.
    fn refused_from_memory(_: &Lane<Self>, _: &ChangeRequest<Self>) -> Option<Refusal> {
        None
    }

    /// Refuses an action on something that cannot exist, before it costs an arrival number.
    fn check(facts: &Self::Facts, action: &Self::Action) -> Result<(), Refusal>;

    /// Tells the door which marks have ended and what a batch changed, before the answers are sent.
    fn publish(lane: &Lane<Self>, ended: Vec<Release>, news: Option<News<Self>>) -> impl Future<Output = ()> + Send;
}

/// What a committed batch changed, to be published.
pub struct News<S: Subject> {
    /// The subject as the batch left it.
    pub after: S,
    /// Holds that began or changed.
    pub holds: Vec<Hold>,
    pub effects: S::Effects,
}
