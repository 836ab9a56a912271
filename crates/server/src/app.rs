//! The parts of one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rules::ids::EventId;
use stores::door::Door;
use stores::ledger::Ledger;

use crate::auth::key_source::UserTokens;
use crate::auth::operators::OperatorTokens;
use crate::board::Boards;
use crate::gate::Gate;
use crate::http::plumbing::refused_admin::RefusalNotes;
use crate::http::resources::admin::audit::Audits;
use crate::http::respond::cross_origin::CrossOrigin;
use crate::lane::Lanes;
use crate::line::{InsideCheck, Lines};
use crate::live::LiveStreams;
use crate::logins::FailedLogins;
use crate::names::Names;
use crate::rates::RequestRates;
use crate::readiness::Readiness;
use crate::restored;
use crate::secrets::Secrets;
use crate::settings::Settings;
use crate::telemetry::Metrics;
use crate::tickets::Tickets;
use crate::webhooks::Deliverer;

pub struct App {
    pub settings: Settings,
    pub admin_token: String,
    pub ledger: Arc<dyn Ledger>,
    pub door: Arc<dyn Door>,
    pub lanes: Lanes,
    pub boards: Boards,
    pub lines: Lines,
    pub live: LiveStreams,
    pub webhooks: Deliverer,
    pub inside: Arc<InsideCheck>,
    pub tickets: Tickets,
    pub secrets: Secrets,
    pub metrics: Arc<Metrics>,
    pub names: Names,
    pub audits: Audits,
    pub operators: OperatorTokens,
    pub failed_logins: FailedLogins,
    pub refusal_notes: RefusalNotes,
    /// In jwt mode.
    pub user_tokens: Option<Arc<UserTokens>>,
    pub gate: Arc<Gate>,
    pub rates: Arc<RequestRates>,
    pub cross_origin: Option<CrossOrigin>,
    pub readiness: Readiness,
    /// Event 1 exists. Before that the stores may answer, but nothing is for sale.
    begun: AtomicBool,
    draining: AtomicBool,
}

impl App {
    pub fn new(settings: Settings, admin_token: String, ledger: Arc<dyn Ledger>, door: Arc<dyn Door>) -> Arc<App> {
        let metrics = Arc::new(Metrics::new(settings.watching.traces.as_ref()));
        let inside = InsideCheck::new(ledger.clone(), door.clone());
        let app = Arc::new(App {
            lanes: Lanes::new(ledger.clone(), door.clone(), inside.clone(), metrics.clone(), &settings),
            boards: Boards::new(ledger.clone()),
            lines: Lines::default(),
            live: LiveStreams::new(settings.max_watchers, metrics.live.clone()),
            webhooks: Deliverer::new(metrics.webhooks.clone()),
            inside,
            tickets: Tickets::new(ledger.clone()),
            secrets: Secrets::new(ledger.clone()),
            gate: Gate::new(settings.few(), settings.planted),
            rates: Arc::new(RequestRates::new(settings.rate_limits())),
            operators: OperatorTokens::new(ledger.clone(), &admin_token),
            cross_origin: CrossOrigin::new(&settings.cors_origins, &settings.user_header),
            user_tokens: settings.auth_mode.jwt().map(UserTokens::new),
            readiness: Readiness::default(),
            settings,
            admin_token,
            ledger,
            door,
            metrics,
            names: Names::default(),
            audits: Audits::default(),
            failed_logins: FailedLogins::default(),
            refusal_notes: RefusalNotes::default(),
            begun: AtomicBool::new(false),
            draining: AtomicBool::new(false),
        });
        tokio::spawn(restored::watch(Arc::downgrade(&app)));
        if let Some(tokens) = &app.user_tokens {
            tokio::spawn(UserTokens::watch(Arc::downgrade(tokens)));
        }
        app
    }

    /// Event 1 exists: `/readyz` may answer 200 from now on.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    pub fn begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// An event was deleted: nothing of it stays in memory.
    pub fn forget(&self, event: EventId) {
        self.lanes.forget(event);
        self.boards.forget(event);
        self.lines.forget(event);
        self.inside.forget(event);
        self.metrics.events.forget(event);
    }

    /// The server shuts down: `/readyz` answers 503 from now on. Accepted requests are still answered.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.live.drain();
    }

    pub fn draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }
}
