//! The hold methods of the ledger, for nights and seats: stock that is reserved for a user while they pay.

use rules::holds::{Hold, On};
use rules::ids::{EventId, Seat, User};
use rules::nights::Dates;
use rules::subject::{HoldId, SubjectId};
use rules::time::Moment;

use super::Answered;

/// A result, and the time by the ledger's clock at which it was read: that decides whether a hold is live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    pub found: T,
    pub now: Moment,
}

/// Holds whose row says that they are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HoldCensus {
    pub live: u64,
    /// Lapsed, and not marked expired yet.
    pub lapsed: u64,
}

pub trait Holds {
    /// Counts at most `most` holds, for metrics.
    fn hold_census(&self, most: usize) -> Answered<HoldCensus>;

    /// Subjects with holds that end within this time. 0: holds that have lapsed and are not marked expired yet.
    fn with_holds_ending(&self, within_ms: i64, limit: usize) -> Answered<Vec<SubjectId>>;

    /// Every seat of an event that is on hold, lapsed or not, with its end.
    fn held_seats(&self, event: EventId) -> Answered<At<Vec<(Seat, Moment)>>>;

    /// Whether a seat is on hold at this moment.
    fn seat_is_held(&self, event: EventId, seat: Seat) -> Answered<bool>;

    /// One hold, in any state.
    fn hold(&self, id: HoldId) -> Answered<At<Option<Hold>>>;

    /// A user's live holds, by subject and number.
    fn holds_of(&self, user: User, after: Option<HoldId>, limit: usize) -> Answered<At<Vec<Hold>>>;

    /// The stored holds of a subject, in any state, after the number `after`.
    fn holds_in(&self, subject: SubjectId, after: u64, limit: usize) -> Answered<At<Vec<Hold>>>;
}

/// The stock of a hold, in the canonical form that the rows have.
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
    use rules::nights::Night;

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
