//! The free seats of one event while a batch is decided: rows that were freed, and seats that never had a row.
//!
//! Every seat up to the cursor has a row; beyond it there are rows of chosen seats, with gaps between them. The lowest
//! free seat is the lower of the first free row and the first seat of a gap. The cursor follows the first gap, so it
//! passes each row once, however many seats were chosen.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::ids::{Seat, User};
use crate::time::Moment;

/// Seats without a row, from the first to the last of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub first: Seat,
    pub last: Seat,
}

/// What was found beyond the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// In seat order.
    pub gaps: Vec<Gap>,
    /// Every seat up to here has a row or is in a gap.
    pub seen: u32,
}

/// A walk passes at most this many rows, unless a seat beyond them can be sold.
pub const WALK_MOST: usize = 1_000;

/// A seat's row, reduced to what a decision needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeatRow {
    Free,
    /// None for an anonymous sale.
    Sold {
        owner: Option<User>,
    },
    Held {
        owner: User,
        ends_at: Moment,
    },
}

/// The state of a seat before it is taken: it decides between UPDATE and INSERT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Was {
    /// It has a row, to be updated.
    Free,
    /// It has no row; one is inserted.
    Untouched,
}

#[derive(Debug)]
pub struct Stock {
    free: BTreeSet<Seat>,
    /// In seat order. Seats that this batch took from the front are removed.
    gaps: VecDeque<Gap>,
    /// Seats that this batch took out of gaps by number.
    chosen: BTreeSet<Seat>,
    /// The current state of the seats that commands name.
    rows: HashMap<Seat, SeatRow>,
    cursor: u32,
    came_back: u32,
    /// Seats without a row that this batch has not taken.
    untouched: u32,
    seen: u32,
    short: bool,
}

/// What the event's row records about its seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub seat_count: u32,
    pub cursor: u32,
    /// How many rows are free.
    pub came_back: u32,
    /// How many seats have a row.
    pub rows: u32,
}

impl Stock {
    /// None: there was no walk, and the cursor stays.
    pub fn new(extent: Extent, free: Vec<Seat>, walk: Option<Walk>, rows: HashMap<Seat, SeatRow>) -> Stock {
        let Walk { gaps, seen } = walk.unwrap_or(Walk { gaps: Vec::new(), seen: extent.cursor });
        Stock {
            free: free.into_iter().collect(),
            cursor: gaps.first().map_or(seen, |gap| gap.first.0 - 1),
            gaps: gaps.into(),
            chosen: BTreeSet::new(),
            rows,
            came_back: extent.came_back,
            untouched: extent.seat_count.saturating_sub(extent.rows),
            seen,
            short: false,
        }
    }

    /// A seat that can be sold lies beyond the walk: walk further, and decide again.
    pub fn short(&self) -> bool {
        self.short
    }

    pub fn row(&self, seat: Seat) -> Option<&SeatRow> {
        self.rows.get(&seat)
    }

    /// Every seat up to here has a row after the batch is written.
    pub fn cursor(&self) -> u32 {
        self.cursor
    }

    /// How many rows are free after the batch is written.
    pub fn came_back(&self) -> u32 {
        self.came_back
    }

    /// Takes the lowest free seat for `row`.
    pub fn take_lowest(&mut self, row: impl FnOnce() -> SeatRow) -> Option<(Seat, Was)> {
        let gap = self.gaps.front().map(|gap| gap.first);
        let unseen = gap.is_none() && self.untouched > 0;
        let free = self.free.first().copied().filter(|free| !unseen || free.0 <= self.seen);
        let (seat, was) = match (free, gap) {
            (None, None) => {
                self.short |= unseen;
                return None;
            }
            (Some(free), gap) if gap.is_none_or(|gap| free < gap) => (free, Was::Free),
            (_, Some(gap)) => (gap, Was::Untouched),
            (Some(free), None) => (free, Was::Free),
        };
        self.mark(seat, was, row());
        Some((seat, was))
    }

    /// Takes this seat for `row`. None: it is not free.
    pub fn take(&mut self, seat: Seat, row: impl FnOnce() -> SeatRow) -> Option<Was> {
        let was = match self.rows.get(&seat) {
            None => Was::Untouched,
            Some(SeatRow::Free) => Was::Free,
            Some(SeatRow::Sold { .. } | SeatRow::Held { .. }) => return None,
        };
        self.mark(seat, was, row());
        Some(was)
    }

    /// Returns the seat to the stock.
    pub fn give_back(&mut self, seat: Seat) {
        self.free.insert(seat);
        self.came_back += 1;
        self.rows.insert(seat, SeatRow::Free);
    }

    fn mark(&mut self, seat: Seat, was: Was, row: SeatRow) {
        self.rows.insert(seat, row);
        match was {
            Was::Free => {
                self.free.remove(&seat);
                self.came_back -= 1;
            }
            Was::Untouched => {
                self.untouched = self.untouched.saturating_sub(1);
                self.chosen.insert(seat);
                self.advance();
            }
        }
    }

