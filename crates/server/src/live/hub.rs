//! The hub of one event: follows its history and sends it to all its watchers. Each message is encoded once; each
//! watcher reads it from one shared, bounded buffer.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use rules::history::EventRecord;
use rules::ids::{EventId, User};
use rules::outcome::Refusal;
use rules::subject::SubjectId;
use salvo::hyper::body::Bytes;
use stores::ledger::Ledger;
use stores::limited;
use tokio::sync::{mpsc, watch};

use super::Hub;
use super::channel::{HubChannel, Subscribed};
use super::message::{RETRY, StreamPosition};
use super::owners::Owners;
use super::pulse::HubPulse;
use super::recent::RECENT_ROWS;
use super::seats::WatchedSeats;
use super::view::{EventView, changes_event};
use crate::app::App;
use crate::line::EventLine;
use crate::refusals::Failure;

/// Rows per read.
const ROWS_MOST: usize = 10_000;
/// A watcher that comes from another server may have rows that this one has not read yet.
const REACH: Duration = Duration::from_secs(2);

pub struct EventHub {
    id: EventId,
    view: Mutex<EventView>,
    channel: HubChannel,
    /// Watchers that get private messages too.
    owners: Owners,
    /// The history number sent to all watchers.
    published: watch::Sender<u64>,
    pulse: HubPulse,
}

/// Whether the hub continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Going {
    On,
    Ended,
}

impl EventHub {
    pub async fn open(app: &Arc<App>, id: EventId) -> Result<Arc<EventHub>, Failure> {
        let event = app.ledger.event(id).await?.filter(|event| !event.deleted).ok_or(Refusal::NotFound)?;
        let seats = read_whole(&*app.ledger, id).await?;
        let n = seats.position().n;
        let view = EventView::new(event, seats, app.ledger.wall(), app.live.planted());
        let hub = Arc::new(EventHub {
            id,
            view: Mutex::new(view),
            channel: HubChannel::new(app.live.fan_out()),
            owners: Owners::default(),
            published: watch::Sender::new(n),
            pulse: HubPulse::new(n),
        });
        tokio::spawn(hub.clone().run(Arc::downgrade(app)));
        Ok(hub)
    }

    /// Waits until all rows up to `n` have been sent, for a watcher that resumes from there.
    pub async fn reach(&self, n: u64) {
        let mut published = self.published.subscribe();
        let _ = tokio::time::timeout(REACH, published.wait_for(|told| *told >= n)).await;
    }

    /// Starts watching: returns the current state, and a reader of everything that follows. None: the hub has ended.
    pub fn subscribe(&self, app: &App, after: Option<StreamPosition>) -> Option<Subscribed> {
        let mut view = self.view();
        if view.ended {
            return None;
        }
        // Under the lock: no round comes between this message and the first one read.
        let mut first = vec![Bytes::from_static(RETRY.as_bytes())];
        match after.and_then(|after| view.resumed(after)) {
            Some(missed) => first.push(missed),
            None => first.extend(view.snapshot(app.ledger.wall())),
        }
        first.extend(view.queue_told());
        Some(self.channel.subscribe(first))
    }

    /// From now on sends the rows of this user here too.
    pub fn follow_user(&self, user: User) -> mpsc::Receiver<EventRecord> {
        self.owners.follow(user)
    }

    async fn run(self: Arc<Self>, app: Weak<App>) {
        loop {
            self.pulse.next().await;
            let Some(app) = app.upgrade() else { return };
            if app.draining() {
                return;
            }
            match self.step(&app).await {
                Ok(Going::On) => {}
                Ok(Going::Ended) => {
                    let hub: Arc<dyn Hub> = self.clone();
                    return app.live.forget_hub(&hub);
                }
                Err(failure) => {
                    limited!(warn, event = %self.id, %failure, "the history could not be followed");
                    // Watchers get heartbeats, whatever the ledger does.
                    self.keep(Instant::now());
                }
            }
        }
    }

