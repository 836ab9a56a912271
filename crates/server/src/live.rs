//! Live streams: watchers of a subject receive every change without polling. One hub per watched subject follows the
//! history and encodes each change once for all. A watcher that falls behind is disconnected, never waited for.

mod channel;
mod direct;
mod fan_out;
mod follower;
mod hub;
mod message;
mod nights;
mod own;
mod owners;
mod pace;
pub mod planted;
mod pulse;
mod recent;
mod round_log;
mod seats;
mod series;
pub mod stream_tickets;
mod view;
mod watcher;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rules::ids::{EventId, User};
use rules::nights::Dates;
use rules::outcome::Refusal;
use rules::subject::{RoomTypeId, SubjectId};
use tokio::sync::{OnceCell, watch};

use self::channel::Subscribed;
use self::fan_out::FanOut;
use self::hub::EventHub;
pub use self::message::StreamPosition;
use self::nights::RoomTypeHub;
use self::own::OwnMessages;
use self::pace::HubPace;
use self::planted::LiveBug;
pub use self::series::LiveSeries;
pub use self::watcher::{WatcherPlace, Watching};
use crate::app::App;
use crate::connections::current_client;
use crate::refusals::Failure;

/// The kernel's send buffer for a watcher that does not read.
const SEND_BUFFER: usize = 64 * 1024;
/// A hub may end while a watcher joins.
const TRIES: usize = 3;

/// A watched subject, as the follower sees it.
pub trait Hub: Send + Sync {
    fn subject(&self) -> SubjectId;

    /// Called several times a second with the history number that the ledger has reached, if it could be asked.
    fn beat(&self, reached: Option<u64>);

    /// Disconnects all watchers; they reconnect to another hub.
    fn end(&self);
}

pub struct LiveStreams {
    most: usize,
    taken: Arc<AtomicUsize>,
    hubs: Mutex<Hubs>,
    fan_out: FanOut,
    /// The server shuts down: streams end at once.
    draining: watch::Sender<bool>,
    series: LiveSeries,
    planted: Mutex<LiveBug>,
}

type Opening<H> = Arc<OnceCell<Arc<H>>>;

#[derive(Default)]
struct Hubs {
    events: HashMap<EventId, Opening<EventHub>>,
    room_types: HashMap<RoomTypeId, Opening<RoomTypeHub>>,
    /// Whether a task asks the ledger for all of them.
    followed: bool,
}

impl Hubs {
    fn open(&self) -> Vec<Arc<dyn Hub>> {
        let events = self.events.values().filter_map(|cell| Some(cell.get()?.clone() as Arc<dyn Hub>));
        let room_types = self.room_types.values().filter_map(|cell| Some(cell.get()?.clone() as Arc<dyn Hub>));
        events.chain(room_types).collect()
    }
}

impl LiveStreams {
    pub fn new(most: usize, series: LiveSeries) -> LiveStreams {
        LiveStreams {
            most,
            taken: Arc::default(),
            hubs: Mutex::default(),
            fan_out: FanOut::default(),
            draining: watch::Sender::new(false),
            series,
            planted: Mutex::default(),
        }
    }

    /// Starts watching an event, from a position if one is given and known. With `user`, private messages too.
    pub async fn watch_event(
        &self,
        app: &Arc<App>,
        id: EventId,
        after: Option<StreamPosition>,
        user: Option<User>,
    ) -> Result<Watching, Refusal> {
        let place = self.place()?;
        for _ in 0..TRIES {
            let hub =
                self.opened(app, |hubs| hubs.events.entry(id).or_default().clone(), EventHub::open(app, id)).await?;
            if let Some(after) = after {
                hub.reach(after.n).await;
            }
            // Before the public messages start, so that no row of the user is missed between the two.
            let rows = user.clone().map(|user| (hub.follow_user(user.clone()), user));
            let Some(subscribed) = hub.subscribe(app, after) else {
                let hub: Arc<dyn Hub> = hub;
                self.forget_hub(&hub);
                continue;
            };
            let watching = self.watching(subscribed, place);
            let Some((rows, user)) = rows else { return Ok(watching) };
            let (out, own) = own::channel();
            tokio::spawn(OwnMessages { app: Arc::downgrade(app), event: id, user, rows, out }.run());
            return Ok(watching.with_own(own));
        }
        Err(Refusal::Overloaded)
    }

