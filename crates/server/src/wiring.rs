//! Assembles a server from its settings, and runs it.

mod operators;
pub mod scaled;

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rules::event::NewEvent;
use rules::ids::FIRST_EVENT;
use rules::seats::Hall;
use rules::time::{Clock, Moment};
use stores::door::Door;
use stores::door::local::LocalDoor;
use stores::ledger::sqlite::{LOG_PAGES, SqliteConfig, SqliteLedger};
use stores::ledger::{Ledger, LedgerFault};
use tokio::net::TcpListener;

use crate::app::App;
use crate::clock::EmbeddedClock;
use crate::connections::{HttpListener, ListenerKind, OpenConnections, bind};
use crate::gate::Gate;
use crate::http::routes::routes;
use crate::readiness::Readiness;
use crate::settings::strength::guessable_token;
use crate::settings::{Settings, Stores};
use crate::telemetry::watch::watch_lines;
use crate::turner;
use crate::webhooks::Deliverer;

/// How long `/readyz` answers 503 before connections are refused, so that a load balancer notices.
const DRAIN_NOTICE: Duration = Duration::from_millis(500);
/// Requests in flight get this long. Both together stay well under the promised ten seconds.
const DRAIN_TIME: Duration = Duration::from_secs(8);
/// The last spans get this long to be exported, and the ledger to close its files.
const CLOSING: Duration = Duration::from_millis(500);

/// Exit code when the disk can no longer be trusted (`EX_IOERR`).
const DISK_FAILED: i32 = 74;

/// Assembles a server on the stores that its settings choose.
pub async fn start(settings: Settings) -> Result<Arc<App>, String> {
    match settings.stores {
        Stores::Embedded => embedded(settings).await,
        Stores::Postgres { .. } => scaled::start(settings).await,
    }
}

/// Assembles a server on the embedded ledger and door.
pub async fn embedded(settings: Settings) -> Result<Arc<App>, String> {
    let parts = open_embedded(&settings, |newest| {
        let clock = Arc::new(EmbeddedClock::starting(newest));
        tokio::spawn(EmbeddedClock::watch(Arc::downgrade(&clock)));
        clock
    })?;
    assemble(settings, parts).await
}

/// The two ports of one server.
pub struct Parts {
    pub ledger: Arc<dyn Ledger>,
    pub door: Arc<dyn Door>,
}

/// Opens the embedded ledger and door. `make_clock` gets the newest time in the ledger.
pub fn open_embedded(settings: &Settings, make_clock: impl FnOnce(Moment) -> Arc<dyn Clock>) -> Result<Parts, String> {
    let mut clock: Option<Arc<dyn Clock>> = None;
    let surroundings = SqliteConfig {
        clock: |newest| clock.insert(make_clock(newest)).clone(),
        on_fatal: Box::new(|_| end_process()),
        key_ttl_ms: settings.terms.key_ttl_ms,
        log_pages: LOG_PAGES,
    };
    let ledger = SqliteLedger::open(&settings.data_dir, surroundings).map_err(|e| e.to_string())?;
    let clock = clock.ok_or("the ledger made no clock")?;
    Ok(Parts { ledger: Arc::new(ledger), door: Arc::new(LocalDoor::new(clock, settings.budget)) })
}

pub async fn assemble(settings: Settings, parts: Parts) -> Result<Arc<App>, String> {
    let admin_token = admin_token(&settings).map_err(|e| format!("the admin token cannot be kept: {e}"))?;
    let app = App::new(settings, admin_token, parts.ledger, parts.door);
    first_event(&app).await.map_err(|e| e.to_string())?;
    Ok(app)
}

/// Makes event 1 on the first start.
pub async fn first_event(app: &App) -> Result<(), LedgerFault> {
    app.secrets.load().await?;
    if app.ledger.event(FIRST_EVENT).await?.is_some() {
        app.begin();
        return Ok(());
    }
    let hall = Hall::Count(app.settings.seats);
    let new = NewEvent {
        by: rules::history::AdminName::default(),
        origin: rules::history::RequestOrigin::default(),
        name: "Event 1".into(),
        hall,
        max_per_user: 1,
        opens_at: None,
        occasion: Default::default(),
        hold_ttl_ms: None,
        buyer_fields: Default::default(),
        price: None,
        rehearsal: false,
        waiting_room: None,
    };
    // None: another server was quicker.
    app.ledger.create_event_as(FIRST_EVENT, new).await?;
    app.begin();
    Ok(())
}

