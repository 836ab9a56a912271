//! What an operator changes of an event, and what is refused.

use serde_json::json;
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(hold_ttl_above_the_maximum_age_is_refused, amended_waiting_room_keeps_what_is_not_named);

/// It was cut to `HOLD_MAX_AGE` without a word.
async fn hold_ttl_above_the_maximum_age_is_refused(backing: Backing) {
    let stand = TestServer::on(backing, &[("HOLD_TTL", "60"), ("HOLD_MAX_AGE", "100")]).await;
    let new = |ttl: u64| json!({ "name": "Long", "seats": 3, "maxPerUser": 2, "holdTtl": ttl });
    let made = stand.admin("POST", "events", &new(101)).await;
    assert_eq!((made.status, made.reason().as_str()), (400, "validation"), "{}", made.text());
    assert!(made.text().contains("holdTtl") && made.text().contains("100"), "{}", made.text());
    let made = stand.admin("POST", "events", &new(100)).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let path = format!("events/{}", made.json()["event"]["id"]);
    let changed = stand.admin("PATCH", &path, &json!({ "holdTtl": 101 })).await;
    assert_eq!((changed.status, changed.reason().as_str()), (400, "validation"), "{}", changed.text());
    assert_eq!(stand.admin("GET", &path, &json!(null)).await.json()["event"]["holdTtl"], 100);
}

async fn amended_waiting_room_keeps_what_is_not_named(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let room = json!({ "maxConcurrent": 7, "tokenTtl": 10, "tokenMaxAge": 20, "idleTimeout": 5 });
    let made = stand.admin("POST", "events", &json!({ "name": "Room", "seats": 3, "waitingRoom": room })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let path = format!("events/{}", made.json()["event"]["id"]);
    let changed = stand.admin("PATCH", &path, &json!({ "waitingRoom": { "maxConcurrent": 9 } })).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let wanted = json!({ "maxConcurrent": 9, "tokenTtl": 10, "tokenMaxAge": 20, "idleTimeout": 5 });
    let settings = |answer: &testing::http::TestResponse| {
        let shown = answer.json()["event"]["waitingRoomSettings"].clone();
        let fields = ["maxConcurrent", "tokenTtl", "tokenMaxAge", "idleTimeout"];
        json!(
            fields.map(|field| (field.to_owned(), shown[field].clone())).into_iter().collect::<serde_json::Map<_, _>>()
        )
    };
    assert_eq!(settings(&changed), wanted);
    // The maximum age was not named, and would be below the new time to live.
    let refused = stand.admin("PATCH", &path, &json!({ "waitingRoom": { "tokenTtl": 21 }, "name": "No" })).await;
    assert_eq!((refused.status, refused.reason().as_str()), (400, "validation"), "{}", refused.text());
    assert!(refused.text().contains("waitingRoom.tokenMaxAge"), "{}", refused.text());
    let shown = stand.admin("GET", &path, &json!(null)).await;
    assert_eq!((settings(&shown), &shown.json()["event"]["name"]), (wanted, &json!("Room")));
    let removed = stand.admin("PATCH", &path, &json!({ "waitingRoom": null })).await;
    assert_eq!(removed.json()["event"]["waitingRoom"], json!(null));
    let again = stand.admin("PATCH", &path, &json!({ "waitingRoom": { "tokenTtl": 7200 } })).await;
    assert_eq!(settings(&again)["tokenMaxAge"], 7200, "a new room starts from the defaults");
}
