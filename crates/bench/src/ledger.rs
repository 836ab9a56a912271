//! The embedded ledger without HTTP: microseconds per sale. Also prepares half-sold halls for other runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rules::command::{Buyer, Command, EventAction, Terms};
use rules::event::NewEvent;
use rules::history::Actor;
use rules::ids::{EventId, FIRST_EVENT, Number, RequestName, User};
use rules::seats::Hall;
use server::clock::EmbeddedClock;
use stores::ledger::sqlite::{LOG_PAGES, SqliteConfig, SqliteLedger};
use stores::ledger::{BATCH_MOST, Batch, Ledger};

fn open(folder: &Path) -> SqliteLedger {
    let surroundings = SqliteConfig {
        clock: |newest| Arc::new(EmbeddedClock::starting(newest)) as Arc<_>,
        on_fatal: Box::new(|why| panic!("{why}")),
        key_ttl_ms: 86_400_000,
        log_pages: LOG_PAGES,
    };
    SqliteLedger::open(folder, surroundings).expect("a ledger")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

async fn hall(ledger: &dyn Ledger, seats: u32) -> EventId {
    let new = NewEvent {
        by: rules::history::AdminName::default(),
        origin: rules::history::RequestOrigin::default(),
        name: "Bench".into(),
        hall: Hall::Count(seats),
        max_per_user: 1,
        opens_at: None,
        occasion: Default::default(),
        hold_ttl_ms: None,
        buyer_fields: Default::default(),
        price: None,
        rehearsal: false,
        waiting_room: None,
    };
    ledger.create_event_as(FIRST_EVENT, new).await.expect("a ledger").expect("a free id");
    ledger.raise_generation(FIRST_EVENT, None).await.expect("a generation");
    FIRST_EVENT
}

/// Commits batches one after the other, and returns the microseconds of each.
async fn sell(ledger: &dyn Ledger, event: EventId, batches: u64, size: u64) -> Vec<u64> {
    let mut times = Vec::new();
    for batch in 0..batches {
        let commands = (0..size).map(|i| command(batch * size + i)).collect();
        let began = Instant::now();
        let batch = Batch::new(event, Arc::new(commands), Terms::default());
        let committed = ledger.commit(batch).await.expect("a commit");
        times.push(began.elapsed().as_micros() as u64);
        assert_eq!(committed.answers.len() as u64, size);
    }
    times
}

/// `bench ledger`.
pub fn run(batches: u64, size: u64) {
    let mut times = sold(batches, size);
    times.sort_unstable();
    let total: u64 = times.iter().sum();
    println!(
        "{batches} batches of {size}: {:.2} us a sale, batch p50 {} us, p99 {} us",
        total as f64 / (batches * size) as f64,
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
}

/// The microseconds of each batch, in a ledger of its own.
pub fn sold(batches: u64, size: u64) -> Vec<u64> {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = open(folder.path());
    runtime().block_on(async {
        let event = hall(&ledger, 5_000_000).await;
        sell(&ledger, event, batches, size).await
    })
}

/// A ledger in `folder` whose first event has this many seats, half of them sold.
pub fn half_sold(folder: &Path, seats: u32) {
    let ledger = open(folder);
    runtime().block_on(half_sell(&ledger, seats));
}

pub async fn half_sell(ledger: &dyn Ledger, seats: u32) {
    let event = hall(ledger, seats).await;
    let (half, size) = (u64::from(seats) / 2, BATCH_MOST as u64);
    sell(ledger, event, half / size, size).await;
}

fn command(i: u64) -> Command {
    // Spread like the ids of real users, not in the order of arrival, and mixed with those of later users:
    // a prefix of their own would keep them in a separate part of the index.
    let user = format!("user-{:016x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    Command {
        actor: Actor::User(User::stored(&user)),
        number: Some(Number(i + 1)),
        name: RequestName(i.into()),
        key: None,
        entry: None,
        action: EventAction::Reserve(Buyer {
            name: Some("Alice".into()),
            phone: Some("+821012345678".into()),
            ..Buyer::default()
        }),
        details: None,
        origin: rules::history::RequestOrigin {
            address: Some([127, 0, 0, 1].into()),
            trace: Some(format!("{i:032x}").into()),
        },
    }
}
