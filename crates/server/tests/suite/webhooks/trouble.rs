//! Receivers in trouble: everything arrives all the same, in order.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use server::webhooks::planted::WebhookBug;
use testing::backing::Backing;
use testing::server::TestServer;

use super::receiver::{Behaviour, Received, Receiver};
use super::{ALLOWED, endpoint, first_of_each, kinds, metrics_say, numbers, on_both_ledgers, reserve, shown};

const DAY_MS: i64 = 86_400_000;

on_both_ledgers!(
    troubled_receiver_gets_everything_in_order
    receiver_restarts_in_the_middle
    endpoint_fails_after_three_days_and_resumes
    receiver_that_fails_now_and_then_is_not_made_to_wait
    counting_all_failures_is_found
    planted_bugs_are_found
);

/// It fails, hangs up without an answer, redirects, is slow and is down, one after the other.
async fn troubled_receiver_gets_everything_in_order(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let (receiver, elsewhere) = (Receiver::start(), Receiver::start());
    let (id, _) = endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed"])).await;
    let events = [stand.event(9, 1).await, stand.event(9, 1).await];
    let redirect = format!("location: {}\r\n", elsewhere.url());
    let troubles = [
        Behaviour::status(500),
        Behaviour::hangs_up(),
        Behaviour(302, redirect, Duration::ZERO),
        Behaviour(204, String::new(), Duration::from_millis(300)),
    ];
    let mut sold = 0;
    for trouble in troubles {
        let (fails, before) = (trouble.fails(), receiver.refused());
        receiver.behave(trouble);
        for event in events {
            reserve(&stand, event, &format!("u{sold}")).await;
            sold += 1;
        }
        if fails {
            assert!(receiver.until(|receiver| receiver.refused() > before + 1).await);
            stand.advance_ms(3_600_000);
        }
    }
    receiver.behave(Behaviour::status(204));
    receiver.messages(sold).await;
    receiver.go_down();
    for event in events {
        reserve(&stand, event, &format!("u{sold}")).await;
        sold += 1;
    }
    let down = |told: &Value| told["deliveries"].as_array().unwrap().iter().any(|one| one["status"].is_null());
    while !down(&shown(&stand, id).await) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    receiver.come_back();
    stand.advance_ms(3_600_000);
    let received = first_of_each(&receiver.messages(sold).await);
    assert_eq!(received.len(), sold);
    for event in events {
        let of: Vec<Received> = received.iter().filter(|one| one.json()["data"]["eventId"] == event).cloned().collect();
        assert_eq!(numbers(&of), [2, 3, 4, 5, 6], "event {event}");
    }
    assert_eq!(elsewhere.connections(), 0, "redirects are not followed");
}

/// It goes down again and again while messages are on their way. What it took before it died may come again.
async fn receiver_restarts_in_the_middle(backing: Backing) {
    const SOLD: usize = 60;
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed", "event.sold_out"])).await;
    let event = stand.event(SOLD as u64, 1).await;
    receiver.behave(Behaviour(204, String::new(), Duration::from_millis(10)));
    for n in 0..SOLD {
        reserve(&stand, event, &format!("u{n}")).await;
    }
    for taken in [5, 20, 40] {
        receiver.messages(taken).await;
        receiver.go_down();
        receiver.come_back();
        stand.advance_ms(3_600_000);
    }
    assert!(receiver.until(|receiver| first_of_each(&receiver.taken()).len() > SOLD).await);
    let received = first_of_each(&receiver.taken());
    assert_eq!(numbers(&received[..SOLD]), (2..SOLD as u64 + 2).collect::<Vec<u64>>());
    let sold_out = kinds(&received).iter().filter(|kind| *kind == "event.sold_out").count();
    assert_eq!((received.len(), sold_out), (SOLD + 1, 1));
}

