//! The prepared list of an event's seats. It is kept in pages, and only pages that changed are written
//! and compressed again. Readers share it; they never touch the path of a sale.

mod gzip;
mod page;
mod prepared;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use rules::ids::{EventId, Seat};
use rules::outcome::Refusal;
use rules::seats::Hall;
use rules::time::Moment;
use stores::ledger::Ledger;
use stores::ledger::holds::At;
use tokio::sync::OwnedMutexGuard;

pub use self::page::{SeatState, Writing};
pub use self::prepared::{Body, PLAIN_SEATS_MOST, Prepared};
use crate::refusals::Failure;

/// A list younger than this is shown as it is.
const FRESH: Duration = Duration::from_millis(100);
/// While a list is being refreshed, the old one is shown up to this age: under the promised 250 ms, with
/// room for sending.
const LATEST: Duration = Duration::from_millis(200);
/// How many changes are read at a time, and how many reads before reading the whole list is cheaper.
const CHANGES_MOST: usize = 10_000;
const CHANGES_READS: usize = 5;
/// Lists that nobody has read for this long are dropped.
const FORGOTTEN: Duration = Duration::from_secs(300);

pub struct Boards {
    ledger: Arc<dyn Ledger>,
    boards: Mutex<HashMap<EventId, Arc<Board>>>,
}

struct Board {
    event: EventId,
    hall: Arc<Hall>,
    ledger: Arc<dyn Ledger>,
    /// Readers of a fresh list hold this lock for the time of a clone.
    shown: RwLock<Option<Arc<Prepared>>>,
    /// Held by the one task that refreshes; the others read the old list or wait.
    looking: Arc<tokio::sync::Mutex<()>>,
    read_at: Mutex<Instant>,
}

impl Boards {
    pub fn new(ledger: Arc<dyn Ledger>) -> Boards {
        Boards { ledger, boards: Mutex::default() }
    }

    /// The list, at most 250 ms behind. One task at a time asks the ledger.
    pub async fn listing(&self, event: EventId, hall: Arc<Hall>) -> Result<Arc<Prepared>, Refusal> {
        let board = self.board(event, hall);
        if let Some(shown) = board.shown(LATEST) {
            if shown.age() >= FRESH
                && let Ok(looking) = board.looking.clone().try_lock_owned()
            {
                tokio::spawn(board.look(looking));
            }
            return Ok(shown);
        }
        let looking = board.looking.clone().lock_owned().await;
        if let Some(shown) = board.shown(LATEST) {
            return Ok(shown);
        }
        // In its own task: it goes on for the others if this reader disconnects.
        tokio::spawn(board.look(looking)).await.unwrap_or(Err(Refusal::Internal))
    }

    /// A deleted event has no list.
    pub fn forget(&self, event: EventId) {
        self.lock().remove(&event);
    }

    /// The ledger was restored: its history may have gone back.
    pub fn forget_all(&self) {
        self.lock().clear();
    }

    /// Drops lists that nobody has read for a while. Returns how many are left.
    pub fn forget_unused(&self) -> usize {
        let mut boards = self.lock();
        drop_unread(&mut boards, Instant::now());
        boards.len()
    }

    fn board(&self, event: EventId, hall: Arc<Hall>) -> Arc<Board> {
        let mut boards = self.lock();
        let now = Instant::now();
        if let Some(board) = boards.get(&event) {
            *lock(&board.read_at) = now;
            return board.clone();
        }
        drop_unread(&mut boards, now);
        let board = Arc::new(Board {
            event,
            hall,
            ledger: self.ledger.clone(),
            shown: RwLock::default(),
            looking: Arc::default(),
            read_at: Mutex::new(now),
        });
        boards.insert(event, board.clone());
        board
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<EventId, Arc<Board>>> {
        lock(&self.boards)
    }
}

fn drop_unread(boards: &mut HashMap<EventId, Arc<Board>>, now: Instant) {
    boards.retain(|_, board| now.duration_since(*lock(&board.read_at)) < FORGOTTEN);
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Board {
    /// The list, if it is younger than `age`.
    fn shown(&self, age: Duration) -> Option<Arc<Prepared>> {
        let shown = self.shown.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        shown.as_ref().filter(|shown| shown.age() < age).cloned()
    }

    /// Reads the ledger and publishes the new list. A fault is logged here, even if no reader waits.
    async fn look(self: Arc<Self>, looking: OwnedMutexGuard<()>) -> Result<Arc<Prepared>, Refusal> {
        let found = Arc::new(self.read().await?);
        *self.shown.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(found.clone());
        drop(looking);
        Ok(found)
    }

    async fn read(&self) -> Result<Prepared, Failure> {
        let known = self.shown(Duration::MAX);
        let caught_up = match &known {
            Some(known) => self.catch_up(known.clone()).await?,
            None => None,
        };
        Ok(match caught_up {
            Some(caught_up) if caught_up.holds() => caught_up.without_lapsed(&self.ends().await?, known.as_deref()),
            Some(caught_up) => caught_up,
            None => {
                let whole = self.whole().await?;
                let ends = self.ends().await?;
                whole.holding(&ends.found).without_lapsed(&ends, None)
            }
        })
    }

    /// The known list with the changes since; none if there are too many.
    async fn catch_up(&self, known: Arc<Prepared>) -> Result<Option<Prepared>, Failure> {
        let mut changes = Vec::new();
        for _ in 0..CHANGES_READS {
            let read_at = Instant::now();
            let after = changes.last().map_or(known.n, |change: &rules::history::EventRecord| change.n);
            let more = self.ledger.history(self.event, after, CHANGES_MOST).await?;
            let all = more.len() < CHANGES_MOST;
            changes.extend(more);
            if all {
                return Ok(Some(known.changed(&changes, read_at)));
            }
        }
        Ok(None)
    }

    /// When each hold ends.
    async fn ends(&self) -> Result<At<Vec<(Seat, Moment)>>, Failure> {
        Ok(self.ledger.held_seats(self.event).await?)
    }

    async fn whole(&self) -> Result<Prepared, Failure> {
        let read_at = Instant::now();
        let snapshot = self.ledger.snapshot(self.event).await?;
        let hall = self.hall.clone();
        let built = tokio::task::spawn_blocking(move || Prepared::whole(hall, &snapshot, read_at));
        Ok(built.await.map_err(|_| Refusal::Internal)?)
    }
}
