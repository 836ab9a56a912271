//! Live streams: every change once, in order, over reconnects, restarts and several servers.

mod bounds;
mod continuity;
mod own;
mod rooms;
mod watcher;

use serde_json::json;
use testing::backing::Backing;
use testing::http::BUYER;
use testing::on_every_backing;
use testing::server::TestServer;

use self::watcher::TestWatcher;
use crate::holds::{hold, hold_id, seats};

on_every_backing!(sales_and_states_are_streamed, lapsed_hold_is_free_within_a_second);

async fn sales_and_states_are_streamed(backing: Backing) {
    let server = TestServer::on(backing, &[]).await;
    let event = server.event(10, 4).await;
    let mut watcher = TestWatcher::of(&server, event).await;
    watcher.until("a snapshot", |model| model.snapshots == 1).await;
    assert_eq!((watcher.model.count('f'), watcher.model.state.as_str()), (10, Some("open")));
    let mut client = server.client();
    assert_eq!(client.reserve(event, "alice").await.seat(), Some(1));
    watcher.until("the sale", |model| model.states[0] == 's').await;
    let held = hold(&mut client, "bob", &seats(event, &[3, 4], 1)).await;
    watcher.until("the hold", |model| model.states[2..4] == ['h', 'h']).await;
    let id = hold_id(&held);
    client.send("POST", &format!("/v1/holds/{id}/confirm"), &[("X-User-Id", "bob")], BUYER).await;
    watcher.until("the confirmation", |model| model.states[2..4] == ['s', 's'] && model.remaining == 7).await;
    for (verb, state) in [("pause", "paused"), ("resume", "open"), ("close", "closed")] {
        let answer = server.admin("POST", &format!("events/{event}/{verb}"), &json!(null)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        watcher.until(state, |model| model.state == state).await;
    }
    let event = server.event(3, 1).await;
    let mut watcher = TestWatcher::of(&server, event).await;
    let answer = server.admin("DELETE", &format!("events/{event}"), &json!(null)).await;
    assert!(matches!(answer.status, 200 | 204), "{}", answer.text());
    watcher.until("the end", |model| model.state == "deleted").await;
    assert_eq!(watcher.next().await, None, "a deleted event has no stream");
    let gone = client.get(&format!("/api/v1/events/{event}/stream")).await;
    assert_eq!(gone.status, 404, "{}", gone.text());
}

async fn lapsed_hold_is_free_within_a_second(backing: Backing) {
    let server = TestServer::on(backing, &[]).await;
    let event = server.event(5, 4).await;
    let mut client = server.client();
    hold_id(&hold(&mut client, "alice", &seats(event, &[2], 1)).await);
    let mut watcher = TestWatcher::of(&server, event).await;
    hold_id(&hold(&mut client, "bob", &seats(event, &[4], 2)).await);
    watcher.until("both holds", |model| model.states == ['f', 'h', 'f', 'h', 'f']).await;
    server.advance_ms(601_000);
    let began = std::time::Instant::now();
    watcher.until("the end of the holds", |model| model.count('f') == 5).await;
    assert!(began.elapsed().as_millis() < 1_000, "{:?}", began.elapsed());
}
