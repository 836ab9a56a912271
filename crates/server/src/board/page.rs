//! A page of the list: the states of a thousand seats, and the texts generated from them.

use std::sync::{Arc, OnceLock};

use rules::ids::Seat;
use rules::seats::Hall;
use salvo::hyper::body::Bytes;

use super::gzip::Deflated;

pub const PAGE_SEATS: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatState {
    Free,
    Held,
    Sold,
}

impl SeatState {
    pub fn as_str(self) -> &'static str {
        match self {
            SeatState::Free => "free",
            SeatState::Held => "held",
            SeatState::Sold => "sold",
        }
    }

    /// Whether it is unavailable to others.
    pub fn taken(self) -> bool {
        self != SeatState::Free
    }
}

/// The JSON format of a seat in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// `{"id","name","status","state"}`
    Full,
    /// `{"id","status"}`
    Bare,
}

impl Writing {
    pub const ALL: [Writing; 2] = [Writing::Full, Writing::Bare];
}

#[derive(Debug)]
pub struct SeatPage {
    /// Seats before this page.
    before: u32,
    states: Vec<SeatState>,
    texts: [OnceLock<Bytes>; 2],
    deflated: [OnceLock<Deflated>; 2],
}

impl SeatPage {
    pub fn new(before: u32, states: Vec<SeatState>) -> SeatPage {
        SeatPage { before, states, texts: Default::default(), deflated: Default::default() }
    }

    /// This page with the changed states, or the same page if none differs.
    pub fn with(self: &Arc<SeatPage>, changes: &[(usize, SeatState)]) -> Arc<SeatPage> {
        if changes.iter().all(|(place, state)| self.states.get(*place).is_none_or(|known| known == state)) {
            return self.clone();
        }
        let mut states = self.states.clone();
        for (place, state) in changes {
            if let Some(known) = states.get_mut(*place) {
                *known = *state;
            }
        }
        Arc::new(SeatPage::new(self.before, states))
    }

    /// The page's text: cached for the next reader, or generated each time where caching takes too much memory.
    pub fn text(&self, hall: &Hall, writing: Writing, keep: bool) -> Bytes {
        if !keep {
            return self.write(hall, writing);
        }
        self.texts[writing as usize].get_or_init(|| self.write(hall, writing)).clone()
    }

    pub fn deflated(&self, hall: &Hall, writing: Writing, keep: bool) -> &Deflated {
        self.deflated[writing as usize].get_or_init(|| Deflated::of(&self.text(hall, writing, keep)))
    }

    /// The place of its first seat in the list.
    pub fn first_place(&self) -> usize {
        self.before as usize
    }

    /// Its seats at these indexes of the list as JSON, with commas between them.
    pub fn write_range(&self, text: &mut Vec<u8>, hall: &Hall, writing: Writing, from: usize, to: usize) {
        let mut name = String::new();
        let first = from.max(self.first_place());
        let skipped = first - self.first_place();
        for (place, state) in (first..to).zip(self.states.iter().skip(skipped)) {
            if place > from {
                text.push(b',');
            }
            let seat = Seat(place as u32 + 1);
            match writing {
                Writing::Full => write_full(text, &mut name, hall, seat, *state),
                Writing::Bare => write_bare(text, seat, *state),
            }
        }
    }

    /// The seats of the page as JSON, with a comma before each but the first of the list.
    fn write(&self, hall: &Hall, writing: Writing) -> Bytes {
        let mut text = Vec::with_capacity(self.states.len() * if writing == Writing::Full { 68 } else { 34 });
        if self.before > 0 {
            text.push(b',');
        }
        let from = self.first_place();
        self.write_range(&mut text, hall, writing, from, from + self.states.len());
        text.shrink_to_fit();
        text.into()
    }
}

// Writing to memory cannot fail.
fn write_full(text: &mut Vec<u8>, name: &mut String, hall: &Hall, seat: Seat, state: SeatState) {
    use std::io::Write;
    name.clear();
    hall.write_name(seat, name);
    let _ = write!(text, r#"{{"id":{},"name":"#, seat.0);
    let _ = serde_json::to_writer(&mut *text, name);
    let _ = write!(text, r#","status":{},"state":"{}"}}"#, state.taken(), state.as_str());
}

fn write_bare(text: &mut Vec<u8>, seat: Seat, state: SeatState) {
    use std::io::Write;
    let _ = write!(text, r#"{{"id":{},"status":{}}}"#, seat.0, state.taken());
}
