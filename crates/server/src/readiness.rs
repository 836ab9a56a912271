//! Whether this server can serve: asked of the stores, and kept for `ADMIN_LISTEN`, whose thread must not wait
//! for a runtime that a crowd keeps busy.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::app::App;

/// How often the stores are asked.
const LOOK: Duration = Duration::from_millis(250);
/// An older answer counts for nothing. The stores' own time limits are shorter.
const STALE: Duration = Duration::from_secs(6);
/// For the first answer, when the server has just started.
const FIRST: Duration = Duration::from_secs(1);

pub struct Readiness(watch::Sender<Option<StoresSaid>>);

/// What the stores said last.
struct StoresSaid {
    at: Instant,
    missing: Vec<String>,
}

impl Default for Readiness {
    fn default() -> Self {
        Readiness(watch::Sender::new(None))
    }
}

impl Readiness {
    /// What the stores miss, as they say now.
    async fn ask(app: &App) -> Vec<String> {
        let mut missing = Vec::new();
        if let Err(fault) = app.ledger.ready().await {
            missing.push(fault.to_string());
        }
        if let Err(fault) = app.door.ready().await {
            missing.push(fault.to_string());
        }
        missing
    }

    /// Asks again and again, until the server is gone.
    pub async fn watch(app: Weak<App>) {
        loop {
            let Some(app) = app.upgrade() else { return };
            let at = Instant::now();
            let missing = Readiness::ask(&app).await;
            app.readiness.0.send_replace(Some(StoresSaid { at, missing }));
            drop(app);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Why this server is not ready; empty if it is.
    pub async fn missing(app: &Arc<App>) -> Vec<String> {
        let stores = Readiness::ask(app).await;
        own(app, stores)
    }

    /// The same by what the stores said last: it waits for nobody once they were asked.
    pub async fn missing_lately(app: &Arc<App>) -> Vec<String> {
        let mut known = app.readiness.0.subscribe();
        let stores = match tokio::time::timeout(FIRST, known.wait_for(Option::is_some)).await.ok().and_then(Result::ok)
        {
            None => vec!["the stores have not answered yet".to_owned()],
            Some(known) => known.as_ref().map(StoresSaid::missing).unwrap_or_default(),
        };
        own(app, stores)
    }
}

impl StoresSaid {
    fn missing(&self) -> Vec<String> {
        let age = self.at.elapsed();
        if age < STALE {
            return self.missing.clone();
        }
        vec![format!("the stores were last asked {} s ago", age.as_secs())]
    }
}

/// What this server misses itself, and the stores.
fn own(app: &App, stores: Vec<String>) -> Vec<String> {
    let mut missing = Vec::new();
    if app.draining() {
        missing.push("this server is shutting down".to_owned());
    }
    missing.extend(stores);
    if app.user_tokens.as_ref().is_some_and(|tokens| !tokens.ready()) {
        missing.push("the keys at JWT_JWKS_URL were not fetched yet".to_owned());
    }
    if missing.is_empty() && !app.begun() {
        missing.push("the first event is being made".to_owned());
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_answers_count_for_nothing() {
        let asked = |ago| StoresSaid { at: Instant::now() - ago, missing: Vec::new() };
        assert!(asked(Duration::ZERO).missing().is_empty());
        assert_eq!(asked(STALE).missing(), ["the stores were last asked 6 s ago"]);
    }
}
