//! Live streams: watchers of a subject see every change without asking. One hub per watched subject follows the
//! history and writes each change once for all; a watcher that does not keep up is dropped, never waited for.

mod follower;
mod hub;
mod message;
mod pace;
pub mod planted;
mod recent;
mod seats;
mod series;
mod view;
mod watcher;

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard};

use rules::ids::EventId;
use rules::outcome::Refusal;
use tokio::sync::{OnceCell, watch};

use self::hub::EventHub;
pub use self::message::StreamPosition;
use self::planted::LiveBug;
pub use self::series::LiveSeries;
pub use self::watcher::{WatcherPlace, Watching};
use crate::app::App;
use crate::connections::current_client;

/// What the kernel keeps for a watcher that does not read.
const SEND_BUFFER: usize = 64 * 1024;
/// A hub may end just when somebody comes.
const TRIES: usize = 3;

pub struct LiveStreams {
    most: usize,
    taken: Arc<AtomicUsize>,
    hubs: Mutex<Hubs>,
    /// The server shuts down: streams end at once.
    draining: watch::Sender<bool>,
    series: LiveSeries,
    planted: Mutex<LiveBug>,
}

#[derive(Default)]
struct Hubs {
    events: HashMap<EventId, Arc<OnceCell<Arc<EventHub>>>>,
    /// A task asks the ledger for all of them.
    followed: bool,
}

impl LiveStreams {
    pub fn new(most: usize, series: LiveSeries) -> LiveStreams {
        LiveStreams {
            most,
            taken: Arc::default(),
            hubs: Mutex::default(),
            draining: watch::Sender::new(false),
            series,
            planted: Mutex::default(),
        }
    }

    /// Begins to watch an event, from a position on if one is given and known.
    pub async fn watch_event(
        &self,
        app: &Arc<App>,
        id: EventId,
        after: Option<StreamPosition>,
    ) -> Result<Watching, Refusal> {
        let place = WatcherPlace::take(&self.taken, self.most, &self.series).ok_or(Refusal::Overloaded)?;
        for _ in 0..TRIES {
            let hub = self.event_hub(app, id).await?;
            if let Some(after) = after {
                hub.reach(after.n).await;
            }
            if let Some(subscribed) = hub.subscribe(app, after) {
                let client = current_client();
                if let Some(client) = &client {
                    client.keep_little(SEND_BUFFER);
                }
                return Ok(Watching::new(subscribed, self.draining.subscribe(), client, place));
            }
            self.forget_hub(&hub);
        }
        Err(Refusal::Overloaded)
    }

    async fn event_hub(&self, app: &Arc<App>, id: EventId) -> Result<Arc<EventHub>, Refusal> {
        let cell = {
            let mut hubs = self.lock();
            if !std::mem::replace(&mut hubs.followed, true) {
                tokio::spawn(follower::follow(Arc::downgrade(app)));
            }
            hubs.events.entry(id).or_default().clone()
        };
        let opened = cell.get_or_try_init(|| EventHub::open(app, id)).await.cloned();
        opened.map_err(|failure| {
            let mut hubs = self.lock();
            if hubs.events.get(&id).is_some_and(|known| known.get().is_none()) {
                hubs.events.remove(&id);
            }
            failure.into()
        })
    }

    /// The hubs; none: nobody watches, and the next watcher starts the task again.
    fn hubs_or_rest(&self) -> Option<Vec<Arc<EventHub>>> {
        let mut hubs = self.lock();
        hubs.followed = !hubs.events.is_empty();
        hubs.followed.then(|| hubs.events.values().filter_map(|cell| cell.get().cloned()).collect())
    }

    fn forget_hub(&self, hub: &Arc<EventHub>) {
        let mut hubs = self.lock();
        hubs.events.retain(|_, cell| cell.get().is_none_or(|known| !Arc::ptr_eq(known, hub)));
    }

    /// The ledger was restored: watchers reconnect and are told anew.
    pub fn forget_all(&self) {
        let forgotten = std::mem::take(&mut self.lock().events);
        forgotten.values().filter_map(|cell| cell.get()).for_each(|hub| hub.end());
    }

    /// Every stream ends.
    pub fn drain(&self) {
        self.draining.send_replace(true);
    }

    fn planted(&self) -> LiveBug {
        *self.planted.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Hubs that open from now on have this bug.
    #[cfg(feature = "planted")]
    pub fn plant(&self, bug: LiveBug) {
        *self.planted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = bug;
    }

    fn lock(&self) -> MutexGuard<'_, Hubs> {
        self.hubs.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
