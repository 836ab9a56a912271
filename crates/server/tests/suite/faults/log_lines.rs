//! Log lines in an outage: one a second from each place in the code, however many requests fail.

use std::collections::HashMap;
use std::fs::{self, File};
use std::sync::Arc;
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::postgres::OwnPostgres;
use testing::process::ServerProcess;
use testing::redis::OwnRedis;

/// How many lines have these words.
pub fn count_of(log: &str, words: &str) -> usize {
    log.lines().filter(|line| line.contains(words)).count()
}

/// The most lines of one place, which is level, module and message, and the last of them.
pub fn most_of_one_place(log: &str) -> (usize, String) {
    let mut places: HashMap<String, (usize, String)> = HashMap::new();
    for line in log.lines().filter(|line| line.contains("WARN") || line.contains("ERROR")) {
        // The time comes first, the fields last.
        let words = line.split_whitespace().skip(1).take_while(|word| !word.contains('='));
        let place = places.entry(words.collect::<Vec<_>>().join(" ")).or_default();
        *place = (place.0 + 1, line.to_owned());
    }
    places.into_values().max_by_key(|(count, _)| *count).unwrap_or_default()
}

/// Asks from four clients for so long, and gives how many were refused.
async fn refused(process: &ServerProcess, time: Duration) -> usize {
    let began = Instant::now();
    let mut asking = Vec::new();
    for who in 0..4 {
        let mut client = TestClient::new(process.address);
        asking.push(tokio::spawn(async move {
            let mut refused = 0;
            while began.elapsed() < time {
                let answer = client.reserve(1, &format!("u{who}-{refused}")).await;
                refused += usize::from(answer.status == 503);
                let _ = client.get("/api/v1/seats/1").await;
            }
            refused
        }));
    }
    let mut sum = 0;
    for one in asking {
        sum += one.await.unwrap();
    }
    sum
}

#[tokio::test(flavor = "multi_thread")]
async fn outages_of_postgres_and_redis_log_one_line_a_second() {
    let (mut postgres, mut redis) = (OwnPostgres::start().await, OwnRedis::start());
    let folder = TestFolder::new("server");
    let log = folder.path().join("log");
    let (database_url, redis_url) = (postgres.url(), redis.url());
    let settings = [
        ("DATABASE_URL", database_url.as_str()),
        ("REDIS_URL", redis_url.as_str()),
        ("ADMIN_TOKEN", "the-token-of-the-tests"),
    ];
    let process =
        ServerProcess::spawn(folder.path(), &settings, |command| command.stderr(File::create(&log).unwrap())).await;
    let process = Arc::new(process);
    assert_eq!(process.client().reserve(1, "first").await.status, 200);
    let time = Duration::from_secs(4);
    for what in ["postgres", "redis"] {
        fs::write(&log, "").unwrap();
        if what == "postgres" {
            postgres.kill()
        } else {
            redis.kill()
        }
        let refused = refused(&process, time).await;
        let said = fs::read_to_string(&log).unwrap();
        let (most, line) = most_of_one_place(&said);
        println!("{what}: {refused} refused, {most} lines of one place, {} in all", said.lines().count());
        assert!(refused >= 20, "{what}: {refused} were refused");
        assert!((1..=7).contains(&most), "{what}: {most} lines in {time:?} for {refused} requests: {line}");
        if what == "postgres" {
            postgres.begin().await;
        } else {
            redis.begin();
        }
        let began = Instant::now();
        while process.client().get("/readyz").await.status != 200 {
            assert!(began.elapsed() < Duration::from_secs(10), "{what} is back, and the server not ready");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
