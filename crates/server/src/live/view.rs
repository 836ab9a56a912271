//! What the watchers of an event were sent, and what they are sent next.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rules::entries::WaitingRoom;
use rules::event::Event;
use rules::history::Happened;
use rules::queue::Serving;
use rules::time::Moment;
use salvo::hyper::body::Bytes;

use super::channel::Round;
use super::follower::BEAT;
use super::message::{Messages, StreamPosition};
use super::pace::{HubPace, MessagePace};
use super::planted::LiveBug;
use super::seats::{WatchedSeats, by_state};
use crate::http::wire::live::{DELETED, LiveQueueBody, LiveRemainingBody, LiveSnapshotBody, LiveStateBody};
use crate::http::wire::moment;

/// Responses to watchers that resume are cached until the next round, for others with the same position.
const RESUMES_MOST: usize = 256;
/// All ends are read again at most this often, or after three times the duration of a read.
const ENDS_PAUSE: Duration = Duration::from_millis(200);

/// A round with this many changes may be sent as a snapshot.
const SNAPSHOT_FROM: usize = 512;
/// This many changes continue a burst.
const TURN_FROM: usize = 128;
/// About half the size of an id in a list: only a much shorter message is worth a snapshot.
const LISTED_BYTES: usize = 3;
/// The interval of reads of the line.
const LINE_PAUSE: Duration = Duration::from_secs(1);

pub struct EventView {
    pub seats: WatchedSeats,
    pub event: Event,
    /// As last sent.
    state: LiveStateBody,
    counts: LiveRemainingBody,
    queue: Option<LiveQueueBody>,
    /// As last read.
    line: Option<LiveQueueBody>,
    line_from: Instant,
    pace: MessagePace,
    /// The last round was a snapshot.
    burst: bool,
    /// Without its time, which is written for each watcher.
    snapshot: Option<Bytes>,
    resumes: HashMap<(u64, u32), Option<Bytes>>,
    ends_from: Instant,
    /// No watcher can join any more.
    pub ended: bool,
    pub planted: LiveBug,
}

impl EventView {
    pub fn new(event: Event, seats: WatchedSeats, wall: Moment, planted: LiveBug) -> EventView {
        EventView {
            state: state_of(&event, wall),
            counts: seats.counts(),
            seats,
            event,
            queue: None,
            line: None,
            line_from: Instant::now(),
            pace: MessagePace::default(),
            burst: false,
            snapshot: None,
            resumes: HashMap::new(),
            ends_from: Instant::now(),
            ended: false,
            planted,
        }
    }

    /// Whether the ends of holds should be read now.
    pub fn wants_ends(&self) -> bool {
        self.seats.ends_missing() && Instant::now() >= self.ends_from
    }

    pub fn ends_took(&mut self, took: Duration) {
        self.ends_from = Instant::now() + ENDS_PAUSE.max(took * 3);
    }

    /// The next round. None: nothing changed, or it is too soon.
    pub fn round(&mut self, now: Moment, wall: Moment, at: Instant, pace: HubPace) -> Option<Round> {
        self.seats.lapse(now);
        let changes = self.seats.changes();
        let counts = self.seats.counts_after(&changes);
        let state = state_of(&self.event, wall);
        let (turned, moved, queue) = (state != self.state, counts != self.counts, self.line != self.queue);
        let count: usize = [!changes.is_empty(), moved, turned, queue].map(usize::from).iter().sum();
        // Either a burst continues: the next turn of watchers gets the newest state. Or it starts, and no change had
        // to wait for it: then no watcher gets it later through turns than in the middle of a burst.
        let begins = changes.len() >= SNAPSHOT_FROM && self.pace.rested(at, pace.pause + BEAT);
        let in_turns = pace.turns > 1 && (begins || self.burst && changes.len() >= TURN_FROM);
        let pause = if in_turns { Duration::ZERO } else { pace.pause };
        if count == 0 || !self.pace.would_allow(count, at, pause) {
            return None;
        }
        let mut messages = Messages::default();
        self.seats.publish(&changes);
        (self.state, self.counts, self.queue) = (state, counts, self.line);
        self.snapshot = None;
        self.ends_if(self.event.deleted);
        self.resumes.clear();
        let least = if in_turns { TURN_FROM } else { SNAPSHOT_FROM };
        let snapshot = if changes.len() < least { None } else { self.shorter_snapshot(changes.len(), wall) };
        self.burst = snapshot.is_some();
        match snapshot {
            Some(snapshot) => messages.extend(snapshot),
            None => {
                if !changes.is_empty() {
                    messages.add("seats", Some(self.seats.position()), &by_state(changes));
                }
                if moved {
                    messages.add("remaining", None, &self.counts);
                }
                if turned {
                    messages.add("state", None, &self.state);
                }
            }
        }
        // A watcher that reads a snapshot skips all rounds before it.
        if queue || self.burst {
            messages.extend(self.queue_messages());
        }
        let turns = if in_turns && self.burst { pace.turns } else { 1 };
        self.pace.sent(messages.count, turns, at);
        Some(Round { whole: self.burst, turns, ..Round::of(messages, self.ended) })
    }

