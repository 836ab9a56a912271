//! The ledger's second kind of subject: room types and their nights.

use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::room_type::{NewRoomType, NightRow, RoomRecord, RoomType, Stay};
use rules::subject::{RoomTypeId, StayId};

use super::Answered;

/// The nights at one moment. Holds that have lapsed by then no longer count as held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    pub room_type: RoomType,
    pub nights: Vec<(Night, NightRow)>,
    /// How many lapsed holds are not marked expired yet, summed over these nights. Together with the room type's
    /// history number it identifies this moment.
    pub lapsed: u64,
}

impl Availability {
    /// Built from the rows: the nights that have one, and by dates the number of lapsed holds that the nights do not
    /// count yet.
    pub(super) fn of(
        room_type: RoomType,
        dates: Dates,
        rows: &[(Night, NightRow)],
        lapsed: &[(Dates, u32)],
    ) -> Availability {
        let mut nights: Vec<(Night, NightRow)> =
            dates.nights().map(|night| (night, NightRow::untouched(room_type.total))).collect();
        let place = |night: Night| usize::try_from(night.0 - dates.check_in.0).ok();
        let mut all_lapsed = 0;
        for (night, row) in rows {
            if let Some(known) = place(*night).and_then(|i| nights.get_mut(i)) {
                all_lapsed += u64::from(row.lapsed);
                known.1 = NightRow { held: row.held.saturating_sub(row.lapsed), lapsed: 0, ..*row };
            }
        }
        for (on, count) in lapsed {
            for night in on.nights() {
                if let Some(known) = place(night).and_then(|i| nights.get_mut(i)) {
                    all_lapsed += u64::from(*count);
                    known.1.held = known.1.held.saturating_sub(*count);
                }
            }
        }
        let lapsed = all_lapsed;
        Availability { room_type, nights, lapsed }
    }
}

pub trait Rooms {
    fn create_room_type(&self, new: NewRoomType) -> Answered<RoomType>;

    /// Room types in order of id, after `after`.
    fn room_types(&self, after: Option<RoomTypeId>, limit: usize) -> Answered<Vec<RoomType>>;

    fn room_type(&self, id: RoomTypeId) -> Answered<Option<RoomType>>;

    /// The free rooms on these nights, in one snapshot.
    fn availability(&self, id: RoomTypeId, dates: Dates) -> Answered<Option<Availability>>;

    /// One stay, if it was not cancelled.
    fn stay(&self, id: StayId) -> Answered<Option<Stay>>;

    /// A user's stays by room type and number.
    fn stays_of(&self, user: User, after: Option<StayId>, limit: usize) -> Answered<Vec<Stay>>;

    /// The stays of a room type that were not cancelled, after the number `after`.
    fn stays_in(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<Stay>>;

    /// The history of a room type after `after`, in order.
    fn room_history(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<RoomRecord>>;
}
