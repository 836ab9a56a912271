//! An event: its description, its state, and the counts in the one row that a batch locks.

pub mod action;
mod decide;
mod gathering;
mod holds;
mod inside;
mod needs;
mod occasion;
mod operate;
pub mod stock;
mod writes;

pub use self::action::EventAction;
pub use self::decide::EventDraft;
pub use self::gathering::check_gathering;
pub use self::needs::{EventNeeds, needs};
pub use self::occasion::{Occasion, OccasionAmendment, PLACE_CHARS};
pub use self::writes::{
    ConfirmedSeat, EndedEntry, EventEffects, EventKnown, EventWrites, FreedSeat, HeldSeat, Holding, NewEntry,
    RenewedEntry,
};
pub use crate::buyer::Buyer;

use std::sync::Arc;

use self::stock::{Extent, Gap, Walk};
use crate::buyer::AskedFields;
use crate::entries::{WaitingRoom, WaitingRoomAmendment};
use crate::history::{AdminName, EventRecord, Happened, RequestOrigin};
use crate::holds::LapsedMark;
use crate::ids::{EventId, Seat};
use crate::outcome::Refusal;
use crate::price::Price;
use crate::seats::Hall;
use crate::time::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Scheduled,
    Open,
    Paused,
    Closed,
}

impl State {
    pub const ALL: [State; 4] = [State::Scheduled, State::Open, State::Paused, State::Closed];

    pub fn as_str(self) -> &'static str {
        match self {
            State::Scheduled => "scheduled",
            State::Open => "open",
            State::Paused => "paused",
            State::Closed => "closed",
        }
    }

    pub fn named(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|s| s.as_str() == text)
    }
}

pub const SEATS_PER_EVENT: u32 = 10_000_000;
pub const MAX_PER_USER: u32 = 1_000;
pub const EVENT_NAME_CHARS: usize = 200;
/// The maximum duration of a hold, in seconds.
pub const HOLD_TTL_MOST_S: u32 = 86_400;

/// The input for creating an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// The operator who creates it, and the origin of the request.
    pub by: AdminName,
    pub origin: RequestOrigin,
    pub name: Box<str>,
    pub hall: Hall,
    pub max_per_user: u32,
    pub opens_at: Option<Moment>,
    pub occasion: Occasion,
    pub waiting_room: Option<WaitingRoom>,
    /// The duration of its holds. None: the global setting.
    pub hold_ttl_ms: Option<i64>,
    /// The buyer fields of its sales.
    pub buyer_fields: AskedFields,
    pub price: Option<Price>,
    /// Created for a rehearsal: it may be deleted together with its sales.
    pub rehearsal: bool,
}

impl NewEvent {
    /// The first row of its history.
    pub fn created(&self, at: Moment) -> EventRecord {
        EventRecord {
            n: 1,
            what: Happened::Created,
            seat: None,
            owner: None,
            admin: Some(self.by.clone()),
            number: None,
            at,
            hold: None,
            origin: self.origin.clone(),
            details: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: EventId,
    pub name: Box<str>,
    pub hall: Arc<Hall>,
    pub max_per_user: u32,
    /// By the wall clock.
    pub opens_at: Option<Moment>,
    pub occasion: Occasion,
    /// Its waiting room, if it has one.
    pub waiting_room: Option<WaitingRoom>,
    /// The gathering is over for good: the order was drawn, or the room was removed after users had gathered.
    pub gathered: bool,
    /// Tickets of older keys are not valid here.
    pub oldest_key: u32,
    pub hold_ttl_ms: Option<i64>,
    /// The buyer fields of its sales.
    pub buyer_fields: AskedFields,
    pub price: Option<Price>,
    /// It may be deleted together with its sales.
    pub rehearsal: bool,
    /// Archived events are closed and not listed.
    pub archived_at: Option<Moment>,
    pub state: State,
    pub deleted: bool,
    pub created_at: Moment,
    pub counts: Counts,
    /// As read from the ledger; a batch does not change it here.
    pub times: SaleTimes,
}

/// When an event sold its seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaleTimes {
    /// The first sale. None: no seat is sold.
    pub first: Option<Moment>,
    /// The time since which every seat is sold. None: some seat is not.
    pub sold_out: Option<Moment>,
}

impl SaleTimes {
    /// When every seat was sold, and how long that took from the first sale.
    pub fn sold_out_after_ms(&self) -> Option<(Moment, u64)> {
        let (first, end) = self.first.zip(self.sold_out)?;
        Some((end, u64::try_from(first.ms_until(end)).unwrap_or(0)))
    }
}

/// The part that changes with every batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of the newest history row.
    pub n: u64,
    /// Every seat up to here has a row. Beyond it only chosen seats have one.
    pub cursor: u32,
    pub sold: u32,
    /// Seats on hold, including lapsed holds that no batch has ended yet.
    pub held: u32,
    /// Rows of seats that were freed.
    pub came_back: u32,
    /// Entries that have not ended, including lapsed ones that no batch has ended yet.
    pub inside: u32,
    /// Of the seats on hold, those whose hold has lapsed and is not marked expired yet. In the row and in a batch this
    /// includes holds up to `counted` only; in a read for display it includes all of them.
    pub lapsed: u32,
    pub counted: LapsedMark,
}