    /// Starts watching some nights of a room type.
    pub async fn watch_nights(&self, app: &Arc<App>, id: RoomTypeId, dates: Dates) -> Result<Watching, Refusal> {
        let place = self.place()?;
        for _ in 0..TRIES {
            let find = |hubs: &mut Hubs| hubs.room_types.entry(id).or_default().clone();
            let hub = self.opened(app, find, RoomTypeHub::open(app, id, dates)).await?;
            if let Some(subscribed) = hub.subscribe(app, dates).await? {
                return Ok(self.watching(subscribed, place));
            }
            let hub: Arc<dyn Hub> = hub;
            self.forget_hub(&hub);
        }
        Err(Refusal::Overloaded)
    }

    fn place(&self) -> Result<WatcherPlace, Refusal> {
        WatcherPlace::take(&self.taken, self.most, &self.series).ok_or(Refusal::Overloaded)
    }

    fn watching(&self, subscribed: Subscribed, place: WatcherPlace) -> Watching {
        let client = current_client();
        if let Some(client) = &client {
            client.keep_little(SEND_BUFFER);
        }
        Watching::new(subscribed, self.draining.subscribe(), client, place, self.fan_out())
    }

    fn fan_out(&self) -> FanOut {
        self.fan_out.clone()
    }

    /// The pace of a hub with this many watchers.
    fn pace(&self, own: usize) -> HubPace {
        HubPace::of(self.taken.load(Ordering::Relaxed), own)
    }

    /// The minimum time between two rounds now.
    fn pause(&self) -> Duration {
        pace::pause(self.taken.load(Ordering::Relaxed))
    }

    /// The hub, opened by the first caller.
    async fn opened<H>(
        &self,
        app: &Arc<App>,
        find: impl FnOnce(&mut Hubs) -> Opening<H>,
        open: impl Future<Output = Result<Arc<H>, Failure>>,
    ) -> Result<Arc<H>, Refusal> {
        let cell = {
            let mut hubs = self.lock();
            if !std::mem::replace(&mut hubs.followed, true) {
                tokio::spawn(follower::follow(Arc::downgrade(app)));
            }
            find(&mut hubs)
        };
        Ok(cell.get_or_try_init(|| open).await.cloned()?)
    }

    /// The hubs. None: there are no watchers, and the next one starts the task again.
    fn hubs_or_rest(&self) -> Option<Vec<Arc<dyn Hub>>> {
        let mut hubs = self.lock();
        // Removes hubs that failed to open, unless a caller is opening them now.
        hubs.events.retain(|_, cell| cell.get().is_some() || Arc::strong_count(cell) > 1);
        hubs.room_types.retain(|_, cell| cell.get().is_some() || Arc::strong_count(cell) > 1);
        hubs.followed = !hubs.events.is_empty() || !hubs.room_types.is_empty();
        hubs.followed.then(|| hubs.open())
    }

    fn forget_hub(&self, hub: &Arc<dyn Hub>) {
        let mut hubs = self.lock();
        let ended = Arc::as_ptr(hub).cast::<()>();
        hubs.events.retain(|_, cell| cell.get().is_none_or(|known| Arc::as_ptr(known).cast() != ended));
        hubs.room_types.retain(|_, cell| cell.get().is_none_or(|known| Arc::as_ptr(known).cast() != ended));
    }

    /// The ledger was restored: disconnects watchers, which get a new snapshot.
    pub fn forget_all(&self) {
        let mut hubs = self.lock();
        hubs.open().iter().for_each(|hub| hub.end());
        hubs.events.clear();
        hubs.room_types.clear();
    }

    /// Ends every stream.
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
