//! Batches of several room types become one transaction: what waits when a transaction ends is the
//! next one. Alone, each would have its own round trips and its own flush; with the load spread
//! over many room types most of them are one hold.
//!
//! A room type whose row somebody else has locked does not hold up the others: it is left out and
//! goes alone, where it waits for its lock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::stays::RoomType;
use tokio::sync::oneshot;

use super::super::batch::Tried;
use super::super::trouble::Trouble;
use super::super::{Inner, planted, resolve};
use super::batch::{self, Lock, Wanted};
use crate::ledger::{BATCH_MOST, LedgerFault};
use crate::ledger::{Batch, Committed};

/// So many transactions are under way at once: while one is flushed, the next is decided.
const AT_ONCE: usize = 2;

struct Waiting {
    wanted: Wanted,
    reply: oneshot::Sender<Result<Committed<RoomType>, LedgerFault>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    running: usize,
}

/// Batches that wait for a transaction.
#[derive(Default)]
pub struct Gathering(Mutex<Queue>);

impl Gathering {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The next transaction: as many as make one batch, each room type once. None: nobody waits.
    fn next(&self) -> Option<Vec<Waiting>> {
        let mut queue = self.lock();
        let (mut taken, mut commands) = (Vec::<Waiting>::new(), 0);
        while let Some(next) = queue.waiting.pop_front() {
            commands += next.wanted.batch.commands.len();
            let twice = taken.iter().any(|other| other.wanted.batch.subject == next.wanted.batch.subject);
            if twice || (commands > BATCH_MOST && !taken.is_empty()) {
                queue.waiting.push_front(next);
                break;
            }
            taken.push(next);
        }
        if taken.is_empty() {
            queue.running -= 1;
            return None;
        }
        Some(taken)
    }
}

pub async fn commit(ledger: Arc<Inner>, batch: Batch<RoomType>) -> Result<Committed<RoomType>, LedgerFault> {
    let early = planted::nights_before_lock(&ledger, &batch).await.map_err(Trouble::fault)?;
    let (reply, answer) = oneshot::channel();
    {
        let mut queue = ledger.gathering.lock();
        queue.waiting.push_back(Waiting { wanted: Wanted { batch, early }, reply });
        if queue.running < AT_ONCE {
            queue.running += 1;
            drop(queue);
            tokio::spawn(run(ledger));
        }
    }
    answer.await.unwrap_or_else(|_| Err(LedgerFault::Broken("the ledger's task has ended".into())))
}

/// Transaction after transaction until nobody waits.
async fn run(ledger: Arc<Inner>) {
    while let Some(taken) = ledger.gathering.next() {
        // In a task of its own: should it panic, those in it are told, and the next is served.
        let _ = tokio::spawn(serve(ledger.clone(), taken)).await;
    }
}

async fn serve(ledger: Arc<Inner>, taken: Vec<Waiting>) {
    let (all, replies): (Vec<Wanted>, Vec<_>) = taken.into_iter().map(|w| (w.wanted, w.reply)).unzip();
    let each: Vec<Option<Result<Committed<RoomType>, LedgerFault>>> = match together(&ledger, &all).await {
        Ok(each) => each.into_iter().map(|committed| committed.map(Ok)).collect(),
        Err(fault) => all.iter().map(|_| Some(Err(fault.clone()))).collect(),
    };
    for ((wanted, reply), result) in all.into_iter().zip(replies).zip(each) {
        match result {
            Some(result) => drop(reply.send(result)),
            None => {
                let ledger = ledger.clone();
                tokio::spawn(async move { reply.send(batch::commit(&ledger, &wanted).await) });
            }
        }
    }
}

/// None: goes alone.
async fn together(ledger: &Inner, all: &[Wanted]) -> Result<Vec<Option<Committed<RoomType>>>, LedgerFault> {
    match batch::together(ledger, all, Lock::IfFree).await {
        Ok((_, Tried::Done(each))) => Ok(each),
        Ok((_, Tried::NoSuchSubject)) => Ok(all.iter().map(|_| None).collect()),
        Ok((written, Tried::Unknown(unknown))) => resolve::resolve(ledger, written, unknown).await,
        Err(Trouble::Lasting(why)) => {
            tracing::warn!(room_types = all.len(), why, "a transaction was refused; its room types go alone");
            Ok(all.iter().map(|_| None).collect())
        }
        // Perhaps it was too much at once: nobody fails for what is another's.
        Err(Trouble::Passing(why)) if all.len() > 1 => {
            tracing::warn!(room_types = all.len(), why, "a transaction was disturbed; its room types go alone");
            Ok(all.iter().map(|_| None).collect())
        }
        Err(trouble) => Err(trouble.fault()),
    }
}
