//! The sold-out hint of the gateway: which requests it answers, which pass, and how soon it is corrected.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::gateway::GatewayBug;
use testing::http::{TestClient, TestResponse};
use testing::raw_tcp;

use super::edge::{BODY, Edge, FCFS, JSON};

/// Longer than what a gateway knows is looked at again.
const KNOWN: Duration = Duration::from_millis(150);

async fn sold_out(edge: &Edge, event: u64) {
    let mut client = edge.client();
    let told = client.reserve(event, "too-late").await;
    assert_eq!(told.reason(), "sold_out", "{}", told.text());
    tokio::time::sleep(KNOWN).await;
    assert_eq!(client.reserve(event, "too-late-too").await.reason(), "sold_out");
}

/// 10,000 after a sell-out: about none reach the servers.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_sold_out_requests_do_not_reach_the_servers() {
    let edge = Edge::with(2, &[], &[]).await;
    edge.warm().await;
    let event = edge.event(3, 1).await;
    for user in ["a", "b", "c"] {
        assert_eq!(edge.client().reserve(event, user).await.status, 200);
    }
    // What was left is no longer said by anybody: the crowd comes after a pause.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let (before, numbers, began) = (edge.reached().await, edge.numbers(event), Instant::now());
    let ask = |client: usize, mut wire: TestClient| async move {
        for i in 0..200 {
            let answer = wire.reserve(event, &format!("u{client}-{i}")).await;
            assert_eq!((answer.status, answer.reason().as_str()), (409, "sold_out"), "{}", answer.text());
        }
    };
    let all: Vec<_> = (0..50).map(|client| tokio::spawn(ask(client, edge.client()))).collect();
    for task in all {
        task.await.unwrap();
    }
    let (reached, took) = (edge.reached().await - before, began.elapsed());
    println!("{reached} of 10,000 reached the servers in {took:?}");
    // The fifty who met at the beginning, when nothing was known; then one every half second or so, to
    // hear it anew.
    let few = 60 + took.as_millis() as u64 / 100;
    assert!(reached <= few, "{reached} of 10,000 reached the servers in {took:?}");
    assert_eq!(edge.numbers(event) - numbers, reached, "and nobody else took a number");
}

/// The buyer of the last seat lost the answer and asks again, with and without a key.
async fn the_last_buyer_again(planted: &[GatewayBug<'_>]) -> Result<(), TestResponse> {
    let edge = Edge::with(1, &[], planted).await;
    edge.warm().await;
    for with_key in [true, false] {
        let event = edge.event(1, 1).await;
        let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
        // Sends it, and is gone before the answer comes.
        let key = if with_key { "Idempotency-Key: k\r\n" } else { "" };
        let length = BODY.len();
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-User-Id: alice\r\n{key}Content-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{BODY}"
        );
        drop(raw_tcp::send(edge.gate.address(), text.as_bytes()).await);
        sold(&edge, event).await;
        sold_out(&edge, event).await;
        for _ in 0..3 {
            let again = if with_key {
                edge.client().reserve_with_key(event, "alice", "k", BODY).await
            } else {
                edge.client().reserve(event, "alice").await
            };
            if again.json()["seat"]["id"] != 1 {
                return Err(again);
            }
        }
    }
    Ok(())
}

