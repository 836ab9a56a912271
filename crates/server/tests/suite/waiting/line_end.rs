//! The end of the line: beyond `queueMost` nobody new can join.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use super::{Person, refused, room_with};

on_every_backing!(full_line_is_refused);

async fn full_line_is_refused(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room_with(&stand, 9, json!({ "maxConcurrent": 1, "queueMost": 2 })).await;
    let shown = stand.admin("GET", &format!("events/{event}"), &Value::Null).await.json();
    assert_eq!(shown["event"]["waitingRoomSettings"]["queueMost"], 2);
    let mut people: Vec<Person> = ["alice", "bob", "carol"].map(|user| Person::new(&stand, event, user)).into();
    for person in &mut people[..2] {
        assert_eq!(person.join().await.status, 200);
    }
    let full = people[2].join().await;
    refused(&full, 503, "queue_full");
    assert_eq!(full.header("retry-after"), Some("30"));
    refused(&people[2].poll().await, 404, "not_queued");
    assert_eq!(people[1].join_with_ticket().await.json()["number"], 2, "whoever has a place keeps it");
    // Whoever enters leaves the line.
    assert_eq!(people[0].enter().await.status, 200);
    assert_eq!(people[2].join().await.json()["number"], 3);
    let mut dave = Person::new(&stand, event, "dave");
    refused(&dave.join().await, 503, "queue_full");
    let longer = json!({ "waitingRoom": { "queueMost": 3 } });
    assert_eq!(stand.admin("PATCH", &format!("events/{event}"), &longer).await.status, 200);
    // Other servers know of the change within a second.
    let joined = loop {
        let joined = dave.join().await;
        if joined.status == 200 {
            break joined;
        }
        refused(&joined, 503, "queue_full");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(joined.json()["status"], "waiting");
}
