//! The newest history rows of an event, abridged: enough to tell a watcher that resumes what changed.

use std::collections::{BTreeSet, VecDeque};

use rules::history::EventRecord;
use rules::ids::Seat;

use super::message::StreamPosition;

/// A watcher further behind gets a snapshot. 64 KiB per event at most.
pub const RECENT_ROWS: usize = 8_192;

#[derive(Debug, Default)]
pub struct RecentRows {
    /// Hash and seat of each row, oldest first; seat 0 is none.
    rows: VecDeque<(u32, u32)>,
    /// The number of the newest row.
    newest: u64,
}

impl RecentRows {
    /// Adds the row after the newest one.
    pub fn push(&mut self, row: &EventRecord) {
        if self.rows.len() == RECENT_ROWS {
            self.rows.pop_front();
        }
        self.rows.push_back((StreamPosition::of(row).mark, row.seat.map_or(0, |seat| seat.0)));
        self.newest = row.n;
    }

    /// The position of this row, if it is among the newest.
    pub fn position(&self, n: u64) -> Option<StreamPosition> {
        let (mark, _) = self.rows.get(self.place(n)?)?;
        Some(StreamPosition { n, mark: *mark })
    }

    /// The seats of the rows after `after` up to `last`. None: `after` is too old, or not a row of this history.
    pub fn seats_between(&self, after: StreamPosition, last: u64) -> Option<BTreeSet<Seat>> {
        if self.position(after.n)? != after || last < after.n {
            return None;
        }
        let (from, to) = (self.place(after.n)? + 1, self.place(last)? + 1);
        Some(self.rows.range(from..to).filter(|(_, seat)| *seat > 0).map(|(_, seat)| Seat(*seat)).collect())
    }

    fn place(&self, n: u64) -> Option<usize> {
        let back = usize::try_from(self.newest.checked_sub(n)?).ok()?;
        self.rows.len().checked_sub(back + 1)
    }
}

#[cfg(test)]
mod tests {
    use rules::history::Happened;
    use rules::time::Moment;

    use super::*;

    fn row(n: u64) -> EventRecord {
        let seat = (!n.is_multiple_of(3)).then_some(Seat(n as u32));
        let what = Happened::Reserved;
        EventRecord {
            n,
            what,
            seat,
            owner: None,
            admin: None,
            number: None,
            at: Moment(5),
            hold: None,
            origin: Default::default(),
            details: None,
        }
    }

    #[test]
    fn rows_are_found_until_they_are_too_old() {
        let mut recent = RecentRows::default();
        let first = 7;
        let last = first + RECENT_ROWS as u64 + 9;
        for n in first..=last {
            recent.push(&row(n));
        }
        assert_eq!(recent.position(last - RECENT_ROWS as u64), None);
        let oldest = last + 1 - RECENT_ROWS as u64;
        assert_eq!(recent.position(oldest), Some(StreamPosition::of(&row(oldest))));
        assert_eq!(recent.position(last + 1), None);
        let after = StreamPosition::of(&row(last - 4));
        let seats = recent.seats_between(after, last).unwrap();
        let wanted: BTreeSet<Seat> = (last - 3..=last).filter_map(|n| row(n).seat).collect();
        assert_eq!(seats, wanted);
        assert_eq!(recent.seats_between(after, last - 4), Some(BTreeSet::new()));
        let other = StreamPosition { mark: after.mark ^ 1, ..after };
        assert_eq!(recent.seats_between(other, last), None, "the same number in another history");
    }
}