    /// The first gap begins with a seat that this batch has not taken; the cursor is before it.
    fn advance(&mut self) {
        while let Some(gap) = self.gaps.front_mut() {
            let taken = self.chosen.first().is_some_and(|chosen| *chosen == gap.first);
            if !taken {
                self.cursor = gap.first.0 - 1;
                return;
            }
            self.chosen.pop_first();
            self.cursor = gap.first.0;
            if gap.first == gap.last {
                self.gaps.pop_front();
            } else {
                gap.first.0 += 1;
            }
        }
        self.cursor = self.cursor.max(self.seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOLD: SeatRow = SeatRow::Sold { owner: None };

    fn gap(first: u32, last: u32) -> Gap {
        Gap { first: Seat(first), last: Seat(last) }
    }

    /// All gaps were found.
    fn stock(cursor: u32, seat_count: u32, free: &[u32], gaps: Option<Vec<Gap>>) -> Stock {
        walked(cursor, seat_count, free, gaps.map(|gaps| Walk { gaps, seen: seat_count }), 0)
    }

    fn walked(cursor: u32, seat_count: u32, free: &[u32], walk: Option<Walk>, unseen: u32) -> Stock {
        let gaps = walk.iter().flat_map(|walk| &walk.gaps).map(|gap| gap.last.0 - gap.first.0 + 1).sum::<u32>();
        let extent = Extent { seat_count, cursor, came_back: free.len() as u32, rows: seat_count - gaps - unseen };
        Stock::new(extent, free.iter().copied().map(Seat).collect(), walk, HashMap::new())
    }

    fn lowest(stock: &mut Stock) -> Option<(u32, Was)> {
        stock.take_lowest(|| SOLD).map(|(seat, was)| (seat.0, was))
    }

    #[test]
    fn rows_that_came_back_and_gaps_are_served_in_seat_order() {
        // 1 to 3 have rows (2 is free), 5 and 7 were chosen (7 came back), the hall ends at 8.
        let rows = vec![gap(4, 4), gap(6, 6), gap(8, 8)];
        let mut stock = stock(3, 8, &[2, 7], Some(rows));
        let served: Vec<u32> = std::iter::from_fn(|| lowest(&mut stock)).map(|(seat, _)| seat).collect();
        assert_eq!(served, [2, 4, 6, 7, 8]);
        assert_eq!(stock.cursor(), 8);
    }

    #[test]
    fn a_seat_chosen_in_this_batch_is_not_served_again_and_the_cursor_passes_it() {
        let mut stock = stock(0, 9, &[], Some(vec![gap(1, 9)]));
        assert_eq!(stock.take(Seat(2), || SOLD), Some(Was::Untouched));
        assert_eq!(stock.take(Seat(2), || SOLD), None, "it is taken");
        assert_eq!(stock.cursor(), 0);
        assert_eq!(lowest(&mut stock), Some((1, Was::Untouched)));
        assert_eq!(stock.cursor(), 2, "the chosen seat has a row too");
        assert_eq!(lowest(&mut stock), Some((3, Was::Untouched)));
    }

    #[test]
    fn the_cursor_passes_old_rows_at_once() {
        assert_eq!(stock(0, 100, &[], Some(vec![gap(71, 100)])).cursor(), 70);
        assert_eq!(stock(5, 100, &[], Some(vec![])).cursor(), 100, "no gap is left");
        assert_eq!(stock(5, 100, &[], None).cursor(), 5, "nobody looked");
    }

    #[test]
    fn a_walk_that_ended_early_is_short_only_if_a_seat_behind_it_is_wanted() {
        // 1 is a gap, 2 to 50 have rows, and nobody looked further; 60 came back.
        let walk = || Some(Walk { gaps: vec![gap(1, 1)], seen: 50 });
        let mut one = walked(0, 100, &[60], walk(), 40);
        assert_eq!(lowest(&mut one), Some((1, Was::Untouched)));
        assert!(!one.short());
        assert_eq!(one.cursor(), 50, "the rows behind it are passed too");
        assert_eq!(lowest(&mut one), None, "a seat below 60 may be free");
        assert!(one.short());
        let mut sold_out = walked(0, 100, &[60], walk(), 0);
        let served: Vec<u32> = std::iter::from_fn(|| lowest(&mut sold_out)).map(|(seat, _)| seat).collect();
        assert_eq!((served, sold_out.short()), (vec![1, 60], false), "no seat without a row is left");
        let mut below = walked(0, 100, &[7], Some(Walk { gaps: vec![], seen: 50 }), 40);
        assert_eq!(lowest(&mut below), Some((7, Was::Free)), "nothing unseen is lower");
    }

    #[test]
    fn a_seat_that_came_back_can_be_chosen() {
        let mut stock = stock(9, 9, &[3], None);
        stock.rows = HashMap::from([(Seat(3), SeatRow::Free), (Seat(4), SOLD)]);
        assert_eq!(stock.take(Seat(4), || SOLD), None);
        assert_eq!(stock.take(Seat(3), || SOLD), Some(Was::Free));
        assert_eq!(lowest(&mut stock), None);
        stock.give_back(Seat(4));
        assert_eq!(stock.came_back(), 1);
        assert_eq!(lowest(&mut stock), Some((4, Was::Free)));
        assert_eq!(stock.came_back(), 0);
    }
}