impl Counts {
    /// Seats on a hold that has not lapsed.
    pub fn live(&self) -> u32 {
        self.held.saturating_sub(self.lapsed)
    }

    /// Seats that have a row.
    pub fn rows(&self) -> u32 {
        self.sold + self.held + self.came_back
    }

    /// A chosen seat has a row beyond the cursor.
    pub fn chosen_ahead(&self) -> bool {
        self.rows() > self.cursor
    }

    /// No seat was freed and none was chosen beyond the cursor: the cursor alone describes the seats.
    pub fn in_order(&self) -> bool {
        self.came_back == 0 && !self.chosen_ahead()
    }
}

impl Event {
    /// Every seat beyond this one, as one gap.
    pub fn behind(&self, seat: u32) -> Option<Gap> {
        let last = self.seat_count();
        (seat < last).then(|| Gap { first: Seat(seat + 1), last: Seat(last) })
    }

    pub fn seat_count(&self) -> u32 {
        self.hall.seat_count()
    }

    pub fn remaining(&self) -> u32 {
        self.seat_count().saturating_sub(self.counts.sold).saturating_sub(self.counts.live())
    }

    /// A scheduled event opens by comparison with the wall clock; no timer is needed. The stored state stays
    /// `Scheduled`, so that a wall clock that is ahead for a while does not open the event for good.
    pub fn state_at(&self, wall: Moment) -> State {
        match (self.state, self.opens_at) {
            (State::Scheduled, Some(opens)) if opens <= wall => State::Open,
            (State::Scheduled, None) => State::Open,
            (state, _) => state,
        }
    }

    /// Why nothing is sold at this moment. None while the sale is open.
    pub fn shut(&self, wall: Moment) -> Option<Refusal> {
        match self.state_at(wall) {
            State::Open => None,
            State::Scheduled => {
                let retry = self.opens_at.map(|opens| wall.seconds_until(opens).max(1));
                Some(Refusal::NotOpen { opens_at: self.opens_at, retry_after: retry })
            }
            State::Paused => Some(Refusal::NotOpen { opens_at: None, retry_after: Some(PAUSE_RETRY_S) }),
            State::Closed => Some(Refusal::Closed),
        }
    }

    pub fn extent(&self) -> Extent {
        let Counts { cursor, came_back, .. } = self.counts;
        Extent { seat_count: self.seat_count(), cursor, came_back, rows: self.counts.rows() }
    }

    /// Seats that have no row.
    pub fn untouched(&self) -> u32 {
        self.seat_count().saturating_sub(self.counts.rows())
    }

    /// What is beyond the cursor, if that is known without reading rows.
    pub fn walk_unread(&self) -> Option<Walk> {
        let known = self.untouched() == 0 || !self.counts.chosen_ahead();
        let behind = self.behind(self.counts.cursor).filter(|_| self.untouched() > 0);
        known.then(|| Walk { gaps: behind.into_iter().collect(), seen: self.seat_count() })
    }

    pub fn has_seat(&self, seat: Seat) -> bool {
        self.hall.has_seat(seat)
    }
}

/// `Retry-After` of a paused sale: its end is unknown, so the interval is long.
pub const PAUSE_RETRY_S: u64 = 5;

/// What an operator does to a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Open,
    Pause,
    Resume,
    Close,
    /// Closes the event and removes it from the list.
    Archive,
    /// Lists the event again, closed.
    Unarchive,
}

/// What may change in an existing event. Seats may not: users have bought them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventAmendment {
    pub name: Option<Box<str>>,
    pub max_per_user: Option<u32>,
    /// `Some(None)` removes the opening time.
    pub opens_at: Option<Option<Moment>>,
    pub occasion: OccasionAmendment,
    /// `Some(None)` removes the waiting room.
    pub waiting_room: Option<Option<WaitingRoomAmendment>>,
    /// `Some(None)`: the global setting applies.
    pub hold_ttl_ms: Option<Option<i64>>,
    /// `Some(None)`: the buyer's dialect decides.
    pub buyer_fields: Option<Option<AskedFields>>,
    /// `Some(None)` removes it.
    pub price: Option<Option<Price>>,
}
