//! Room types in a lane. There is no door: the queue alone orders their requests. The next batch does not wait until
//! the door has stored the changed holds.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use rules::ids::EventId;
use rules::outcome::Refusal;
use rules::room_type::{RoomAction, RoomType};
use rules::seats::Hall;
use rules::subject::RoomTypeId;
use stores::door::Release;
use stores::ledger::{Answered, Batch, Commit, Committed, Ledger};

use super::served::{News, Served};
use super::{Lane, Lanes, LanesOf};

impl Served for RoomType {
    /// The row as this server last saw it.
    type Facts = Mutex<Arc<RoomType>>;

    const NEXT_BATCH_WAITS_FOR_PUBLISH: bool = false;
    const LATE_WAIT_FOR_LOCK_RESULT: bool = true;

    fn lanes(lanes: &Lanes) -> &LanesOf<RoomType> {
        &lanes.rooms
    }

    fn find(ledger: &dyn Ledger, id: RoomTypeId) -> Answered<Option<RoomType>> {
        ledger.room_type(id)
    }

    fn commit(ledger: &dyn Ledger, batch: Batch<RoomType>) -> Answered<Committed<RoomType>> {
        Commit::<RoomType>::commit(ledger, batch)
    }

    fn overlap(_: &dyn Ledger) -> usize {
        1
    }

    fn door(_: RoomTypeId) -> Option<EventId> {
        None
    }

    fn facts(self) -> Mutex<Arc<RoomType>> {
        Mutex::new(Arc::new(self))
    }

    fn hall(_: &Lane<RoomType>) -> Option<Arc<Hall>> {
        None
    }

    fn learn(newest: &Mutex<Arc<RoomType>>, after: &RoomType, _: Instant) {
        let mut newest = newest.lock().unwrap_or_else(|p| p.into_inner());
        // A read may end after a batch that began later.
        if after.n >= newest.n {
            *newest = Arc::new(after.clone());
        }
    }

    fn check(_: &Mutex<Arc<RoomType>>, _: &RoomAction) -> Result<(), Refusal> {
        Ok(())
    }

    async fn publish(lane: &Lane<RoomType>, _: Vec<Release>, news: Option<News<RoomType>>) {
        if let Some(news) = news {
            lane.show_holds(news.holds).await;
        }
    }
}

impl Lane<RoomType> {
    pub fn room_type(&self) -> Arc<RoomType> {
        self.facts.lock().unwrap_or_else(|p| p.into_inner()).clone()
    }
}
