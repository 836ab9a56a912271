//! Reads the history number of every watched subject several times a second, all in one read. Every server reads for
//! itself, so each shows every change, whichever server made it.

use std::collections::HashMap;
use std::sync::Weak;
use std::time::Duration;

use stores::limited;
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;

pub const BEAT: Duration = Duration::from_millis(100);

/// Runs while there are watchers.
pub async fn follow(app: Weak<App>) {
    let mut beats = interval(BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        beats.tick().await;
        let Some(app) = app.upgrade() else { return };
        let Some(hubs) = app.live.hubs_or_rest() else { return };
        if app.draining() {
            return;
        }
        let subjects: Vec<_> = hubs.iter().map(|hub| hub.subject()).collect();
        let found: HashMap<_, _> = match app.ledger.positions(subjects).await {
            Ok(found) => found.into_iter().collect(),
            Err(fault) => {
                limited!(warn, %fault, "live streams wait for the ledger");
                HashMap::new()
            }
        };
        for hub in hubs {
            hub.beat(found.get(&hub.subject()).copied());
        }
    }
}
