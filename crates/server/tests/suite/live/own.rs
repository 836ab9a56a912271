//! One's own messages, proven by a stream ticket: place in line, holds, reservations.

use client::{HttpRequest, StreamEvent};
use serde_json::{Value, json};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use super::watcher::open;
use crate::holds::{hold, hold_id, seats};
use crate::waiting::Person;

on_every_backing!(
    own_changes_are_streamed_to_their_owner_only,
    what_one_has_in_other_events_hides_nothing,
    place_in_line_is_streamed_and_kept,
);

async fn ticket(server: &TestServer, event: u64, user: &str) -> String {
    let path = format!("/api/v1/events/{event}/stream-ticket");
    let answer = server.client().send("POST", &path, &[("X-User-Id", user)], "").await;
    assert_eq!((answer.status, &answer.json()["expiresIn"]), (200, &json!(60)), "{}", answer.text());
    answer.json()["ticket"].as_str().unwrap().to_owned()
}

/// The messages of one user.
struct OwnStream {
    stream: client::EventStream,
    seen: Vec<(String, Value)>,
}

impl OwnStream {
    async fn of(server: &TestServer, event: u64, ticket: &str) -> OwnStream {
        let path = format!("/api/v1/events/{event}/stream?ticket={ticket}");
        OwnStream { stream: open(server, HttpRequest::new("GET", &path)).await, seen: Vec::new() }
    }

    /// Reads until such a message has come.
    async fn until(&mut self, event: &str, state: &str) -> Value {
        let waiting = async {
            loop {
                let StreamEvent { event: name, data, .. } = self.stream.next().await.unwrap().expect("it goes on");
                let data: Value = serde_json::from_str(&data).unwrap_or_default();
                self.seen.push((name.clone(), data.clone()));
                if name == event && (data["state"] == state || data["status"] == state) {
                    return data;
                }
            }
        };
        let waited = tokio::time::timeout(std::time::Duration::from_secs(20), waiting).await;
        waited.unwrap_or_else(|_| panic!("no {event} {state}: {:?}", self.seen))
    }
}

async fn own_changes_are_streamed_to_their_owner_only(backing: Backing) {
    let server = TestServer::on(backing, &[]).await;
    let event = server.event(10, 4).await;
    let mut client = server.client();
    let before = hold_id(&hold(&mut client, "alice", &seats(event, &[7], 1)).await);
    let mut alice = OwnStream::of(&server, event, &ticket(&server, event, "alice").await).await;
    let mut bob = OwnStream::of(&server, event, &ticket(&server, event, "bob").await).await;
    let held = alice.until("hold", "held").await;
    assert_eq!((&held["seatIds"], held["seconds_remaining"].as_u64()), (&json!([7]), None));
    assert!(held["secondsRemaining"].as_u64().unwrap() > 590, "{held}");

    let next = hold_id(&hold(&mut client, "alice", &seats(event, &[3, 4], 2)).await);
    assert_eq!(alice.until("hold", "held").await["seatIds"], json!([3, 4]));
    let user = [("X-User-Id", "alice")];
    client.send("POST", &format!("/v1/holds/{next}/confirm"), &user, "").await;
    alice.until("hold", "confirmed").await;
    let made = alice.until("reservation", "confirmed").await;
    assert_eq!(made["seat"], json!({ "id": 3, "name": "A3" }));
    let other = alice.until("reservation", "confirmed").await;
    assert_eq!(other["seat"]["id"], 4);
    let id = made["reservationId"].as_str().unwrap();
    assert_eq!(client.cancel("alice", id).await.status, 200);
    assert_eq!(alice.until("reservation", "cancelled").await["reservationId"], json!(id));

    server.advance_ms(601_000);
    let expired = alice.until("hold", "expired").await;
    assert_eq!((&expired["seatIds"], &expired["secondsRemaining"]), (&json!([7]), &json!(0)), "{before}");

    hold_id(&hold(&mut client, "bob", &seats(event, &[9], 3)).await);
    assert_eq!(bob.until("hold", "held").await["seatIds"], json!([9]));
    let others = bob.seen.iter().filter(|(name, _)| name == "hold" || name == "reservation").count();
    assert_eq!(others, 1, "{:?}", bob.seen);
}

