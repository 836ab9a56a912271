//! A server in this process, with a clock that tests can move.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use rules::time::{Clock, Moment};
use serde_json::{Value, json};
use server::app::App;
use server::clock::EmbeddedClock;
use server::settings::{Settings, Values};
use server::wiring::scaled::{Outside, Scaled};
use server::wiring::{self, Parts};
use stores::ledger::Ledger;
use testing::database::Database;
use testing::redis::{Cluster, TestRedis};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::gate::{self, Gate};
use super::{Answer, Client};

/// What a stand runs on. Tests of answers run on every one of them.
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

/// Runs a test of answers on every backing: `on_every_backing!(name, other, ...)`.
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
                super::$test($crate::support::stand::Backing::$backing).await;
            })+
        }
    };
}

/// The system's time plus what the test added.
struct MovedClock {
    base: EmbeddedClock,
    added_ms: Arc<AtomicI64>,
}

impl Clock for MovedClock {
    fn now(&self) -> Moment {
        self.base.now().plus_ms(self.added_ms.load(Ordering::SeqCst))
    }
}

/// What a stand keeps on; several servers may share it, and it outlives a restart.
pub struct Ground {
    backing: Backing,
    folder: tempfile::TempDir,
    database: Option<Database>,
    _redis: Option<TestRedis>,
    _cluster: Option<Cluster>,
    /// Where the stores are.
    settings: Vec<(String, String)>,
}

/// With PostgreSQL the token is a setting; for all stands of a test the same one.
const TOKEN: &str = "the-token-of-the-tests";

