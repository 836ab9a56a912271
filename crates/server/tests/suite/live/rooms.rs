//! The nights of a room type, live.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use client::HttpRequest;
use serde_json::{Value, json};
use stores::conformance::bent::Bent;
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use super::watcher::open;
use crate::holds::{day, hold, hold_id, nights};

on_every_backing!(nights_are_streamed);

async fn next(stream: &mut client::EventStream) -> (String, Value) {
    loop {
        let next = tokio::time::timeout(Duration::from_secs(20), stream.next()).await.expect("a message comes");
        let message = next.unwrap().expect("the stream goes on");
        if !message.event.is_empty() {
            return (message.event, serde_json::from_str(&message.data).unwrap());
        }
    }
}

async fn room_type(server: &TestServer) -> u64 {
    let body = json!({ "name": "Double", "totalQuantity": 3, "timeZone": "UTC" });
    let made = server.admin("POST", "room-types", &body).await.json();
    made["roomType"]["id"].as_u64().unwrap()
}

async fn nights_are_streamed(backing: Backing) {
    let server = TestServer::on(backing, &[]).await;
    let room_type = room_type(&server).await;
    let path = format!("/api/v1/room-types/{room_type}/stream");
    let mut client = server.client();
    let mut stream = open(&server, HttpRequest::new("GET", &format!("{path}?to={}", day(10)))).await;
    let (name, snapshot) = next(&mut stream).await;
    assert_eq!((name.as_str(), &snapshot["roomTypeId"]), ("snapshot", &json!(room_type)));
    assert_eq!(snapshot["nights"].as_array().map(Vec::len), Some(10));
    let night = |date: String, held: u32, reserved: u32| {
        let available = 3 - held - reserved;
        json!({ "date": date, "total": 3, "reserved": reserved, "held": held, "available": available })
    };
    let held = hold_id(&hold(&mut client, "alice", &nights(room_type, 1, 2, 1)).await);
    let (name, changed) = next(&mut stream).await;
    assert_eq!((name.as_str(), &changed), ("nights", &json!({ "nights": [night(day(1), 1, 0), night(day(2), 1, 0)] })));
    client.send("POST", &format!("/v1/holds/{held}/confirm"), &[("X-User-Id", "alice")], "").await;
    assert_eq!(next(&mut stream).await.1, json!({ "nights": [night(day(1), 0, 1), night(day(2), 0, 1)] }));
    hold_id(&hold(&mut client, "bob", &nights(room_type, 4, 1, 2)).await);
    assert_eq!(next(&mut stream).await.1, json!({ "nights": [night(day(4), 1, 0)] }));
    server.advance_ms(601_000);
    let began = Instant::now();
    assert_eq!(next(&mut stream).await.1, json!({ "nights": [night(day(4), 0, 0)] }));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    for bad in ["to=2020-01-01", "to=x", "from=x", "to=9999-12-31"] {
        let refused = client.get(&format!("{path}?{bad}")).await;
        assert_eq!((refused.status, refused.reason().as_str()), (400, "validation"), "{bad}");
    }
    assert_eq!(client.get("/api/v1/room-types/999/stream").await.status, 404);
}

/// Anybody may watch any nights: what the ledger is asked does not grow with the number of ranges.
#[tokio::test(flavor = "multi_thread")]
async fn nights_of_all_ranges_are_read_together() {
    const RANGES: i32 = 60;
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = reads.clone();
    let server = TestServer::bent(&[], |good| {
        let bent = Bent::new(good, |good, batch| good.commit(batch));
        Arc::new(bent.showing(move |found| {
            counted.fetch_add(1, SeqCst);
            found
        }))
    })
    .await;
    let room_type = room_type(&server).await;
    let mut streams = Vec::new();
    // The last one watches nights that nobody has watched before.
    for to in (4..4 + RANGES).rev().chain([200]) {
        let path = format!("/api/v1/room-types/{room_type}/stream?to={}", day(to));
        let mut stream = open(&server, HttpRequest::new("GET", &path)).await;
        let (name, snapshot) = next(&mut stream).await;
        assert_eq!((name.as_str(), snapshot["nights"].as_array().map(Vec::len)), ("snapshot", Some(to as usize)));
        streams.push(stream);
    }
    let mut client = server.client();
    let held = hold_id(&hold(&mut client, "alice", &nights(room_type, 1, 2, 1)).await);
    for stream in &mut streams {
        assert_eq!(next(stream).await.1["nights"][1]["held"], 1);
    }
    client.send("DELETE", &format!("/v1/holds/{held}"), &[("X-User-Id", "alice")], "").await;
    for stream in &mut streams {
        assert_eq!(next(stream).await.1["nights"][1]["held"], 0);
    }
    // Were each range read for itself: once at its begin, and once for each change.
    let reads = reads.load(SeqCst);
    assert!(reads < RANGES as usize, "{reads} reads");
}

#[tokio::test(flavor = "multi_thread")]
async fn nights_further_ahead_than_is_sold_cannot_be_watched() {
    let server = TestServer::embedded(&[("MAX_DAYS_AHEAD", "30")]).await;
    let path = format!("/api/v1/room-types/{}/stream", room_type(&server).await);
    let refused = server.client().get(&format!("{path}?from={}", day(31))).await;
    assert_eq!((refused.status, refused.reason().as_str()), (400, "validation"), "{}", refused.text());
    assert_eq!(refused.json()["field"], "from");
    let mut stream = open(&server, HttpRequest::new("GET", &format!("{path}?from={}&to={}", day(30), day(31)))).await;
    assert_eq!(next(&mut stream).await.1["nights"][0]["date"], day(30));
}
