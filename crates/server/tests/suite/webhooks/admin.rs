//! What operators do with webhooks.

use rules::subject::SubjectId;
use serde_json::{Value, json};
use testing::backing::Backing;
use testing::server::TestServer;

use super::receiver::{Received, Receiver};
use super::{ALLOWED, endpoint, on_both_ledgers, reserve};
use crate::holds::{hold, hold_id, nights, on_hold, room_type};

on_both_ledgers!(
    rotated_secret_signs_beside_the_old_one
    replay_sends_the_same_messages_again
    replay_of_a_room_type_sends_every_stay_again
    changes_are_in_the_history
    endpoints_are_few
    viewers_see_no_path_of_an_endpoint
);

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

/// From the beginning of a room type, whose sales no cursor counts.
async fn replay_of_a_room_type_sends_every_stay_again(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    let rooms = room_type(&stand, 3).await;
    let (id, _) = endpoint(&stand, &receiver.url(), &json!(["reservation.confirmed", "reservation.cancelled"])).await;
    let mut client = stand.client();
    for (user, n) in [("a", 1), ("b", 2), ("c", 3)] {
        let held = hold_id(&hold(&mut client, user, &nights(rooms, 1, 2, n)).await);
        let paid = on_hold(&mut client, user, &held, "confirm").await.json();
        if user == "b" {
            let stay = paid["reservation"]["reservationId"].as_str().unwrap();
            assert_eq!(client.cancel(user, stay).await.status, 200);
        }
    }
    let ids = |received: &[Received]| received.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    let first = ids(&receiver.messages(4).await);
    receiver.forget();
    let body = json!({ "roomTypeId": rooms, "from": 1 });
    let replayed = stand.admin("POST", &format!("webhooks/{id}/replay"), &body).await;
    assert_eq!(replayed.status, 200, "{}", replayed.text());
    assert_eq!(ids(&receiver.messages(4).await), first);
}

/// Who made, changed, rotated, replayed and deleted a webhook is in the history of the ledger, without its secrets.
async fn changes_are_in_the_history(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let receiver = Receiver::start();
    let (id, secret) = endpoint(&stand, &format!("{}?token=hidden", receiver.url()), &Value::Null).await;
    let path = format!("webhooks/{id}");
    let done = [
        stand.admin("PATCH", &path, &json!({ "enabled": false })).await,
        stand.admin("POST", &format!("{path}/rotate"), &json!({})).await,
        stand.admin("POST", &format!("{path}/replay"), &json!({ "eventId": 1, "from": 1 })).await,
        stand.admin("DELETE", &path, &Value::Null).await,
    ];
    assert_eq!(done.each_ref().map(|answer| answer.status), [200, 201, 200, 200]);
    let rows = stand.app.ledger.records(Some(SubjectId::Ledger), None, 1_000).await.unwrap();
    let told: Vec<&str> = rows.iter().map(|row| row.what.as_str()).collect();
    let wanted = ["webhook_made", "webhook_changed", "webhook_rotated", "webhook_replayed", "webhook_deleted"];
    assert!(told.ends_with(&wanted), "{told:?}");
    for row in &rows[rows.len() - wanted.len()..] {
        let detail = row.detail.as_deref().unwrap();
        assert!(row.admin.is_some() && row.trace.is_some() && row.address.is_some(), "{row:?}");
        assert!(!detail.contains("hidden") && !detail.contains(&secret[6..]), "{detail}");
    }
}

async fn endpoints_are_few(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let body = json!({ "url": "https://shop.example/", "enabled": false });
    for _ in 0..100 {
        assert_eq!(stand.admin("POST", "webhooks", &body).await.status, 201);
    }
    assert_eq!(stand.admin("POST", "webhooks", &body).await.status, 400);
    let typo = stand.admin("POST", "webhooks", &json!({ "urll": "https://shop.example/" })).await;
    assert!(typo.status == 400 && typo.text().contains("url"), "{}", typo.text());
}

/// Path and query may be as good as a password for whoever can write to the receiver.
async fn viewers_see_no_path_of_an_endpoint(backing: Backing) {
    let stand = TestServer::on(backing, ALLOWED).await;
    let url = "https://shop.example:8443/T0/hidden?token=hidden";
    let (id, _) = endpoint(&stand, url, &Value::Null).await;
    let made = stand.admin("POST", "tokens", &json!({ "name": "press", "role": "viewer" })).await.json();
    let viewer = format!("Bearer {}", made["secret"].as_str().unwrap());
    let admin = format!("Bearer {}", stand.app.admin_token);
    for path in ["/api/v1/admin/webhooks".to_owned(), format!("/api/v1/admin/webhooks/{id}")] {
        for format in ["application/json", "text/csv", "application/x-ndjson"] {
            let mut shown = Vec::new();
            for token in [&viewer, &admin] {
                let headers = [("Authorization", token.as_str()), ("Accept", format)];
                let told = stand.client().send("GET", &path, &headers, "").await;
                assert_eq!(told.status, 200, "{}", told.text());
                shown.push(told.text());
            }
            let seen = shown[0].contains("https://shop.example:8443") && !shown[0].contains("hidden");
            assert!(seen, "{format}: {}", shown[0]);
            assert!(shown[1].contains(url), "{format}: {}", shown[1]);
        }
    }
}
