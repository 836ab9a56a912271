//! The ledger's other subject: room types, their nights, and holds of either kind. The verbs are
//! those of the port, the unit of order is the room type.

use std::sync::Arc;

use rules::command::Terms;
use rules::decide::Answer;
use rules::holds::{Hold, On};
use rules::ids::{EventId, Seat, User};
use rules::nights::{Dates, Night};
use rules::stays::{Command, Entry, NewRoomType, NightRow, RoomType, Stay};
use rules::subject::{HoldId, RoomTypeId, StayId};
use rules::time::Moment;

use super::Answered;

#[derive(Clone, Debug)]
pub struct RoomBatch {
    pub room_type: RoomTypeId,
    /// Shared, so that a batch can be tried again without copying it.
    pub commands: Arc<Vec<Command>>,
    pub terms: Terms,
}

#[derive(Debug)]
pub struct RoomsCommitted {
    /// One per command, in the order of the commands; durable.
    pub answers: Vec<Answer>,
    pub room_type: RoomType,
    /// Holds that began or changed, as they are now: for onlookers.
    pub holds: Vec<Hold>,
}

/// Nights as they are at one moment; what has lapsed by then is not held any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    pub room_type: RoomType,
    pub nights: Vec<(Night, NightRow)>,
    /// Holds on these nights that have lapsed and were not turned yet: with the room type's number
    /// it names this moment.
    pub lapsed: u64,
}

impl Availability {
    /// From what the rows say: nights that were touched, and how many holds on which dates lapsed.
    pub(super) fn of(
        room_type: RoomType,
        dates: Dates,
        rows: &[(Night, NightRow)],
        lapsed: &[(Dates, u32)],
    ) -> Availability {
        let mut nights: Vec<(Night, NightRow)> =
            dates.nights().map(|night| (night, NightRow::untouched(room_type.total))).collect();
        let place = |night: Night| usize::try_from(night.0 - dates.check_in.0).ok();
        for (night, row) in rows {
            if let Some(known) = place(*night).and_then(|i| nights.get_mut(i)) {
                known.1 = *row;
            }
        }
        for (on, count) in lapsed {
            for night in on.nights() {
                if let Some(known) = place(night).and_then(|i| nights.get_mut(i)) {
                    known.1.held = known.1.held.saturating_sub(*count);
                }
            }
        }
        let lapsed = lapsed.iter().map(|(_, count)| u64::from(*count)).sum();
        Availability { room_type, nights, lapsed }
    }
}

/// Read at a moment of the ledger's clock: whether a hold is live is asked of that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    pub found: T,
    pub now: Moment,
}

pub trait Rooms {
    /// Decides a batch and makes it durable. All of it happened, or none of it.
    fn commit_rooms(&self, batch: RoomBatch) -> Answered<RoomsCommitted>;

    fn create_room_type(&self, new: NewRoomType) -> Answered<RoomType>;

    /// Room types in order of id, from behind `after`.
    fn room_types(&self, after: Option<RoomTypeId>, limit: usize) -> Answered<Vec<RoomType>>;

    fn room_type(&self, id: RoomTypeId) -> Answered<Option<RoomType>>;

    /// What is free on these nights, in one snapshot.
    fn availability(&self, id: RoomTypeId, dates: Dates) -> Answered<Option<Availability>>;

    /// Every seat of an event that is on hold, lapsed or not, with its end.
    fn held_seats(&self, event: EventId) -> Answered<At<Vec<(Seat, Moment)>>>;

    /// Whether a seat is on hold, exactly now.
    fn seat_is_held(&self, event: EventId, seat: Seat) -> Answered<bool>;

    /// One hold, in whatever state.
    fn hold(&self, id: HoldId) -> Answered<At<Option<Hold>>>;

    /// A user's live holds, by subject and number.
    fn holds_of(&self, user: User, after: Option<HoldId>, limit: usize) -> Answered<At<Vec<Hold>>>;

    /// One stay, while it stands.
    fn stay(&self, id: StayId) -> Answered<Option<Stay>>;

    /// A user's stays by room type and number.
    fn stays_of(&self, user: User, after: Option<StayId>, limit: usize) -> Answered<Vec<Stay>>;

    /// What happened to a room type behind `after`, in order.
    fn room_history(&self, id: RoomTypeId, after: u64, limit: usize) -> Answered<Vec<Entry>>;
}

/// What is held, in the one spelling that the rows have.
pub(super) fn write_stock(on: &On) -> String {
    match on {
        On::Nights(Dates { check_in, check_out }) => format!("{check_in}/{check_out}"),
        On::Seats(seats) => write_numbers(seats.iter().map(|seat| u64::from(seat.0))),
    }
}

pub(super) fn read_stock(text: &str) -> Option<On> {
    if let Some((check_in, check_out)) = text.split_once('/') {
        return Some(On::Nights(Dates { check_in: check_in.parse().ok()?, check_out: check_out.parse().ok()? }));
    }
    let seats = read_numbers(text)?.into_iter().map(|seat| u32::try_from(seat).ok().map(Seat));
    seats.collect::<Option<_>>().map(On::Seats)
}

pub(super) fn write_numbers(numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(",")
}

pub(super) fn read_numbers(text: &str) -> Option<Vec<u64>> {
    text.split(',').map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_has_one_spelling() {
        let nights = On::Nights(Dates { check_in: Night(20_811), check_out: Night(20_813) });
        let seats = On::Seats(vec![Seat(3), Seat(14)]);
        assert_eq!((write_stock(&nights), write_stock(&seats)), ("2026-12-24/2026-12-26".into(), "3,14".into()));
        for on in [nights, seats] {
            assert_eq!(read_stock(&write_stock(&on)), Some(on));
        }
        for bad in ["", "3,", "2026-12-24/", "2026-02-30/2026-03-01", "x"] {
            assert_eq!(read_stock(bad), None, "{bad}");
        }
    }
}
