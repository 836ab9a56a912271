//! Servers with a gateway in front, on a Redis that can be looked into and killed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use testing::backing::TestStores;
use testing::database::Database;
use testing::gateway::{GatewayBug, TestGateway};
use testing::http::TestClient;
use testing::redis::OwnRedis;
use testing::server::TestServer;

pub const FCFS: &str = "/api/v1/seats/reservation/fcfs";
pub const JSON: (&str, &str) = ("Content-Type", "application/json");
pub const BODY: &str = testing::http::BUYER;

pub struct Edge {
    pub gate: TestGateway,
    pub servers: Vec<TestServer>,
    pub redis: OwnRedis,
    pub database: Database,
    /// How often it was looked how many requests came.
    looked: AtomicU64,
}

/// The settings of every server and gateway, unless a test overrides them.
const USUAL: [(&str, &str); 6] = [
    ("GATEWAY_KEY", testing::gateway::KEY),
    // Tests also ask the servers past the gateway.
    ("ALLOW_TRUSTED_HEADER", "1"),
    ("GATEWAY_TRUST_USER_HEADER", "1"),
    ("GATEWAY_USER_RATE", "0"),
    ("GATEWAY_ADDRESS_RATE", "0"),
    ("USER_RATE", "0"),
];

impl Edge {
    pub async fn new(given: &[(&str, &str)]) -> Edge {
        Edge::with(1, given, &[]).await
    }

    pub async fn with(servers: usize, given: &[(&str, &str)], planted: &[GatewayBug<'_>]) -> Edge {
        let (database, redis) = (Database::fresh().await, OwnRedis::start());
        let stores = Arc::new(TestStores::at(&database.url, &redis.url()));
        let settings: Vec<(&str, &str)> = given.iter().chain(&USUAL).copied().collect();
        let mut stands = Vec::new();
        for _ in 0..servers {
            stands.push(TestServer::at(stores.clone(), &settings).await);
        }
        let addresses: Vec<SocketAddr> = stands.iter().map(|stand| stand.server).collect();
        let gate = TestGateway::planted(&addresses, &owned(&settings, &redis.url()), planted);
        Edge { gate, servers: stands, redis, database, looked: AtomicU64::new(0) }
    }

    /// Another gateway in front of the same servers.
    pub fn another(&self, given: &[(&str, &str)]) -> TestGateway {
        let settings: Vec<(&str, &str)> = given.iter().chain(&USUAL).copied().collect();
        let addresses: Vec<SocketAddr> = self.servers.iter().map(|stand| stand.server).collect();
        TestGateway::start(&addresses, &owned(&settings, &self.redis.url()))
    }

    pub fn client(&self) -> TestClient {
        self.gate.client()
    }

    /// To the first server, past the gateway.
    pub fn direct(&self) -> TestClient {
        TestClient::new(self.servers[0].server)
    }

    pub async fn event(&self, seats: u64, max_per_user: u64) -> u64 {
        self.servers[0].event(seats, max_per_user).await
    }

    /// The first answer tells the gateway whose door it is.
    pub async fn warm(&self) {
        self.warm_as("X-User-Id").await;
    }

    pub async fn warm_as(&self, user_header: &str) {
        let event = self.event(1, 1).await;
        let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
        let answer = self.client().send("POST", &path, &[(user_header, "warm"), JSON], BODY).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Requests of all kinds that reached the servers.
    pub async fn reached(&self) -> u64 {
        let mut all = 0;
        let looked = self.looked.fetch_add(1, SeqCst) + 1;
        for stand in &self.servers {
            let text = TestClient::new(stand.server).get("/metrics").await.text();
            let line = text.lines().find_map(|line| line.strip_prefix("tickettock_requests_total "));
            // Without those that look.
            all += line.unwrap().parse::<u64>().unwrap() - looked;
        }
        all
    }

    pub fn mark(&self, event: u64, user: &str) -> Option<String> {
        self.redis.ask(&["GET", &format!("dup:user:{{e:{event}}}:{user}")])
    }

    /// How many numbers were given in this event.
    pub fn numbers(&self, event: u64) -> u64 {
        let given: Option<u64> = self.redis.ask(&["GET", &format!("fcfs:seq:{{e:{event}}}")]);
        given.unwrap_or_default()
    }
}

fn owned(settings: &[(&str, &str)], redis: &str) -> Vec<(String, String)> {
    let given = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    given.chain([("REDIS_URL".to_owned(), redis.to_owned())]).collect()
}
