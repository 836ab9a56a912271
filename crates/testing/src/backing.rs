//! What a test server keeps its data on: SQLite, PostgreSQL, Redis, a Redis Cluster; with a gateway
//! in front or without.

use std::path::Path;

use crate::database::Database;
use crate::folder::TestFolder;
use crate::gateway;
use crate::redis::{Cluster, TestRedis};

/// Where the stores of a server are. Tests of the contract run on every one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// SQLite, door in the process.
    Embedded,
    /// PostgreSQL, door in the process.
    Postgres,
    /// PostgreSQL and Redis.
    Redis,
    /// PostgreSQL and a Redis Cluster of three nodes.
    Cluster,
    /// PostgreSQL and Redis, and a gateway in front, which clients speak to.
    Gateway,
}

impl Backing {
    /// Clients speak to a gateway: it answers what it can see before what only a server can.
    pub fn is_gateway(self) -> bool {
        self == Backing::Gateway
    }
}

/// Runs a test on every backing: `on_every_backing!(name, other, ...)`.
#[macro_export]
macro_rules! on_every_backing {
    ($($test:ident),+ $(,)?) => {
        $crate::on_every_backing!(@one embedded Embedded $($test)+);
        $crate::on_every_backing!(@one postgres Postgres $($test)+);
        $crate::on_every_backing!(@one redis Redis $($test)+);
        $crate::on_every_backing!(@one cluster Cluster $($test)+);
        $crate::on_every_backing!(@one gateway Gateway $($test)+);
    };
    (@one $module:ident $backing:ident $($test:ident)+) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test($crate::backing::Backing::$backing).await;
            })+
        }
    };
}

/// The stores of a test. Several servers may share them, and they outlive a restart.
pub struct TestStores {
    backing: Backing,
    folder: TestFolder,
    database: Option<Database>,
    _redis: Option<TestRedis>,
    _cluster: Option<Cluster>,
    /// Where the stores are.
    settings: Vec<(String, String)>,
}

/// With PostgreSQL the token is a setting; the same one for all servers of a test.
const TOKEN: &str = "the-token-of-the-tests-0123456789";

impl TestStores {
    pub async fn new(backing: Backing) -> TestStores {
        let database = if backing == Backing::Embedded { None } else { Some(Database::fresh().await) };
        let redis = matches!(backing, Backing::Redis | Backing::Gateway).then(TestRedis::start);
        let cluster = (backing == Backing::Cluster).then(Cluster::take);
        let mut settings = Vec::new();
        let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
        if let Some(database) = &database {
            set("DATABASE_URL", database.url.clone());
            set("ADMIN_TOKEN", TOKEN.into());
        }
        if let Some(redis) = &redis {
            set("REDIS_URL", redis.url());
        }
        if let Some(cluster) = &cluster {
            set("REDIS_URL", cluster.url.clone());
            set("REDIS_CLUSTER", "1".into());
        }
        if backing.is_gateway() {
            set("GATEWAY_KEY", gateway::KEY.into());
            set("GATEWAY_TRUST_USER_HEADER", "1".into());
            set("GATEWAY_USER_RATE", "0".into());
            set("GATEWAY_ADDRESS_RATE", "0".into());
            // As without a gateway, on loopback.
            set("FCFS_ANONYMOUS", "1".into());
        }
        let folder = TestFolder::new("server");
        TestStores { backing, folder, database, _redis: redis, _cluster: cluster, settings }
    }

    /// PostgreSQL and Redis at these addresses, such as those of a proxy.
    pub fn at(database: &str, redis: &str) -> TestStores {
        let pairs = [("DATABASE_URL", database), ("REDIS_URL", redis), ("ADMIN_TOKEN", TOKEN)];
        let settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let folder = TestFolder::new("server");
        TestStores { backing: Backing::Redis, folder, database: None, _redis: None, _cluster: None, settings }
    }

    pub fn database(&self) -> &Database {
        self.database.as_ref().expect("stores on PostgreSQL")
    }

    /// One command to their Redis, by hand.
    pub fn ask_redis<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let (_, url) = self.settings.iter().find(|(name, _)| name == "REDIS_URL").expect("stores on Redis");
        crate::redis::ask(&redis::Client::open(url.as_str()).expect("a sound address"), words)
    }

    pub fn backing(&self) -> Backing {
        self.backing
    }

    /// The data folder of an embedded server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn given(&self) -> &[(String, String)] {
        &self.settings
    }

    /// For a server process on the same stores.
    pub fn settings(&self) -> Vec<(&str, &str)> {
        self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}
