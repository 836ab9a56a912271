//! Group commit for batches of several subjects: the batches that wait when a transaction ends form the next one.
//! Otherwise each would need its own round trips and its own flush; with the load spread over many room types, most
//! batches are a single hold.
//!
//! A subject whose row is locked by another transaction does not delay the others: it is left out, and then runs alone
//! and waits for its row lock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::super::Inner;
use super::super::trouble::Trouble;
use super::together::{Lock, together};
use super::{Each, PostgresSubject, PreparedBatch, Tried, alone, resolve};
use crate::ledger::{BATCH_MOST, Committed, LedgerFault};
use crate::limited;

/// At most this many transactions are in flight: while one is flushed, the next is decided.
const IN_FLIGHT: usize = 2;

struct Waiting<S: PostgresSubject> {
    prepared: PreparedBatch<S>,
    reply: oneshot::Sender<Result<Committed<S>, LedgerFault>>,
}

struct Queue<S: PostgresSubject> {
    waiting: VecDeque<Waiting<S>>,
    in_flight: usize,
}

/// Batches that wait for a transaction.
pub struct Gathering<S: PostgresSubject> {
    queue: Mutex<Queue<S>>,
    /// Locks the rows of several subjects, and skips rows that are already locked.
    lock_free: &'static str,
}

impl<S: PostgresSubject> Gathering<S> {
    pub fn new(lock_free: &'static str) -> Gathering<S> {
        Gathering { queue: Mutex::new(Queue { waiting: VecDeque::new(), in_flight: 0 }), lock_free }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<S>> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns true if the caller must start a transaction for it.
    fn add(&self, waiting: Waiting<S>) -> bool {
        let mut queue = self.lock();
        queue.waiting.push_back(waiting);
        let starts = queue.in_flight < IN_FLIGHT;
        queue.in_flight += usize::from(starts);
        starts
    }

    /// The batches of the next transaction: up to the size of one batch, each subject once. None: none waits.
    fn next(&self) -> Option<Vec<Waiting<S>>> {
        let mut queue = self.lock();
        let (mut taken, mut commands) = (Vec::<Waiting<S>>::new(), 0);
        while let Some(next) = queue.waiting.pop_front() {
            commands += next.prepared.batch.commands.len();
            let twice = taken.iter().any(|other| other.prepared.batch.subject == next.prepared.batch.subject);
            if twice || (commands > BATCH_MOST && !taken.is_empty()) {
                queue.waiting.push_front(next);
                break;
            }
            taken.push(next);
        }
        if taken.is_empty() {
            queue.in_flight -= 1;
            return None;
        }
        Some(taken)
    }
}

/// Commits a batch together with others of its kind.
pub async fn commit<S: PostgresSubject>(
    ledger: Arc<Inner>,
    prepared: PreparedBatch<S>,
) -> Result<Committed<S>, LedgerFault> {
    let (reply, answer) = oneshot::channel();
    if S::gathering(&ledger).is_some_and(|gathering| gathering.add(Waiting { prepared, reply })) {
        tokio::spawn(run::<S>(ledger));
    }
    answer.await.unwrap_or_else(|_| Err(LedgerFault::Broken("the ledger's task has ended".into())))
}

/// Runs transactions until no batch waits.
async fn run<S: PostgresSubject>(ledger: Arc<Inner>) {
    while let Some((lock, taken)) = S::gathering(&ledger).and_then(|g| Some((Lock::IfFree(g.lock_free), g.next()?))) {
        // A separate task: if it panics, its batches get a fault, and the next transaction runs.
        let _ = tokio::spawn(serve(ledger.clone(), taken, lock)).await;
    }
}

async fn serve<S: PostgresSubject>(ledger: Arc<Inner>, taken: Vec<Waiting<S>>, lock: Lock) {
    let (all, replies): (Vec<PreparedBatch<S>>, Vec<_>) = taken.into_iter().map(|w| (w.prepared, w.reply)).unzip();
    let each: Vec<Option<Result<Committed<S>, LedgerFault>>> = match shared(&ledger, &all, lock).await {
        Ok(each) => each.into_iter().map(|committed| committed.map(Ok)).collect(),
        Err(fault) => all.iter().map(|_| Some(Err(fault.clone()))).collect(),
    };
    for ((prepared, reply), result) in all.into_iter().zip(replies).zip(each) {
        match result {
            Some(result) => {
                if let Ok(committed) = &result {
                    committed.after.learn(&ledger);
                }
                drop(reply.send(result));
            }
            None => {
                let ledger = ledger.clone();
                tokio::spawn(async move { reply.send(alone(&ledger, prepared).await) });
            }
        }
    }
}

/// What was committed for each batch. None: it runs alone.
async fn shared<S: PostgresSubject>(
    ledger: &Inner,
    all: &[PreparedBatch<S>],
    lock: Lock,
) -> Result<Each<S>, LedgerFault> {
    let go_alone = || Ok(all.iter().map(|_| None).collect());
    match together(ledger, all, lock).await {
        Ok(Tried::Done(each)) => Ok(each),
        Ok(Tried::NoSuchSubject | Tried::NoneFree) => go_alone(),
        Ok(Tried::Unknown(unknown)) => resolve::resolve(ledger, unknown).await,
        Err(Trouble::Lasting(why)) => {
            limited!(warn, subjects = all.len(), why, "a transaction was refused; its batches go alone");
            go_alone()
        }
        // The transaction may have been too large. No batch may fail because of another.
        Err(Trouble::Passing(why)) if all.len() > 1 => {
            limited!(warn, subjects = all.len(), why, "a transaction was disturbed; its batches go alone");
            go_alone()
        }
        Err(trouble) => Err(trouble.fault()),
    }
}
