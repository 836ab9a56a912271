//! The hub of a room type. It reads the watched nights once for all watchers: anybody may watch any range of nights,
//! and the load on the ledger must not grow with their number. Watchers of the same range share the encoded messages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use rules::nights::{Dates, Night};
use rules::outcome::Refusal;
use rules::room_type::NightRow;
use rules::subject::{RoomTypeId, SubjectId};
use salvo::hyper::body::Bytes;
use stores::limited;

use super::Hub;
use super::channel::{HubChannel, Round, Subscribed};
use super::fan_out::FanOut;
use super::message::{Messages, RETRY, StreamPosition};
use super::pace::MessagePace;
use super::pulse::HubPulse;
use crate::app::App;
use crate::http::wire::live::{LiveNightsBody, LiveNightsSnapshotBody};
use crate::http::wire::stays::NightBody;
use crate::refusals::Failure;

/// While there are holds, the nights are read this often: a hold that lapses has no history row at its end.
const HELD_LOOK: Duration = Duration::from_millis(400);

pub struct RoomTypeHub {
    id: RoomTypeId,
    view: Mutex<NightsView>,
    /// Allows one read at a time: the hub's own, or that of a watcher of nights that were not read yet.
    reading: tokio::sync::Mutex<()>,
    pulse: HubPulse,
}

/// A night, and what was sold of it.
type ReadNight = (Night, NightRow);

struct NightsView {
    id: RoomTypeId,
    /// The history number of the room type when its nights were read.
    n: u64,
    /// From the first watched night to the last, as last read.
    read: Vec<ReadNight>,
    read_at: Instant,
    ranges: HashMap<Dates, WatchedRange>,
    fan_out: FanOut,
    ended: bool,
}

/// The watchers of the same nights.
struct WatchedRange {
    channel: HubChannel,
    /// As last sent.
    shown: Vec<ReadNight>,
    /// Whether nights were read that may not have been sent.
    behind: bool,
    pace: MessagePace,
}

impl RoomTypeHub {
    /// Opens the hub with the nights of its first watcher.
    pub async fn open(app: &Arc<App>, id: RoomTypeId, dates: Dates) -> Result<Arc<RoomTypeHub>, Failure> {
        let found = app.ledger.availability(id, dates).await?.ok_or(Refusal::NotFound)?;
        let n = found.room_type.n;
        let (pulse, mut view) = (HubPulse::new(n), NightsView::new(id, n, found.nights, app.live.fan_out()));
        // A hub without a range ends. This one waits as long for its first watcher as for one that reconnects.
        drop(view.subscribe(dates));
        let (view, reading) = (Mutex::new(view), tokio::sync::Mutex::default());
        let hub = Arc::new(RoomTypeHub { id, view, reading, pulse });
        tokio::spawn(hub.clone().run(Arc::downgrade(app)));
        Ok(hub)
    }

