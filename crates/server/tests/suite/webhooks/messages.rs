//! What messages say, and when they are sent.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::server::TestServer;

use super::receiver::Receiver;
use super::{ALLOWED, endpoint, kinds, metrics_say, numbers, on_both_ledgers, reserve, shown};
use crate::holds::{hold, hold_id, key, nights, on_hold, room_type, seats};

on_both_ledgers!(
    messages_tell_what_happened_in_order
    stays_are_told_like_seats
    events_open_by_the_clock
    hold_expiry_is_told_within_a_second
);

async fn messages_tell_what_happened_in_order(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    reserve(&stand, 1, "before").await;
    let (id, secret) = endpoint(&stand, &receiver.url(), &Value::Null).await;
    let event = stand.event(3, 2).await;
    let first = reserve(&stand, event, "alice").await;
    let mut client = stand.client();
    let body = json!({ "eventId": event, "seatIds": [2, 3], "clientHoldKey": key(1), "metadata": { "order": "A-1" } });
    let held = hold_id(&client.post_as("bob", "/api/v1/holds", &body.to_string()).await);
    assert_eq!(on_hold(&mut client, "bob", &held, "confirm").await.status, 200);
    let why = json!({ "reason": "ill" }).to_string();
    let headers = [("X-User-Id", "alice"), ("Content-Type", "application/json")];
    let cancelled = client.send("DELETE", &format!("/api/v1/reservations/{first}"), &headers, &why).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    assert_eq!(stand.admin("POST", &format!("events/{event}/close"), &Value::Null).await.status, 200);
    assert_eq!(stand.admin("POST", &format!("events/{event}/open"), &Value::Null).await.status, 200);
    let received = receiver.messages(8).await;
    let wanted = [
        "event.opened",
        "reservation.confirmed",
        "hold.created",
        "reservation.confirmed",
        "reservation.confirmed",
        "event.sold_out",
        "reservation.cancelled",
        "event.opened",
    ];
    assert_eq!(kinds(&received), wanted);
    assert!(numbers(&received).is_sorted());
    let data: Vec<Value> = received.iter().map(|one| one.json()["data"].clone()).collect();
    assert_eq!(data[1]["reservationId"], first.as_str());
    assert_eq!((&data[1]["eventId"], &data[1]["seat"]["id"]), (&json!(event), &json!(1)));
    assert_eq!(data[2]["holdId"], held.as_str());
    assert_eq!(data[2]["seats"].as_array().unwrap().len(), 2);
    assert_eq!((&data[2]["metadata"]["order"], &data[4]["metadata"]["order"]), (&json!("A-1"), &json!("A-1")));
    assert_eq!((&data[6]["reservationId"], &data[6]["reason"]), (&json!(first), &json!("ill")));
    for one in &received {
        assert_eq!((one.signatures(), one.signed_by(&secret)), (1, 1));
        assert!(!one.id.contains('.') && one.json()["timestamp"].as_str().unwrap().ends_with('Z'));
        for personal in ["alice", "Alice", "bob", "1234"] {
            assert!(!one.text().contains(personal), "{}", one.text());
        }
    }
    let told = shown(&stand, id).await;
    assert!(told["deliveries"].as_array().unwrap().iter().all(|one| one["delivered"] == true), "{told:#}");
    assert!(!told.to_string().contains("whsec_") && !told.to_string().contains(&secret[6..]));
    let tested = stand.admin("POST", &format!("webhooks/{id}/test"), &Value::Null).await.json();
    assert_eq!((&tested["delivery"]["delivered"], &tested["delivery"]["status"]), (&json!(true), &json!(204)));
    assert_eq!(receiver.taken().last().unwrap().kind(), "webhook.test");
    assert_eq!(receiver.taken().last().unwrap().signed_by(&secret), 1);
    metrics_say(&stand, |text| text.contains(&format!("tickettock_webhooks_delivered_total{{webhook=\"{id}\"}} 8")))
        .await;
    metrics_say(&stand, |text| text.contains(&format!("tickettock_webhooks_outstanding{{webhook=\"{id}\"}} 0"))).await;
    assert_eq!(stand.admin("DELETE", &format!("webhooks/{id}"), &Value::Null).await.status, 200);
    assert_eq!(stand.admin("GET", &format!("webhooks/{id}"), &Value::Null).await.status, 404);
    metrics_say(&stand, |text| !text.contains("webhook=")).await;
}

async fn stays_are_told_like_seats(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed", "reservation.cancelled", "hold.created"])).await;
    let rooms = room_type(&stand, 2).await;
    let mut client = stand.client();
    let held = hold_id(&hold(&mut client, "alice", &nights(rooms, 1, 2, 1)).await);
    let confirmed = on_hold(&mut client, "alice", &held, "confirm").await.json();
    let stay = confirmed["reservation"]["reservationId"].as_str().unwrap().to_owned();
    assert_eq!(client.cancel("alice", &stay).await.status, 200);
    let received = receiver.messages(3).await;
    assert_eq!(kinds(&received), ["hold.created", "reservation.confirmed", "reservation.cancelled"]);
    for one in &received[1..] {
        assert_eq!(one.json()["data"]["reservationId"], stay.as_str());
        assert_eq!(one.json()["data"]["roomTypeId"], rooms);
        assert!(one.json()["data"]["checkIn"].is_string());
    }
}

async fn events_open_by_the_clock(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    endpoint(&stand, &receiver.url(), &json!(["event.opened", "reservation.confirmed"])).await;
    let opens = stand.app.ledger.wall().plus_ms(3_600_000);
    let opens = server::http::wire::moment(opens);
    let made = stand.admin("POST", "events", &json!({ "name": "Later", "seats": 3, "opensAt": opens })).await.json();
    let event = made["event"]["id"].as_u64().unwrap();
    stand.advance_ms(3_600_000);
    reserve(&stand, event, "alice").await;
    let received = receiver.messages(2).await;
    assert_eq!(kinds(&received), ["event.opened", "reservation.confirmed"]);
    assert_eq!(received[0].json()["timestamp"], opens.as_str());
    reserve(&stand, event, "bob").await;
    assert_eq!(kinds(&receiver.messages(3).await)[2], "reservation.confirmed", "it opened once");
}

/// A busy machine may be late once; the fastest of three tells what the server needs.
async fn hold_expiry_is_told_within_a_second(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    endpoint(&stand, &receiver.url(), &json!(["hold.expired"])).await;
    let event = stand.event(9, 4).await;
    let mut fastest = Duration::MAX;
    for (place, user) in ["alice", "bob", "carol"].into_iter().enumerate() {
        let first = 2 * place as u64 + 1;
        let body = seats(event, &[first, first + 1], place as u64 + 1);
        let held = hold_id(&hold(&mut stand.client(), user, &body).await);
        let ended = Instant::now();
        stand.advance_ms(600_000);
        let received = receiver.messages(place + 1).await.remove(place);
        fastest = fastest.min(received.at.saturating_duration_since(ended));
        let data = received.json()["data"].clone();
        assert_eq!((&data["holdId"], data["seats"].as_array().unwrap().len()), (&json!(held), 2));
    }
    assert!(fastest < Duration::from_secs(1), "{fastest:?} after its end");
}