/// Ends the process after a moment for the last answers: going on could acknowledge what is not on the
/// disk.
fn end_process() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(200));
        std::process::exit(DISK_FAILED);
    });
}

pub fn admin_token_file(data_dir: &Path) -> PathBuf {
    data_dir.join("admin-token")
}

/// The token from the settings, or the one generated on the first start.
fn admin_token(settings: &Settings) -> io::Result<String> {
    if let Some(token) = &settings.admin_token {
        return Ok(token.clone());
    }
    let file = admin_token_file(&settings.data_dir);
    match fs::read_to_string(&file) {
        Ok(token) if token.trim().is_empty() => Err(io::Error::other(format!("{} is empty", file.display()))),
        Ok(token) if settings.exposed() && guessable_token(token.trim()) => Err(io::Error::other(format!(
            "that in {} can be guessed, and others than this machine can reach the server: remove the file, and another is made",
            file.display()
        ))),
        Ok(token) => Ok(token.trim().to_owned()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let token = uuid::Uuid::new_v4().simple().to_string() + &uuid::Uuid::new_v4().simple().to_string();
            write_private(&file, &token)?;
            Ok(token)
        }
        Err(e) => Err(e),
    }
}

fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(file)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

/// Whole or not at all.
pub fn replace_private(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension("new");
    let _ = fs::remove_file(&new);
    write_private(&new, text)?;
    fs::rename(new, file)
}

/// A listening server and its addresses.
pub struct Listening {
    app: Arc<App>,
    listener: TcpListener,
    operators: Option<std::net::TcpListener>,
    pub address: SocketAddr,
    /// Where `ADMIN_LISTEN` listens.
    pub operators_address: Option<SocketAddr>,
}

pub async fn listen(app: Arc<App>) -> Result<Listening, String> {
    let wanted = (app.settings.app_host, app.settings.app_port);
    let listener = bind(wanted.into())
        .map_err(|e| format!("APP_HOST {} and APP_PORT {}: cannot listen there: {e}", wanted.0, wanted.1))?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let operators = match app.settings.admin_listen {
        None => None,
        Some(wanted) => Some(
            std::net::TcpListener::bind(wanted)
                .map_err(|e| format!("ADMIN_LISTEN {wanted}: cannot listen there: {e}"))?,
        ),
    };
    let operators_address = operators.as_ref().and_then(|listener| listener.local_addr().ok());
    Ok(Listening { app, listener, operators, address, operators_address })
}

impl Listening {
    /// Serves until `stop` completes, then answers accepted requests and returns.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(watch_lines(Arc::downgrade(&self.app)));
        let turning = tokio::spawn(turner::run(Arc::downgrade(&self.app)));
        let telling = tokio::spawn(Deliverer::run(Arc::downgrade(&self.app)));
        tokio::spawn(Gate::beat(Arc::downgrade(&self.app.gate)));
        let operators = self.operators.map(|listener| {
            tokio::spawn(Readiness::watch(Arc::downgrade(&self.app)));
            operators::start(listener, self.app.clone())
        });
        let open = OpenConnections::new(self.app.settings.connection_limits());
        self.app.metrics.watch_front(open.clone(), self.app.gate.clone(), self.app.rates.clone());
        let (app, routes) = (self.app.clone(), routes(&self.app));
        let stop = async {
            stop.await;
            app.drain();
            tracing::info!("shutting down: accepted requests are answered first");
            tokio::time::sleep(DRAIN_NOTICE).await;
        };
        match HttpListener::new(self.listener, self.app.clone(), open, ListenerKind::Crowd, routes) {
            Ok(listener) => listener.serve(stop, DRAIN_TIME).await,
            Err(error) => tracing::error!(%error, "the listener cannot be used"),
        }
        self.app.metrics.traces.flush(CLOSING).await;
        drop(operators);
        turning.abort();
        telling.abort();
        let _ = tokio::time::timeout(CLOSING, self.app.webhooks.release(&self.app)).await;
        // A ledger that hangs must not keep the process alive.
        if let Ok(Err(fault)) = tokio::time::timeout(CLOSING, self.app.ledger.close()).await {
            tracing::warn!(%fault, "the ledger was not closed");
        }
    }
}
