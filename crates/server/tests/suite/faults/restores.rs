//! I5: the ledger goes back to an older backup under running servers. No number comes twice or goes back,
//! the waiting room answers within seconds, and nothing that was remembered is shown any more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use testing::backing::TestStores;
use testing::database::Database;
use testing::http::{TestClient, TestResponse};
use testing::postgres::OwnPostgres;
use testing::redis::OwnRedis;
use testing::server::TestServer;

use crate::waiting::{Person, room_with};

const WITHIN: Duration = Duration::from_secs(5);

/// One event for seats and one with a waiting room.
struct Sale {
    event: u64,
    line: u64,
    users: u64,
    numbers: Vec<u64>,
}

impl Sale {
    async fn on(stand: &TestServer) -> Sale {
        let event = stand.event(50, 1).await;
        Sale { event, line: room_with(stand, 9, json!({ "maxConcurrent": 1 })).await, users: 0, numbers: Vec::new() }
    }

    /// Buys until it succeeds.
    async fn buy(&mut self, stand: &TestServer) {
        let began = Instant::now();
        loop {
            self.users += 1;
            let answer = stand.client().reserve(self.event, &format!("user {}", self.users)).await;
            if let Some(number) = answer.sequence().filter(|_| answer.status == 200) {
                self.numbers.push(number);
                return;
            }
            assert!(began.elapsed() < WITHIN, "no sale within {WITHIN:?}: {}", answer.text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Joins the line under a new name until it succeeds. Returns the number.
    async fn join(&mut self, stand: &TestServer) -> u64 {
        self.users += 1;
        let mut person = Person::new(stand, self.line, &format!("user {}", self.users));
        let began = Instant::now();
        loop {
            let answer = person.join().await;
            if answer.status == 200 {
                return answer.json()["number"].as_u64().unwrap();
            }
            assert!(began.elapsed() < WITHIN, "the line says nothing within {WITHIN:?}: {}", answer.text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn taken(&self, client: &mut TestClient) -> usize {
        let path = format!("/api/v1/events/{}/seats", self.event);
        let seats = client.get(&path).await.json();
        let seats = seats["seats"].as_array().cloned().unwrap_or_default();
        seats.iter().filter(|seat| seat["status"] == true || seat["state"] == "sold").count()
    }
}

async fn restored(stands: &[TestServer], redis: &OwnRedis, sale: &mut Sale, restoring: impl Future<Output = ()>) {
    let [first, ..] = stands else { unreachable!() };
    let mut places = vec![sale.join(first).await];
    // Since the backup a generation was raised, and numbers of it were given.
    redis.ask::<()>(&["FLUSHALL"]);
    for stand in stands {
        sale.buy(stand).await;
        places.push(sale.join(stand).await);
    }
    assert!(sale.taken(&mut first.client()).await > 1);
    restoring.await;
    for wiped in [false, true, false] {
        if wiped {
            redis.ask::<()>(&["FLUSHALL"]);
        }
        for stand in stands {
            sale.buy(stand).await;
            places.push(sale.join(stand).await);
        }
    }
    assert!(sale.numbers.is_sorted_by(|a, b| a < b), "{:?}", sale.numbers);
    assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    // The one before the backup, and those since the restore.
    let expected = 1 + 3 * stands.len();
    let began = Instant::now();
    while sale.taken(&mut first.client()).await != expected {
        assert!(began.elapsed() < WITHIN, "{} seats instead of {expected}", sale.taken(&mut first.client()).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn older_database_under_two_running_servers() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stores = Arc::new(TestStores::at(&database.url, &redis.url()));
    let stands = [TestServer::at(stores.clone(), &[]).await, TestServer::at(stores, &[]).await];
    let mut sale = Sale::on(&stands[0]).await;
    sale.buy(&stands[0]).await;
    let copy = database.backup().await;
    restored(&stands, &redis, &mut sale, database.restore(&copy)).await;
    let (_, findings) = stores::ledger::postgres::verify(&database.url).await.unwrap();
    assert!(findings.iter().all(|finding| finding.holds()), "{findings:?}");
}

/// The snapshot of a disk: the same cluster, timeline and database. Only the log's position tells.
#[tokio::test(flavor = "multi_thread")]
async fn older_data_folder_under_a_running_server() {
    let (mut postgres, redis) = (OwnPostgres::start().await, OwnRedis::start());
    let stores = Arc::new(TestStores::at(&postgres.url(), &redis.url()));
    let stands = [TestServer::at(stores, &[]).await];
    let mut sale = Sale::on(&stands[0]).await;
    sale.buy(&stands[0]).await;
    postgres.stop_immediately();
    postgres.snapshot();
    postgres.begin().await;
    restored(&stands, &redis, &mut sale, async {
        postgres.stop_immediately();
        postgres.restore();
        postgres.begin().await;
    })
    .await;
}

/// A dump read back into the same database: the tables were made again, and no connection broke.
#[tokio::test(flavor = "multi_thread")]
async fn tables_made_again_change_the_ledgers_name() {
    let database = Database::fresh().await;
    let ledger = testing::stands::prepared(&database.url, Default::default()).await;
    let name = ledger.named().get().unwrap();
    let again = "ALTER TABLE ledger RENAME TO before; CREATE TABLE ledger (LIKE before INCLUDING ALL);
        INSERT INTO ledger SELECT * FROM before; DROP TABLE before";
    database.connect().await.batch_execute(again).await.unwrap();
    let began = Instant::now();
    while ledger.named().get().unwrap() == name {
        assert!(began.elapsed() < WITHIN, "not noticed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let other = testing::stands::prepared(&database.url, Default::default()).await;
    assert_eq!(other.named().get(), ledger.named().get(), "all servers have one name for it");
}

/// Asks until connections that broke were made again, and what was remembered of the other ledger was forgotten.
async fn answered(status: u16, mut ask: impl AsyncFnMut() -> TestResponse) -> TestResponse {
    let began = Instant::now();
    loop {
        let answer = ask().await;
        if answer.status == status {
            return answer;
        }
        assert!(began.elapsed() < WITHIN, "not {status} within {WITHIN:?}: {}", answer.text());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Ids of events come again after a restore. A ticket of the event that is gone is no ticket of the new one.
#[tokio::test(flavor = "multi_thread")]
async fn ticket_of_an_event_that_is_gone_does_not_count() {
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let stand = TestServer::at(Arc::new(TestStores::at(&database.url, &redis.url())), &[]).await;
    let made = async || {
        let body = json!({ "name": "Line", "seats": 9, "waitingRoom": {} });
        let answer = answered(201, async || stand.admin("POST", "events", &body).await).await;
        answer.json()["event"]["id"].as_u64().unwrap()
    };
    let mut alice = Person::new(&stand, made().await, "alice");
    assert_eq!(alice.join().await.status, 200);
    let copy = database.backup().await;
    let gone = made().await;
    let mut bob = Person::new(&stand, gone, "bob");
    answered(200, async || bob.join().await).await;
    let name = stand.app.ledger.name();
    database.restore(&copy).await;
    let began = Instant::now();
    while stand.app.ledger.name() == name {
        assert!(began.elapsed() < WITHIN, "the restore was not noticed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(made().await, gone, "the id comes again");
    let refused = answered(403, async || bob.join_with_ticket().await).await;
    assert_eq!(refused.reason(), "forbidden", "{}", refused.text());
    answered(200, async || bob.join().await).await;
    answered(200, async || bob.poll_with_ticket().await).await;
    // Her event was in the backup.
    answered(200, async || alice.poll_with_ticket().await).await;
}

/// With the door in the process, everybody keeps their place, and the numbers rise.
#[tokio::test(flavor = "multi_thread")]
async fn older_database_beside_a_door_in_the_process() {
    let stand = TestServer::on(testing::backing::Backing::Postgres, &[]).await;
    let mut sale = Sale::on(&stand).await;
    sale.buy(&stand).await;
    let first = sale.join(&stand).await;
    let database = stand.stores.database();
    let copy = database.backup().await;
    // Its claim broke, so that the door was closed: a new generation.
    sale.buy(&stand).await;
    database.restore(&copy).await;
    sale.buy(&stand).await;
    sale.buy(&stand).await;
    assert!(sale.numbers.is_sorted_by(|a, b| a < b), "{:?}", sale.numbers);
    assert!(sale.join(&stand).await > first);
}

/// While a copy is put in the place of a database there is none for a moment. The only server waits for it, and does not
/// take it for another's.
#[tokio::test(flavor = "multi_thread")]
async fn database_that_is_away_ends_no_server() {
    let stand = TestServer::on(testing::backing::Backing::Postgres, &[]).await;
    let mut sale = Sale::on(&stand).await;
    sale.buy(&stand).await;
    // The claim is looked at twice a second.
    stand.stores.database().away(std::time::Duration::from_secs(2)).await;
    sale.buy(&stand).await;
    assert!(sale.numbers.is_sorted_by(|a, b| a < b), "{:?}", sale.numbers);
}
