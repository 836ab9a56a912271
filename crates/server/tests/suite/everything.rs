//! Lists of the admin API in every format, and everything of one user in one answer.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{hold, hold_id, nights, on_hold, room_type, seats};
use crate::waiting::Person;

on_every_backing!(
    lists_are_the_same_in_every_format,
    one_answer_has_everything_of_a_user,
    looking_is_no_sign_of_life,
    user_ids_of_any_text_are_found_and_erased,
);

async fn ask(stand: &TestServer, path: &str, kind: &str) -> String {
    let token = format!("Bearer {}", stand.app.admin_token);
    let headers = [("Authorization", token.as_str()), ("Accept", kind)];
    let answer = stand.client().send("GET", &format!("/api/v1/admin/{path}"), &headers, "").await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    assert_eq!(answer.header("content-type"), Some(format!("{kind}; charset=utf-8").as_str()), "{path}");
    answer.text()
}

async fn json_of(stand: &TestServer, path: &str) -> Value {
    serde_json::from_str(&ask(stand, path, "application/json").await).unwrap()
}

async fn lines_of(stand: &TestServer, path: &str) -> Vec<Value> {
    let text = ask(stand, path, "application/x-ndjson").await;
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Without what depends on the moment of the read.
fn timeless(row: &Value) -> Value {
    let mut row = row.clone();
    row.as_object_mut().unwrap().remove("secondsRemaining");
    row
}

async fn lists_are_the_same_in_every_format(backing: Backing) {
    let stand = TestServer::on(backing, &[("HOLDS_PER_USER", "100")]).await;
    let mut client = stand.client();
    let (room, event) = (room_type(&stand, 50).await, stand.event(40, 10).await);
    room_type(&stand, 5).await;
    stand.admin("POST", "events", &json!({ "name": "A \"name\", with commas", "seats": 5, "waitingRoom": {} })).await;
    let gone = stand.event(5, 1).await;
    stand.admin("POST", &format!("events/{gone}/archive"), &Value::Null).await;
    stand.admin("POST", "tokens", &json!({ "name": "box-office", "role": "viewer" })).await;
    let body = json!({ "url": "https://localhost:1/?a=1,2", "enabled": false });
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let made = stand.admin("POST", "webhooks", &body).await.json();
        secrets.push(made["secret"].as_str().unwrap()["whsec_".len()..].to_owned());
    }
    let rotated = stand.admin("POST", "webhooks/2/rotate", &json!({})).await.json();
    secrets.push(rotated["secret"].as_str().unwrap()["whsec_".len()..].to_owned());
    for _ in 0..3 {
        assert_eq!(stand.admin("POST", "webhooks/1/test", &Value::Null).await.status, 200);
    }
    for i in 0..3 {
        assert_eq!(client.reserve(event, "alice").await.status, 200);
        let held = hold_id(&hold(&mut client, "alice", &nights(room, 5 + i, 2, i as u64)).await);
        assert_eq!(on_hold(&mut client, "alice", &held, "confirm").await.status, 200);
        hold(&mut client, "alice", &nights(room, 20 + i, 2, 10 + i as u64)).await;
    }
    for (path, list, rows, id) in [
        ("events", "events", 3, "id"),
        ("events?archived=true", "events", 1, "id"),
        ("room-types", "roomTypes", 2, "id"),
        ("tokens", "tokens", 2, "name"),
        ("holds?user=alice", "holds", 3, "holdId"),
        ("reservations?user=alice", "reservations", 6, "reservationId"),
        ("holds?user=nobody", "holds", 0, "holdId"),
        ("webhooks", "webhooks", 2, "id"),
        ("webhooks/1/deliveries", "deliveries", 3, "messageId"),
        ("webhooks/2/deliveries", "deliveries", 0, "messageId"),
    ] {
        let listed: Vec<Value> = json_of(&stand, path).await[list].as_array().unwrap().iter().map(timeless).collect();
        assert_eq!(listed.len(), rows, "{path}");
        assert_eq!(lines_of(&stand, path).await.iter().map(timeless).collect::<Vec<_>>(), listed, "{path}");
        let csv = ask(&stand, path, "text/csv").await;
        let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), rows + 1, "{csv}");
        for (line, row) in lines[1..].iter().zip(&listed) {
            let id = row[id].as_str().map_or_else(|| row[id].to_string(), str::to_owned);
            assert!(line.starts_with(&format!("{id},")), "{line} is not {row}");
        }
        if list != "tokens" && rows > 1 {
            let sign = if path.contains('?') { '&' } else { '?' };
            let page = ask(&stand, &format!("{path}{sign}limit={}", rows - 1), "text/csv").await;
            assert_eq!(page.lines().count(), rows, "{page}");
            let page = json_of(&stand, &format!("{path}{sign}limit={}", rows - 1)).await;
            let next = page["next"].as_str().unwrap();
            let rest = json_of(&stand, &format!("{path}{sign}after={next}")).await;
            assert_eq!((timeless(&rest[list][0]), &rest["next"]), (listed[rows - 1].clone(), &Value::Null), "{path}");
        }
        for kind in ["application/json", "application/x-ndjson", "text/csv"] {
            let text = ask(&stand, path, kind).await;
            assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
        }
    }
    let csv = ask(&stand, "webhooks", "text/csv").await;
    assert!(csv.contains(r#"1,"https://localhost:1/?a=1,2",reservation.confirmed reservation.cancelled "#), "{csv}");
    let csv = ask(&stand, "events", "text/csv").await;
    assert!(csv.contains(r#","A ""name"", with commas",open,"#), "{csv}");
}

async fn one_answer_has_everything_of_a_user(backing: Backing) {
    let stand = TestServer::on(backing, &[("HOLDS_PER_USER", "100")]).await;
    let mut client = stand.client();
    let (room, event) = (room_type(&stand, 50).await, stand.event(40, 10).await);
    let body = json!({ "name": "W", "seats": 9, "waitingRoom": { "maxConcurrent": 1 } });
    let lines = [stand.admin("POST", "events", &body).await, stand.admin("POST", "events", &body).await]
        .map(|made| made.json()["event"]["id"].as_u64().unwrap());
    // Alice: two seats, of which one is given back; a stay; a hold that lasts, one that was cancelled, and one that
    // became the stay; inside of one event, and in line of another behind Bob.
    let first = client.reserve(event, "alice").await.json()["reservationId"].as_str().unwrap().to_owned();
    client.reserve(event, "bob").await;
    client.reserve(event, "alice").await;
    assert_eq!(client.cancel("alice", &first).await.status, 200);
    let mut asked = nights(room, 5, 2, 1);
    asked["metadata"] = json!({ "order": "A-1" });
    let answer = client.post_as("alice", "/api/v1/holds", &asked.to_string()).await;
    assert_eq!(on_hold(&mut client, "alice", &hold_id(&answer), "confirm").await.status, 200);
    let cancelled = hold_id(&hold(&mut client, "alice", &seats(event, &[20, 21], 2)).await);
    assert_eq!(
        client.send("DELETE", &format!("/api/v1/holds/{cancelled}"), &[("X-User-Id", "alice")], "").await.status,
        200
    );
    hold(&mut client, "alice", &seats(event, &[30], 3)).await;
    let (mut alice, mut bob) = (Person::new(&stand, lines[0], "alice"), Person::new(&stand, lines[1], "bob"));
    for person in [&mut alice, &mut bob] {
        assert_eq!(person.join().await.status, 200);
        assert_eq!(person.enter().await.status, 200);
    }
    assert_eq!(Person::new(&stand, lines[1], "alice").join().await.status, 200);

    let all = json_of(&stand, "users/alice").await;
    let count = |list: &str| all[list].as_array().unwrap_or_else(|| panic!("{all}")).len();
    assert_eq!((&all["userId"], &all["next"]), (&json!("alice"), &Value::Null));
    assert_eq!((count("reservations"), count("stays")), (1, 1), "{all}");
    let seat = &all["reservations"][0];
    assert_eq!((&seat["userName"], &seat["phone"]), (&json!("Alice"), &json!("+821012345678")), "{seat}");
    assert_eq!(all["stays"][0]["metadata"], json!({ "order": "A-1" }));
    let states = |all: &Value| {
        let mut states: Vec<String> =
            all["holds"].as_array().unwrap().iter().map(|hold| hold["state"].as_str().unwrap().to_owned()).collect();
        states.sort();
        states
    };
    assert_eq!(states(&all), ["cancelled", "confirmed", "held"]);
    let places = |status: &str| all["places"].as_array().unwrap().iter().filter(|p| p["status"] == status).count();
    assert_eq!((count("places"), places("inside"), places("waiting")), (2, 1, 1), "{all}");
    assert_eq!(all["places"][0]["eventId"], lines[0]);
    let history = all["history"].as_array().unwrap();
    assert!(history.iter().all(|row| row["userId"] == "alice"), "{all}");
    let of_history = json_of(&stand, "history?user=alice").await;
    assert_eq!(all["history"], of_history["history"], "what the history says of her");

    // In pages, however small, the same; and so as lines.
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let page = json_of(&stand, &format!("users/alice?limit=1{after}")).await;
        for list in ["reservations", "stays", "holds", "places", "history"] {
            pages.extend(page[list].as_array().unwrap().iter().map(timeless));
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
        assert!(pages.len() < 100, "the pages end");
    }
    let lines = lines_of(&stand, "users/alice").await;
    let without_kind = |line: &Value| {
        let mut line = timeless(line);
        line.as_object_mut().unwrap().remove("kind");
        line
    };
    assert_eq!(lines.iter().map(without_kind).collect::<Vec<_>>(), pages);
    let sum: usize = ["reservations", "stays", "holds", "places", "history"].into_iter().map(count).sum();
    assert_eq!(pages.len(), sum);
    let csv = ask(&stand, "users/alice", "text/csv").await;
    assert_eq!(csv.lines().count(), sum + 1, "{csv}");
    assert!(csv.starts_with("kind,id,eventId,") && csv.contains("\r\nreservation,e"), "{csv}");

    let nobody = json_of(&stand, "users/carol").await;
    assert_eq!((&nobody["history"], &nobody["next"]), (&json!([]), &Value::Null));
    let beyond = ["history", "ended"].map(|kind| format!("{kind}.ledger-{}", u64::MAX));
    for after in ["elsewhere", &beyond[0], &beyond[1], &format!("history.ledger-{}", i64::MAX as u64 + 1)] {
        let bad = stand.admin("GET", &format!("users/alice?after={after}"), &Value::Null).await;
        assert_eq!((bad.status, &bad.json()["field"]), (400, &json!("after")), "{after}");
    }
    let last = json_of(&stand, &format!("users/alice?after=history.ledger-{}", i64::MAX)).await;
    assert_eq!(last["reservations"], json!([]), "the ledger's own history comes before that of the events");
}

/// Whoever is silent is passed over, however often an operator looks at them.
async fn looking_is_no_sign_of_life(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let body = json!({ "name": "W", "seats": 9, "waitingRoom": { "maxConcurrent": 1, "idleTimeout": 10 } });
    let event = stand.admin("POST", "events", &body).await.json()["event"]["id"].as_u64().unwrap();
    let [mut alice, mut bob, mut carol] = ["alice", "bob", "carol"].map(|user| Person::new(&stand, event, user));
    for person in [&mut alice, &mut bob, &mut carol] {
        assert_eq!(person.join().await.status, 200);
    }
    assert_eq!(alice.enter().await.status, 200);
    for _ in 0..4 {
        stand.advance_ms(4_000);
        carol.poll().await;
        let place = json_of(&stand, "users/bob").await["places"][0].clone();
        assert_eq!((&place["status"], &place["eventId"]), (&json!("waiting"), &json!(event)), "he keeps his place");
    }
    let stands = carol.poll().await.json();
    assert_eq!(stands["rank"], 0, "Bob was silent for 16 s: {stands}");
}

async fn user_ids_of_any_text_are_found_and_erased(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(20, 1).await;
    for (user, path) in [
        ("alice@example.com", "alice%40example.com"),
        ("auth0|5f7c8ec7", "auth0%7C5f7c8ec7"),
        ("a/b c", "a%2Fb%20c"),
        ("100%", "100%25"),
    ] {
        assert_eq!(stand.client().reserve(event, user).await.status, 200);
        let all = json_of(&stand, &format!("users/{path}")).await;
        assert_eq!((&all["userId"], all["reservations"].as_array().unwrap().len()), (&json!(user), 1), "{all}");
        let erased = stand.admin("DELETE", &format!("users/{path}/data"), &Value::Null).await;
        assert_eq!((erased.status, &erased.json()["erased"]["reservations"]), (200, &json!(1)), "{}", erased.text());
        assert_eq!(json_of(&stand, &format!("users/{path}")).await["reservations"][0]["phone"], Value::Null);
    }
}
