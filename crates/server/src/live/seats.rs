//! The seats of an event as its watchers see them: what was published, and what will be published next.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rules::history::{EventRecord, Happened};
use rules::ids::Seat;
use rules::time::Moment;
use stores::ledger::Snapshot;

use super::message::StreamPosition;
use super::planted::LiveBug;
use super::recent::RecentRows;
use crate::board::SeatState;
use crate::http::wire::live::{LiveRemainingBody, LiveSeatsBody};

#[derive(Debug)]
pub struct WatchedSeats {
    /// According to the history up to `n`: a lapsed hold still counts as held.
    told: Vec<SeatState>,
    n: u64,
    /// As sent to every watcher, up to `published`.
    shown: Vec<SeatState>,
    published: u64,
    counts: LiveRemainingBody,
    /// Seats that may differ from what is shown.
    touched: BTreeSet<Seat>,
    recent: RecentRows,
    /// Ends of holds that have not lapsed, in order, and by seat.
    ends: BTreeSet<(Moment, Seat)>,
    end_of: HashMap<Seat, Moment>,
    /// Seats that are free because their hold has lapsed, although the history has no row for it yet.
    lapsed: BTreeSet<Seat>,
    /// Whether the end of some hold is unknown.
    ends_missing: bool,
}

impl WatchedSeats {
    /// `rows` are the newest rows up to the snapshot and all rows after it; `held` was read after the snapshot and
    /// before the rows. A seat whose state changed between the two reads has a row after the snapshot.
    pub fn new(snapshot: &Snapshot, held: &[(Seat, Moment)], now: Moment, rows: &[EventRecord]) -> WatchedSeats {
        let mut told = vec![SeatState::Free; snapshot.seat_count as usize];
        let sold = snapshot.sold.iter().map(|seat| (seat, SeatState::Sold));
        for (seat, state) in sold.chain(held.iter().map(|(seat, _)| (seat, SeatState::Held))) {
            if let Some(known) = told.get_mut(place(*seat)) {
                *known = state;
            }
        }
        let mut seats = WatchedSeats {
            shown: Vec::new(),
            told,
            n: snapshot.n,
            published: 0,
            counts: LiveRemainingBody { remaining: 0, held: 0, sold: 0 },
            touched: BTreeSet::new(),
            recent: RecentRows::default(),
            ends: BTreeSet::new(),
            end_of: HashMap::new(),
            lapsed: BTreeSet::new(),
            ends_missing: false,
        };
        seats.learn_ends(held);
        for row in rows {
            if row.n <= snapshot.n {
                seats.recent.push(row);
            } else {
                seats.fold(row);
            }
        }
        seats.lapse(now);
        seats.shown = (0..seats.told.len()).map(|place| seats.visible(seat_at(place))).collect();
        seats.counts = counted(&seats.shown);
        seats.touched.clear();
        seats.published = seats.n;
        seats
    }

    /// The newest row that was applied.
    pub fn newest(&self) -> Option<StreamPosition> {
        self.recent.position(self.n)
    }

    /// The position last sent to the watchers.
    pub fn position(&self) -> StreamPosition {
        self.recent.position(self.published).unwrap_or_default()
    }

    pub fn counts(&self) -> LiveRemainingBody {
        self.counts
    }

    /// Whether some end is unknown: `learn_ends` is due.
    pub fn ends_missing(&self) -> bool {
        self.ends_missing
    }

    /// Whether a hold has lapsed by now, or there is something to publish.
    pub fn due(&self, now: Moment) -> bool {
        !self.touched.is_empty() || self.ends.first().is_some_and(|(end, _)| *end <= now)
    }

    /// Applies the row after the newest one.
    pub fn fold(&mut self, row: &EventRecord) {
        self.recent.push(row);
        self.n = row.n;
        let Some(seat) = row.seat else { return };
        let state = match row.what {
            Happened::Reserved => SeatState::Sold,
            Happened::Held | Happened::Extended => SeatState::Held,
            Happened::Cancelled | Happened::Released | Happened::Expired | Happened::Replaced => SeatState::Free,
            _ => return,
        };
        let Some(known) = self.told.get_mut(place(seat)) else { return };
        *known = state;
        self.forget_end(seat);
        self.lapsed.remove(&seat);
        self.ends_missing |= state == SeatState::Held;
        self.touched.insert(seat);
    }

    /// Every hold with its end, lapsed or not. It may be newer than the history applied so far; then the missing rows
    /// come soon, and the ends are learned again.
    pub fn learn_ends(&mut self, held: &[(Seat, Moment)]) {
        self.ends_missing = false;
        for (seat, end) in held {
            let live = self.told.get(place(*seat)) == Some(&SeatState::Held) && !self.lapsed.contains(seat);
            if live && self.end_of.get(seat) != Some(end) {
                self.forget_end(*seat);
                self.end_of.insert(*seat, *end);
                self.ends.insert((*end, *seat));
            }
        }
    }