async fn sold(edge: &Edge, event: u64) {
    let path = format!("/api/v1/events/{event}");
    for _ in 0..200 {
        if edge.direct().get(&path).await.json()["event"]["remainingSeats"] == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody bought it");
}

#[tokio::test(flavor = "multi_thread")]
async fn buyer_of_the_last_seat_gets_it_again() {
    let told = the_last_buyer_again(&[]).await;
    assert!(told.is_ok(), "{:?}", told.map_err(|answer| answer.text()));
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_forgotten_buyer_is_caught() {
    let forgets = [("lua/remembered.lua", "return dictionary:get(event .. \" \" .. who) ~= nil", "return false")];
    let told = the_last_buyer_again(&forgets).await.expect_err("the test sees nothing");
    assert_eq!(told.reason(), "sold_out");
}

/// A cancelled seat is sold again at once through the same gateway, cancelled by its owner or by the admin.
async fn cancelled_and_sold_again(planted: &[GatewayBug<'_>]) -> Result<(), TestResponse> {
    let edge = Edge::with(2, &[], planted).await;
    edge.warm().await;
    let event = edge.event(1, 1).await;
    let mut client = edge.client();
    let mut owner = "u0".to_owned();
    let mut id = client.reserve(event, &owner).await.json()["reservationId"].as_str().unwrap().to_owned();
    for turn in 1..=6 {
        sold_out(&edge, event).await;
        let cancelled = if turn % 2 == 0 {
            client.cancel(&owner, &id).await
        } else {
            let token = format!("Bearer {}", edge.servers[0].app.admin_token);
            let path = format!("/api/v1/admin/reservations/{id}");
            client.send("DELETE", &path, &[("Authorization", &token)], "").await
        };
        assert_eq!(cancelled.status, 200, "{}", cancelled.text());
        owner = format!("u{turn}");
        let answer = edge.client().reserve(event, &owner).await;
        if answer.seat() != Some(1) {
            return Err(answer);
        }
        id = answer.json()["reservationId"].as_str().unwrap().to_owned();
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_seat_is_sold_again_at_once() {
    let told = cancelled_and_sold_again(&[]).await;
    assert!(told.is_ok(), "{:?}", told.map_err(|answer| answer.text()));
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_stale_hint_is_caught() {
    let deaf = [("lua/gateway.lua", "if frees then hint.mute(freed) end", "")];
    let told = cancelled_and_sold_again(&deaf).await.expect_err("the test sees nothing");
    assert_eq!(told.reason(), "sold_out");
}

/// Behind another gateway it is sold within 250 ms.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_cancelled_seat_is_sold_by_another_gateway_within_250_ms() {
    let edge = Edge::new(&[("FCFS_SEATS", "1")]).await;
    let other = edge.another(&[]);
    let mut client = edge.client();
    let id = client.reserve(1, "owner").await.json()["reservationId"].as_str().unwrap().to_owned();
    other.client().reserve(1, "a").await;
    tokio::time::sleep(KNOWN).await;
    assert_eq!(other.client().reserve(1, "b").await.reason(), "sold_out");
    assert_eq!(client.cancel("owner", &id).await.status, 200);
    let began = Instant::now();
    let mut wire = other.client();
    let mut i = 0;
    while wire.reserve(1, &format!("c{i}")).await.seat().is_none() {
        i += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = began.elapsed();
    assert!(took < Duration::from_millis(350), "sold after {took:?}");
}

/// A sale opens on time, whatever was known a moment before.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_sale_opens_on_time() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let stand = &edge.servers[0];
    let opening = stand.app.ledger.now().plus_ms(900);
    let opens = server::http::wire::moment(opening);
    let made = stand.admin("POST", "events", &json!({ "name": "Soon", "seats": 50, "opensAt": opens })).await;
    let event = made.json()["event"]["id"].as_u64().unwrap();
    let mut client = edge.client();
    let (mut refused, mut late) = (0, 0);
    for i in 0..10_000 {
        let asked = stand.app.ledger.now();
        let answer = client.reserve(event, &format!("u{i}")).await;
        if answer.status == 200 {
            break;
        }
        assert_eq!((answer.reason().as_str(), answer.json()["opensAt"].as_str()), ("not_open", Some(opens.as_str())));
        refused += 1;
        // Two clocks of one machine.
        late += u32::from(asked > opening.plus_ms(5));
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    assert!(refused > 10 && late == 0, "{refused} were refused, {late} of them after the opening");
    assert!(edge.numbers(event) < refused / 2, "most were answered by the hint");
}

/// What an admin changes through the gateway is known to it at once.
#[tokio::test(flavor = "multi_thread")]
async fn admin_changes_take_effect_at_once() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let token = format!("Bearer {}", edge.servers[0].app.admin_token);
    let mut client = edge.client();
    for turn in 0..3 {
        for (word, reason) in [("pause", "not_open"), ("resume", ""), ("close", "closed"), ("open", "")] {
            let path = format!("/api/v1/admin/events/1/{word}");
            let turned = client.send("POST", &path, &[("Authorization", &token)], "").await;
            assert_eq!(turned.status, 200, "{}", turned.text());
            let answer = client.reserve(1, &format!("{word}{turn}")).await;
            assert_eq!(answer.reason(), reason, "{word}: {}", answer.text());
            if let Some(id) = answer.json()["reservationId"].as_str() {
                client.cancel(&format!("{word}{turn}"), id).await;
            }
        }
    }
}

/// A request with a key is never answered from a hint: a stored answer may exist.
#[tokio::test(flavor = "multi_thread")]
async fn requests_with_a_key_are_not_answered_from_a_hint() {
    let edge = Edge::new(&[("FCFS_SEATS", "1")]).await;
    edge.direct().reserve_with_key(1, "alice", "k", BODY).await;
    sold_out(&edge, 1).await;
    let again = edge.client().reserve_with_key(1, "alice", "k", BODY).await;
    assert_eq!((again.seat(), again.header("idempotent-replayed")), (Some(1), Some("true")));
    let old = [("Api-Version", "2025-08-17"), JSON];
    let told = edge.client().send("POST", FCFS, &old, r#"{"phone":"010-9999-9999"}"#).await;
    assert_eq!(told.json()["reason"], if told.status == 200 { json!("sold_out") } else { Value::Null });
}
