//! Archived events, and rehearsals that are deleted with what they sold.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{give_back, hold, hold_id, seats};

on_every_backing!(archived_events_are_not_listed, rehearsals_are_deleted_with_what_they_sold);

async fn ids(stand: &TestServer, path: &str) -> Vec<u64> {
    let token = format!("Bearer {}", stand.app.admin_token);
    let answer = stand.client().send("GET", path, &[("Authorization", token.as_str())], "").await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    let events = answer.json()["events"].as_array().unwrap().clone();
    events.iter().map(|event| event["id"].as_u64().unwrap()).collect()
}

async fn archived_events_are_not_listed(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 4).await;
    let mut client = stand.client();
    client.reserve(event, "alice").await;
    let held = hold_id(&hold(&mut client, "bob", &seats(event, &[5, 6], 1)).await);
    let post = async |what: &str| stand.admin("POST", &format!("events/{event}/{what}"), &Value::Null).await;
    let refused = post("archive").await;
    assert_eq!((refused.status, refused.reason()), (409, "still_buying".into()), "{}", refused.text());
    assert!(refused.text().contains("2 seats are on hold"), "{}", refused.text());
    assert_eq!(give_back(&mut client, "bob", &held).await.status, 200);
    let archived = post("archive").await;
    assert_eq!(archived.status, 200, "{}", archived.text());
    assert_eq!(archived.json()["event"]["state"], "closed");
    assert!(archived.json()["event"]["archivedAt"].is_string(), "{}", archived.text());

    for path in ["/api/v1/events", "/api/v1/admin/events", "/api/v1/admin/events?archived=false"] {
        assert!(!ids(&stand, path).await.contains(&event), "{path}");
    }
    assert_eq!(ids(&stand, "/api/v1/admin/events?archived=true").await, [event]);
    let bad = stand.admin("GET", "events?archived=yes", &Value::Null).await;
    assert_eq!((bad.status, bad.json()["field"].as_str()), (400, Some("archived")));
    let public = client.get(&format!("/api/v1/events/{event}")).await;
    assert_eq!((public.status, &public.json()["event"]["state"]), (200, &json!("closed")));
    assert_eq!(client.get_as("alice", "/api/v1/reservations").await.json()["reservations"][0]["eventId"], event);
    let closed = client.reserve(event, "carol").await;
    assert_eq!(closed.reason(), "closed", "{}", closed.text());
    let refused = post("open").await;
    assert_eq!((refused.status, refused.json()["field"].as_str()), (400, Some("state")), "{}", refused.text());

    let back = post("unarchive").await;
    assert_eq!((back.status, &back.json()["event"]["archivedAt"]), (200, &Value::Null), "{}", back.text());
    assert!(ids(&stand, "/api/v1/events").await.contains(&event));
    assert_eq!(post("unarchive").await.status, 400);
    let history = stand.admin("GET", &format!("history?event={event}&limit=1000"), &Value::Null).await.json();
    let rows = history["history"].as_array().unwrap();
    let told: Vec<&Value> = rows.iter().map(|row| &row["what"]).skip(rows.len() - 2).collect();
    assert_eq!(told, ["archived", "unarchived"]);
}

async fn rehearsals_are_deleted_with_what_they_sold(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let real = stand.event(9, 4).await;
    let made = stand.admin("POST", "events", &json!({ "name": "Rehearsal", "seats": 9, "rehearsal": true })).await;
    assert_eq!(made.json()["event"]["rehearsal"], true, "{}", made.text());
    let rehearsal = made.json()["event"]["id"].as_u64().unwrap();
    let mut client = stand.client();
    for event in [real, rehearsal] {
        assert_eq!(client.reserve(event, "alice").await.status, 200);
    }
    let delete =
        async |event: u64, how: &str| stand.admin("DELETE", &format!("events/{event}{how}"), &Value::Null).await;
    let refused = delete(real, "?sold=true").await;
    assert_eq!((refused.status, refused.json()["field"].as_str()), (400, Some("sold")), "{}", refused.text());
    assert_eq!(delete(real, "").await.reason(), "in_use");
    assert_eq!(delete(rehearsal, "").await.reason(), "in_use");
    let become_one = stand.admin("PATCH", &format!("events/{real}"), &json!({ "rehearsal": true })).await;
    assert_eq!((become_one.status, become_one.json()["field"].as_str()), (400, Some("rehearsal")));
    let deleted = delete(rehearsal, "?sold=true").await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    assert_eq!(client.get(&format!("/api/v1/events/{rehearsal}")).await.status, 404);
    let mine = client.get_as("alice", "/api/v1/reservations").await.json();
    let events: Vec<&Value> = mine["reservations"].as_array().unwrap().iter().map(|r| &r["eventId"]).collect();
    assert_eq!(events, [&json!(real)], "{mine}");
    let audit = stand.admin("GET", "audit", &Value::Null).await.json();
    assert_eq!(audit["holds"], true, "{audit}");
}
