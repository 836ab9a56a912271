//! Arriving: from the handlers' hands through the door into the queue, in one order.

use std::sync::Arc;

use futures_util::FutureExt;
use rules::arrive::{Arrival, Arrived};
use rules::outcome::Refusal;
use stores::door::{DoorFault, Release};

use super::{Lane, Shared, Waiting, place, refusal};

/// The door is asked for at most so many at once.
const ARRIVALS_MOST: usize = 128;

/// Another server may open the door, or Redis be flushed again, while this one is opening it.
const OPENINGS: usize = 3;

impl Lane {
    /// One call of the door at a time, so that numbers and places in the queue have one order. A
    /// door in the process answers at the first poll, and needs no task.
    pub(super) fn let_in_now(self: &Arc<Self>) {
        let mut letting_in = Box::pin(self.clone().let_in());
        if letting_in.as_mut().now_or_never().is_none() {
            tokio::spawn(letting_in);
        }
    }

    async fn let_in(self: Arc<Self>) {
        loop {
            let group: Vec<Waiting> = {
                let mut queue = self.lock();
                if queue.arriving.is_empty() {
                    queue.letting_in = false;
                    return;
                }
                let most = queue.arriving.len().min(ARRIVALS_MOST);
                queue.arriving.drain(..most).collect()
            };
            match self.arrive(&group).await {
                Ok(arrived) => self.enqueue(group, arrived),
                Err(refusal) => self.turn_away(group, &refusal),
            }
        }
    }

    /// Asks the door; where nobody knows the generation of the numbers, raises it first.
    async fn arrive(&self, group: &[Waiting]) -> Result<Vec<Arrived>, Refusal> {
        let arrivals = || -> Vec<Arrival> { group.iter().filter_map(|w| w.arrival.clone()).collect() };
        let Shared { ledger, door, .. } = &*self.shared;
        let mut arrived = door.arrive(self.event, arrivals()).await.map_err(closed)?;
        for _ in 0..OPENINGS {
            if !arrived.contains(&Arrived::NoNumber) {
                break;
            }
            let generation = ledger.raise_generation(self.event).await.map_err(|fault| refusal(&fault))?;
            door.open(self.event, generation).await.map_err(closed)?;
            tracing::info!(event = %self.event, generation, "numbers begin anew");
            arrived = door.arrive(self.event, arrivals()).await.map_err(closed)?;
        }
        Ok(arrived)
    }

    /// The door is closed. Those who came meanwhile are told with this group, so that nobody waits
    /// for one failing call after another.
    fn turn_away(&self, mut group: Vec<Waiting>, refusal: &Refusal) {
        group.extend(self.lock().arriving.drain(..));
        let marks: Vec<Release> = group.iter().filter_map(Waiting::mark).collect();
        // The call may have been heard all the same. If this is not, the marks end by themselves.
        tokio::spawn(self.shared.door.release(self.event, marks));
        self.refuse(group, &refusal.clone().into());
    }

    fn enqueue(self: &Arc<Self>, group: Vec<Waiting>, arrived: Vec<Arrived>) {
        let mut refused = Vec::new();
        let mut queue = self.lock();
        for (mut waiting, arrived) in group.into_iter().zip(arrived) {
            let refusal = match arrived {
                Arrived::Number(number) => {
                    waiting.command.number = Some(number);
                    place::by_number(&mut queue.pending, waiting, |w| w.command.number);
                    continue;
                }
                Arrived::AddressSpent { retry_after } => Refusal::AddressSpent { retry_after },
                Arrived::AlreadyAsking { retry_after } => Refusal::AlreadyAsking { retry_after },
                Arrived::NoNumber => Refusal::NoNumber,
            };
            refused.push((waiting, refusal));
        }
        queue.depth -= refused.len();
        self.start(queue);
        for (waiting, refusal) in refused {
            waiting.end(refusal.into());
        }
    }
}

fn closed(fault: DoorFault) -> Refusal {
    tracing::error!(%fault, "the door failed");
    match fault {
        DoorFault::Unreachable(_) => Refusal::DoorUnreachable,
        DoorFault::Failed(_) => Refusal::DoorFailed,
    }
}
