//! A server in the test's own process, with a clock that the test moves.

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
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::backing::{Backing, TestStores};
use crate::clock::ShiftedClock;
use crate::gateway::TestGateway;
use crate::http::{TestClient, TestResponse};

pub struct TestServer {
    pub app: Arc<App>,
    /// Where clients ask: the server, or the gateway in front of it.
    pub address: SocketAddr,
    pub server: SocketAddr,
    pub gateway: Option<TestGateway>,
    added_ms: Arc<AtomicI64>,
    moved: Moved,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    serving: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    settings: Vec<(String, String)>,
    /// Dropped last.
    pub stores: Arc<TestStores>,
}

/// Tells the stores how far time was moved.
type Moved = Box<dyn Fn(i64) + Send + Sync>;

impl TestServer {
    pub async fn on(backing: Backing, settings: &[(&str, &str)]) -> TestServer {
        TestServer::at(Arc::new(TestStores::new(backing).await), settings).await
    }

    /// One more server on the same stores.
    pub async fn at(stores: Arc<TestStores>, settings: &[(&str, &str)]) -> TestServer {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        TestServer::start(stores, settings, Arc::default(), |ledger| ledger).await
    }

    pub async fn embedded(settings: &[(&str, &str)]) -> TestServer {
        TestServer::bent(settings, |ledger| ledger).await
    }

    /// An embedded server whose ledger is bent by the test.
    pub async fn bent(settings: &[(&str, &str)], bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>) -> TestServer {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let stores = Arc::new(TestStores::new(Backing::Embedded).await);
        TestServer::start(stores, settings, Arc::default(), bend).await
    }

    async fn start(
        stores: Arc<TestStores>,
        given: Vec<(String, String)>,
        added_ms: Arc<AtomicI64>,
        bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>,
    ) -> TestServer {
        let both: Vec<_> = given.iter().chain(stores.given()).cloned().collect();
        let settings = understand(&both, stores.folder());
        let added = added_ms.clone();
        let make_clock = |newest: Moment| {
            // What the ledger knows was moved already.
            let newest = Moment(newest.0.saturating_sub(added.load(Ordering::SeqCst)));
            Arc::new(ShiftedClock { base: EmbeddedClock::starting(newest), added_ms: added }) as Arc<dyn Clock>
        };
        let (Parts { ledger, door }, moved): (_, Moved) = match stores.backing() {
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
            moved,
            stop: Mutex::new(Some(stop)),
            serving: tokio::sync::Mutex::new(Some(serving)),
            settings: given,
            stores,
        }
    }

    pub fn client(&self) -> TestClient {
        TestClient::new(self.address)
    }

    /// Moves the ledger's and the door's time.
    pub fn advance_ms(&self, ms: i64) {
        let total = self.added_ms.fetch_add(ms, Ordering::SeqCst) + ms;
        (self.moved)(total);
        if let Some(gateway) = &self.gateway {
            gateway.move_clock(total);
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
        let (given, added_ms) = (std::mem::take(&mut self.settings), self.added_ms.clone());
        let app = Arc::downgrade(&self.app);
        drop(self);
        while stores.backing() == Backing::Embedded && (app.strong_count() > 0 || !unlocked(stores.folder())) {
            tokio::task::yield_now().await;
        }
        TestServer::start(stores, given, added_ms, |ledger| ledger).await
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
