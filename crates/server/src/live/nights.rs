//! The hub of a range of nights of one room type. Watchers of the same range share it.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use rules::nights::{Dates, Night};
use rules::outcome::Refusal;
use rules::room_type::NightRow;
use rules::subject::{RoomTypeId, SubjectId};
use salvo::hyper::body::Bytes;
use stores::ledger::rooms::Availability;
use stores::limited;

use super::Hub;
use super::channel::{HubChannel, Round, Subscribed};
use super::message::{Messages, RETRY, StreamPosition};
use super::pace::MessagePace;
use super::pulse::HubPulse;
use crate::app::App;
use crate::http::wire::live::{LiveNightsBody, LiveNightsSnapshotBody};
use crate::http::wire::stays::NightBody;
use crate::refusals::Failure;

/// While something is held, the nights are read this often: a hold that lapses has no history row at its end.
const HELD_LOOK: Duration = Duration::from_millis(400);

pub struct NightHub {
    id: RoomTypeId,
    dates: Dates,
    view: Mutex<NightView>,
    channel: HubChannel,
    pulse: HubPulse,
}

struct NightView {
    n: u64,
    /// As told last.
    shown: Vec<(Night, NightRow)>,
    /// As read last.
    read: Vec<(Night, NightRow)>,
    read_at: Instant,
    pace: MessagePace,
    snapshot: Option<Bytes>,
    ended: bool,
}

impl NightHub {
    pub async fn open(app: &Arc<App>, id: RoomTypeId, dates: Dates) -> Result<Arc<NightHub>, Failure> {
        let Availability { room_type, nights, .. } =
            app.ledger.availability(id, dates).await?.ok_or(Refusal::NotFound)?;
        let view = NightView {
            n: room_type.n,
            shown: nights.clone(),
            read: nights,
            read_at: Instant::now(),
            pace: MessagePace::default(),
            snapshot: None,
            ended: false,
        };
        let hub = Arc::new(NightHub {
            id,
            dates,
            view: Mutex::new(view),
            channel: HubChannel::new(app.live.fan_out()),
            pulse: HubPulse::new(room_type.n),
        });
        tokio::spawn(hub.clone().run(Arc::downgrade(app)));
        Ok(hub)
    }

    /// Begins to watch. A range of nights is small, so whoever comes back gets all of it.
    pub fn subscribe(&self) -> Option<Subscribed> {
        let mut view = self.view();
        if view.ended {
            return None;
        }
        let (id, from) = (self.id.0, self.dates.check_in.to_string());
        let snapshot = view.snapshot(id, from);
        Some(self.channel.subscribe(vec![Bytes::from_static(RETRY.as_bytes()), snapshot]))
    }

    async fn run(self: Arc<Self>, app: Weak<App>) {
        loop {
            self.pulse.next().await;
            let Some(app) = app.upgrade() else { return };
            if app.draining() {
                return;
            }
            if let Err(failure) = self.step(&app).await {
                limited!(warn, room_type = %self.id, %failure, "the nights could not be followed");
            }
            let mut view = self.view();
            view.ended |= self.channel.keep(Instant::now());
            if view.ended {
                drop(view);
                let hub: Arc<dyn Hub> = self.clone();
                return app.live.forget_hub(&hub);
            }
        }
    }

    async fn step(&self, app: &App) -> Result<(), Failure> {
        let due = {
            let view = self.view();
            let held = view.read.iter().any(|(_, row)| row.held > 0) && view.read_at.elapsed() >= HELD_LOOK;
            held || view.n != self.pulse.reached()
        };
        if due {
            let found = app.ledger.availability(self.id, self.dates).await?.ok_or(Refusal::NotFound)?;
            let mut view = self.view();
            (view.n, view.read, view.read_at) = (found.room_type.n, found.nights, Instant::now());
        }
        // Under the lock, so that whoever subscribes gets every round once.
        let mut view = self.view();
        if let Some(round) = view.round(Instant::now(), app.live.pace(self.channel.watchers()).pause) {
            self.channel.say(round);
        }
        Ok(())
    }

    fn view(&self) -> MutexGuard<'_, NightView> {
        self.view.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Hub for NightHub {
    fn subject(&self) -> SubjectId {
        SubjectId::RoomType(self.id)
    }

    fn beat(&self, reached: Option<u64>) {
        self.pulse.beat(reached);
    }

    fn end(&self) {
        self.view().ended = true;
        self.pulse.look();
    }
}

impl NightView {
    fn position(&self) -> StreamPosition {
        StreamPosition { n: self.n, mark: 0 }
    }

    fn round(&mut self, at: Instant, pause: Duration) -> Option<Round> {
        let changed: Vec<NightBody> = self
            .read
            .iter()
            .zip(&self.shown)
            .filter(|(read, shown)| read != shown)
            .map(|((night, row), _)| NightBody::of(*night, *row))
            .collect();
        if changed.is_empty() || !self.pace.allows(1, at, pause) {
            return None;
        }
        (self.shown, self.snapshot) = (self.read.clone(), None);
        let mut messages = Messages::default();
        messages.add("nights", Some(self.position()), &LiveNightsBody { nights: changed });
        Some(Round::of(messages, false))
    }

    fn snapshot(&mut self, room_type_id: i64, from: String) -> Bytes {
        let position = self.position();
        let shown = &self.shown;
        let write = || {
            let nights = shown.iter().map(|(night, row)| NightBody::of(*night, *row)).collect();
            let mut messages = Messages::default();
            let body = LiveNightsSnapshotBody { room_type_id, from, nights };
            messages.add("snapshot", Some(position), &body);
            messages.written()
        };
        self.snapshot.get_or_insert_with(write).clone()
    }
}
