//! Private messages beside the public ones: place in line, holds, reservations. A task per watcher with a ticket
//! follows the rows of this user that the hub reads.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rules::history::{EventRecord, Happened};
use rules::holds::{Hold, HoldState, On};
use rules::ids::{EventId, ReservationId, Seat, User};
use rules::seats::Hall;
use rules::subject::{HoldId, SubjectId};
use rules::time::Moment;
use salvo::hyper::body::Bytes;
use stores::limited;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::message::Messages;
use super::pace::MessagePace;
use crate::app::App;
use crate::http::shown::ShownTimes;
use crate::http::wire::line::StandingBody;
use crate::http::wire::live::{LiveHoldBody, LiveReservationBody};
use crate::http::wire::moment;
use crate::http::wire::reservations::SeatName;
use crate::line::{self, EventLine};
use crate::refusals::Failure;

/// Of the 10 messages a second per watcher, this many are left for private ones.
const OWN_MOST: usize = 2;
/// The limit of unread messages, and of unsent rows.
const BEHIND: usize = 64;
/// The interval for a user who is not in line: they may join at any time.
const LOOK_FOR_PLACE: Duration = Duration::from_secs(2);
/// Holds and reservations that are sent at the start.
const TOLD_MOST: usize = 100;
/// This long after its end a hold has certainly lapsed.
const BEHIND_END: Duration = Duration::from_millis(50);

/// Inputs and output of a watcher's own task.
pub struct OwnMessages {
    pub app: Weak<App>,
    pub event: EventId,
    pub user: User,
    /// The user's rows, from the hub. It ends when the watcher falls behind, or the hub ends.
    pub rows: mpsc::Receiver<EventRecord>,
    pub out: mpsc::Sender<Bytes>,
}

pub fn channel<T>() -> (mpsc::Sender<T>, mpsc::Receiver<T>) {
    mpsc::channel(BEHIND)
}

/// The known state of one user.
struct Own {
    app: Arc<App>,
    event: EventId,
    user: User,
    hall: Arc<Hall>,
    /// Live holds by their end.
    ends: BTreeMap<u64, Moment>,
    /// Every hold as last sent.
    holds: HashMap<u64, (HoldState, Moment)>,
    /// The numbers of reservations, by seat: a cancellation names the seat only.
    reserved: HashMap<Seat, u64>,
    place: Option<String>,
    /// Rows that could not be sent yet, because the ledger did not answer.
    untold: Vec<EventRecord>,
    outbox: VecDeque<Bytes>,
}

impl OwnMessages {
    /// Runs until the watcher leaves.
    pub async fn run(mut self) {
        let Some(app) = self.app.upgrade() else { return };
        let Ok(lane) = app.lanes.find(self.event).await else { return };
        let mut own = Own {
            app,
            event: self.event,
            user: self.user.clone(),
            hall: lane.hall(),
            ends: BTreeMap::new(),
            holds: HashMap::new(),
            reserved: HashMap::new(),
            place: None,
            untold: Vec::new(),
            outbox: VecDeque::new(),
        };
        drop(lane);
        if let Err(failure) = own.begin().await {
            limited!(warn, event = %self.event, %failure, "a watcher's own state could not be read");
            return;
        }
        // The user's initial state may exceed the limit for a slow reader.
        let behind = BEHIND + own.outbox.len();
        let mut pace = MessagePace::of(OWN_MOST);
        let mut place_at = Instant::now();
        loop {
            while !own.outbox.is_empty() && pace.allows(1, std::time::Instant::now(), Duration::ZERO) {
                let Some(text) = own.outbox.pop_front() else { break };
                if self.out.send(text).await.is_err() {
                    return;
                }
            }
            let wait = own.wait(place_at);
            tokio::select! {
                row = self.rows.recv() => {
                    let Some(row) = row else { return };
                    own.untold.push(row);
                    while let Ok(row) = self.rows.try_recv() {
                        own.untold.push(row);
                    }
                }
                () = tokio::time::sleep_until(wait) => {}
                () = self.out.closed() => return,
            }
            own.saw().await;
            own.ended().await;
            if Instant::now() >= place_at {
                place_at = Instant::now() + own.place().await;
            }
            if own.outbox.len() > behind || own.untold.len() > BEHIND || own.app.draining() {
                return;
            }
        }
    }
}

impl Own {
    /// Sends what the user has when they start watching.
    async fn begin(&mut self) -> Result<(), Failure> {
        let event = self.event;
        let subject = SubjectId::Event(event);
        // Both lists are sorted by subject, and numbers begin at 1: the entries of this event come first.
        let after = Some(HoldId { subject, n: 0 });
        let held = self.app.ledger.holds_of(self.user.clone(), after, TOLD_MOST).await?;
        for hold in held.found.into_iter().take_while(|hold| hold.id.subject == subject) {
            self.tell_hold(hold, held.now).await?;
        }
        let after = Some((event, Seat(0)));
        let found = self.app.ledger.reservations_of(self.user.clone(), after, TOLD_MOST).await?;
        for reservation in found.into_iter().take_while(|one| one.event == event) {
            self.tell_reservation(reservation.sale.seat, reservation.sale.n, "confirmed").await?;
        }
        Ok(())
    }

