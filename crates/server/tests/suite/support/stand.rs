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
use server::wiring::{self, Parts};
use stores::ledger::Ledger;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Answer, Client};

/// What a stand runs on. Tests of answers run on every one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// SQLite, door in the process.
    Embedded,
}

/// Runs a test of answers on every backing: `on_every_backing!(name, other, ...)`.
#[macro_export]
macro_rules! on_every_backing {
    ($($test:ident),+ $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test($crate::support::stand::Backing::Embedded).await;
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

pub struct Stand {
    pub app: Arc<App>,
    pub address: SocketAddr,
    added_ms: Arc<AtomicI64>,
    stop: Mutex<Option<oneshot::Sender<()>>>,
    serving: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    settings: Vec<(String, String)>,
    folder: Option<tempfile::TempDir>,
}

impl Stand {
    pub async fn on(backing: Backing, settings: &[(&str, &str)]) -> Stand {
        match backing {
            Backing::Embedded => Stand::embedded(settings).await,
        }
    }

    pub async fn embedded(settings: &[(&str, &str)]) -> Stand {
        Stand::bent(settings, |ledger| ledger).await
    }

    /// An embedded server whose ledger is bent by the test.
    pub async fn bent(settings: &[(&str, &str)], bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>) -> Stand {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let folder = tempfile::tempdir().unwrap();
        Stand::start(folder, settings, Arc::default(), bend).await
    }

    async fn start(
        folder: tempfile::TempDir,
        given: Vec<(String, String)>,
        added_ms: Arc<AtomicI64>,
        bend: impl FnOnce(Arc<dyn Ledger>) -> Arc<dyn Ledger>,
    ) -> Stand {
        let settings = understand(&given, folder.path());
        let moved = added_ms.clone();
        let make_clock = |newest: Moment| {
            Arc::new(MovedClock { base: EmbeddedClock::starting(newest), added_ms: moved }) as Arc<dyn Clock>
        };
        let Parts { ledger, door } = wiring::open_embedded(&settings, make_clock).unwrap();
        let app = wiring::assemble(settings, Parts { ledger: bend(ledger), door }).await.unwrap();
        let listening = wiring::listen(app.clone()).await.unwrap();
        let address = listening.address;
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(listening.serve(async move {
            let _ = stopped.await;
        }));
        Stand {
            app,
            address,
            added_ms,
            stop: Mutex::new(Some(stop)),
            serving: tokio::sync::Mutex::new(Some(serving)),
            settings: given,
            folder: Some(folder),
        }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Moves the ledger's and the door's time.
    pub fn advance_ms(&self, ms: i64) {
        self.added_ms.fetch_add(ms, Ordering::SeqCst);
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
        let folder = self.folder.take().unwrap();
        let (given, added_ms) = (std::mem::take(&mut self.settings), self.added_ms.clone());
        let app = Arc::downgrade(&self.app);
        drop(self);
        while app.strong_count() > 0 || !unlocked(folder.path()) {
            tokio::task::yield_now().await;
        }
        Stand::start(folder, given, added_ms, |ledger| ledger).await
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
