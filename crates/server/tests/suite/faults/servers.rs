//! Several servers on one PostgreSQL and one Redis: the crowd, the seat that comes back, restarts.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use testing::backing::{Backing, TestStores};
use testing::database::Database;
use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::ServerProcess;
use testing::redis::OwnRedis;
use testing::server::TestServer;

use super::history::{Bought, End, Load, core_ok, numbers_rise, sold, unknown};

/// A request sent after another got `sold_out` gets no seat.
pub fn nobody_after_sold_out(all: &[Bought]) {
    let refused = all.iter().filter(|b| b.end == End::Refused("sold_out".into()));
    let first = refused.map(|b| b.ended).min();
    for one in all.iter().filter(|b| matches!(b.end, End::Sold { .. })) {
        assert!(first.is_none_or(|first| one.began < first), "{} asked after the sale was over", one.user);
    }
}

/// 10,000 users for 500 seats at so many servers.
async fn crowd(servers: usize) {
    let stores = Arc::new(TestStores::new(Backing::Redis).await);
    let mut stands = Vec::new();
    for _ in 0..servers {
        stands.push(TestServer::at(stores.clone(), &[("DB_POOL", "4")]).await);
    }
    let addresses: Vec<_> = stands.iter().map(|stand| stand.address).collect();
    let event = stands[0].event(500, 1).await;
    let all = Load::start(&addresses, event, 64, 10_000).finish().await;
    assert_eq!(core_ok(&stores.database().url, event, &all).await, Ok(500));
    assert_eq!((sold(&all), unknown(&all), all.len()), (500, 0, 10_000));
    numbers_rise(&all).unwrap();
    nobody_after_sold_out(&all);
    let clients: HashSet<_> = all.iter().map(|b| &b.user).collect();
    assert_eq!(clients.len(), 10_000);
    // A seat cancelled on one is sold by another at once.
    let End::Sold { seat, reservation, .. } = &all.iter().find(|b| matches!(b.end, End::Sold { .. })).unwrap().end
    else {
        unreachable!()
    };
    let owner = all.iter().find(|b| matches!(&b.end, End::Sold { seat: s, .. } if s == seat)).unwrap();
    let mut clients: Vec<TestClient> = stands.iter().map(TestServer::client).collect();
    let (mut id, mut user) = (reservation.clone(), owner.user.clone());
    for turn in 0..servers * 3 {
        let cancelled = clients[turn % servers].cancel(&user, &id).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.text());
        user = format!("late{turn}");
        let answer = clients[(turn + 1) % servers].reserve(event, &user).await;
        assert_eq!(answer.seat(), Some(*seat), "{}", answer.text());
        id = answer.json()["reservationId"].as_str().unwrap().to_owned();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_two_servers_sell_500_seats_to_10000_buyers() {
    crowd(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_three_servers_sell_500_seats_to_10000_buyers() {
    crowd(3).await;
}

/// A2: one seat, a thousand users, two servers.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_one_seat_is_sold_once_by_two_servers() {
    let stores = Arc::new(TestStores::new(Backing::Redis).await);
    let (one, two) = (TestServer::at(stores.clone(), &[]).await, TestServer::at(stores.clone(), &[]).await);
    for _ in 0..5 {
        let event = one.event(1, 1).await;
        let all = Load::start(&[one.address, two.address], event, 100, 1_000).finish().await;
        assert_eq!(core_ok(&stores.database().url, event, &all).await, Ok(1));
        assert_eq!((sold(&all), unknown(&all)), (1, 0));
        nobody_after_sold_out(&all);
    }
}

/// Two ports for processes that share a database and a Redis, each started as often as a test likes.
struct Pair {
    database: Database,
    stores: TestStores,
    folder: TestFolder,
    ports: [String; 2],
    _redis: OwnRedis,
}

impl Pair {
    async fn new() -> Pair {
        let (database, redis) = (Database::fresh().await, OwnRedis::start());
        Pair {
            stores: TestStores::at(&database.url, &redis.url()),
            database,
            folder: TestFolder::new("server"),
            ports: [testing::free_port().to_string(), testing::free_port().to_string()],
            _redis: redis,
        }
    }

    async fn start(&self, port: usize) -> ServerProcess {
        let mut settings = self.stores.settings();
        settings.push(("FCFS_SEATS", "100000"));
        ServerProcess::spawn(self.folder.path(), &settings, |command| command.env("APP_PORT", &self.ports[port])).await
    }
}

/// C13: rolling restarts under load. What was accepted is answered; each ends within ten seconds.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_rolling_restarts_answer_accepted_requests() {
    let pair = Pair::new().await;
    let mut servers = vec![pair.start(0).await, pair.start(1).await];
    let addresses = [servers[0].address, servers[1].address];
    let load = Load::start(&addresses, 1, 12, 100_000);
    for round in 0..10 {
        load.after(30, Duration::from_secs(10)).await;
        let mut old = servers.remove(0);
        let began = Instant::now();
        old.signal("TERM");
        assert_eq!(old.ended_within(Duration::from_secs(10)).await, Some(0), "it did not end: {:?}", began.elapsed());
        drop(old);
        servers.push(pair.start(round % 2).await);
    }
    let all = load.stop().await;
    let stood = core_ok(&pair.database.url, 1, &all).await.unwrap();
    assert_eq!((stood, unknown(&all)), (sold(&all), 0));
    // A refused connection was never accepted; what was accepted got an answer that is definite at once.
    let unsure = all.iter().flat_map(|b| &b.answers).filter(|(status, ..)| *status >= 500).count();
    assert_eq!(unsure, 0, "accepted requests were answered 5xx");
    // A broken connection whose request was done all the same shows as a repeated answer.
    let reset = all.iter().filter(|b| b.replayed).count();
    assert_eq!(reset, 0, "requests were accepted and done, and their answers lost");
    let turned_away = all.iter().filter(|b| b.broken > 3).count();
    assert_eq!(turned_away, 0, "somebody was turned away again and again");
}

/// B1 at scale: one of two servers is killed again and again.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_killed_servers_lose_no_acknowledged_sale() {
    let pair = Pair::new().await;
    let mut servers = vec![pair.start(0).await, pair.start(1).await];
    let addresses = [servers[0].address, servers[1].address];
    let load = Load::start(&addresses, 1, 12, 100_000);
    for round in 0..15 {
        load.after(40, Duration::from_secs(10)).await;
        servers.remove(0).kill();
        servers.push(pair.start(round % 2).await);
    }
    let all = load.stop().await;
    let stood = core_ok(&pair.database.url, 1, &all).await.unwrap();
    assert_eq!((stood, unknown(&all)), (sold(&all), 0));
    assert!(all.iter().any(|b| b.broken > 0), "nobody was hit by a kill");
    numbers_rise(&all).unwrap();
}