    /// Starts watching. A range of nights is small, so a watcher that resumes gets all of it. None: the hub has
    /// ended.
    pub async fn subscribe(&self, app: &App, dates: Dates) -> Result<Option<Subscribed>, Failure> {
        if let Some(subscribed) = self.view().subscribe(dates) {
            return Ok(Some(subscribed));
        }
        let _reading = self.reading.lock().await;
        // Another watcher may have read these nights meanwhile.
        if let Some(subscribed) = self.view().subscribe(dates) {
            return Ok(Some(subscribed));
        }
        let watched = self.view().watched();
        self.read(app, watched.map_or(dates, |watched| watched.around(dates))).await?;
        Ok(self.view().subscribe(dates))
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
            if self.view().ends(Instant::now()) {
                let hub: Arc<dyn Hub> = self.clone();
                return app.live.forget_hub(&hub);
            }
        }
    }

    async fn step(&self, app: &App) -> Result<(), Failure> {
        if self.view().is_due(self.pulse.reached()) {
            let _reading = self.reading.lock().await;
            let watched = self.view().watched();
            if let Some(watched) = watched {
                self.read(app, watched).await?;
            }
        }
        self.view().tell(Instant::now(), app.live.pause());
        Ok(())
    }

    /// For the caller that holds `reading`.
    async fn read(&self, app: &App, nights: Dates) -> Result<(), Failure> {
        let found = app.ledger.availability(self.id, nights).await?.ok_or(Refusal::NotFound)?;
        self.view().learn(found.room_type.n, found.nights);
        Ok(())
    }

    fn view(&self) -> MutexGuard<'_, NightsView> {
        self.view.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Hub for RoomTypeHub {
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

impl NightsView {
    fn new(id: RoomTypeId, n: u64, read: Vec<ReadNight>, fan_out: FanOut) -> NightsView {
        NightsView { id, n, read, read_at: Instant::now(), ranges: HashMap::new(), fan_out, ended: false }
    }

    fn learn(&mut self, n: u64, read: Vec<ReadNight>) {
        (self.n, self.read_at) = (n, Instant::now());
        if self.read != read {
            self.read = read;
            self.ranges.values_mut().for_each(|range| range.behind = true);
        }
    }

    /// None: not all of these nights were read, or the hub has ended.
    fn subscribe(&mut self, dates: Dates) -> Option<Subscribed> {
        if self.ended {
            return None;
        }
        let position = self.position();
        let read = cut(&self.read, dates)?;
        let range = self.ranges.entry(dates).or_insert_with(|| WatchedRange {
            channel: HubChannel::new(self.fan_out.clone()),
            shown: read.to_vec(),
            behind: false,
            pace: MessagePace::default(),
        });
        let snapshot = range.snapshot(self.id, dates, position);
        Some(range.channel.subscribe(vec![Bytes::from_static(RETRY.as_bytes()), snapshot]))
    }

    /// From the first watched night to the last. None: there are no watchers.
    fn watched(&self) -> Option<Dates> {
        self.ranges.keys().copied().reduce(Dates::around)
    }

    fn is_due(&self, reached: u64) -> bool {
        let held = self.read.iter().any(|(_, row)| row.held > 0) && self.read_at.elapsed() >= HELD_LOOK;
        // A watcher may have joined while fewer nights were read.
        let unread = self.watched().is_some_and(|watched| cut(&self.read, watched).is_none());
        held || unread || self.n != reached
    }

    /// Under the lock, so that each new watcher gets every round once.
    fn tell(&mut self, now: Instant, pause: Duration) {
        let position = self.position();
        for (dates, range) in &mut self.ranges {
            if let Some(read) = cut(&self.read, *dates) {
                range.tell(read, position, now, pause);
            }
        }
    }

    /// Sends heartbeats. Returns whether there were no watchers for a while, or the hub was told to end.
    fn ends(&mut self, now: Instant) -> bool {
        self.ranges.retain(|_, range| !range.channel.keep(now));
        self.ended |= self.ranges.is_empty();
        self.ended
    }

    fn position(&self) -> StreamPosition {
        StreamPosition { n: self.n, mark: 0 }
    }
}

impl WatchedRange {
    /// Sends the changes, if the pace allows it now.
    fn tell(&mut self, read: &[ReadNight], position: StreamPosition, now: Instant, pause: Duration) {
        if !self.behind {
            return;
        }
        let pairs = read.iter().zip(&self.shown);
        let changed = pairs.filter(|(read, shown)| read != shown).map(|((night, row), _)| NightBody::of(*night, *row));
        let nights: Vec<NightBody> = changed.collect();
        if !nights.is_empty() {
            if !self.pace.allows(1, now, pause) {
                return;
            }
            self.shown.copy_from_slice(read);
            let mut messages = Messages::default();
            messages.add("nights", Some(position), &LiveNightsBody { nights });
            self.channel.say(Round::of(messages, false));
        }
        self.behind = false;
    }

    fn snapshot(&self, id: RoomTypeId, dates: Dates, position: StreamPosition) -> Bytes {
        let nights = self.shown.iter().map(|(night, row)| NightBody::of(*night, *row)).collect();
        let body = LiveNightsSnapshotBody { room_type_id: id.0, from: dates.check_in.to_string(), nights };
        let mut messages = Messages::default();
        messages.add("snapshot", Some(position), &body);
        messages.written()
    }
}

/// A subrange of these nights, which are contiguous. None: it is not covered.
fn cut(nights: &[ReadNight], dates: Dates) -> Option<&[ReadNight]> {
    let (first, _) = nights.first()?;
    let from = usize::try_from(dates.check_in.0 - first.0).ok()?;
    nights.get(from..from + dates.count())
}

#[cfg(test)]
mod tests {
    use super::super::round_log::NextRound;
    use super::*;

    fn nights(from: i32, to: i32) -> Dates {
        Dates { check_in: Night(from), check_out: Night(to) }
    }

    /// Nights as a ledger shows them, with one room of each of these reserved.
    fn read(dates: Dates, reserved: &[i32]) -> Vec<ReadNight> {
        let row = |night: Night| {
            let reserved = u32::from(reserved.contains(&night.0));
            (night, NightRow { reserved, ..NightRow::untouched(3) })
        };
        dates.nights().map(row).collect()
    }

    fn view(dates: Dates) -> NightsView {
        NightsView::new(RoomTypeId(1), 1, read(dates, &[]), FanOut::default())
    }

    /// The dates of the nights that the watcher is told of.
    fn told(watcher: &mut Subscribed) -> Vec<Night> {
        let NextRound::Said(round) = watcher.rounds.next() else { return Vec::new() };
        let text = String::from_utf8(round.text.to_vec()).unwrap();
        text.split("\"date\":\"").skip(1).map(|rest| rest[..10].parse().unwrap()).collect()
    }

    #[test]
    fn each_range_is_told_of_its_own_nights_from_one_read() {
        let mut view = view(nights(10, 20));
        let (mut early, mut late) = (view.subscribe(nights(10, 14)).unwrap(), view.subscribe(nights(12, 20)).unwrap());
        view.learn(2, read(nights(10, 20), &[11, 13, 19]));
        view.tell(Instant::now(), Duration::ZERO);
        assert_eq!(told(&mut early), [Night(11), Night(13)]);
        assert_eq!(told(&mut late), [Night(13), Night(19)]);
        view.learn(3, read(nights(10, 20), &[11, 13]));
        view.tell(Instant::now(), Duration::ZERO);
        assert_eq!((told(&mut early), told(&mut late)), (vec![], vec![Night(19)]));
    }

    #[test]
    fn change_that_comes_too_early_is_told_later() {
        let (mut view, began) = (view(nights(10, 20)), Instant::now());
        let mut watcher = view.subscribe(nights(10, 20)).unwrap();
        let pause = Duration::from_millis(300);
        for (n, at, reserved, wanted) in
            [(2, 0, vec![11], vec![Night(11)]), (3, 100, vec![11, 12], vec![]), (3, 300, vec![11, 12], vec![Night(12)])]
        {
            view.learn(n, read(nights(10, 20), &reserved));
            view.tell(began + Duration::from_millis(at), pause);
            assert_eq!(told(&mut watcher), wanted, "at {at} ms");
        }
    }

    #[test]
    fn nights_that_were_not_read_are_read_before_anybody_watches_them() {
        let mut view = view(nights(10, 20));
        for outside in [nights(9, 12), nights(15, 21), nights(30, 40), nights(0, 5)] {
            assert!(view.subscribe(outside).is_none(), "{outside:?}");
        }
        let _near = view.subscribe(nights(10, 12)).unwrap();
        view.learn(1, read(nights(10, 40), &[]));
        let _far = view.subscribe(nights(30, 40)).unwrap();
        assert_eq!(view.watched(), Some(nights(10, 40)));
        assert!(!view.is_due(1));
        // A read that began before the second one came.
        view.learn(1, read(nights(10, 12), &[]));
        assert!(view.is_due(1), "a watched night is not read");
    }

    #[test]
    fn nights_that_nobody_watches_are_not_read_any_more() {
        let (mut view, began) = (view(nights(0, 500)), Instant::now());
        let (near, far) = (view.subscribe(nights(0, 10)).unwrap(), view.subscribe(nights(400, 500)).unwrap());
        let later = |seconds| began + Duration::from_secs(seconds);
        drop(far);
        assert!(!view.ends(later(1)));
        assert_eq!(view.watched(), Some(nights(0, 500)), "for those who reconnect");
        assert!(!view.ends(later(12)));
        assert_eq!(view.watched(), Some(nights(0, 10)));
        drop(near);
        assert!(!view.ends(later(13)));
        assert!(view.ends(later(24)));
        assert!(view.subscribe(nights(0, 10)).is_none(), "it has ended");
    }
}
