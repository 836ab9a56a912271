//! Webhooks: everything arrives, in order per subject, signed, whatever the receiver does and whenever the server dies.

mod receiver;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use server::webhooks::planted::WebhookBug;
use testing::backing::{Backing, TestStores};
use testing::folder::TestFolder;
use testing::http::{BUYER, TestClient};
use testing::on_every_backing;
use testing::process::ServerProcess;
use testing::server::TestServer;

use self::receiver::{Behaviour, Received, Receiver};
use crate::holds::{hold, hold_id, key, nights, on_hold, room_type, seats};

const ALLOWED: &[(&str, &str)] = &[("WEBHOOK_PRIVATE", "1"), ("FCFS_SEATS", "5")];
const DAY_MS: i64 = 86_400_000;

/// Runs a test on both ledgers.
macro_rules! on_both_ledgers {
    ($($test:ident)+) => {
        on_every_backing!(@one embedded Embedded $($test)+);
        on_every_backing!(@one postgres Postgres $($test)+);
    };
}

on_both_ledgers!(
    messages_tell_what_happened_in_order
    stays_are_told_like_seats
    troubled_receiver_gets_everything_in_order
    events_open_by_the_clock
    hold_expiry_is_told_within_a_second
    rotated_secret_signs_beside_the_old_one
    replay_sends_the_same_messages_again
    endpoint_fails_after_three_days_and_resumes
    killed_server_delivers_after_its_restart
    planted_bugs_are_found
    private_targets_are_refused
);

