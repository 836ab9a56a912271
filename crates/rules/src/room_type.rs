//! Room types and their stays: the data of each, and the actions on them.

mod decide;
mod needs;
mod writes;

pub use self::decide::RoomTypeDraft;
pub use self::needs::{RoomTypeNeeds, needs, short_nights};
pub use self::writes::{NightShift, RoomTypeKnown, RoomTypeWrites, Shift};

use crate::buyer::Metadata;
use crate::history::{AdminName, Details, Happened, RequestOrigin};
use crate::holds::{Ask, LapsedMark};
use crate::ids::User;
use crate::nights::{Dates, Night};
use crate::subject::{RoomTypeId, StayId};
use crate::time::Moment;

pub const ROOMS_MOST: u32 = 1_000_000;
pub const ROOM_NAME_CHARS: usize = 200;
pub const DESCRIPTION_CHARS: usize = 2_000;

/// The input for creating a room type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRoomType {
    /// The operator who creates it, and the origin of the request.
    pub by: AdminName,
    pub origin: RequestOrigin,
    pub name: Box<str>,
    pub description: Option<Box<str>>,
    /// A number in JSON notation. It is displayed only; nothing is computed from it.
    pub price: Option<Box<str>>,
    /// An ISO 4217 code.
    pub currency: Option<Box<str>>,
    /// The time zone of the property, in which its dates are meant.
    pub time_zone: Box<str>,
    /// How many rooms there are on every night.
    pub total: u32,
}

impl NewRoomType {
    /// The first row of its history.
    pub fn created(&self, at: Moment) -> RoomRecord {
        RoomRecord {
            n: 1,
            what: Happened::Created,
            hold: None,
            dates: None,
            owner: None,
            admin: Some(self.by.clone()),
            at,
            origin: self.origin.clone(),
            details: None,
        }
    }
}

/// The row that every batch of a room type locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomType {
    pub id: RoomTypeId,
    pub name: Box<str>,
    pub description: Option<Box<str>>,
    pub price: Option<Box<str>>,
    pub currency: Option<Box<str>>,
    pub time_zone: Box<str>,
    pub total: u32,
    pub created_at: Moment,
    /// Number of the newest history row.
    pub n: u64,
    /// The mark up to which lapsed holds are counted in its nights.
    pub counted: LapsedMark,
}

/// What an operator may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomTypeAmendment {
    pub name: Option<Box<str>>,
    /// `Some(None)` removes it.
    pub description: Option<Option<Box<str>>>,
    pub price: Option<Option<Box<str>>>,
    pub currency: Option<Option<Box<str>>>,
    pub time_zone: Option<Box<str>>,
    pub total: Option<u32>,
}

/// The counts of one night. The row contains its total, so that a constraint of the row can refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NightRow {
    pub total: u32,
    pub reserved: u32,
    /// Rooms on hold, including lapsed holds that are not marked expired yet.
    pub held: u32,
    /// Of these, the lapsed holds up to the room type's mark.
    pub lapsed: u32,
}

impl NightRow {
    pub fn untouched(total: u32) -> NightRow {
        NightRow { total, reserved: 0, held: 0, lapsed: 0 }
    }

    /// Rooms that are reserved or on a hold that has not lapsed.
    pub fn in_use(self) -> u32 {
        self.reserved + self.held.saturating_sub(self.lapsed)
    }

    pub fn free(self) -> u32 {
        self.total.saturating_sub(self.in_use())
    }

    /// Rooms that can be sold without first marking a lapsed hold expired.
    pub fn unheld(self) -> u32 {
        self.total.saturating_sub(self.reserved).saturating_sub(self.held)
    }
}

/// A confirmed stay that was not cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    pub id: StayId,
    pub owner: User,
    pub dates: Dates,
    /// The hold that became this stay.
    pub hold: u64,
    pub at: Moment,
    pub metadata: Option<Metadata>,
}

/// The actions on a room type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomAction {
    /// A room on each of these nights, or none.
    Hold {
        dates: Dates,
        key: Box<str>,
    },
    OnHold {
        n: u64,
        ask: Ask,
    },
    /// Cancels a confirmed stay.
    Cancel {
        n: u64,
    },
    /// Nights before `today` do not change.
    Amend {
        amendment: RoomTypeAmendment,
        today: Night,
    },
}

impl RoomAction {
    /// Commands that give stock back are decided first in a batch, so that later ones may get it.
    pub fn gives_back(&self) -> bool {
        matches!(self, RoomAction::Cancel { .. } | RoomAction::OnHold { ask: Ask::Cancel, .. })
    }

    /// Requests about holds have a deadline of one second.
    pub fn about_a_hold(&self) -> bool {
        matches!(self, RoomAction::Hold { .. } | RoomAction::OnHold { .. })
    }
}

pub type RoomCommand = crate::command::Command<RoomType>;

/// A change of a room type, one row per change, numbered without gaps in commit order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomRecord {
    pub n: u64,
    pub what: Happened,
    /// The hold it is about, by the history number at which it began.
    pub hold: Option<u64>,
    pub dates: Option<Dates>,
    pub owner: Option<User>,
    /// The operator who did it. None if it was not an operator.
    pub admin: Option<AdminName>,
    pub at: Moment,
    pub origin: RequestOrigin,
    pub details: Option<Box<Details>>,
}
