//! The Rust client against the OpenAPI document: every route that it calls is there, and its types read and write
//! every example. And against a server: keys are kept over retries, and `Retry-After` is honoured.

use std::collections::BTreeSet;

use client::api::drift::{CALLS, REFUSAL};
use client::api::forms::{BuyerForm, HeldStock, HoldForm};
use client::api::{ApiClient, calls};
use serde_json::{Value, json};
use server::http::openapi::document;
use server::http::respond::Dialect;
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(typed_calls_work_against_a_server);

/// The examples of a body: one, or several by name.
fn examples(body: &Value) -> Vec<&Value> {
    let json = &body["content"]["application/json"];
    let named = json["examples"].as_object().into_iter().flat_map(|all| all.values().map(|one| &one["value"]));
    named.chain(json.get("example")).collect()
}

#[test]
fn routes_and_bodies_are_those_of_the_document() {
    let document = document(Dialect::V1_1);
    let mut known = BTreeSet::new();
    let mut tried = 0;
    for check in CALLS {
        let (method, path) = (check.route.method, check.route.path);
        let operation = &document["paths"][path][method.to_ascii_lowercase()];
        assert!(operation.is_object(), "the document has no {method} {path}");
        assert!(known.insert((method, path)), "{method} {path} is listed twice");
        let keys = operation["parameters"].to_string().contains("Idempotency-Key");
        assert_eq!(keys, check.route.keyed, "{method} {path}: keeps answers for keys");
        let sent = examples(&operation["requestBody"]);
        assert_eq!(check.form.is_some(), operation["requestBody"].is_object(), "{method} {path}: body");
        for example in sent {
            let form = check.form.unwrap();
            form(example).unwrap_or_else(|why| panic!("{method} {path}: {example}: {why}"));
            tried += 1;
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            let trial = if status.starts_with('2') { check.answer } else { REFUSAL };
            for example in examples(response) {
                trial(example).unwrap_or_else(|why| panic!("{method} {path}, {status}: {example}: {why}"));
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "only {tried} examples were tried");
}

/// A type that lacks a field of the document, or has another, is found.
#[test]
fn drift_is_noticed() {
    let reserve = CALLS.iter().find(|check| check.route.path.ends_with("/fcfs")).unwrap();
    let form = reserve.form.unwrap();
    assert!(form(&json!({ "userName": "A", "phone": "1" })).is_ok());
    assert!(form(&json!({ "userName": "A", "fax": "1" })).is_err(), "a field that the form does not know");
    assert!((reserve.answer)(&json!({ "success": true, "seat": { "id": 1, "name": "1" } })).is_err());
}

async fn typed_calls_work_against_a_server(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 4).await as i64;
    let mut alice = ApiClient::new(stand.address).with_user("alice");
    let metadata = json!({ "order": "A-1" }).as_object().cloned();
    let (name, phone) = (Some("Alice".into()), Some("010-1234-5678".into()));
    let buyer = BuyerForm { user_name: name, phone, metadata: metadata.clone(), ..BuyerForm::default() };
    let sold = alice.ask(calls::reserve(event, &buyer)).await.unwrap();
    assert_eq!(sold.seat.id, 1);
    // The same key again is the same answer.
    let second = calls::reserve_seat(event, 5, &buyer).key("the-key-of-this-call");
    let (first, again) = (alice.ask(second.clone()).await.unwrap(), alice.ask(second).await.unwrap());
    assert_eq!(first, again);
    let mine = alice.ask(calls::reservations(None)).await.unwrap();
    assert_eq!(mine.items.iter().map(|one| one.metadata.clone()).collect::<Vec<_>>(), [metadata.clone(), metadata]);
    alice.ask(calls::cancel(&sold.reservation_id, Some("ill"))).await.unwrap();
    let gone = alice.ask(calls::reservation(&sold.reservation_id)).await.unwrap_err();
    assert_eq!(gone.reason(), Some("not_found"), "{gone}");

    let on = HeldStock::Seats { event_id: event, seat_ids: vec![7] };
    let form = HoldForm { on, client_hold_key: crate::holds::key(1), metadata: None };
    let held = alice.ask(calls::hold(&form)).await.unwrap().item;
    assert_eq!(held.state, "held");
    stand.advance_ms(1_000);
    let longer = alice.ask(calls::extend(&held.hold_id)).await.unwrap().item;
    assert!(longer.expires_at > held.expires_at);
    let confirmed = alice.ask(calls::confirm(&held.hold_id)).await.unwrap();
    assert_eq!(confirmed.reservation.state, "confirmed");
    let refused = alice.ask(calls::give_back(&held.hold_id, None)).await.unwrap_err();
    assert_eq!(refused.reason(), Some("hold_already_processed"), "{refused}");

    let mut admin = ApiClient::new(stand.address).with_token(&stand.app.admin_token);
    let listed = admin.ask(calls::admin_reservations(event, None)).await.unwrap();
    assert_eq!(listed.items.len(), 2);
    let wrong = alice.ask(calls::admin_events(false, None)).await.unwrap_err();
    assert_eq!(wrong.reason(), Some("unauthorized"), "{wrong}");
    let closed = admin.ask(calls::turn_event(event, calls::EventTurn::Archive)).await.unwrap().item;
    assert!(closed.archived_at.is_some() && closed.state == "closed");
    assert!(admin.ask(calls::audit()).await.unwrap().holds);
}