/// Makes an endpoint: its number and its secret.
async fn endpoint(stand: &TestServer, url: &str, types: &Value) -> (u64, String) {
    let made = stand.admin("POST", "webhooks", &json!({ "url": url, "types": types })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    (made["webhook"]["id"].as_u64().unwrap(), made["secret"].as_str().unwrap().to_owned())
}

async fn shown(stand: &TestServer, id: u64) -> Value {
    stand.admin("GET", &format!("webhooks/{id}"), &Value::Null).await.json()
}

async fn metrics_say(stand: &TestServer, wanted: impl Fn(&str) -> bool) {
    let began = Instant::now();
    loop {
        let text = stand.client().get("/metrics").await.text();
        if wanted(&text) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn reserve(stand: &TestServer, event: u64, user: &str) -> String {
    let told = stand.client().reserve(event, user).await;
    assert_eq!(told.status, 200, "{}", told.text());
    told.json()["reservationId"].as_str().unwrap().to_owned()
}

fn kinds(received: &[Received]) -> Vec<String> {
    received.iter().map(Received::kind).collect()
}

fn numbers(received: &[Received]) -> Vec<u64> {
    received.iter().map(|one| one.json()["number"].as_u64().unwrap()).collect()
}

/// Without repeats, which are allowed, each message in the order in which it came first.
fn first_of_each(received: &[Received]) -> Vec<Received> {
    let mut seen = HashSet::new();
    received.iter().filter(|one| seen.insert(one.id.clone())).cloned().collect()
}

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
    assert_eq!(client.cancel("alice", &first).await.status, 200);
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
    assert_eq!(data[6]["reservationId"], first.as_str());
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

/// It fails, redirects, is slow and is down, one after the other.
async fn troubled_receiver_gets_everything_in_order(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let (receiver, elsewhere) = (Receiver::start(), Receiver::start());
    let (id, _) = endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed"])).await;
    let events = [stand.event(9, 1).await, stand.event(9, 1).await];
    let redirect = format!("location: {}\r\n", elsewhere.url());
    let troubles = [
        Behaviour::status(500),
        Behaviour(302, redirect, Duration::ZERO),
        Behaviour(204, String::new(), Duration::from_millis(300)),
    ];
    let mut sold = 0;
    for trouble in troubles {
        let (fails, before) = (trouble.0 >= 300, receiver.refused());
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
        assert_eq!(numbers(&of), [2, 3, 4, 5], "event {event}");
    }
    assert_eq!(elsewhere.connections(), 0, "redirects are not followed");
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

async fn hold_expiry_is_told_within_a_second(backing: Backing) {
    let stand = TestServer::on(backing, &[("WEBHOOK_PRIVATE", "1"), ("HOLD_TTL", "2")]).await;
    let receiver = Receiver::start();
    endpoint(&stand, &receiver.url(), &json!(["hold.expired"])).await;
    let event = stand.event(9, 4).await;
    // Others hold, too, and for longer.
    let held = hold_id(&hold(&mut stand.client(), "alice", &seats(event, &[1, 2], 1)).await);
    let ends = Instant::now() + Duration::from_secs(2);
    let received = receiver.messages(1).await;
    let late = received[0].at.saturating_duration_since(ends);
    assert!(late < Duration::from_secs(1), "{late:?} after its end");
    assert_eq!(received[0].json()["data"]["holdId"], held.as_str());
    assert_eq!(received[0].json()["data"]["seats"].as_array().unwrap().len(), 2);
}

async fn rotated_secret_signs_beside_the_old_one(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    let (id, old) = endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed"])).await;
    let rotated = stand.admin("POST", &format!("webhooks/{id}/rotate"), &json!({ "overlapSeconds": 3600 })).await;
    assert_eq!(rotated.status, 201, "{}", rotated.text());
    let new = rotated.json()["secret"].as_str().unwrap().to_owned();
    reserve(&stand, 1, "alice").await;
    let both = receiver.messages(1).await.remove(0);
    assert_eq!((both.signatures(), both.signed_by(&new), both.signed_by(&old)), (2, 1, 1));
    stand.advance_ms(3_600_000);
    reserve(&stand, 1, "bob").await;
    let alone = receiver.messages(2).await.remove(1);
    assert_eq!((alone.signatures(), alone.signed_by(&new), alone.signed_by(&old)), (1, 1, 0));
}

async fn replay_sends_the_same_messages_again(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    let (id, _) = endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed", "event.sold_out"])).await;
    let event = stand.event(3, 1).await;
    for user in ["a", "b", "c"] {
        reserve(&stand, event, user).await;
    }
    let first = receiver.messages(4).await;
    receiver.forget();
    let path = format!("webhooks/{id}/replay");
    let replayed = stand.admin("POST", &path, &json!({ "eventId": event, "from": 3 })).await;
    assert_eq!(replayed.status, 200, "{}", replayed.text());
    let again = receiver.messages(3).await;
    let ids = |received: &[Received]| received.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&first[1..]), "the same messages, and sold out at the same row");
    for bad in [json!({ "eventId": 999, "from": 1 }), json!({ "eventId": event, "from": 99 })] {
        assert_eq!(stand.admin("POST", &path, &bad).await.status, 404, "{bad}");
    }
    for bad in [json!({ "from": 1 }), json!({ "eventId": event, "roomTypeId": 1, "from": 1 }), json!({ "eventId": 1 })]
    {
        assert_eq!(stand.admin("POST", &path, &bad).await.status, 400, "{bad}");
    }
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
    receiver.behave(Behaviour::status(204));
    let enabled = stand.admin("PATCH", &format!("webhooks/{id}"), &json!({ "enabled": true })).await.json();
    assert_eq!((&enabled["webhook"]["state"], &enabled["webhook"]["why"]), (&json!("enabled"), &Value::Null));
    receiver.messages(1).await;
    receiver.behave(Behaviour::status(410));
    reserve(&stand, 1, "bob").await;
    let began = Instant::now();
    while shown(&stand, id).await["webhook"]["state"] != "disabled" {
        assert!(began.elapsed() < Duration::from_secs(10), "410 means that nobody listens any more");
    }
}

/// kill -9 between commit and delivery, and again in the middle of the deliveries.
async fn killed_server_delivers_after_its_restart(backing: Backing) {
    let (stores, folder) = (TestStores::new(backing).await, TestFolder::new("server"));
    let data = folder.path().join("data");
    let mut settings = vec![("WEBHOOK_PRIVATE", "1"), ("FCFS_SEATS", "1000")];
    settings.extend(stores.settings());
    let token = |process: &ServerProcess| {
        let given = settings.iter().find(|(name, _)| *name == "ADMIN_TOKEN");
        format!("Bearer {}", given.map_or_else(|| process.admin_token(), |(_, token)| (*token).to_owned()))
    };
    let receiver = Receiver::start();
    receiver.go_down();
    let process = ServerProcess::start(&data, &settings).await;
    let headers = [("Authorization", token(&process)), ("Content-Type", "application/json".to_owned())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = json!({ "url": receiver.url(), "types": ["reservation.confirmed"] }).to_string();
    let made = process.client().send("POST", "/api/v1/admin/webhooks", &headers, &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let buy = async |client: &mut TestClient, n: u64| {
        let headers = [("X-User-Id", format!("u{n}")), ("Content-Type", "application/json".to_owned())];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let path = "/api/v1/events/1/seats/reservation/fcfs";
        assert_eq!(client.send("POST", path, &headers, BUYER).await.status, 200);
    };
    let mut client = process.client();
    for n in 0..60 {
        buy(&mut client, n).await;
    }
    process.kill();
    receiver.behave(Behaviour(204, String::new(), Duration::from_millis(20)));
    receiver.come_back();
    let process = ServerProcess::start(&data, &settings).await;
    receiver.messages(20).await;
    process.kill();
    let process = ServerProcess::start(&data, &settings).await;
    let mut client = process.client();
    for n in 60..70 {
        buy(&mut client, n).await;
    }
    assert!(receiver.until(|receiver| first_of_each(&receiver.taken()).len() == 70).await);
    assert_eq!(numbers(&first_of_each(&receiver.taken())), (2..72).collect::<Vec<u64>>(), "in order, none lost");
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

async fn private_targets_are_refused(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let receiver = Receiver::start();
    let port = receiver.address.port();
    for url in
        [receiver.url(), format!("https://127.0.0.1:{port}/"), format!("https://[::1]:{port}/"), "ftp://a/".into()]
    {
        let told = stand.admin("POST", "webhooks", &json!({ "url": url })).await;
        assert_eq!(told.status, 400, "{url}: {}", told.text());
    }
    // A name is looked up when it is used, and the address that was found is what counts.
    let (id, _) = endpoint(&stand, &format!("https://localhost:{port}/"), &Value::Null).await;
    let tested = stand.admin("POST", &format!("webhooks/{id}/test"), &Value::Null).await.json();
    assert_eq!(tested["delivery"]["delivered"], false);
    assert!(tested["delivery"]["error"].as_str().unwrap().contains("private"), "{tested}");
    reserve(&stand, 1, "alice").await;
    let began = Instant::now();
    while shown(&stand, id).await["deliveries"].as_array().unwrap().len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(receiver.connections(), 0);
}

/// Two servers share the work: one delivers, and the other goes on when it stops.
#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_delivered_by_one_server_at_a_time() {
    let one = TestServer::on(Backing::Redis, ALLOWED).await;
    let two = TestServer::at(one.stores.clone(), ALLOWED).await;
    let receiver = Receiver::start();
    endpoint(&one, &receiver.url(), &json!(["reservation.confirmed"])).await;
    for n in 0..3 {
        reserve(if n == 1 { &two } else { &one }, 1, &format!("u{n}")).await;
    }
    assert_eq!(numbers(&receiver.messages(3).await), [2, 3, 4], "each once");
    one.ask_to_stop();
    one.stopped().await;
    reserve(&two, 1, "u3").await;
    assert_eq!(numbers(&receiver.messages(4).await), [2, 3, 4, 5]);
}
