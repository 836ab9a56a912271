//! The list of an event's seats, prepared: kept in pages, of which only the changed ones are
//! written again. Readers share what is there; they never touch the path of a sale.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rules::history::{Entry, Happened};
use rules::ids::{EventId, Seat};
use rules::outcome::Refusal;
use rules::seats::Hall;
use salvo::hyper::body::Bytes;
use stores::ledger::Ledger;
use tokio::sync::Mutex;

use crate::batch::refusal;
use crate::http::wire;

/// How long a list is shown before the ledger is asked again: well under the 250 ms promised.
const FRESH: Duration = Duration::from_millis(100);
const PAGE_SEATS: usize = 1_000;
/// More changes than this are read as a whole.
const CHANGES_MOST: usize = 20_000;

pub struct Boards {
    ledger: Arc<dyn Ledger>,
    boards: Mutex<HashMap<EventId, Arc<Mutex<Option<Board>>>>>,
}

/// A list as it can be sent: parts that follow each other.
#[derive(Clone, Debug)]
pub struct Listing {
    pub n: u64,
    pub pages: Arc<[Bytes]>,
}

struct Board {
    hall: Arc<Hall>,
    n: u64,
    sold: Vec<bool>,
    pages: Vec<Bytes>,
    listing: Listing,
    read_at: Instant,
}

impl Boards {
    pub fn new(ledger: Arc<dyn Ledger>) -> Boards {
        Boards { ledger, boards: Mutex::default() }
    }

    /// The list, at most 250 ms old. One reader at a time asks the ledger; the others wait for it.
    pub async fn listing(&self, event: EventId, hall: Arc<Hall>) -> Result<Listing, Refusal> {
        let board = self.boards.lock().await.entry(event).or_default().clone();
        let mut board = board.lock().await;
        match &mut *board {
            Some(board) if board.read_at.elapsed() < FRESH => {}
            Some(known) => {
                let read_at = Instant::now();
                let changes = self.ledger.history(event, known.n, CHANGES_MOST).await.map_err(|f| refusal(&f))?;
                if changes.len() < CHANGES_MOST {
                    known.apply(&changes, read_at);
                } else {
                    *board = Some(self.whole(event, hall).await?);
                }
            }
            None => *board = Some(self.whole(event, hall).await?),
        }
        board.as_ref().map(|board| board.listing.clone()).ok_or(Refusal::Internal)
    }

    async fn whole(&self, event: EventId, hall: Arc<Hall>) -> Result<Board, Refusal> {
        let read_at = Instant::now();
        let snapshot = self.ledger.snapshot(event).await.map_err(|f| refusal(&f))?;
        let built = tokio::task::spawn_blocking(move || {
            let mut sold = vec![false; snapshot.seat_count as usize];
            for seat in &snapshot.sold {
                if let Some(place) = sold.get_mut(place(*seat)) {
                    *place = true;
                }
            }
            Board::new(hall, snapshot.n, sold, read_at)
        });
        built.await.map_err(|_| Refusal::Internal)
    }
}

fn place(seat: Seat) -> usize {
    (seat.0 as usize).wrapping_sub(1)
}

impl Board {
    fn new(hall: Arc<Hall>, n: u64, sold: Vec<bool>, read_at: Instant) -> Board {
        let pages: Vec<Bytes> = (0..sold.len().div_ceil(PAGE_SEATS)).map(|page| write(&hall, &sold, page)).collect();
        let listing = Listing { n, pages: pages.clone().into() };
        Board { hall, n, sold, pages, listing, read_at }
    }

    fn apply(&mut self, changes: &[Entry], read_at: Instant) {
        self.read_at = read_at;
        let mut touched: Vec<usize> = Vec::new();
        for change in changes {
            self.n = change.n;
            let state = match change.what {
                Happened::Reserved => true,
                Happened::Cancelled => false,
                _ => continue,
            };
            let Some(place) = change.seat.map(place).filter(|p| *p < self.sold.len()) else { continue };
            self.sold[place] = state;
            touched.push(place / PAGE_SEATS);
        }
        touched.sort_unstable();
        touched.dedup();
        for page in touched {
            self.pages[page] = write(&self.hall, &self.sold, page);
        }
        if !changes.is_empty() {
            self.listing = Listing { n: self.n, pages: self.pages.clone().into() };
        }
    }
}

/// Seats of one page as JSON, each but the very first with a comma before it.
fn write(hall: &Hall, sold: &[bool], page: usize) -> Bytes {
    let from = page * PAGE_SEATS;
    let to = sold.len().min(from + PAGE_SEATS);
    let mut text = Vec::with_capacity((to - from) * 56);
    for (i, sold) in sold.iter().enumerate().take(to).skip(from) {
        if i > 0 {
            text.push(b',');
        }
        wire::write_seat(&mut text, hall, Seat(i as u32 + 1), *sold);
    }
    text.into()
}
