//! C11: a server is stopped in its sleep, also inside a batch, and wakes up into another world.

use std::time::Duration;

use testing::backing::TestStores;
use testing::database::Database;
use testing::folder::TestFolder;
use testing::process::ServerProcess;
use testing::redis::OwnRedis;

use super::history::{Load, core_ok, numbers_rise, sold, unknown};

#[tokio::test(flavor = "multi_thread")]
async fn heavy_suspended_server_sells_nothing_twice() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stores = TestStores::at(&database.url, &redis.url());
    let folder = TestFolder::new("server");
    let mut settings = stores.settings();
    settings.push(("FCFS_SEATS", "100000"));
    let (sleeper, other) =
        (ServerProcess::start(folder.path(), &settings).await, ServerProcess::start(folder.path(), &settings).await);
    let side = database.connect().await;
    let load = Load::start(&[sleeper.address, other.address], 1, 12, 100_000);
    load.after(100, Duration::from_secs(10)).await;
    let mut inside = 0;
    for nap in 0..3 {
        // Stopped again and again until it happens inside a transaction.
        for _ in 0..400 {
            sleeper.signal("STOP");
            // What it had sent is done by now; what it left open is open.
            tokio::time::sleep(Duration::from_millis(30)).await;
            let open = "SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND state = 'idle in transaction'";
            if side.query_one(open, &[]).await.unwrap().get::<_, i64>(0) > 0 {
                inside += 1;
                break;
            }
            sleeper.signal("CONT");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        // The lock is free again when PostgreSQL has lost its patience with the sleeper.
        load.after(3, Duration::from_secs(4)).await;
        tokio::time::sleep(Duration::from_secs(if nap == 0 { 6 } else { 1 })).await;
        sleeper.signal("CONT");
        load.after(50, Duration::from_secs(10)).await;
    }
    let all = load.stop().await;
    let hung: Vec<_> = all.iter().flat_map(|b| &b.answers).filter(|(status, ..)| *status == 0).collect();
    // Requests to the suspended server waited for it; all others were answered.
    let all: Vec<_> = all
        .iter()
        .cloned()
        .map(|mut b| {
            b.answers.retain(|(status, ..)| *status != 0);
            b
        })
        .collect();
    let stood = core_ok(&database.url, 1, &all).await.unwrap();
    assert_eq!((stood, unknown(&all)), (sold(&all), 0));
    numbers_rise(&all).unwrap();
    assert!(inside >= 1, "it was never stopped inside a batch");
    println!("stopped inside a batch {inside} times; {} requests waited for the sleeper", hung.len());
}
