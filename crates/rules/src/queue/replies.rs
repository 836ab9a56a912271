//! What the line is asked, what it must know of the stock, and what it answers.

use crate::entries::WaitingRoom;
use crate::event::State;
use crate::ids::{Number, User};

const MINUTE_MS: u64 = 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Join,
    /// The heartbeat.
    Poll,
    Enter,
    Leave,
}

/// What a user in front of the line wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    pub user: User,
    pub what: What,
    /// A place that is theirs, and that was not used to enter.
    pub claim: Option<PlaceClaim>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceClaim {
    pub number: Number,
    /// Their ticket says so: they stood in this line before. Without one the place was drawn just now.
    pub by_ticket: bool,
}

impl PlaceClaim {
    pub fn by_ticket(number: Number) -> PlaceClaim {
        PlaceClaim { number, by_ticket: true }
    }

    pub fn drawn(number: Number) -> PlaceClaim {
        PlaceClaim { number, by_ticket: false }
    }
}

impl Asking {
    /// With how many users in the line nobody like this one can join any more. A ticket finds its place up to twice
    /// as many, so that invented users cannot lock out those who were there.
    pub fn most(&self, room: &WaitingRoom) -> u64 {
        let proven = self.claim.is_some_and(|claim| claim.by_ticket);
        u64::from(room.queue_most) * if proven { 2 } else { 1 }
    }
}

/// What is for sale, as the last batch left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    pub free: u32,
    pub held: u32,
    pub state: State,
}

impl Supply {
    pub fn sold_out(&self) -> bool {
        self.free == 0 && self.held == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Waiting,
    Ready,
    SoldOut,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Ready => "ready",
            Status::SoldOut => "sold_out",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub number: Number,
    /// How many present users have a lower number.
    pub rank: u64,
    /// How many must be admitted before it is their turn.
    pub ahead: u64,
    pub status: Status,
    /// Seconds.
    pub poll_after: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueReply {
    Place(Place),
    /// They are inside: the time left to the end of the entry, and to its cap.
    Inside {
        left_ms: i64,
        cap_left_ms: i64,
    },
    /// It is their turn: the ledger may let them in by this number.
    MayEnter {
        number: Number,
    },
    NotReady {
        retry_after: u64,
    },
    NotQueued,
    /// They left, or had no place.
    Gone,
    /// Nobody new can join: the line has as many users as it may.
    Full,
    /// The generation is unknown or used up, so no number can be given.
    NoNumber,
}

/// The public state of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serving {
    /// The highest number that would be admitted now.
    pub serving: u64,
    pub waiting: u64,
    pub admitted_per_minute: u64,
    /// For how long these were counted: a minute, or less at the beginning.
    pub counted_ms: u64,
    pub sold_out: bool,
    pub inside: u64,
}

impl Serving {
    /// How many are let in per minute, as far as that is known. Where `admitPerMinute` spreads them, the first ones of a
    /// minute tell how it goes on. Elsewhere they fill the room at once, and tell nothing.
    pub fn pace(&self, room: &WaitingRoom) -> u64 {
        let Some(most) = room.admit_per_minute else { return self.admitted_per_minute };
        let going_on = self.admitted_per_minute.saturating_mul(MINUTE_MS) / self.counted_ms.clamp(1, MINUTE_MS);
        going_on.min(most.into())
    }
}

/// What forgetting silent users did to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub forgotten: usize,
    /// Users whom the line still knows.
    pub left: usize,
}
