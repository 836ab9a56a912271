//! What an operator looks up: holds and stays of a subject, one user's everything, and a buyer by what they say.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{hold, hold_id, nights, on_hold, room_type, seats};

on_every_backing!(holds_and_stays_are_listed, holds_and_stays_are_exported, buyers_are_found_by_what_they_say);

async fn get(stand: &TestServer, path: &str) -> Value {
    let answer = stand.admin("GET", path, &Value::Null).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

fn column(page: &Value, list: &str, name: &str) -> Vec<String> {
    let rows = page[list].as_array().unwrap_or_else(|| panic!("{page}"));
    rows.iter().map(|row| row[name].as_str().unwrap_or_default().to_owned()).collect()
}

async fn holds_and_stays_are_listed(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let (room, event) = (room_type(&stand, 5).await, stand.event(9, 4).await);
    let mut client = stand.client();
    let confirmed = hold_id(&hold(&mut client, "alice", &nights(room, 5, 2, 1)).await);
    assert_eq!(on_hold(&mut client, "alice", &confirmed, "confirm").await.status, 200);
    hold(&mut client, "bob", &nights(room, 5, 1, 2)).await;
    hold(&mut client, "bob", &seats(event, &[3, 4], 3)).await;
    client.reserve(event, "alice").await;

    let of_room = get(&stand, &format!("room-types/{room}/holds")).await;
    assert_eq!(column(&of_room, "holds", "userId"), ["alice", "bob"]);
    assert_eq!(column(&of_room, "holds", "state"), ["confirmed", "held"]);
    let page = get(&stand, &format!("room-types/{room}/holds?limit=1")).await;
    let rest = get(&stand, &format!("room-types/{room}/holds?after={}", page["next"].as_str().unwrap())).await;
    assert_eq!(column(&rest, "holds", "userId"), ["bob"]);
    let of_event = get(&stand, &format!("events/{event}/holds")).await;
    assert_eq!(of_event["holds"][0]["seatIds"], json!([3, 4]));
    let stays = get(&stand, &format!("room-types/{room}/reservations")).await;
    assert_eq!(column(&stays, "reservations", "userId"), ["alice"]);
    assert_eq!(of_room["holds"][0]["publicId"], confirmed.as_str(), "as the buyer knows it");
    assert_eq!(stays["reservations"][0]["holdId"], of_room["holds"][0]["holdId"]);
    let id = |name: &str| format!("id={}", stays["reservations"][0][name].as_str().unwrap());
    for (query, found) in [
        ("user=alice".to_owned(), 1),
        (id("reservationId"), 1),
        (id("publicId"), 1),
        (format!("{}&user=bob", id("publicId")), 0),
        ("user=bob".to_owned(), 0),
        ("id=e1-2".to_owned(), 0),
    ] {
        let page = get(&stand, &format!("room-types/{room}/reservations?{query}")).await;
        assert_eq!(page["reservations"].as_array().unwrap().len(), found, "{query}");
    }

    let alices = get(&stand, "reservations?user=alice").await;
    let kinds: Vec<bool> = alices["reservations"].as_array().unwrap().iter().map(|r| r["seat"].is_object()).collect();
    assert_eq!(kinds, [true, false], "a seat and a stay: {alices}");
    let bobs = get(&stand, "holds?user=bob").await;
    assert_eq!(bobs["holds"].as_array().unwrap().len(), 2, "{bobs}");
    let mut ids = column(&bobs, "holds", "holdId");
    ids.sort();
    assert_eq!(ids, [format!("he{event}-2"), format!("hr{room}-4")], "readable, as everywhere here");
    for missing in
        ["reservations", "holds?user=", "room-types/99/holds", "events/99/holds", "room-types/99/reservations"]
    {
        let answer = stand.admin("GET", missing, &Value::Null).await;
        assert!(matches!(answer.status, 400 | 404), "{missing}: {}", answer.text());
    }
}

/// CSV and JSON Lines are whole, pages of them have `X-Next`, and each row says what the JSON says.
async fn holds_and_stays_are_exported(backing: Backing) {
    let stand = TestServer::on(backing, &[("HOLDS_PER_USER", "1000"), ("USER_RATE", "0"), ("ADDRESS_RATE", "0")]).await;
    let (room, event) = (room_type(&stand, 200).await, stand.event(9, 4).await);
    let mut client = stand.client();
    for i in 0..120 {
        let held = hold_id(&hold(&mut client, &format!("guest-{i}"), &nights(room, 5, 2, i)).await);
        if i % 2 == 0 {
            let paid = on_hold(&mut client, &format!("guest-{i}"), &held, "confirm").await;
            assert_eq!(paid.status, 200, "{}", paid.text());
        }
    }
    let mut cart = seats(event, &[3, 4], 1_000);
    cart["metadata"] = json!({ "order": "A,1" });
    assert_eq!(client.post_as("bob", "/api/v1/holds", &cart.to_string()).await.status, 201);
    let token = format!("Bearer {}", stand.app.admin_token);
    let mut ask = async |path: &str, kind: &str| {
        let headers = [("Authorization", token.as_str()), ("Accept", kind)];
        let answer = client.send("GET", &format!("/api/v1/admin/{path}"), &headers, "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer
    };
    for (path, list, rows, heading) in [
        (format!("room-types/{room}/holds"), "holds", 120, "holdId,publicId,"),
        (format!("room-types/{room}/reservations"), "reservations", 60, "reservationId,publicId,"),
        (format!("events/{event}/holds"), "holds", 1, "holdId,publicId,"),
    ] {
        let csv = ask(&path, "text/csv").await;
        assert_eq!((csv.header("content-type"), csv.header("x-next")), (Some("text/csv; charset=utf-8"), None));
        let text = csv.text();
        assert!(text.starts_with(heading), "{text}");
        assert_eq!(text.lines().count(), rows + 1, "{path}");
        let lines = ask(&path, "application/x-ndjson").await.text();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let whole = get(&stand, &format!("{path}?limit=1000")).await;
        let without_clock = |row: &Value| {
            let mut row = row.clone();
            row.as_object_mut().unwrap().remove("secondsRemaining");
            row
        };
        let listed: Vec<Value> = whole[list].as_array().unwrap().iter().map(without_clock).collect();
        assert_eq!(lines.iter().map(without_clock).collect::<Vec<_>>(), listed, "{path}");
        for (line, row) in text.lines().skip(1).zip(&listed) {
            let id = row["holdId"].as_str().filter(|_| list == "holds").or(row["reservationId"].as_str()).unwrap();
            assert!(line.starts_with(&format!("{id},")), "{line} is not {row}");
        }
        if rows > 1 {
            let page = ask(&format!("{path}?limit=50"), "text/csv").await;
            assert_eq!(page.text().lines().count(), 51);
            let next = page.header("x-next").unwrap().to_owned();
            let rest = ask(&format!("{path}?limit=1000&after={next}"), "text/csv").await;
            assert_eq!((rest.text().lines().count(), rest.header("x-next")), (rows - 49, None));
        }
    }
    let cart = ask(&format!("events/{event}/holds"), "text/csv").await.text();
    assert!(cart.contains(",3 4,,,,bob,") && cart.contains(r#""{""order"":""A,1""}""#), "{cart}");
}

async fn buyers_are_found_by_what_they_say(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(20, 1).await;
    let mut client = stand.client();
    let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    for (user, name, phone) in
        [("u1", "김영희", "010-1234-5678"), ("u2", "Alice Kim", "010-9999-5678"), ("u3", "Bob", "010-1234-0000")]
    {
        let sold = client.post_as(user, &path, &json!({ "userName": name, "phone": phone }).to_string()).await;
        assert_eq!(sold.status, 200, "{}", sold.text());
    }
    for (query, found) in [
        ("name=alice", &["u2"][..]),
        ("name=%EC%98%81%ED%9D%AC", &["u1"]),
        ("phone=5678", &["u1", "u2"]),
        ("phone=010-1234-5678", &["u1"]),
        ("phone=%2B821012345678", &["u1"]),
        ("seat=3", &["u3"]),
        ("user=u2", &["u2"]),
        ("name=kim&phone=9999-5678", &["u2"]),
        ("user=nobody", &[]),
    ] {
        let page = get(&stand, &format!("events/{event}/reservations?{query}")).await;
        assert_eq!(column(&page, "reservations", "userId"), found, "{query}");
        assert_eq!(page["next"], Value::Null);
    }
    let first = get(&stand, &format!("events/{event}/reservations?phone=5678&limit=1")).await;
    assert_eq!(column(&first, "reservations", "userId"), ["u1"]);
    let next = first["next"].as_str().unwrap();
    let second = get(&stand, &format!("events/{event}/reservations?phone=5678&limit=1&after={next}")).await;
    assert_eq!(column(&second, "reservations", "userId"), ["u2"]);
    let bobs = get(&stand, &format!("events/{event}/reservations?user=u3")).await["reservations"][0].clone();
    for id in ["reservationId", "publicId"] {
        let page = get(&stand, &format!("events/{event}/reservations?id={}", bobs[id].as_str().unwrap())).await;
        assert_eq!(column(&page, "reservations", "userId"), ["u3"], "{id}");
    }
    // Who gave no name and no phone is found by the email address.
    let fair = json!({ "name": "Fair", "seats": 9, "buyerFields": { "userName": "absent", "phone": "absent", "email": "required" } });
    let fair = stand.admin("POST", "events", &fair).await.json()["event"]["id"].as_u64().unwrap();
    for (user, email) in [("u4", "Carol@mail.example.com"), ("u5", "dan@example.org")] {
        let path = format!("/api/v1/events/{fair}/seats/reservation/fcfs");
        let sold = client.post_as(user, &path, &json!({ "email": email }).to_string()).await;
        assert_eq!(sold.status, 200, "{}", sold.text());
    }
    for (query, found) in [("email=carol%40mail", &["u4"][..]), ("email=example", &["u4", "u5"]), ("email=eve", &[])] {
        let page = get(&stand, &format!("events/{fair}/reservations?{query}")).await;
        assert_eq!(column(&page, "reservations", "userId"), found, "{query}");
    }
    for (query, found) in [("what=reserved", 3), ("what=cancelled", 0), ("from=2100-01-01T00:00:00Z", 0)] {
        let page = get(&stand, &format!("history?event={event}&{query}")).await;
        assert_eq!(page["history"].as_array().unwrap().len(), found, "{query}");
    }
    let until = get(&stand, &format!("history?event={event}&to=2100-01-01T00:00:00Z")).await;
    assert_eq!(until["history"].as_array().unwrap().len(), 4);
    for bad in ["what=sold", "from=yesterday", "to=1"] {
        let answer = stand.admin("GET", &format!("history?{bad}"), &Value::Null).await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text());
    }
    for bad in ["phone=12", "seat=x", "seat=0x1"] {
        let answer = stand.admin("GET", &format!("events/{event}/reservations?{bad}"), &Value::Null).await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text());
    }
}