impl Ground {
    pub async fn new(backing: Backing) -> Ground {
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
            set("GATEWAY_KEY", gate::KEY.into());
            set("GATEWAY_TRUST_USER_HEADER", "1".into());
            set("GATEWAY_USER_RATE", "0".into());
            set("GATEWAY_ADDRESS_RATE", "0".into());
            // As without a gateway, on loopback.
            set("FCFS_ANONYMOUS", "1".into());
        }
        let folder = tempfile::tempdir().unwrap();
        Ground { backing, folder, database, _redis: redis, _cluster: cluster, settings }
    }

    /// PostgreSQL and Redis at these addresses, such as those of a proxy.
    pub fn at(database: &str, redis: &str) -> Ground {
        let pairs = [("DATABASE_URL", database), ("REDIS_URL", redis), ("ADMIN_TOKEN", TOKEN)];
        let settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let folder = tempfile::tempdir().unwrap();
        Ground { backing: Backing::Redis, folder, database: None, _redis: None, _cluster: None, settings }
    }

    pub fn database(&self) -> &Database {
        self.database.as_ref().expect("a stand on PostgreSQL")
    }

    /// For a process of its own on the same stores.
    pub fn settings(&self) -> Vec<(&str, &str)> {
        self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

pub struct Stand {
    pub app: Arc<App>,
    /// Where clients ask: the server, or the gateway in front of it.
    pub address: SocketAddr,
    pub server: SocketAddr,
    pub gate: Option<Gate>,
    added_ms: Arc<AtomicI64>,
    moved: Moved,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    serving: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    settings: Vec<(String, String)>,
    /// Dropped last.
    pub ground: Arc<Ground>,
}

/// Tells the stores how far time was moved.
type Moved = Box<dyn Fn(i64) + Send + Sync>;

impl Stand {
    pub async fn on(backing: Backing, settings: &[(&str, &str)]) -> Stand {
        Stand::at(Arc::new(Ground::new(backing).await), settings).await
    }

    /// One more server on the same ground.
    pub async fn at(ground: Arc<Ground>, settings: &[(&str, &str)]) -> Stand {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Stand::start(ground, settings, Arc::default(), |ledger| ledger).await
    }

    pub async fn embedded(settings: &[(&str, &str)]) -> Stand {
        Stand::bent(settings, |ledger| ledger).await
    }

    /// An embedded server whose ledger is bent by the test.
    pub async fn bent(settings: &[(&str, &str)], bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>) -> Stand {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let ground = Arc::new(Ground::new(Backing::Embedded).await);
        Stand::start(ground, settings, Arc::default(), bend).await
    }

    async fn start(
        ground: Arc<Ground>,
        given: Vec<(String, String)>,
        added_ms: Arc<AtomicI64>,
        bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>,
    ) -> Stand {
        let both: Vec<_> = given.iter().chain(&ground.settings).cloned().collect();
        let settings = understand(&both, ground.folder.path());
        let added = added_ms.clone();
        let make_clock = |newest: Moment| {
            Arc::new(MovedClock { base: EmbeddedClock::starting(newest), added_ms: added }) as Arc<dyn Clock>
        };
        let (Parts { ledger, door }, moved): (_, Moved) = match ground.backing {
            Backing::Embedded => (wiring::open_embedded(&settings, make_clock).unwrap(), Box::new(|_| {})),
            _ => {
                let scaled = Scaled::new(&settings, make_clock(Moment(0))).unwrap();
                scaled.prepare().await.unwrap();
                (scaled.parts(), Box::new(move |ms| move_clocks(&scaled, ms)))
            }
        };
        let app = wiring::assemble(settings, Parts { ledger: bend(ledger), door }).await.unwrap();
        let listening = wiring::listen(app.clone()).await.unwrap();
        let server = listening.address;
        let gate = ground.backing.is_gateway().then(|| Gate::start(&[server], &both));
        if let Some(gate) = &gate {
            gate.move_clock(added_ms.load(Ordering::SeqCst));
        }
        let address = gate.as_ref().map_or(server, Gate::address);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(listening.serve(async move {
            let _ = stopped.await;
        }));
        Stand {
            app,
            address,
            server,
            gate,
            added_ms,
            moved,
            stop: Mutex::new(Some(stop)),
            serving: tokio::sync::Mutex::new(Some(serving)),
            settings: given,
            ground,
        }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Moves the ledger's and the door's time.
    pub fn advance_ms(&self, ms: i64) {
        let total = self.added_ms.fetch_add(ms, Ordering::SeqCst) + ms;
        (self.moved)(total);
        if let Some(gate) = &self.gate {
            gate.move_clock(total);
        }
    }

    /// As SIGTERM does.
    pub fn ask_to_stop(&self) {
        drop(self.stop.lock().unwrap().take());
    }

    /// Waits until it has stopped.
    pub async fn stopped(&self) {
        if let Some(serving) = self.serving.lock().await.take() {
            serving.await.unwrap();
        }
    }

    pub async fn admin(&self, method: &str, path: &str, body: &Value) -> Answer {
        let token = format!("Bearer {}", self.app.admin_token);
        let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.client().send(method, &format!("/api/v1/admin/{path}"), &headers, &body).await
    }

    /// Makes an event and gives its id.
    pub async fn event(&self, seats: u64, max_per_user: u64) -> u64 {
        let body = json!({ "name": "Test", "seats": seats, "maxPerUser": max_per_user });
        let answer = self.admin("POST", "events", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["event"]["id"].as_u64().unwrap()
    }

    /// Stops, and starts again on the same data.
    pub async fn restart(mut self) -> Stand {
        self.ask_to_stop();
        self.stopped().await;
        let ground = self.ground.clone();
        let (given, added_ms) = (std::mem::take(&mut self.settings), self.added_ms.clone());
        let app = Arc::downgrade(&self.app);
        drop(self);
        while ground.backing == Backing::Embedded && (app.strong_count() > 0 || !unlocked(ground.folder.path())) {
            tokio::task::yield_now().await;
        }
        Stand::start(ground, given, added_ms, |ledger| ledger).await
    }
}

fn move_clocks(scaled: &Scaled, added_ms: i64) {
    scaled.ledger.move_clock(added_ms);
    if let Outside::Redis(door) = &scaled.door {
        door.move_clock(added_ms);
    }
}

/// The ledger's thread lets go of the folder a moment after the last of the server is gone.
fn unlocked(folder: &Path) -> bool {
    let lock = std::fs::File::options().write(true).open(folder.join("lock")).unwrap();
    lock.try_lock().is_ok()
}

pub fn understand(given: &[(String, String)], folder: &Path) -> Settings {
    let environment = |name: &str| match name {
        "APP_PORT" => Some("0".to_owned()),
        "DATA_DIR" => Some(folder.display().to_string()),
        _ => given.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone()),
    };
    Settings::understand(&Values::gather(|_| None, environment, None).unwrap()).unwrap()
}
