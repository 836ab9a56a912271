//! What happens to Redis: C1, C2, C3, C4, and flushed ten times during one sale.

use std::sync::Arc;
use std::time::{Duration, Instant};

use testing::backing::TestStores;
use testing::database::Database;
use testing::proxy::{Proxy, WireFault};
use testing::redis::OwnRedis;
use testing::server::TestServer;

use super::history::{Load, core_ok, count, numbers_rise, sold, unknown};

async fn stand(database: &Database, redis: &str) -> TestServer {
    TestServer::at(Arc::new(TestStores::at(&database.url, redis)), &[]).await
}

/// Readiness, waited for at most so long.
async fn ready_within(stand: &TestServer, most: Duration) -> Duration {
    let began = Instant::now();
    while stand.client().get("/readyz").await.status != 200 {
        assert!(began.elapsed() < most, "not ready after {most:?}: {}", stand.client().get("/readyz").await.text());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    began.elapsed()
}

/// Flushed ten times during one sale: exactly the stock is sold, nothing acknowledged is lost, no
/// number comes twice or goes back.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_redis_flushed_ten_times_during_a_sale() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stand = stand(&database, &redis.url()).await;
    let event = stand.event(500, 1).await;
    let load = Load::start(&[stand.address], event, 16, 1_500);
    for _ in 0..10 {
        load.after(40, Duration::from_secs(10)).await;
        redis.ask::<()>(&["FLUSHALL"]);
    }
    let all = load.finish().await;
    assert_eq!(core_ok(&database.url, event, &all).await, Ok(500));
    assert_eq!((sold(&all), unknown(&all)), (500, 0));
    numbers_rise(&all).unwrap();
    let generations = database.connect().await;
    let raised: i64 =
        generations.query_one("SELECT generation FROM event WHERE id = $1", &[&(event as i64)]).await.unwrap().get(0);
    assert!(raised >= 10, "the flushes were not noticed: generation {raised}");
}

/// C1 and C2: killed and started empty, then killed and started from an old file.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_redis_restarts_empty_and_from_an_old_dump() {
    let (database, mut redis) = (Database::fresh().await, OwnRedis::start_with(&["--dbfilename", "dump.rdb"]));
    let stand = stand(&database, &redis.url()).await;
    let event = stand.event(20_000, 1).await;
    let load = Load::start(&[stand.address], event, 16, 20_000);
    for round in 0..4 {
        load.after(100, Duration::from_secs(10)).await;
        if round % 2 == 1 {
            redis.ask::<()>(&["SAVE"]);
            load.after(100, Duration::from_secs(10)).await;
        } else {
            let _ = std::fs::remove_file(redis.folder.join("dump.rdb"));
        }
        redis.kill();
        tokio::time::sleep(Duration::from_millis(300)).await;
        redis.begin();
        load.after(50, Duration::from_secs(2)).await;
    }
    let all = load.stop().await;
    let stood = core_ok(&database.url, event, &all).await.unwrap();
    assert_eq!((stood, unknown(&all)), (sold(&all), 0));
    numbers_rise(&all).unwrap();
    assert!(count(&all, 503, "service_unavailable") > 0, "nobody noticed that Redis was away");
}

/// C2: the replica's link is cut, the primary dies, the replica is promoted with old numbers.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_failover_losing_numbers_repeats_none() {
    let (database, mut primary) = (Database::fresh().await, OwnRedis::start());
    let link = Proxy::to(primary.port).await;
    let replica = OwnRedis::start_with(&["--replicaof", "127.0.0.1", &link.port().to_string()]);
    let wire = Proxy::to(primary.port).await;
    let stand = stand(&database, &format!("redis://127.0.0.1:{}", wire.port())).await;
    let event = stand.event(20_000, 1).await;
    let load = Load::start(&[stand.address], event, 16, 20_000);
    load.after(200, Duration::from_secs(10)).await;
    let key = format!("fcfs:seq:{{e:{event}}}");
    while replica.ask::<Option<i64>>(&["GET", &key]).is_none() {}
    link.set(WireFault::Silence);
    // Until something was kept from it, the replica may still be as new as the primary.
    tokio::time::timeout(Duration::from_secs(20), async {
        while link.fired() == 0 {
            load.after(200, Duration::from_secs(10)).await;
        }
    })
    .await
    .expect("the primary tells its replica");
    load.after(200, Duration::from_secs(10)).await;
    primary.kill();
    replica.ask::<()>(&["REPLICAOF", "NO", "ONE"]);
    let behind: i64 = replica.ask(&["GET", &key]);
    wire.redirect(replica.port);
    load.after(100, Duration::from_secs(3)).await;
    let all = load.stop().await;
    let stood = core_ok(&database.url, event, &all).await.unwrap();
    assert_eq!((stood, unknown(&all)), (sold(&all), 0));
    numbers_rise(&all).unwrap();
    let given = sold(&all) as i64;
    assert!(behind < given && link.fired() > 0, "the replica was not behind: {behind} of {given}");
}

