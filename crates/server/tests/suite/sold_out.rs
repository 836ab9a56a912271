//! A sold-out event says when its last seat was sold, and how long that took.

use serde_json::Value;
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(sold_out_event_says_how_long_it_took);

async fn shown(server: &TestServer, event: u64) -> Value {
    let answer = server.client().get(&format!("/api/v1/events/{event}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["event"]["soldOut"].clone()
}

async fn sold_out_event_says_how_long_it_took(backing: Backing) {
    let server = TestServer::on(backing, &[]).await;
    let event = server.event(2, 1).await;
    let mut client = server.client();
    assert_eq!(client.reserve(event, "alice").await.seat(), Some(1));
    assert_eq!(shown(&server, event).await, Value::Null, "a seat is left");
    server.advance_ms(90_500);
    let last = client.reserve(event, "bob").await;
    assert_eq!(last.seat(), Some(2));
    let told = shown(&server, event).await;
    let seconds = told["seconds"].as_f64().unwrap();
    assert!((90.5..120.0).contains(&seconds), "{told}");
    assert!(told["at"].as_str().unwrap().ends_with('Z'), "{told}");
    let listed = client.get("/api/v1/events").await.json();
    let listed = listed["events"].as_array().unwrap().iter().find(|one| one["id"] == event).unwrap();
    assert_eq!(listed["soldOut"], told);
    let id = last.json()["reservationId"].as_str().unwrap().to_owned();
    assert!(client.cancel("bob", &id).await.status < 300);
    assert_eq!(shown(&server, event).await, Value::Null, "a seat came back");
}
