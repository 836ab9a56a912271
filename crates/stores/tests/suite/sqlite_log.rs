//! SQLite's write-ahead log: its length under readers, and who waits for a locked file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rules::arrive::Budget;
use rules::command::Terms;
use rules::event::Event;
use rules::time::{Clock, Moment};
use stores::conformance::{Stand, sale};
use stores::door::local::LocalDoor;
use stores::ledger::sqlite::{SqliteConfig, SqliteLedger, database_in, verify};
use stores::ledger::{Batch, LedgerFault};
use testing::clock::{FixtureClock, START};
use testing::stands::SqliteStand;

/// 4 MiB.
const LIMIT: usize = 1_024;

fn stand(folder: &Path) -> Stand {
    let clock = Arc::new(FixtureClock::default());
    let made = clock.clone();
    let config = SqliteConfig {
        clock: move |newest: Moment| {
            made.raise_to(Moment(newest.0.max(START.0)));
            made as Arc<dyn Clock>
        },
        on_fatal: Box::new(|why| panic!("the disk failed: {why}")),
        key_ttl_ms: 86_400_000,
        log_pages: LIMIT,
    };
    let ledger = Arc::new(SqliteLedger::open(folder, config).unwrap());
    let door = Arc::new(LocalDoor::new(clock, Budget::default()));
    Stand::new(ledger, door, Arc::new(|_| {}))
}

/// What was seen during a sale.
struct Seen {
    sold: u64,
    slowest: Duration,
    longest_log: u64,
    /// How often the log became shorter.
    emptied: usize,
}

async fn sell(stand: &Stand, folder: &Path, time: Duration) -> Seen {
    let event = stand.event(1_000_000, 1).await.unwrap().id;
    let log = database_in(folder).with_extension("db-wal");
    let (began, mut last) = (Instant::now(), 0);
    let mut seen = Seen { sold: 0, slowest: Duration::ZERO, longest_log: 0, emptied: 0 };
    while began.elapsed() < time {
        // In no order, so that pages are changed all over the index of owners.
        let users = (seen.sold..seen.sold + 50).map(|i| format!("{:08x}", (i as u32).wrapping_mul(0x9E37_79B1)));
        let commands = users.map(|user| stand.reserve(&user)).collect();
        let asked = Instant::now();
        let answers = stand.commit(event, commands).await.unwrap();
        seen.slowest = seen.slowest.max(asked.elapsed());
        assert!(answers.iter().all(|answer| sale(answer).is_some()));
        seen.sold += 50;
        let length = std::fs::metadata(&log).unwrap().len();
        seen.longest_log = seen.longest_log.max(length);
        seen.emptied += usize::from(length < last);
        last = length;
    }
    seen
}

/// Reads that overlap leave the log no moment to start over. It is emptied all the same, sales go on, and
/// every read gets its answer.
#[tokio::test(flavor = "multi_thread")]
async fn log_stays_short_under_overlapping_slow_reads() {
    let folder = tempfile::tempdir().unwrap();
    let stand = stand(folder.path());
    let read = stand.event(30_000, 1).await.unwrap().id;
    for from in (0..30_000).step_by(500) {
        let commands = (from..from + 500).map(|i| stand.reserve(&format!("reader-{i}"))).collect();
        stand.commit(read, commands).await.unwrap();
    }
    let (stop, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers: Vec<_> = (0..6)
        .map(|_| {
            let (ledger, stop, reads) = (stand.ledger.clone(), stop.clone(), reads.clone());
            tokio::spawn(async move {
                let mut slowest = Duration::ZERO;
                while !stop.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    assert_eq!(ledger.snapshot(read).await.unwrap().sold.len(), 30_000);
                    slowest = slowest.max(began.elapsed());
                    reads.fetch_add(1, Ordering::Relaxed);
                }
                slowest
            })
        })
        .collect();
    let Seen { sold, slowest: slowest_sale, longest_log, emptied } =
        sell(&stand, folder.path(), Duration::from_secs(6)).await;
    stop.store(true, Ordering::Relaxed);
    let mut slowest_read = Duration::ZERO;
    for reader in readers {
        slowest_read = slowest_read.max(reader.await.unwrap());
    }
    let (reads, limit) = (reads.load(Ordering::Relaxed), LIMIT as u64 * 4_096);
    println!("{sold} sold (slowest {slowest_sale:?}), {reads} reads (slowest {slowest_read:?})");
    println!("{longest_log} bytes of log at most, emptied {emptied} times");
    assert!(sold >= 1_000 && reads >= 20, "{sold} sold, {reads} reads");
    // Sales go on while the readers finish, and a log of this limit grows by that much in a moment.
    assert!(longest_log < 8 * limit, "{longest_log} bytes of log at a limit of {limit}");
    assert!(emptied >= 1, "{longest_log} bytes of log show nothing");
    assert!(slowest_read < Duration::from_secs(5), "a read took {slowest_read:?}");
    assert!(slowest_sale < Duration::from_secs(3), "a sale took {slowest_sale:?}");
    let (_, findings) = verify(folder.path()).unwrap();
    assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
}

