//! The requests to the line, what it must know of the stock, and its replies.

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

/// What a user in front of the line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    pub user: User,
    pub what: What,
    /// A place that the user owns and has not used to enter.
    pub claim: Option<PlaceClaim>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceClaim {
    pub number: Number,
    /// Proved by a ticket: the user was in this line before. Otherwise the place was drawn just now.
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
    /// The length of the line at which a request like this one can no longer join. With a ticket it is twice as long,
    /// so that invented users cannot lock out users who were there before.
    pub fn most(&self, room: &WaitingRoom) -> u64 {
        let proven = self.claim.is_some_and(|claim| claim.by_ticket);
        u64::from(room.queue_most) * if proven { 2 } else { 1 }
    }
}

/// The stock after the last batch.
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
    /// How many users must be admitted before it is their turn.
    pub ahead: u64,
    pub status: Status,
    /// Seconds.
    pub poll_after: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueReply {
    Place(Place),
    /// The user is inside: the time left until the end of the entry, and until its cap.
    Inside {
        left_ms: i64,
        cap_left_ms: i64,
    },
    /// It is the user's turn: the ledger may admit this number.
    MayEnter {
        number: Number,
    },
    NotReady {
        retry_after: u64,
    },
    NotQueued,
    /// The user left, or had no place.
    Gone,
    /// Nobody new can join: the line has its maximum length.
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
    /// The period over which these were counted: a minute, or less at the beginning.
    pub counted_ms: u64,
    pub sold_out: bool,
    pub inside: u64,
}

impl Serving {
    /// How many are admitted per minute, as far as known. With `admitPerMinute` the first admissions of a minute
    /// predict the rest. Without it they fill the room at once and predict nothing.
    pub fn pace(&self, room: &WaitingRoom) -> u64 {
        let Some(most) = room.admit_per_minute else { return self.admitted_per_minute };
        let going_on = self.admitted_per_minute.saturating_mul(MINUTE_MS) / self.counted_ms.clamp(1, MINUTE_MS);
        going_on.min(most.into())
    }
}

/// The effect on a line of forgetting silent users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub forgotten: usize,
    /// Users who are still in the line's state.
    pub left: usize,
}
