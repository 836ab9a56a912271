//! A server in the test's own process, with a clock that the test moves.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use rules::time::{Clock, Moment};
use serde_json::{Value, json};
use server::app::App;
use server::auth::mint::SigningKey;
use server::clock::{EmbeddedClock, Hands as _, SystemHands};
use server::gate::planted::OverloadBug;
use server::settings::{Settings, Values};
use server::wiring::scaled::{Outside, Scaled};
use server::wiring::{self, Parts};
use stores::ledger::Ledger;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::backing::{Backing, TestStores};
use crate::clock::ShiftedClock;
use crate::gateway::TestGateway;
use crate::http::{Mint, TestClient, TestResponse};

pub struct TestServer {
    pub app: Arc<App>,
    /// Where clients ask: the server, or the gateway in front of it.
    pub address: SocketAddr,
    pub server: SocketAddr,
    pub gateway: Option<TestGateway>,
    added_ms: Arc<AtomicI64>,
    /// How far the wall clock was set.
    stepped_ms: Arc<AtomicI64>,
    moved: Moved,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    serving: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    settings: Vec<(String, String)>,
    /// Dropped last.
    pub stores: Arc<TestStores>,
}

/// How far the test moved time, and how far it set the wall clock.
#[derive(Default)]
struct Hands {
    added_ms: Arc<AtomicI64>,
    stepped_ms: Arc<AtomicI64>,
}

/// Tells the ledger and the door how far their time was moved.
type Moved = Box<dyn Fn(i64, i64) + Send + Sync>;

impl TestServer {
    pub async fn on(backing: Backing, settings: &[(&str, &str)]) -> TestServer {
        TestServer::at(Arc::new(TestStores::new(backing).await), settings).await
    }

    /// One more server on the same stores.
    pub async fn at(stores: Arc<TestStores>, settings: &[(&str, &str)]) -> TestServer {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        TestServer::start(stores, settings, Hands::default(), |ledger| ledger).await
    }

    pub async fn embedded(settings: &[(&str, &str)]) -> TestServer {
        TestServer::bent(settings, |ledger| ledger).await
    }

    /// An embedded server whose ledger is bent by the test.
    pub async fn bent(settings: &[(&str, &str)], bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>) -> TestServer {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let stores = Arc::new(TestStores::new(Backing::Embedded).await);
        TestServer::start(stores, settings, Hands::default(), bend).await
    }

    /// An embedded server with a bug in how it sheds load, over a ledger that is bent by the test.
    pub async fn planted(
        settings: &[(&str, &str)],
        bug: OverloadBug,
        bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>,
    ) -> TestServer {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let stores = Arc::new(TestStores::new(Backing::Embedded).await);
        TestServer::start_with(stores, settings, bug, Hands::default(), bend).await
    }

    async fn start(
        stores: Arc<TestStores>,
        given: Vec<(String, String)>,
        hands: Hands,
        bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>,
    ) -> TestServer {
        TestServer::start_with(stores, given, OverloadBug::None, hands, bend).await
    }

    async fn start_with(
        stores: Arc<TestStores>,
        given: Vec<(String, String)>,
        planted: OverloadBug,
        Hands { added_ms, stepped_ms }: Hands,
        bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>,
    ) -> TestServer {
        let both: Vec<_> = given.iter().chain(stores.given()).cloned().collect();
        let settings = Settings { planted, ..understand(&both, stores.folder()) };
        let (added, stepped) = (added_ms.clone(), stepped_ms.clone());
        let make_clock = |newest: Moment| {
            // What the ledger knows was moved already.
            let newest = Moment(newest.0.saturating_sub(added.load(Ordering::SeqCst)));
            let base = EmbeddedClock::starting(newest);
            Arc::new(ShiftedClock { base, added_ms: added, stepped_ms: stepped }) as Arc<dyn Clock>
        };
        let (Parts { ledger, door }, moved): (_, Moved) = match stores.backing() {
            Backing::Embedded => (wiring::open_embedded(&settings, make_clock).unwrap(), Box::new(|_, _| {})),
            _ => {
                let scaled = Scaled::new(&settings, make_clock(Moment(0))).unwrap();
                scaled.prepare().await.unwrap();
                (scaled.parts(), Box::new(move |ledger_ms, door_ms| move_clocks(&scaled, ledger_ms, door_ms)))
            }
        };
        let app = wiring::assemble(settings, Parts { ledger: bend(ledger), door }).await.unwrap();
        let listening = wiring::listen(app.clone()).await.unwrap();
        let server = listening.address;
        let gateway = stores.backing().is_gateway().then(|| TestGateway::start(&[server], &both));
        if let Some(gateway) = &gateway {
            gateway.move_clock(added_ms.load(Ordering::SeqCst));
        }
        let address = gateway.as_ref().map_or(server, TestGateway::address);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(listening.serve(async move {
            let _ = stopped.await;
        }));
        TestServer {
            app,
            address,
            server,
            gateway,
            added_ms,
            stepped_ms,
            moved,
            stop: Mutex::new(Some(stop)),
            serving: tokio::sync::Mutex::new(Some(serving)),
            settings: given,
            stores,
        }
    }

    pub fn client(&self) -> TestClient {
        match self.mint() {
            Some(mint) => TestClient::new(self.address).with_tokens(mint),
            None => TestClient::new(self.address),
        }
    }

    /// With `JWT_SECRET`: makes tokens that this server accepts.
    pub fn mint(&self) -> Option<Mint> {
        let terms = self.app.settings.auth_mode.jwt()?.terms.clone();
        let (_, secret) = self.settings.iter().find(|(name, _)| name == "JWT_SECRET")?;
        let key = SigningKey::of_secret(secret);
        let mint = move |user: &str| {
            let user = rules::ids::User::stored(user);
            key.mint(&user, &terms, None, SystemHands.wall(), 3_600).expect("a token")
        };
        Some(Arc::new(mint))
    }

    /// Moves the ledger's and the door's time.
    pub fn advance_ms(&self, ms: i64) {
        let total = self.added_ms.fetch_add(ms, Ordering::SeqCst) + ms;
        (self.moved)(total + self.stepped_ms.load(Ordering::SeqCst), total);
        if let Some(gateway) = &self.gateway {
            gateway.move_clock(total);
        }
    }

    /// Sets the wall clock that the ledger reads: this machine's, or the database's.
    pub fn step_wall_ms(&self, ms: i64) {
        let total = self.stepped_ms.fetch_add(ms, Ordering::SeqCst) + ms;
        let added_ms = self.added_ms.load(Ordering::SeqCst);
        (self.moved)(added_ms + total, added_ms);
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

    pub async fn admin(&self, method: &str, path: &str, body: &Value) -> TestResponse {
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
    pub async fn restart(mut self) -> TestServer {
        self.ask_to_stop();
        self.stopped().await;
        let stores = self.stores.clone();
        let given = std::mem::take(&mut self.settings);
        let hands = Hands { added_ms: self.added_ms.clone(), stepped_ms: self.stepped_ms.clone() };
        let app = Arc::downgrade(&self.app);
        drop(self);
        while stores.backing() == Backing::Embedded && (app.strong_count() > 0 || !unlocked(stores.folder())) {
            tokio::task::yield_now().await;
        }
        TestServer::start(stores, given, hands, |ledger| ledger).await
    }
}

fn move_clocks(scaled: &Scaled, ledger_ms: i64, door_ms: i64) {
    scaled.ledger.move_clock(ledger_ms);
    if let Outside::Redis(door) = &scaled.door {
        door.move_clock(door_ms);
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