/// Another process that keeps a snapshot cannot be held. The ledger goes on, and empties the log when that
/// process is done.
#[tokio::test(flavor = "multi_thread")]
async fn reader_in_another_process_stops_neither_sales_nor_reads() {
    let folder = tempfile::tempdir().unwrap();
    let stand = stand(folder.path());
    let other = rusqlite::Connection::open(database_in(folder.path())).unwrap();
    let count = |conn: &rusqlite::Connection| conn.query_row("SELECT count(*) FROM history", [], |row| row.get(0));
    other.execute_batch("BEGIN").unwrap();
    let seen: i64 = count(&other).unwrap();
    let Seen { longest_log, slowest, .. } = sell(&stand, folder.path(), Duration::from_secs(3)).await;
    assert!(longest_log > 2 * LIMIT as u64 * 4_096, "{longest_log} bytes: the other process stopped nothing");
    assert!(slowest < Duration::from_secs(2), "a sale took {slowest:?}");
    assert_eq!(seen, count(&other).unwrap(), "one snapshot");
    other.execute_batch("COMMIT").unwrap();
    drop(other);
    sell(&stand, folder.path(), Duration::from_secs(2)).await;
    let left = std::fs::metadata(database_in(folder.path()).with_extension("db-wal")).unwrap().len();
    assert!(left < 4 * LIMIT as u64 * 4_096, "{left} bytes of log are left");
}

/// While another process has locked the file, a batch waits and keeps its turn. What was withdrawn in the
/// meantime is not decided.
#[tokio::test(flavor = "multi_thread")]
async fn batches_keep_their_turn_behind_a_locked_file() {
    let kept = SqliteStand::fresh();
    let event = kept.stand.event(100, 1).await.unwrap().id;
    let other = rusqlite::Connection::open(kept.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let hand_over = |users: [&str; 2]| {
        let commands = users.map(|user| kept.stand.reserve(user)).to_vec();
        let batch = Batch::<Event>::new(event, Arc::new(commands), Terms::default());
        (batch.open.clone(), kept.stand.ledger.commit(batch))
    };
    let (open, first) = hand_over(["a", "b"]);
    let (_, second) = hand_over(["c", "d"]);
    let (gone, third) = hand_over(["e", "f"]);
    assert!(!open.withdraw(|_| true), "nothing is withdrawn before the ledger waits");
    let began = Instant::now();
    while !gone.withdraw(|_| true) {
        assert!(began.elapsed() < Duration::from_secs(5), "the ledger does not wait");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(open.withdraw(|place| place == 0), "those in front wait too");
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    other.execute_batch("COMMIT").unwrap();
    let seats = |answers: &[_]| answers.iter().map(|answer| sale(answer).map(|s| s.seat.0)).collect::<Vec<_>>();
    assert_eq!(seats(&first.await.unwrap().answers), [Some(1)], "without the one that was withdrawn");
    assert_eq!(seats(&second.await.unwrap().answers), [Some(2), Some(3)]);
    assert_eq!(third.await.unwrap_err(), LedgerFault::Locked, "nobody waited for it any more");
    assert!(!open.withdraw(|_| true), "it was decided");
}