async fn endpoint_fails_after_three_days_and_resumes(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    receiver.behave(Behaviour::status(503));
    let (id, _) = endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed"])).await;
    reserve(&stand, 1, "alice").await;
    assert!(receiver.until(|receiver| receiver.refused() == 1).await);
    for day in 1..=3 {
        assert_eq!(shown(&stand, id).await["webhook"]["state"], "enabled", "day {day}");
        stand.advance_ms(DAY_MS);
        assert!(receiver.until(|receiver| receiver.refused() > day).await, "day {day}");
    }
    let began = Instant::now();
    while shown(&stand, id).await["webhook"]["state"] != "failing" {
        assert!(began.elapsed() < Duration::from_secs(10), "{:#}", shown(&stand, id).await);
    }
    let failing = format!("tickettock_webhooks_failing{{webhook=\"{id}\"}} ");
    metrics_say(&stand, |text| text.contains(&format!("{failing}1\n"))).await;
    receiver.behave(Behaviour::status(204));
    let enabled = stand.admin("PATCH", &format!("webhooks/{id}"), &json!({ "enabled": true })).await.json();
    assert_eq!((&enabled["webhook"]["state"], &enabled["webhook"]["why"]), (&json!("enabled"), &Value::Null));
    receiver.messages(1).await;
    metrics_say(&stand, |text| text.contains(&format!("{failing}0\n"))).await;
    receiver.behave(Behaviour::status(410));
    reserve(&stand, 1, "bob").await;
    let began = Instant::now();
    while shown(&stand, id).await["webhook"]["state"] != "disabled" {
        assert!(began.elapsed() < Duration::from_secs(10), "410 means that nobody listens any more");
    }
}

/// What the tests above look for is found if it is there.
async fn planted_bugs_are_found(backing: Backing) {
    for bug in [WebhookBug::CursorFirst, WebhookBug::FailedSkipped] {
        let stand = TestServer::on(backing, ALLOWED).await;
        stand.app.webhooks.plant(bug);
        let receiver = Receiver::start();
        endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed"])).await;
        receiver.behave(Behaviour::status(500));
        reserve(&stand, 1, "a").await;
        assert!(receiver.until(|receiver| receiver.refused() >= 1).await);
        receiver.behave(Behaviour::status(204));
        stand.advance_ms(3_600_000);
        reserve(&stand, 1, "b").await;
        let received = receiver.messages(1).await;
        assert_ne!(numbers(&received)[0], 2, "{bug:?} loses what failed");
    }
}

/// Every fourth of its answers is a failure. Whether it got everything with a wait of one second for each.
async fn told_now_and_then(stand: &TestServer) -> bool {
    const SOLD: usize = 30;
    let receiver = Receiver::start();
    let (id, _) = endpoint(stand, &receiver.url(), &json!(["reservation.confirmed"])).await;
    let path = format!("webhooks/{id}");
    assert_eq!(stand.admin("PATCH", &path, &json!({ "enabled": false })).await.status, 200);
    let event = stand.event(SOLD as u64, 1).await;
    for n in 0..SOLD {
        reserve(stand, event, &format!("u{n}")).await;
    }
    receiver.refuse_every(4);
    assert_eq!(stand.admin("PATCH", &path, &json!({ "enabled": true })).await.status, 200);
    let (mut waited, mut last) = (0, Instant::now());
    while first_of_each(&receiver.taken()).len() < SOLD {
        if receiver.refused() > waited {
            waited += 1;
            last = Instant::now();
            // After it was noted that it failed.
            tokio::time::sleep(Duration::from_millis(300)).await;
            stand.advance_ms(1_000);
        }
        if last.elapsed() > Duration::from_secs(10) {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(waited >= 9, "it failed {waited} times");
    true
}

async fn receiver_that_fails_now_and_then_is_not_made_to_wait(backing: Backing) {
    assert!(told_now_and_then(&TestServer::on(backing, ALLOWED).await).await);
}

async fn counting_all_failures_is_found(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    stand.app.webhooks.plant(WebhookBug::AllFailuresCounted);
    assert!(!told_now_and_then(&stand).await, "waits did not grow");
}
