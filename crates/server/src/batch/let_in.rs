//! Arriving: from the handlers' hands through the door into the queue, in one order.

use std::sync::{Arc, MutexGuard};

use rules::arrive::{Arrival, Arrived};
use rules::command::Command;
use rules::outcome::{Outcome, Refusal};
use stores::door::{DoorFault, Release};

use super::{Caller, Lane, Queue, Shared, Waiting, place, refusal};

/// The door is asked for at most so many at once.
const ARRIVALS_MOST: usize = 128;

/// Another server may open the door, or Redis be flushed again, while this one is opening it.
const OPENINGS: usize = 3;

impl Lane {
    /// A door in the process says at once who may come in, and number and place are taken under
    /// one lock. Any other is asked by one call at a time, so that they have one order all the same.
    pub(super) fn through_door(
        self: &Arc<Self>,
        mut queue: MutexGuard<'_, Queue>,
        arrival: Arrival,
        waiting: Waiting<Command>,
    ) {
        if !queue.letting_in
            && let Some(arrived) = self.shared.door.arrive_now(self.event, &arrival)
        {
            match seated(&mut queue, waiting, arrived) {
                None => self.start(queue),
                Some((mut caller, refusal)) => {
                    queue.depth -= 1;
                    drop(queue);
                    caller.tell(Outcome::from(refusal).into());
                }
            }
            return;
        }
        queue.arriving.push_back((arrival, waiting));
        if !std::mem::replace(&mut queue.letting_in, true) {
            drop(queue);
            tokio::spawn(self.clone().let_in());
        }
    }

    async fn let_in(self: Arc<Self>) {
        loop {
            let (arrivals, group): (Vec<Arrival>, Vec<Waiting<Command>>) = {
                let mut queue = self.lock();
                if queue.arriving.is_empty() {
                    queue.letting_in = false;
                    return;
                }
                let most = queue.arriving.len().min(ARRIVALS_MOST);
                queue.arriving.drain(..most).unzip()
            };
            match self.arrive(arrivals).await {
                Ok(arrived) => self.enqueue(group, arrived),
                Err(refusal) => self.turn_away(group, &refusal),
            }
        }
    }

    /// Asks the door; where nobody knows the generation of the numbers, raises it first.
    async fn arrive(&self, arrivals: Vec<Arrival>) -> Result<Vec<Arrived>, Refusal> {
        let Shared { ledger, door, .. } = &*self.shared;
        let mut arrived = door.arrive(self.event, arrivals.clone()).await.map_err(closed)?;
        for _ in 0..OPENINGS {
            if !arrived.contains(&Arrived::NoNumber) {
                break;
            }
            let generation = ledger.raise_generation(self.event).await.map_err(|fault| refusal(&fault))?;
            door.open(self.event, generation).await.map_err(closed)?;
            tracing::info!(event = %self.event, generation, "numbers begin anew");
            arrived = door.arrive(self.event, arrivals.clone()).await.map_err(closed)?;
        }
        Ok(arrived)
    }

    /// The door is closed. Those who came meanwhile are told with this group, so that nobody waits
    /// for one failing call after another.
    fn turn_away(&self, group: Vec<Waiting<Command>>, refusal: &Refusal) {
        let mut callers: Vec<Caller> = group.into_iter().map(|waiting| waiting.caller).collect();
        callers.extend(self.lock().arriving.drain(..).map(|(_, waiting)| waiting.caller));
        let marks: Vec<Release> = callers.iter().filter_map(|caller| caller.mark.clone()).collect();
        // The call may have been heard all the same. If this is not, the marks end by themselves.
        tokio::spawn(self.shared.door.release(self.event, marks));
        self.refuse(callers, &refusal.clone().into());
    }

    fn enqueue(self: &Arc<Self>, group: Vec<Waiting<Command>>, arrived: Vec<Arrived>) {
        let mut queue = self.lock();
        let refused: Vec<(Caller, Refusal)> = group
            .into_iter()
            .zip(arrived)
            .filter_map(|(waiting, arrived)| seated(&mut queue, waiting, arrived))
            .collect();
        queue.depth -= refused.len();
        self.start(queue);
        for (mut caller, refusal) in refused {
            caller.tell(Outcome::from(refusal).into());
        }
    }
}

/// Takes its place in the queue with its number; or comes back, refused.
fn seated(queue: &mut Queue, mut waiting: Waiting<Command>, arrived: Arrived) -> Option<(Caller, Refusal)> {
    let refusal = match arrived {
        Arrived::Number(number) => {
            waiting.command.number = Some(number);
            waiting.caller.number = Some(number);
            place::by_number(&mut queue.pending, waiting, |w| w.command.number);
            return None;
        }
        Arrived::AddressSpent { retry_after } => Refusal::AddressSpent { retry_after },
        Arrived::AlreadyAsking { retry_after } => Refusal::AlreadyAsking { retry_after },
        Arrived::NoNumber => Refusal::NoNumber,
    };
    Some((waiting.caller, refusal))
}

/// What a door that cannot be used means for a caller.
pub fn closed(fault: DoorFault) -> Refusal {
    tracing::error!(%fault, "the door failed");
    match fault {
        DoorFault::Unreachable(_) => Refusal::DoorUnreachable,
        DoorFault::Failed(_) => Refusal::DoorFailed,
    }
}
