//! Bugs put in on purpose, so that the tests of the streams can show that they would find them. Without the feature
//! `planted`, which only tests ask for, nothing of this is in the binary.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveBug {
    #[default]
    None,
    /// Somebody who resumes is not told the first change that they missed.
    #[cfg(feature = "planted")]
    ResumeSkipsRow,
    /// A snapshot shows changes that are newer than the position it names.
    #[cfg(feature = "planted")]
    SnapshotAhead,
    /// A position in the history of another ledger is taken for one in this.
    #[cfg(feature = "planted")]
    AnyMark,
}

use super::message::StreamPosition;
use super::seats::WatchedSeats;

#[cfg(not(feature = "planted"))]
impl LiveBug {
    pub fn states(self, seats: &WatchedSeats) -> String {
        seats.states()
    }

    pub fn resumes_from(self, after: StreamPosition, _: &WatchedSeats) -> StreamPosition {
        after
    }
}

#[cfg(feature = "planted")]
impl LiveBug {
    pub fn states(self, seats: &WatchedSeats) -> String {
        if self == LiveBug::SnapshotAhead { seats.states_ahead() } else { seats.states() }
    }

    pub fn resumes_from(self, after: StreamPosition, seats: &WatchedSeats) -> StreamPosition {
        match self {
            LiveBug::ResumeSkipsRow => seats.position_of(after.n + 1).unwrap_or(after),
            LiveBug::AnyMark => seats.position_of(after.n).unwrap_or(after),
            _ => after,
        }
    }
}
