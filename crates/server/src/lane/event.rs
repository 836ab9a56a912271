//! Events in a lane. They pass the door, which learns the remaining stock before the answers are sent.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join;
use rules::command::{Command, EventAction};
use rules::decide::Answer;
use rules::entries::Moved;
use rules::event::{Event, State};
use rules::ids::EventId;
use rules::outcome::Refusal;
use rules::seats::Hall;
use rules::time::Moment;
use stores::door::{Release, Remaining};
use stores::ledger::{Answered, Batch, Commit, Committed, Ledger};
use stores::limited;

use super::publish::briefly;
use super::served::{News, Served};
use super::sold_out::EventFacts;
use super::{Lane, Lanes, LanesOf};
use crate::path::ChangeRequest;

impl Served for Event {
    type Facts = EventFacts;

    const NEXT_BATCH_WAITS_FOR_PUBLISH: bool = true;
    const LATE_WAIT_FOR_LOCK_RESULT: bool = false;

    fn lanes(lanes: &Lanes) -> &LanesOf<Event> {
        &lanes.events
    }

    fn find(ledger: &dyn Ledger, id: EventId) -> Answered<Option<Event>> {
        let found = ledger.event(id);
        Box::pin(async move { Ok(found.await?.filter(|event| !event.deleted)) })
    }

    fn commit(ledger: &dyn Ledger, batch: Batch<Event>) -> Answered<Committed<Event>> {
        Commit::<Event>::commit(ledger, batch)
    }

    fn overlap(ledger: &dyn Ledger) -> usize {
        ledger.overlap()
    }

    fn door(id: EventId) -> Option<EventId> {
        Some(id)
    }

    fn facts(self) -> EventFacts {
        EventFacts::new(self)
    }

    fn hall(lane: &Lane<Event>) -> Option<Arc<Hall>> {
        Some(lane.hall())
    }

    fn learn(facts: &EventFacts, after: &Event, asked: Instant) {
        facts.saw(after, asked);
    }

    fn remember(facts: &EventFacts, commands: &[Command<Event>], answers: &[Answer]) {
        facts.remember(commands, answers);
    }

    fn refused_from_memory(lane: &Lane<Event>, request: &ChangeRequest<Event>) -> Option<Refusal> {
        // A key may have a stored answer. In a short queue requests get numbers as usual.
        let asks = request.key.is_none() && lane.depth() >= lane.shared.few;
        let sold_out = asks && lane.facts.sold_out(request.actor.user(), &request.action, lane.shared.ledger.wall());
        sold_out.then_some(Refusal::SoldOut)
    }

    fn check(facts: &EventFacts, action: &EventAction) -> Result<(), Refusal> {
        match action {
            EventAction::ReserveSeat { seat, .. } if !facts.hall.has_seat(*seat) => Err(Refusal::NotFound),
            EventAction::Reserve(buyer) | EventAction::ReserveSeat { buyer, .. } => {
                facts.asked_fields().or(buyer.otherwise).take(buyer).map(drop)
            }
            _ => Ok(()),
        }
    }

    async fn publish(lane: &Lane<Event>, ended: Vec<Release>, news: Option<News<Event>>) {
        let (door, now) = (&lane.shared.door, lane.shared.ledger.now());
        let Some(News { after, holds, effects }) = news else {
            return lane.told(briefly(door.settle(lane.id, None, ended)).await);
        };
        lane.shared.metrics.events.remaining(after.id, after.remaining());
        let left = remaining(&after, effects.first_end, &*lane.shared.ledger);
        let mut settling = door.settle(lane.id, Some(left), ended);
        if !effects.moved.is_empty() {
            let (settled, moved) = (settling, lane.tell(effects.moved, now));
            settling = Box::pin(async move { join(settled, moved).await.0 });
        }
        lane.told(briefly(settling).await);
        lane.show_holds(holds).await;
    }
}

impl Lane<Event> {
    pub fn hall(&self) -> Arc<Hall> {
        self.facts.hall.clone()
    }

    /// Tells the door about entries and exits, however long that takes. What it misses is sent again.
    fn tell(&self, moved: Vec<Moved>, at: Moment) -> impl Future<Output = ()> + Send + 'static {
        let (event, inside) = (self.id, self.shared.inside.clone());
        let telling = self.shared.door.moved(event, moved, at);
        async move {
            if let Err(fault) = telling.await {
                tracing::warn!(%event, %fault, "the door was not told who is inside; it will be told again");
                inside.owed(event);
            }
        }
    }

    fn told(&self, settled: Option<Result<(), stores::door::DoorFault>>) {
        match settled {
            Some(Ok(())) => {}
            Some(Err(fault)) => limited!(warn, event = %self.id, %fault, "the door was not told; marks will expire"),
            None => tracing::debug!(event = %self.id, "the door is slow to store what is left"),
        }
    }
}

/// The remaining stock of an event, for the door.
pub fn remaining(event: &Event, first_end: Option<Moment>, ledger: &dyn Ledger) -> Remaining {
    let state = event.state_at(ledger.wall());
    // A scheduled event opens by the clock alone, whatever state is stored. The door knows the ledger's time only.
    let opens = event.opens_at.filter(|_| state == State::Scheduled).map(|opens| opens.plus_ms(-ledger.shift_ms()));
    let first_end = first_end.into_iter().chain(opens).min();
    Remaining { n: event.counts.n, free: event.remaining(), held: event.counts.live(), first_end, state }
}
