//! Webhooks: tells the endpoints of operators what happened. The history is the outbox: it was written with the effect,
//! so nothing is lost, and sales write nothing more. One server at a time delivers to an endpoint; each subject's
//! messages go out one after the other, in order, until the receiver has taken them.

pub mod address;
mod courier;
mod endpoint;
pub mod limit;
mod message;
pub mod pace;
pub mod planted;
mod series;
pub mod signature;
mod subject;
mod urgent;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use stores::ledger::webhooks::{Webhook, WebhookDelivery, WebhookState};
use stores::limited;
use tokio::task::JoinSet;

use self::courier::Courier;
use self::limit::AnswerLimit;
use self::pace::DeliveryPace;
use self::planted::WebhookBug;
pub use self::series::WebhookSeries;
use crate::app::App;

/// How often it looks for endpoints that no task serves.
const LOOK: Duration = Duration::from_millis(500);
/// Another server may deliver to an endpoint so long after the one that did was last heard of.
const LEASE: Duration = Duration::from_secs(6);

pub struct Deliverer {
    /// The name of this server in leases.
    server: String,
    /// Endpoints that this server delivers to.
    held: Mutex<HashSet<i64>>,
    pub pace: DeliveryPace,
    pub limit: AnswerLimit,
    pub series: WebhookSeries,
    planted: Mutex<WebhookBug>,
}

impl Deliverer {
    pub fn new(series: WebhookSeries) -> Deliverer {
        let server = uuid::Uuid::new_v4().simple().to_string();
        Deliverer {
            server,
            held: Mutex::default(),
            pace: DeliveryPace::default(),
            limit: AnswerLimit::default(),
            series,
            planted: Mutex::default(),
        }
    }

    /// Delivers until the server is gone.
    pub async fn run(app: Weak<App>) {
        let mut tasks = JoinSet::new();
        let mut served: HashMap<tokio::task::Id, i64> = HashMap::new();
        loop {
            while let Some(ended) = tasks.try_join_next_with_id() {
                served.remove(&ended.map_or_else(|failed| failed.id(), |(id, ())| id));
            }
            let Some(strong) = app.upgrade() else { return };
            for id in enabled(&strong).await {
                if !served.values().any(|known| *known == id) {
                    served.insert(tasks.spawn(endpoint::serve(app.clone(), id)).id(), id);
                }
            }
            drop(strong);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Another server may go on at once.
    pub async fn release(&self, app: &App) {
        let held: Vec<i64> = self.held().drain().collect();
        for id in held {
            let _ = app.ledger.lease_webhook(id, self.server.clone(), 0).await;
        }
    }

    /// Sends a message of its own to an endpoint, now, whatever its state is.
    pub async fn test(&self, app: &App, webhook: &Webhook) -> WebhookDelivery {
        Courier::new(app, Arc::new(webhook.clone())).test().await
    }

    fn held(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn planted(&self) -> WebhookBug {
        *self.planted.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// From now on it has this bug.
    #[cfg(feature = "planted")]
    pub fn plant(&self, bug: WebhookBug) {
        *self.planted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = bug;
    }
}

/// The endpoints that somebody is to deliver to. If they cannot be read now, the next look tries again.
async fn enabled(app: &App) -> Vec<i64> {
    if !app.begun() {
        return Vec::new();
    }
    match app.ledger.webhooks().await {
        Ok(all) => {
            app.webhooks.series.exist(&all);
            let enabled = all.into_iter().filter(|webhook| webhook.state == WebhookState::Enabled);
            enabled.map(|webhook| webhook.id).collect()
        }
        Err(fault) => {
            limited!(warn, %fault, "webhooks could not be read");
            Vec::new()
        }
    }
}
