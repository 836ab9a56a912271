//! A receiver that accepts a request and never answers it.

use std::time::Duration;

use serde_json::{Value, json};
use server::webhooks::planted::WebhookBug;
use testing::backing::Backing;
use testing::server::TestServer;

use super::receiver::{Received, Receiver};
use super::{ALLOWED, endpoint, numbers, on_both_ledgers, reserve, shown};

on_both_ledgers!(
    silent_receiver_is_given_up_and_tried_again
    test_message_to_silent_receiver_is_given_up
    request_without_time_limit_is_found
);

/// Attempts that failed, as operators see them.
async fn failed(stand: &TestServer, id: u64) -> Vec<Value> {
    let mut all = shown(stand, id).await["deliveries"].as_array().unwrap().clone();
    all.retain(|one| one["delivered"] == false);
    all
}

/// Those of an event, in the order in which they came.
fn of(received: &[Received], event: u64) -> Vec<Received> {
    received.iter().filter(|one| one.json()["data"]["eventId"] == event).cloned().collect()
}

async fn silent_receiver_is_given_up_and_tried_again(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let (receiver, other) = (Receiver::start(), Receiver::start());
    let types = json!(["reservation.confirmed"]);
    let (id, _) = endpoint(&stand, &receiver.url(), &types).await;
    endpoint(&stand, &other.url(), &types).await;
    let (stuck, lively) = (stand.event(9, 1).await, stand.event(9, 1).await);
    receiver.be_silent_on(Some(&format!("\"eventId\":{stuck}")));
    reserve(&stand, stuck, "alice").await;
    assert!(receiver.until(|receiver| receiver.hanging() == 1).await);
    // The limit is 15 s, so the first request is in flight while these come.
    reserve(&stand, stuck, "bob").await;
    reserve(&stand, lively, "carol").await;
    assert_eq!(of(&receiver.messages(1).await, lively).len(), 1, "another event goes on");
    assert_eq!(other.messages(3).await.len(), 3, "another endpoint goes on");
    assert_eq!((receiver.hanging(), failed(&stand, id).await.len()), (1, 0), "one at a time, not given up yet");

    stand.app.webhooks.limit.set(Duration::from_millis(200));
    assert!(receiver.until(|receiver| receiver.hanging() == 0).await, "the request is broken off");
    stand.app.webhooks.limit.set(Duration::from_secs(15));
    while failed(&stand, id).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let noted = failed(&stand, id).await.remove(0);
    assert!(noted["error"].as_str().unwrap().starts_with("no answer within"), "{noted}");
    assert_eq!((&noted["status"], &noted["number"]), (&Value::Null, &json!(2)), "{noted}");

    receiver.be_silent_on(None);
    stand.advance_ms(3_600_000);
    let received = receiver.messages(3).await;
    assert_eq!(numbers(&of(&received, stuck)), [2, 3], "what was given up comes again, in order");
    assert_eq!(received.len(), 3);
}

/// The operator who presses the button gets an answer, too.
async fn test_message_to_silent_receiver_is_given_up(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    let (id, _) = endpoint(&stand, &receiver.url(), &Value::Null).await;
    receiver.be_silent_on(Some("webhook.test"));
    stand.app.webhooks.limit.set(Duration::from_millis(200));
    let tested = stand.admin("POST", &format!("webhooks/{id}/test"), &Value::Null).await.json();
    assert_eq!(tested["delivery"]["delivered"], false, "{tested}");
    assert!(tested["delivery"]["error"].as_str().unwrap().starts_with("no answer within"), "{tested}");
}

/// The planted bug: the request hangs as long as the receiver likes, and nobody learns of it.
async fn request_without_time_limit_is_found(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    stand.app.webhooks.plant(WebhookBug::WaitsForever);
    let receiver = Receiver::start();
    let (id, _) = endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed"])).await;
    receiver.be_silent_on(Some("reservation.confirmed"));
    stand.app.webhooks.limit.set(Duration::ZERO);
    reserve(&stand, 1, "alice").await;
    assert!(receiver.until(|receiver| receiver.hanging() == 1).await);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!((receiver.hanging(), failed(&stand, id).await.len()), (1, 0));
}
