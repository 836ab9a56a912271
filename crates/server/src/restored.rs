//! Notices that the ledger was restored from a backup while this server runs. What the server remembers of
//! it is forgotten, and the door gives numbers of a new generation.

use std::sync::Weak;
use std::time::Duration;

use crate::app::App;

/// The name is in memory: looking costs nothing.
const LOOK: Duration = Duration::from_millis(100);

pub async fn watch(app: Weak<App>) {
    let mut known = None;
    loop {
        let Some(app) = app.upgrade() else { return };
        let name = app.ledger.name();
        if known.is_some() && name.is_some() && name != known {
            app.door.ledger_restored();
            app.lanes.forget_all();
            app.boards.forget_all();
            app.lines.forget_all();
            app.live.forget_all();
            app.tickets.forget_all();
        }
        known = name.or(known);
        drop(app);
        tokio::time::sleep(LOOK).await;
    }
}
