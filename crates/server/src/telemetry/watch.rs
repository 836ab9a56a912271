//! Reads the lines of waiting rooms in the background, so that a scrape asks no door.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rules::entries::WaitingRoom;
use rules::ids::EventId;

use crate::app::App;
use crate::line::EventLine;

const EVERY: Duration = Duration::from_secs(1);
/// The busiest lines are read in every round, and as many of the others in turn.
const READ_MOST: usize = 50;

/// Runs as long as the server does.
pub async fn watch_lines(app: Weak<App>) {
    let mut turn = EventId(i64::MIN);
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(app) = app.upgrade() else { return };
        turn = round(&app, turn).await;
    }
}

/// Returns the line that was read last: the next round continues behind it.
async fn round(app: &Arc<App>, turn: EventId) -> EventId {
    let mut known = app.lines.known();
    known.sort_unstable_by_key(|(event, _)| *event);
    let busiest = app.metrics.events.busiest();
    let of = |event: &EventId| known.binary_search_by_key(event, |(id, _)| *id).ok().map(|i| known[i]);
    for (event, room) in busiest.iter().filter_map(of).take(READ_MOST) {
        read(app, event, room).await;
    }
    let behind = known.partition_point(|(event, _)| *event <= turn);
    let mut last = turn;
    for (event, room) in known[behind..].iter().chain(&known[..behind]).take(READ_MOST) {
        read(app, *event, *room).await;
        last = *event;
    }
    last
}

/// What cannot be read now is read in a later round.
async fn read(app: &Arc<App>, event: EventId, room: WaitingRoom) {
    let _ = EventLine { app, event, room }.serving().await;
}