    async fn step(&self, app: &App) -> Result<Going, Failure> {
        if self.follow(app).await? == Going::Ended || self.view().ended {
            self.view().ended = true;
            return Ok(Going::Ended);
        }
        if self.view().wants_ends() {
            let began = Instant::now();
            let held = app.ledger.held_seats(self.id).await?;
            let mut view = self.view();
            view.seats.learn_ends(&held.found);
            view.ends_took(began.elapsed());
        }
        self.look_at_line(app).await;
        let now = Instant::now();
        let (told, position) = {
            let mut view = self.view();
            let told = view.round(app.ledger.now(), app.ledger.wall(), now, app.live.pace(self.channel.watchers()));
            // Under the lock, so that each new watcher gets every round once.
            if let Some(round) = &told {
                self.channel.say(round.clone());
            }
            (told, view.seats.position().n)
        };
        self.published.send_if_modified(|known| std::mem::replace(known, position) != position);
        if told.is_some_and(|told| told.last) {
            return Ok(Going::Ended);
        }
        Ok(self.keep(now))
    }

    /// Sends heartbeats. A hub without watchers ends.
    fn keep(&self, now: Instant) -> Going {
        let mut view = self.view();
        let unwatched = self.channel.keep(now);
        if view.ends_if(unwatched) { Going::Ended } else { Going::On }
    }

    /// Reads the line of the waiting room, about once a second. It is optional: without it the seats continue.
    async fn look_at_line(&self, app: &App) {
        let Some(room) = self.view().line_due(Instant::now()) else { return };
        match (EventLine { app, event: self.id, room }).serving().await {
            Ok(serving) => self.view().learn_line(&serving),
            Err(failure) => limited!(warn, event = %self.id, %failure, "watchers do not see the line"),
        }
    }

    /// Reads the new rows. A history that does not continue from this hub's position is a different one: the ledger
    /// was restored.
    async fn follow(&self, app: &App) -> Result<Going, Failure> {
        loop {
            let Some(newest) = self.view().seats.newest() else { return Ok(Going::Ended) };
            if self.pulse.reached() == newest.n {
                return Ok(Going::On);
            }
            let rows = app.ledger.history(self.id, newest.n.saturating_sub(1), ROWS_MOST).await?;
            let Some((first, rows)) = rows.split_first() else { return Ok(Going::Ended) };
            if StreamPosition::of(first) != newest {
                return Ok(Going::Ended);
            }
            let event = match rows.iter().any(|row| changes_event(row.what)) {
                true => app.ledger.event(self.id).await?,
                false => None,
            };
            let mut view = self.view();
            rows.iter().for_each(|row| view.seats.fold(row));
            self.owners.tell(rows);
            if let Some(event) = event {
                view.event = event;
            }
            if rows.len() + 1 < ROWS_MOST {
                // The next beat brings a newer number, if there is one.
                if let Some(newest) = view.seats.newest() {
                    self.pulse.read_up_to(newest.n);
                }
                return Ok(Going::On);
            }
        }
    }

    fn view(&self) -> MutexGuard<'_, EventView> {
        self.view.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Hub for EventHub {
    fn subject(&self) -> SubjectId {
        SubjectId::Event(self.id)
    }

    fn beat(&self, reached: Option<u64>) {
        self.pulse.beat(reached);
    }

    fn end(&self) {
        self.view().ended = true;
        self.pulse.look();
    }
}

/// Reads seats, holds and newest rows so that together they are consistent.
async fn read_whole(ledger: &dyn Ledger, id: EventId) -> Result<WatchedSeats, Failure> {
    let snapshot = ledger.snapshot(id).await?;
    let held = ledger.held_seats(id).await?;
    let mut rows: Vec<EventRecord> = Vec::new();
    let mut after = snapshot.n.saturating_sub(RECENT_ROWS as u64);
    loop {
        let more = ledger.history(id, after, ROWS_MOST).await?;
        let all = more.len() < ROWS_MOST;
        after = more.last().map_or(after, |row| row.n);
        rows.extend(more);
        if all {
            break;
        }
    }
    let built = tokio::task::spawn_blocking(move || WatchedSeats::new(&snapshot, &held.found, held.now, &rows));
    Ok(built.await.map_err(|_| Refusal::Internal)?)
}