/// A million seats cost nothing to make, and selling from them is as quick.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_million_seats_half_sold_on_postgres() {
    let stores = Arc::new(TestStores::new(Backing::Redis).await);
    let stand = TestServer::at(stores.clone(), &[]).await;
    let began = Instant::now();
    let event = stand.event(1_000_000, 1).await;
    assert!(began.elapsed() < Duration::from_secs(1), "making a million seats took {:?}", began.elapsed());
    let fill = format!(
        "INSERT INTO taken (event, seat, hall_seats, kind, owner, unit, unit_limit, n, at)
         SELECT {event}, s, 1000000, 'sold', 'x' || s, 1, 1, s + 1, 0 FROM generate_series(1, 500000) s;
         INSERT INTO history (event, n, what, seat, owner, at, hash)
         SELECT {event}, s + 1, 'reserved', s, 'x' || s, 0, decode(repeat('00', 32), 'hex')
         FROM generate_series(1, 500000) s;
         UPDATE event SET sold = 500000, \"cursor\" = 500000, n = 500001 WHERE id = {event}"
    );
    stores.database().connect().await.batch_execute(&fill).await.unwrap();
    let began = Instant::now();
    let again = TestServer::at(stores.clone(), &[]).await;
    assert_eq!(again.client().get("/readyz").await.status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "ready after {:?}", began.elapsed());
    let all = Load::start(&[stand.address, again.address], event, 32, 2_000).finish().await;
    assert_eq!(sold(&all), 2_000);
    let seats: HashSet<u64> = all
        .iter()
        .filter_map(|b| match b.end {
            End::Sold { seat, .. } => Some(seat),
            _ => None,
        })
        .collect();
    assert_eq!(seats, (500_001..=502_000).collect::<HashSet<u64>>(), "the lowest free seats");
    let longest = all.iter().flat_map(|b| &b.answers).map(|(_, _, took)| *took).max().unwrap();
    assert!(longest < Duration::from_secs(2), "an answer took {longest:?}");
}