/// C3: reset, silent, slow. 503 with its reason within a second, and back within two.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_unreachable_redis_gets_503_within_a_second() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let wire = Proxy::to(redis.port).await;
    let stand = stand(&database, &format!("redis://127.0.0.1:{}", wire.port())).await;
    let event = stand.event(1_000, 1).await;
    assert_eq!(stand.client().reserve(event, "before").await.seat(), Some(1));
    let mut seat = 1;
    for fault in [WireFault::Reset, WireFault::Silence] {
        wire.set(fault);
        for i in 0..10 {
            let mut both = Vec::new();
            for lane in 0..8 {
                let mut client = stand.client();
                both.push(tokio::spawn(async move {
                    let began = Instant::now();
                    let answer = client.reserve(event, &format!("{fault:?}-{i}-{lane}")).await;
                    (answer, began.elapsed())
                }));
            }
            for task in both {
                let (answer, took) = task.await.unwrap();
                assert_eq!((answer.status, answer.reason().as_str()), (503, "service_unavailable"), "{fault:?}");
                assert_eq!(answer.header("retry-after"), Some("1"));
                assert!(took < Duration::from_secs(1), "{fault:?}: told after {took:?}");
            }
        }
        let ready = stand.client().get("/readyz").await;
        assert_eq!(ready.status, 503);
        assert!(
            ready.json()["missing"].to_string().contains("Redis") || ready.text().contains("door"),
            "{}",
            ready.text()
        );
        assert_eq!(stand.client().get("/livez").await.status, 200);
        wire.set(WireFault::None);
        ready_within(&stand, Duration::from_secs(2)).await;
        seat += 1;
        assert_eq!(stand.client().reserve(event, &format!("after {fault:?}")).await.seat(), Some(seat));
    }
    wire.set(WireFault::Delay(Duration::from_millis(100)));
    let began = Instant::now();
    let slow = stand.client().reserve(event, "slow").await;
    assert_eq!(slow.seat(), Some(seat + 1), "{}", slow.text());
    assert!(began.elapsed() < Duration::from_secs(1));
    wire.set(WireFault::None);
    redis.ask::<()>(&["CONFIG", "SET", "busy-reply-threshold", "10"]);
    let busy = redis.client();
    let script = std::thread::spawn(move || {
        let words = "local t = redis.call('TIME')[1] + 2 while tonumber(redis.call('TIME')[1]) < t do end";
        testing::redis::ask::<()>(&busy, &["EVAL", words, "0"]);
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    let answer = stand.client().reserve(event, "busy").await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(["redis_error", "service_unavailable"].contains(&answer.reason().as_str()), "{}", answer.text());
    assert!(began.elapsed() < Duration::from_secs(1), "told after {:?}", began.elapsed());
    script.join().unwrap();
    ready_within(&stand, Duration::from_secs(2)).await;
    assert!(stand.client().reserve(event, "busy").await.seat().is_some());
    assert!(wire.fired() >= 3, "the wire was not disturbed");
}

/// C4: a policy that throws keys away, and no memory left.
#[tokio::test(flavor = "multi_thread")]
async fn redis_out_of_memory_or_evicting_gets_503() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let wire = Proxy::to(redis.port).await;
    let stand = stand(&database, &format!("redis://127.0.0.1:{}", wire.port())).await;
    let event = stand.event(100, 1).await;
    assert_eq!(stand.client().reserve(event, "a").await.seat(), Some(1));
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = stand.client().reserve(event, "b").await;
    assert_eq!((full.status, full.reason().as_str()), (503, "redis_error"), "{}", full.text());
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(stand.client().reserve(event, "b").await.seat(), Some(2));
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    // A new connection, as after any fault: it is looked at before it is used.
    wire.set(WireFault::Reset);
    wire.set(WireFault::None);
    let began = Instant::now();
    let mut ready = stand.client().get("/readyz").await;
    while !ready.text().contains("allkeys-lru") {
        assert!(began.elapsed() < Duration::from_secs(2), "{}", ready.text());
        ready = stand.client().get("/readyz").await;
    }
    assert_eq!(ready.status, 503);
    let refused = stand.client().reserve(event, "c").await;
    assert_eq!((refused.status, refused.reason().as_str()), (503, "service_unavailable"), "{}", refused.text());
    redis.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    ready_within(&stand, Duration::from_secs(2)).await;
    assert_eq!(stand.client().reserve(event, "c").await.seat(), Some(3));
}

/// I5: the ledger goes back to an older backup while Redis keeps what it knows; then Redis is wiped. The
/// numbers rise all the same.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_rise_across_an_older_backup_and_a_wipe() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let first = stand(&database, &redis.url()).await;
    let event = first.event(50, 1).await;
    let mut numbers = Vec::new();
    let mut users = 0..;
    for _ in 0..3 {
        redis.ask::<()>(&["FLUSHALL"]);
        let user = format!("user {}", users.next().unwrap());
        numbers.push(first.client().reserve(event, &user).await.sequence().unwrap());
    }
    let backup = "UPDATE event SET generation = 0 WHERE id = $1";
    database.connect().await.execute(backup, &[&(event as i64)]).await.unwrap();
    // The server that was running knows nothing of it; another one is started after the restore.
    let second = stand(&database, &redis.url()).await;
    for wipe in [false, true, false] {
        if wipe {
            redis.ask::<()>(&["FLUSHALL"]);
        }
        for server in [&second, &first] {
            let user = format!("user {}", users.next().unwrap());
            numbers.push(server.client().reserve(event, &user).await.sequence().unwrap());
        }
    }
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}
