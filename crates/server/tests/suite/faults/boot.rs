//! C12: whatever is away when a server starts, it starts, says what is missing, and heals itself.
//! And what does not go together says why and stops.

use std::time::{Duration, Instant};

use testing::database::Database;
use testing::folder::TestFolder;
use testing::postgres::OwnPostgres;
use testing::process::{ServerProcess, binary};
use testing::redis::OwnRedis;

const TOKEN: (&str, &str) = ("ADMIN_TOKEN", "the-token-of-the-tests");

async fn ready_within(process: &ServerProcess, most: Duration) {
    let began = Instant::now();
    while process.client().get("/readyz").await.status != 200 {
        assert!(began.elapsed() < most, "not ready: {}", process.client().get("/readyz").await.text());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_services_start_in_any_order() {
    let folder = TestFolder::new("server");
    for (postgres_away, redis_away) in [(false, true), (true, false), (true, true)] {
        let (mut postgres, mut redis) = (OwnPostgres::start().await, OwnRedis::start());
        if postgres_away {
            postgres.kill();
        }
        if redis_away {
            redis.kill();
        }
        let (database_url, redis_url) = (postgres.url(), redis.url());
        let settings = [("DATABASE_URL", database_url.as_str()), ("REDIS_URL", redis_url.as_str()), TOKEN];
        let process = ServerProcess::begin(folder.path(), &settings, |command| command);
        assert_eq!(process.client().get("/livez").await.status, 200);
        let ready = process.client().get("/readyz").await;
        assert_eq!(ready.status, 503);
        let missing = ready.json()["missing"].to_string();
        assert_eq!(missing.contains("ledger"), postgres_away, "{missing}");
        assert_eq!(missing.contains("door"), redis_away, "{missing}");
        let refused = process.client().reserve(1, "early").await;
        assert_eq!((refused.status, refused.reason().as_str()), (503, "service_unavailable"), "{}", refused.text());
        if postgres_away {
            postgres.begin().await;
        }
        if redis_away {
            redis.begin();
        }
        ready_within(&process, Duration::from_secs(5)).await;
        assert_eq!(process.client().reserve(1, "early").await.seat(), Some(1));
    }
}

/// Starts the binary and gives what it says when it ends by itself.
fn refused(settings: &[(&str, &str)]) -> String {
    let folder = TestFolder::new("server");
    let mut command = binary();
    command.arg("serve").env("DATA_DIR", folder.path()).env("APP_PORT", "0").envs(settings.iter().copied());
    let output = command.output().unwrap();
    assert!(!output.status.success(), "it started with {settings:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn conflicting_store_settings_stop_the_start() {
    let database = Database::fresh().await;
    let folder = TestFolder::new("server");
    let settings = [("DATABASE_URL", database.url.as_str()), TOKEN];
    let first = ServerProcess::start(folder.path(), &settings).await;
    let words = refused(&settings);
    assert!(words.contains("another tickettock") && words.contains("REDIS_URL"), "{words}");
    assert_eq!(first.client().reserve(1, "a").await.seat(), Some(1), "the first one goes on");
    let words = refused(&[("REDIS_URL", "redis://127.0.0.1:1")]);
    assert!(words.contains("DATABASE_URL"), "{words}");
    let words = refused(&[("DATABASE_URL", &database.url)]);
    assert!(words.contains("ADMIN_TOKEN"), "{words}");
}

/// The log may be a file on a disk that is full.
#[tokio::test(flavor = "multi_thread")]
async fn log_that_cannot_be_written_stops_nobody() {
    let folder = TestFolder::new("server");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let process =
        ServerProcess::spawn(folder.path(), &[], |command| command.env("RUST_LOG", "debug").stderr(full)).await;
    assert_eq!(process.client().reserve(1, "a").await.seat(), Some(1));
}
