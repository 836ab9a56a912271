//! The ledger's other subject: room types and their nights.

use rules::ids::User;
use rules::nights::{Dates, Night};
use rules::room_type::{NewRoomType, NightRow, RoomRecord, RoomType, Stay};
use rules::subject::{RoomTypeId, StayId};

use super::Answered;

/// Nights as they are at one moment; what has lapsed by then is not held any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    pub room_type: RoomType,
    pub nights: Vec<(Night, NightRow)>,
    /// How many holds have lapsed and were not turned yet, summed over these nights: with the room type's
    /// number it names this moment.
    pub lapsed: u64,
}

impl Availability {
    /// From what the rows say: nights that were touched, and how many holds lapsed on which dates beside those
    /// that the nights count.
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

    /// Room types in order of id, from behind `after`.
    fn room_types(&self, after: Option<RoomTypeId>, limit: usize) -> Answered<Vec<RoomType>>;

    fn room_type(&self, id: RoomTypeId) -> Answered<Option<RoomType>>;

    /// What is free on these nights, in one snapshot.
    fn availability(&self, id: RoomTypeId, dates: Dates) -> Answered<Option<Availability>>;

    /// One stay, while it stands.
    fn stay(&self, id: StayId) -> Answered<Option<Stay>>;

    /// A user's stays by room type and number.
    fn stays_of(&self, user: User, after: Option<StayId>, limit: usize) -> Answered<Vec<Stay>>;

    /// The stays of a room type that stand, behind the number `after`.
    fn stays_in(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<Stay>>;

    /// What happened to a room type behind `after`, in order.
    fn room_history(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<RoomRecord>>;
}
