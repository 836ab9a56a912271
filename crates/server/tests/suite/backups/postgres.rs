//! The drill of docs/backups.md: `pg_basebackup` during a rush, restored as another PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use testing::backing::TestStores;
use testing::postgres::OwnPostgres;
use testing::redis::OwnRedis;
use testing::server::TestServer;

use super::{Buyers, compare, reservations};

#[tokio::test(flavor = "multi_thread")]
async fn base_backup_of_a_rush_is_restored_elsewhere() {
    let (postgres, redis) = (OwnPostgres::start().await, OwnRedis::start());
    let server = TestServer::at(Arc::new(TestStores::at(&postgres.url(), &redis.url())), &[]).await;
    let event = server.event(1_000_000, 1).await;
    let buyers = Buyers::start(server.address, event, 16);
    buyers.at_least(1_000).await;
    let before = buyers.acknowledged();
    let restored = postgres.restored_elsewhere().await;
    let all = buyers.stopped().await;
    assert!(all.len() > before.len(), "nothing was sold during the backup");
    let newest = all.values().map(|(_, number)| *number).max().unwrap();

    let began = Instant::now();
    // Until the end of recovery it is a standby.
    let looked = loop {
        match stores::ledger::postgres::verify(&restored.url()).await {
            Ok(looked) => break looked,
            Err(why) => assert!(began.elapsed() < Duration::from_secs(30), "{why}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(looked.1.iter().all(|finding| finding.holds()), "{:?}", looked.1);
    let epoch = name(&postgres.url()).await;
    // The same Redis: it knows the numbers that were given since the backup.
    let server = TestServer::at(Arc::new(TestStores::at(&restored.url(), &redis.url())), &[]).await;
    let found = reservations(server.client(), event, &server.app.admin_token).await;
    compare(&before, &found);
    let number = loop {
        let answer = server.client().reserve(event, "after the restore").await;
        if answer.status == 200 {
            break answer.sequence().unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{}", answer.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(number > newest, "{number} was given before: up to {newest}");
    assert_ne!(name(&restored.url()).await, epoch, "a new timeline is a new epoch");
}

async fn name(url: &str) -> String {
    stores::ledger::postgres::insiders(url).await.unwrap().0
}