    fn wait(&self, place_at: Instant) -> Instant {
        let now = self.app.ledger.now();
        let until = |end: &Moment| {
            let left = Duration::from_millis(u64::try_from(now.ms_until(*end)).unwrap_or(0));
            Instant::now() + left + BEHIND_END
        };
        let ends = self.ends.values().min().map(until);
        let speaks = (!self.outbox.is_empty()).then(|| Instant::now() + Duration::from_millis(100));
        // Bounded, so that a clock that jumps is noticed.
        let most = Instant::now() + Duration::from_secs(1);
        ends.into_iter().chain(speaks).chain([place_at, most]).min().unwrap_or(most)
    }

    /// Sends the rows of this user that the hub read, in order. Rows that fail are retried.
    async fn saw(&mut self) {
        let (mut rows, mut holds) = (std::mem::take(&mut self.untold).into_iter(), BTreeSet::new());
        while let Some(row) = rows.next() {
            if let Err(failure) = self.tell_row(&row, &mut holds).await {
                self.log(&failure);
                self.untold = std::iter::once(row).chain(rows).collect();
                return;
            }
        }
    }

    /// `holds` were processed already.
    async fn tell_row(&mut self, row: &EventRecord, holds: &mut BTreeSet<u64>) -> Result<(), Failure> {
        if let Some(n) = row.hold
            && !holds.contains(&n)
        {
            self.look_at(n).await?;
            holds.insert(n);
        }
        match (row.what, row.seat) {
            (Happened::Reserved, Some(seat)) => self.tell_reservation(seat, row.n, "confirmed").await,
            (Happened::Cancelled, Some(seat)) => match self.reserved.get(&seat).copied() {
                Some(n) => self.tell_reservation(seat, n, "cancelled").await,
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Sends holds whose end has passed: they have no row yet.
    async fn ended(&mut self) {
        let now = self.app.ledger.now();
        let over: Vec<u64> = self.ends.iter().filter(|(_, end)| **end <= now).map(|(n, _)| *n).collect();
        for n in over {
            if let Err(failure) = self.look_at(n).await {
                // Its end is kept, so it is retried.
                return self.log(&failure);
            }
        }
    }

    async fn look_at(&mut self, n: u64) -> Result<(), Failure> {
        let found = self.app.ledger.hold(HoldId { subject: SubjectId::Event(self.event), n }).await?;
        match found.found {
            Some(hold) => self.tell_hold(hold, found.now).await,
            None => Ok(()),
        }
    }

    async fn tell_hold(&mut self, hold: Hold, now: Moment) -> Result<(), Failure> {
        let hold_id = self.app.secrets.get().await?.ids.of_hold(hold.id);
        let (n, live, state) = (hold.id.n, hold.live(now), hold.state_at(now));
        if live {
            self.ends.insert(n, hold.ends_at);
        } else {
            self.ends.remove(&n);
        }
        // The rows of its seats come together: it is sent once.
        let told = Some((state, hold.ends_at));
        if self.holds.insert(n, (state, hold.ends_at)) == told || state == HoldState::Replaced {
            return Ok(());
        }
        let seconds_remaining = if live { now.seconds_until(hold.ends_at) } else { 0 };
        let state = state.as_str();
        let expires_at = moment(hold.ends_at.shown(&self.app));
        let On::Seats(seats) = hold.on else { return Ok(()) };
        let seat_ids = seats.iter().map(|seat| seat.0).collect();
        self.add("hold", &LiveHoldBody { hold_id, seat_ids, state, expires_at, seconds_remaining });
        Ok(())
    }

    async fn tell_reservation(&mut self, seat: Seat, n: u64, state: &'static str) -> Result<(), Failure> {
        // First: on an error nothing may count as sent.
        let reservation_id = self.app.secrets.get().await?.ids.of_seat(ReservationId { event: self.event, n });
        if state == "cancelled" {
            self.reserved.remove(&seat);
        } else if self.reserved.insert(seat, n) == Some(n) {
            return Ok(());
        }
        let seat = SeatName { id: seat.0, name: self.hall.seat_name(seat) };
        self.add("reservation", &LiveReservationBody { reservation_id, seat, state });
        Ok(())
    }

    /// Asks for the place in line, which also keeps it. Returns the time until the next check.
    async fn place(&mut self) -> Duration {
        let Ok((event, room)) = line::open_event(&self.app, self.event).await else { return LOOK_FOR_PLACE };
        let app = self.app.clone();
        let line = EventLine::of(&app, &event, room);
        match line.visitor(&self.user, None).poll().await {
            Ok(stands) => {
                let body = StandingBody::of(room, &stands, line.outlook(&event, &stands).await);
                let wait = Duration::from_secs(body.poll_after.max(1));
                let text = serde_json::to_string(&body).unwrap_or_default();
                if self.place.as_ref() != Some(&text) {
                    self.add("place", &body);
                    self.place = Some(text);
                }
                wait
            }
            Err(_) => {
                self.place = None;
                LOOK_FOR_PLACE
            }
        }
    }

    fn add(&mut self, event: &str, body: &impl serde::Serialize) {
        let mut messages = Messages::default();
        messages.add(event, None, body);
        self.outbox.push_back(messages.written());
    }

    fn log(&self, failure: &Failure) {
        limited!(warn, event = %self.event, %failure, "a watcher's own change could not be read");
    }
}
