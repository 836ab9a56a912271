//! Caches events and their lines, so that a crowd that polls costs the stores one call.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rules::entries::WaitingRoom;
use rules::event::{Event, State};
use rules::ids::EventId;
use rules::outcome::Refusal;
use rules::queue::Serving;
use rules::time::Moment;

use crate::app::App;
use crate::refusals::Failure;

/// A cached event is read again after this.
const FRESH: Duration = Duration::from_secs(1);

/// An event that was not read for this long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Lines(Mutex<HashMap<EventId, Arc<Remembered>>>);

/// The cache entry of one event.
#[derive(Default)]
pub(super) struct Remembered {
    event: Mutex<Option<Seen>>,
    /// Held by the one caller that reads the event; the others wait for the result.
    reading: tokio::sync::Mutex<()>,
    /// Held by the one caller that stores the end of a draw; the others do not wait.
    pub ending: tokio::sync::Mutex<()>,
    /// Held by the one caller that repairs the door; the others wait, and ask the door again.
    pub mending: tokio::sync::Mutex<()>,
    /// How often the door was repaired.
    pub mended: AtomicU64,
    serving: Mutex<Option<(Serving, Moment)>>,
    pace: Mutex<Option<(u64, Moment)>>,
    /// Held by the one caller that asks the door for the pace; the others use the cached one.
    pub pacing: tokio::sync::Mutex<()>,
}

/// An event as this server last saw it.
struct Seen {
    event: Arc<Event>,
    at: Instant,
    /// When the read began. None: this server changed the event, and another one may have changed it since.
    asked: Option<Instant>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Remembered {
    fn fresh_event(&self, wall: Moment) -> Option<Arc<Event>> {
        let seen = locked(&self.event);
        // The opening of a draw reveals all places: it may have been postponed since this was read.
        let opened_since = |event: &Event, at: &Instant| {
            let open_ms = event.opens_at.filter(|_| event.has_draw()).map(|opens| opens.ms_until(wall));
            open_ms.is_some_and(|open_ms| (0..at.elapsed().as_millis() as i64).contains(&open_ms))
        };
        let fresh = |Seen { event, at, .. }: &&Seen| at.elapsed() < FRESH && !opened_since(event, at);
        seen.as_ref().filter(fresh).map(|seen| seen.event.clone())
    }

    /// The event, if it was read at that moment or later.
    fn event_since(&self, moment: Instant) -> Option<Arc<Event>> {
        let seen = locked(&self.event);
        seen.as_ref().filter(|seen| seen.asked >= Some(moment)).map(|seen| seen.event.clone())
    }

    /// The state of the event as last seen.
    pub fn state(&self, wall: Moment) -> Option<State> {
        locked(&self.event).as_ref().map(|seen| seen.event.state_at(wall))
    }

    fn learn_event(&self, event: Arc<Event>, asked: Option<Instant>) {
        *locked(&self.event) = Some(Seen { event, at: Instant::now(), asked });
    }

    pub fn serving(&self) -> Option<(Serving, Moment)> {
        *locked(&self.serving)
    }

    /// Users let in per minute, as last known.
    pub fn pace(&self) -> Option<(u64, Moment)> {
        *locked(&self.pace)
    }

    pub fn learn_pace(&self, per_minute: u64, at: Moment) {
        *locked(&self.pace) = Some((per_minute, at));
    }

    pub fn learn_serving(&self, serving: Serving, at: Moment) {
        *locked(&self.serving) = Some((serving, at));
    }
}

impl Lines {
    pub(super) fn of(&self, event: EventId) -> Arc<Remembered> {
        locked(&self.0).entry(event).or_default().clone()
    }

    /// This server changed the event.
    pub fn learn(&self, event: &Event) {
        let remembered = self.of(event.id);
        remembered.learn_event(Arc::new(event.clone()), None);
        *locked(&remembered.serving) = None;
    }

    pub fn forget(&self, event: EventId) {
        locked(&self.0).remove(&event);
    }

    /// The ledger was restored.
    pub fn forget_all(&self) {
        locked(&self.0).clear();
    }

    /// Forgets events that nobody asked about for a while. Returns how many are left.
    pub fn forget_unused(&self) -> usize {
        let mut all = locked(&self.0);
        all.retain(|_, remembered| {
            let read = locked(&remembered.event).as_ref().is_some_and(|seen| seen.at.elapsed() < FORGOTTEN);
            read || Arc::strong_count(remembered) > 1
        });
        all.shrink_to_fit();
        all.len()
    }

    /// Events with a waiting room that were requested.
    pub fn known(&self) -> Vec<(EventId, WaitingRoom)> {
        self.seen().iter().filter_map(|event| Some((event.id, event.waiting_room?))).collect()
    }

    /// Events that were requested, as last seen.
    pub fn seen(&self) -> Vec<Arc<Event>> {
        let all: Vec<_> = locked(&self.0).values().cloned().collect();
        all.iter().filter_map(|one| locked(&one.event).as_ref().map(|seen| seen.event.clone())).collect()
    }
}

/// The event, at most a second old.
pub async fn event(app: &App, id: EventId) -> Result<Arc<Event>, Refusal> {
    let remembered = app.lines.of(id);
    if let Some(event) = remembered.fresh_event(app.ledger.wall()) {
        return Ok(event);
    }
    let _one = remembered.reading.lock().await;
    match remembered.fresh_event(app.ledger.wall()) {
        Some(event) => Ok(event),
        None => Ok(read(app, id, &remembered).await?),
    }
}

/// The event, by a read that begins now or later. Callers that wait share one: a read that began before one of them
/// called may have missed a change.
pub(super) async fn event_now(app: &App, id: EventId) -> Result<Arc<Event>, Failure> {
    let asked = Instant::now();
    let remembered = app.lines.of(id);
    let _one = remembered.reading.lock().await;
    match remembered.event_since(asked) {
        Some(event) => Ok(event),
        None => read(app, id, &remembered).await,
    }
}

async fn read(app: &App, id: EventId, remembered: &Remembered) -> Result<Arc<Event>, Failure> {
    let asked = Instant::now();
    let found = app.ledger.event(id).await?;
    let Some(found) = found.filter(|event| !event.deleted) else {
        app.lines.forget(id);
        return Err(Refusal::NotFound.into());
    };
    let found = Arc::new(found);
    remembered.learn_event(found.clone(), Some(asked));
    Ok(found)
}

/// An event with a waiting room that is not closed.
pub async fn open_event(app: &App, id: EventId) -> Result<(Arc<Event>, WaitingRoom), Refusal> {
    let event = event(app, id).await?;
    let room = event.waiting_room.ok_or(Refusal::NoWaitingRoom)?;
    if event.state_at(app.ledger.wall()) == State::Closed {
        return Err(Refusal::Closed);
    }
    Ok((event, room))
}