/// The stream begins with what the user has here, whatever they have in the event before and in the one after.
async fn what_one_has_in_other_events_hides_nothing(backing: Backing) {
    let server = TestServer::on(backing, &[]).await;
    let events = [server.event(10, 4).await, server.event(10, 4).await, server.event(10, 4).await];
    let mut client = server.client();
    for event in events {
        for _ in 0..2 {
            assert_eq!(client.reserve(event, "alice").await.status, 200);
        }
        hold_id(&hold(&mut client, "alice", &seats(event, &[event + 5], event)).await);
    }
    let mut alice = OwnStream::of(&server, events[1], &ticket(&server, events[1], "alice").await).await;
    assert_eq!(alice.until("hold", "held").await["seatIds"], json!([events[1] + 5]));
    for seat in [1, 2] {
        assert_eq!(alice.until("reservation", "confirmed").await["seat"]["id"], seat);
    }
    client.reserve(events[1], "alice").await;
    assert_eq!(alice.until("reservation", "confirmed").await["seat"]["id"], 3);
    let own = |(name, _): &&(String, Value)| name == "hold" || name == "reservation";
    assert_eq!(alice.seen.iter().filter(own).count(), 4, "of this event only: {:?}", alice.seen);
}

/// However many holds there are elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn many_holds_in_another_event_hide_none() {
    let server = TestServer::embedded(&[("HOLDS_PER_USER", "200")]).await;
    let (other, event) = (server.event(120, 120).await, server.event(10, 4).await);
    let mut client = server.client();
    for seat in 1..=101 {
        hold_id(&hold(&mut client, "agent", &seats(other, &[seat], seat)).await);
    }
    hold_id(&hold(&mut client, "agent", &seats(event, &[7], 200)).await);
    let mut agent = OwnStream::of(&server, event, &ticket(&server, event, "agent").await).await;
    assert_eq!(agent.until("hold", "held").await["seatIds"], json!([7]));
}

async fn place_in_line_is_streamed_and_kept(backing: Backing) {
    let server = TestServer::on(backing, &[]).await;
    let room = json!({ "maxConcurrent": 1, "idleTimeout": 10 });
    let body = json!({ "name": "W", "seats": 9, "waitingRoom": room });
    let made = server.admin("POST", "events", &body).await.json();
    let event = made["event"]["id"].as_u64().unwrap();
    let mut alice = Person::new(&server, event, "alice");
    assert_eq!(alice.join().await.status, 200);
    assert_eq!(alice.enter().await.status, 200);
    let mut bob = Person::new(&server, event, "bob");
    assert_eq!(bob.join().await.status, 200);
    let mut stream = OwnStream::of(&server, event, &ticket(&server, event, "bob").await).await;
    let place = stream.until("place", "waiting").await;
    assert_eq!((&place["rank"], &place["aheadCount"]), (&json!(0), &json!(1)), "{place}");
    assert_eq!(alice.leave().await.status, 200);
    stream.until("place", "ready").await;
    let queue = stream.seen.iter().rev().find(|(name, _)| name == "queue").map(|(_, data)| data.clone());
    let queue = queue.expect("everybody sees the line");
    assert!(queue["waiting"].is_u64() && queue["inside"].is_u64() && queue["soldOut"] == false, "{queue}");
    assert_eq!(bob.enter().await.status, 200);
    let inside = stream.until("place", "entered").await;
    assert!(inside["expiresIn"].as_u64().unwrap() > 0, "{inside}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_are_for_one_event_and_a_minute() {
    let server = TestServer::embedded(&[]).await;
    let (event, other) = (server.event(5, 1).await, server.event(5, 1).await);
    let ticket = ticket(&server, event, "alice").await;
    let mut client = server.client();
    let mut status = async |event: u64, ticket: &str| {
        client.get(&format!("/api/v1/events/{event}/stream?ticket={ticket}")).await.status
    };
    assert_eq!(status(event, &ticket).await, 200);
    assert_eq!(status(other, &ticket).await, 403);
    assert_eq!(status(event, "nonsense").await, 403);
    server.advance_ms(60_001);
    assert_eq!(status(event, &ticket).await, 403, "it is over");
}

/// A reader may leave fewer messages unread than this user has seats: what was there before does not count.
#[tokio::test(flavor = "multi_thread")]
async fn user_with_many_seats_keeps_the_stream() {
    let server = TestServer::embedded(&[]).await;
    let event = server.event(100, 80).await;
    let mut client = server.client();
    for _ in 0..70 {
        assert_eq!(client.reserve(event, "agent").await.status, 200);
    }
    let mut agent = OwnStream::of(&server, event, &ticket(&server, event, "agent").await).await;
    for _ in 0..6 {
        agent.until("reservation", "confirmed").await;
    }
}
