//! The canonical API: everything under `/api/v1`, in one wording. The paths of the fifth specification show the
//! same holds in their own.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::TestResponse;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{day, key, nights, room_type};

on_every_backing!(
    holds_have_one_wording_under_api_v1,
    months_of_a_room_type_are_shown,
    answers_of_1_1_end_in_a_newline,
);

/// RFC 3339 in UTC with milliseconds.
fn is_moment(value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    let shape = "0000-00-00T00:00:00.000Z";
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(a, b)| if b == b'0' { a.is_ascii_digit() } else { a == b })
}

fn told(answer: &TestResponse, status: u16, reason: &str) {
    assert_eq!((answer.status, answer.reason().as_str()), (status, reason), "{}", answer.text());
}

async fn holds_have_one_wording_under_api_v1(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let room = room_type(&stand, 1).await;
    let mut client = stand.client();
    let made = client.post_as("alice", "/api/v1/holds", &nights(room, 5, 2, 1).to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let hold = &made.json()["hold"];
    assert!(is_moment(&hold["createdAt"]) && is_moment(&hold["expiresAt"]), "{hold}");
    assert_eq!(hold["expiredAt"], Value::Null);
    let id = hold["holdId"].as_str().unwrap().to_owned();
    let seed = client.get_as("alice", &format!("/v1/holds/{id}")).await.json();
    let fields: Vec<&String> = seed["hold"].as_object().unwrap().keys().collect();
    let as_specified =
        ["holdId", "roomTypeId", "checkIn", "checkOut", "userId", "clientHoldKey", "createdAt", "expiredAt"];
    assert_eq!(fields[..8], as_specified);
    let listed = client.get_as("alice", "/api/v1/holds").await.json();
    assert_eq!(listed["holds"][0]["expiresAt"], hold["expiresAt"]);
    assert!(client.get_as("alice", "/v1/holds").await.json()["holds"][0]["expiredAt"].is_string());

    for (at, not_found, anothers) in
        [("/api/v1", "hold_not_found", "forbidden"), ("/v1", "RESERVATION_HOLD_NOT_FOUND", "FORBIDDEN")]
    {
        told(&client.get_as("alice", &format!("{at}/holds/hr{room}-999")).await, 404, not_found);
        told(&client.get_as("bob", &format!("{at}/holds/{id}")).await, 403, anothers);
    }
    let full = nights(room, 5, 1, 2).to_string();
    let refused = client.post_as("bob", "/api/v1/holds", &full).await;
    told(&refused, 409, "not_available");
    assert_eq!(refused.json()["nights"], json!([day(5)]));
    told(&client.post_as("bob", "/v1/holds", &full).await, 409, "RESERVATION_NOT_AVAILABLE");
    let confirmed = client.post_as("alice", &format!("/api/v1/holds/{id}/confirm"), "").await;
    assert!(is_moment(&confirmed.json()["reservation"]["createdAt"]), "{}", confirmed.text());
    let again = client.post_as("alice", &format!("/api/v1/holds/{id}/confirm"), "").await;
    told(&again, 409, "hold_already_processed");
    assert_eq!(again.json()["reservation"], confirmed.json()["reservation"]);
    let body = json!({ "roomTypeId": room, "checkIn": day(9), "checkOut": day(10), "clientHoldKey": key(3) });
    let other = client.post_as("alice", "/api/v1/holds", &body.to_string()).await.json();
    let path = format!("/api/v1/holds/{}", other["hold"]["holdId"].as_str().unwrap());
    let extended = client.post_as("alice", &format!("{path}/extend"), "").await;
    assert!(is_moment(&extended.json()["hold"]["expiresAt"]), "{}", extended.text());
    assert_eq!(client.send("DELETE", &path, &[("X-User-Id", "alice")], "").await.status, 200);
}

async fn months_of_a_room_type_are_shown(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let room = room_type(&stand, 3).await;
    let mut client = stand.client();
    let date = day(40);
    let (month, path) = (&date[..7], format!("/api/v1/room-types/{room}/calendar"));
    let hold = client.post_as("alice", "/api/v1/holds", &nights(room, 40, 1, 1).to_string()).await;
    assert_eq!(hold.status, 201, "{}", hold.text());
    let shown = client.get(&format!("{path}?month={month}")).await.json();
    let nights = shown["nights"].as_array().unwrap();
    assert!((28..=31).contains(&nights.len()), "{shown}");
    let night = nights.iter().find(|night| night["date"] == date).unwrap();
    assert_eq!(*night, json!({ "date": date, "total": 3, "reserved": 0, "held": 1, "available": 2 }));
    let now = client.get(&format!("{path}?month={}", &day(0)[..7])).await.json();
    assert_eq!(now["nights"][0]["date"], day(0), "nothing of the past");
    assert_eq!(client.get(&format!("{path}?month=1999-01")).await.json()["nights"], json!([]));
    for bad in ["", "?month=2026-13", "?month=12", "?month="] {
        let refused = client.get(&format!("{path}{bad}")).await;
        assert_eq!((refused.status, &refused.json()["field"]), (400, &json!("month")), "{bad}");
    }
    told(&client.get("/api/v1/room-types/999/calendar?month=2026-12").await, 404, "not_found");
}

/// Those of the seeds do not.
async fn answers_of_1_1_end_in_a_newline(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    for path in ["/api/v1/events", "/api/v1/seats", "/api/v1/seats/1", "/api/v1/seats/99", "/api/v1/nothing"] {
        let text = client.get(path).await.text().to_owned();
        assert!(text.ends_with("}\n") && !text.ends_with("\n\n"), "{path}: {text:?}");
    }
    for (path, version) in [("/api/v1/seats/1", "1.0"), ("/api/v1/seats/99", "2025-08-17"), ("/api/v1/seats", "1.0")] {
        let answer = client.send("GET", path, &[("Api-Version", version)], "").await;
        assert!(!answer.text().ends_with('\n'), "{path} in {version}");
    }
    for path in ["/v1/room-types", "/v1/room-types/99", "/v1/holds"] {
        assert!(!client.get(path).await.text().ends_with('\n'), "{path}");
    }
}