    fn forget_end(&mut self, seat: Seat) {
        if let Some(end) = self.end_of.remove(&seat) {
            self.ends.remove(&(end, seat));
        }
    }

    /// Frees the seats of holds that have ended by now. Only those are checked.
    pub fn lapse(&mut self, now: Moment) {
        while let Some((end, seat)) = self.ends.first().copied()
            && end <= now
        {
            self.forget_end(seat);
            self.lapsed.insert(seat);
            self.touched.insert(seat);
        }
    }

    fn visible(&self, seat: Seat) -> SeatState {
        match self.told.get(place(seat)) {
            Some(SeatState::Held) if self.lapsed.contains(&seat) => SeatState::Free,
            Some(state) => *state,
            None => SeatState::Free,
        }
    }

    /// The seats that differ from what is shown. If there are none, what is shown is up to date.
    pub fn changes(&mut self) -> BTreeMap<Seat, SeatState> {
        let touched = std::mem::take(&mut self.touched);
        let changed: BTreeMap<Seat, SeatState> = touched
            .into_iter()
            .map(|seat| (seat, self.visible(seat)))
            .filter(|(seat, state)| self.shown.get(place(*seat)).is_some_and(|shown| shown != state))
            .collect();
        if changed.is_empty() {
            self.published = self.n;
        }
        self.touched = changed.keys().copied().collect();
        changed
    }

    /// The counts after these changes.
    pub fn counts_after(&self, changes: &BTreeMap<Seat, SeatState>) -> LiveRemainingBody {
        let mut counts = self.counts;
        for (seat, state) in changes {
            if let Some(shown) = self.shown.get(place(*seat)) {
                *count_of(&mut counts, *shown) -= 1;
                *count_of(&mut counts, *state) += 1;
            }
        }
        counts
    }

    /// Marks these changes as sent.
    pub fn publish(&mut self, changes: &BTreeMap<Seat, SeatState>) {
        self.counts = self.counts_after(changes);
        for (seat, state) in changes {
            if let Some(shown) = self.shown.get_mut(place(*seat)) {
                *shown = *state;
            }
        }
        self.touched.clear();
        self.published = self.n;
    }

    /// What has changed for a watcher that has everything up to `after`. None: it is unknown.
    pub fn since(&self, after: StreamPosition, planted: LiveBug) -> Option<LiveSeatsBody> {
        let after = planted.resumes_from(after, self);
        let mut seats = self.recent.seats_between(after, self.published)?;
        // No row says that these are free, so it is unknown whether they were sent.
        let free = |seat: &&Seat| self.shown.get(place(**seat)) == Some(&SeatState::Free);
        seats.extend(self.lapsed.iter().filter(free).copied());
        let shown = |seat: Seat| Some((seat, *self.shown.get(place(seat))?));
        Some(by_state(seats.into_iter().filter_map(shown)))
    }

    pub fn states(&self) -> String {
        run_lengths(&self.shown)
    }

    #[cfg(feature = "planted")]
    pub fn states_ahead(&self) -> String {
        run_lengths(&self.told)
    }

    #[cfg(feature = "planted")]
    pub fn position_of(&self, n: u64) -> Option<StreamPosition> {
        self.recent.position(n)
    }
}

fn run_lengths(states: &[SeatState]) -> String {
    let mut text = String::new();
    for run in states.chunk_by(|a, b| a == b) {
        let letter = match run[0] {
            SeatState::Free => 'f',
            SeatState::Held => 'h',
            SeatState::Sold => 's',
        };
        text.push_str(&run.len().to_string());
        text.push(letter);
    }
    text
}

pub fn by_state(seats: impl IntoIterator<Item = (Seat, SeatState)>) -> LiveSeatsBody {
    let mut body = LiveSeatsBody::default();
    for (seat, state) in seats {
        match state {
            SeatState::Sold => body.sold.push(seat.0),
            SeatState::Held => body.held.push(seat.0),
            SeatState::Free => body.free.push(seat.0),
        }
    }
    body
}

fn counted(states: &[SeatState]) -> LiveRemainingBody {
    let mut counts = LiveRemainingBody { remaining: 0, held: 0, sold: 0 };
    states.iter().for_each(|state| *count_of(&mut counts, *state) += 1);
    counts
}

fn count_of(counts: &mut LiveRemainingBody, state: SeatState) -> &mut u32 {
    match state {
        SeatState::Free => &mut counts.remaining,
        SeatState::Held => &mut counts.held,
        SeatState::Sold => &mut counts.sold,
    }
}

fn place(seat: Seat) -> usize {
    (seat.0 as usize).wrapping_sub(1)
}

fn seat_at(place: usize) -> Seat {
    Seat(place as u32 + 1)
}

#[cfg(test)]
mod tests;