    /// An end set meanwhile, as by a restored ledger, is kept.
    pub fn ends_if(&mut self, over: bool) -> bool {
        self.ended |= over;
        self.ended
    }

    /// In a burst all states may be shorter than the ids of the changed seats, by far where seats are sold in order.
    /// It is sent to thousands.
    fn shorter_snapshot(&mut self, changed: usize, wall: Moment) -> Option<Messages> {
        if self.ended {
            return None;
        }
        let [start, time] = self.snapshot(wall);
        (start.len() < changed * LISTED_BYTES).then(|| Messages::of_one(&[&start, &time]))
    }

    /// The waiting room, if its line should be read now.
    pub fn line_due(&mut self, now: Instant) -> Option<WaitingRoom> {
        let room = self.event.waiting_room.filter(|_| now >= self.line_from)?;
        self.line_from = now + LINE_PAUSE;
        Some(room)
    }

    pub fn learn_line(&mut self, serving: &Serving) {
        self.line = Some(LiveQueueBody {
            serving: serving.serving,
            waiting: serving.waiting,
            inside: serving.inside,
            admitted_per_minute: serving.admitted_per_minute,
            sold_out: serving.sold_out,
        });
    }

    /// The line, as sent to all others.
    pub fn queue_told(&self) -> Option<Bytes> {
        self.queue.map(|_| self.queue_messages().written())
    }

    fn queue_messages(&self) -> Messages {
        let mut messages = Messages::default();
        if let Some(queue) = &self.queue {
            messages.add("queue", None, queue);
        }
        messages
    }

    /// The whole state, as sent to all others. It is encoded once for all who join before the next round.
    pub fn snapshot(&mut self, wall: Moment) -> [Bytes; 2] {
        let time = format!("{}\"}}\n\n", moment(wall));
        if self.snapshot.is_none() {
            let body = LiveSnapshotBody {
                event_id: self.event.id.0,
                state: self.state.state,
                opens_at: self.state.opens_at.clone(),
                seat_count: self.event.seat_count(),
                remaining: self.counts.remaining,
                held: self.counts.held,
                sold: self.counts.sold,
                states: self.planted.states(&self.seats),
                time: String::new(),
            };
            let mut messages = Messages::default();
            messages.add("snapshot", Some(self.seats.position()), &body);
            let mut text = messages.written();
            text.truncate(text.len() - "\"}\n\n".len());
            self.snapshot = Some(text);
        }
        [self.snapshot.clone().unwrap_or_default(), time.into()]
    }

    /// What a watcher missed that has everything up to `after`. None: it is unknown.
    pub fn resumed(&mut self, after: StreamPosition) -> Option<Bytes> {
        if self.resumes.len() >= RESUMES_MOST {
            self.resumes.clear();
        }
        let key = (after.n, after.mark);
        if let Some(known) = self.resumes.get(&key) {
            return known.clone();
        }
        let text = self.seats.since(after, self.planted).map(|seats| {
            let mut messages = Messages::default();
            if !seats.is_empty() {
                messages.add("seats", Some(self.seats.position()), &seats);
            }
            messages.add("remaining", None, &self.counts);
            messages.add("state", None, &self.state);
            messages.written()
        });
        self.resumes.insert(key, text.clone());
        text
    }
}

/// Whether the event's own row changed with it.
pub fn changes_event(what: Happened) -> bool {
    matches!(
        what,
        Happened::Opened
            | Happened::Paused
            | Happened::Resumed
            | Happened::Closed
            | Happened::Archived
            | Happened::Unarchived
            | Happened::Amended
            | Happened::Deleted
    )
}

fn state_of(event: &Event, wall: Moment) -> LiveStateBody {
    let state = if event.deleted { DELETED } else { event.state_at(wall).as_str() };
    LiveStateBody { state, opens_at: event.opens_at.map(moment) }
}

#[cfg(test)]
mod tests;
