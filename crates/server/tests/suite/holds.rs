//! Holds over HTTP as the contract writes them, on nights and on seats, on every backing.

use std::sync::LazyLock;

use rules::nights::Night;
use rules::time::{Clock, Moment};
use serde_json::{Value, json};
use server::clock::EmbeddedClock;
use testing::backing::Backing;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(
    nights_are_held_and_confirmed,
    repeated_hold_is_replaced_or_conflicts,
    hold_ends_at_its_exact_moment,
    hold_is_extended_up_to_its_maximum_age,
    admin_creates_and_changes_room_types,
    own_stays_are_listed_beside_seats,
    seats_are_held_and_confirmed,
    held_seats_count_in_lists_and_limits,
    hold_requests_are_idempotent,
    service_token_confirms_holds,
    bad_hold_requests_name_the_field,
);

/// A date so many days from today, in UTC. Today is read once: a test that runs over midnight keeps asking
/// for the same nights.
pub fn day(ahead: i32) -> String {
    static TODAY: LazyLock<i32> = LazyLock::new(|| (EmbeddedClock::starting(Moment(0)).now().0 / 86_400_000) as i32);
    Night(*TODAY + ahead).to_string()
}

pub fn key(n: u64) -> String {
    format!("00000000-0000-4000-8000-{n:012x}")
}

pub fn nights(room_type: u64, from: i32, count: i32, n: u64) -> Value {
    json!({ "roomTypeId": room_type, "checkIn": day(from), "checkOut": day(from + count), "clientHoldKey": key(n) })
}

pub fn seats(event: u64, ids: &[u64], n: u64) -> Value {
    json!({ "eventId": event, "seatIds": ids, "clientHoldKey": key(n) })
}

pub async fn hold(client: &mut TestClient, user: &str, body: &Value) -> TestResponse {
    client.post_as(user, "/v1/holds", &body.to_string()).await
}

pub fn hold_id(answer: &TestResponse) -> String {
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    answer.json()["hold"]["holdId"].as_str().unwrap().to_owned()
}

pub async fn on_hold(client: &mut TestClient, user: &str, id: &str, what: &str) -> TestResponse {
    client.send("POST", &format!("/v1/holds/{id}/{what}"), &[("X-User-Id", user)], "").await
}

pub async fn give_back(client: &mut TestClient, user: &str, id: &str) -> TestResponse {
    client.send("DELETE", &format!("/v1/holds/{id}"), &[("X-User-Id", user)], "").await
}

pub async fn room_type(stand: &TestServer, rooms: u64) -> u64 {
    let made = stand.admin("POST", "room-types", &json!({ "name": "Double", "totalQuantity": rooms })).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["roomType"]["id"].as_u64().unwrap()
}

pub async fn available(client: &mut TestClient, room_type: u64, from: i32, count: i32) -> TestResponse {
    let (check_in, check_out) = (day(from), day(from + count));
    client.get(&format!("/v1/room-types/{room_type}/availability?checkIn={check_in}&checkOut={check_out}")).await
}

fn told(answer: &TestResponse, status: u16, reason: &str) {
    assert_eq!((answer.status, answer.reason().as_str()), (status, reason), "{}", answer.text());
}

async fn nights_are_held_and_confirmed(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let room = room_type(&stand, 2).await;
    let held = hold(&mut client, "alice", &nights(room, 10, 2, 1)).await;
    assert_eq!(held.status, 201, "{}", held.text());
    let body = held.json()["hold"].clone();
    let id = hold_id(&held);
    let left = body["secondsRemaining"].as_u64().unwrap();
    assert!((598..=600).contains(&left), "{body}");
    let expected = json!({
        "holdId": id, "roomTypeId": room, "checkIn": day(10), "checkOut": day(12), "userId": "alice",
        "clientHoldKey": key(1), "createdAt": body["createdAt"], "expiredAt": body["expiredAt"], "state": "held",
        "secondsRemaining": left,
    });
    assert_eq!(body, expected);
    let shown = available(&mut client, room, 9, 4).await;
    let night = |i: i32, held: u64| json!({ "date": day(9 + i), "total": 2, "reserved": 0, "held": held, "available": 2 - held });
    let expected = json!({
        "success": true, "roomTypeId": room, "available": 1,
        "nights": [night(0, 0), night(1, 1), night(2, 1), night(3, 0)],
    });
    assert_eq!(shown.json(), expected);
    let etag = shown.header("etag").unwrap().to_owned();
    let path = format!("/v1/room-types/{room}/availability?checkIn={}&checkOut={}", day(9), day(13));
    assert_eq!(client.send("GET", &path, &[("If-None-Match", &etag)], "").await.status, 304);
    for (user, what) in [("mallory", "confirm"), ("mallory", "extend")] {
        told(&on_hold(&mut client, user, &id, what).await, 403, "FORBIDDEN");
    }
    told(&give_back(&mut client, "mallory", &id).await, 403, "FORBIDDEN");
    told(&client.get_as("mallory", &format!("/v1/holds/{id}")).await, 403, "FORBIDDEN");
    for none in ["hr1-999", "hr999-1", "he999-1", "nonsense", "r1-2"] {
        told(&on_hold(&mut client, "alice", none, "confirm").await, 404, "RESERVATION_HOLD_NOT_FOUND");
        told(&client.get_as("alice", &format!("/v1/holds/{none}")).await, 404, "RESERVATION_HOLD_NOT_FOUND");
    }
    let paid = on_hold(&mut client, "alice", &id, "confirm").await;
    assert_eq!(paid.status, 200, "{}", paid.text());
    let stay = paid.json()["reservation"].clone();
    assert_eq!(
        (&stay["roomTypeId"], &stay["checkIn"], &stay["state"]),
        (&json!(room), &json!(day(10)), &json!("confirmed"))
    );
    let again = on_hold(&mut client, "alice", &id, "confirm").await;
    told(&again, 409, "RESERVATION_HOLD_ALREADY_PROCESSED");
    assert_eq!(again.json()["reservation"], stay);
    told(&give_back(&mut client, "alice", &id).await, 409, "RESERVATION_HOLD_ALREADY_PROCESSED");
    assert_eq!(client.get_as("alice", &format!("/v1/holds/{id}")).await.json()["hold"]["state"], "confirmed");
    let changed = client.send("GET", &path, &[("If-None-Match", &etag)], "").await;
    assert_eq!((changed.status, &changed.json()["nights"][1]["reserved"]), (200, &json!(1)));
    // The other room; then nothing is left on two of the nights.
    hold(&mut client, "bob", &nights(room, 10, 2, 2)).await;
    let full = hold(&mut client, "carol", &nights(room, 9, 4, 3)).await;
    told(&full, 409, "RESERVATION_NOT_AVAILABLE");
    assert_eq!(full.json()["nights"], json!([day(10), day(11)]));
    let mine = client.get_as("bob", "/v1/holds").await.json();
    assert_eq!(mine["holds"].as_array().unwrap().len(), 1, "{mine}");
    let bobs = mine["holds"][0]["holdId"].as_str().unwrap().to_owned();
    let gone = give_back(&mut client, "bob", &bobs).await;
    assert_eq!((gone.status, gone.json()), (200, json!({ "success": true })));
    told(&give_back(&mut client, "bob", &bobs).await, 409, "RESERVATION_HOLD_ALREADY_PROCESSED");
    assert_eq!(hold(&mut client, "carol", &nights(room, 9, 4, 3)).await.status, 201);
}

async fn repeated_hold_is_replaced_or_conflicts(backing: Backing) {
    let stand = TestServer::on(backing, &[("HOLDS_PER_USER", "2")]).await;
    let mut client = stand.client();
    let room = room_type(&stand, 5).await;
    let first = hold(&mut client, "alice", &nights(room, 5, 1, 1)).await;
    let again = hold(&mut client, "alice", &nights(room, 5, 1, 1)).await;
    assert_eq!((again.status, hold_id(&again)), (200, hold_id(&first)));
    told(&hold(&mut client, "bob", &nights(room, 5, 1, 1)).await, 409, "RESERVATION_HOLD_KEY_CONFLICT");
    let other = hold(&mut client, "alice", &nights(room, 5, 1, 2)).await;
    assert_eq!(other.status, 201);
    told(&client.get_as("alice", &format!("/v1/holds/{}", hold_id(&first))).await, 404, "RESERVATION_HOLD_NOT_FOUND");
    assert_eq!(available(&mut client, room, 5, 1).await.json()["nights"][0]["held"], 1);
    hold(&mut client, "alice", &nights(room, 7, 1, 3)).await;
    told(&hold(&mut client, "alice", &nights(room, 9, 1, 4)).await, 409, "limit_reached");
    // A replacement is not one more.
    assert_eq!(hold(&mut client, "alice", &nights(room, 7, 1, 5)).await.status, 201);
    let stand = TestServer::on(Backing::Embedded, &[("HOLD_REPEAT", "replace")]).await;
    let (mut client, room) = (stand.client(), room_type(&stand, 5).await);
    let first = hold(&mut client, "alice", &nights(room, 5, 1, 1)).await;
    let anew = hold(&mut client, "alice", &nights(room, 5, 1, 1)).await;
    assert!(anew.status == 201 && hold_id(&anew) != hold_id(&first), "{}", anew.text());
}

async fn hold_ends_at_its_exact_moment(backing: Backing) {
    let stand = TestServer::on(backing, &[("HOLD_TTL", "60")]).await;
    let mut client = stand.client();
    let room = room_type(&stand, 1).await;
    let id = hold_id(&hold(&mut client, "alice", &nights(room, 3, 2, 1)).await);
    let etag = available(&mut client, room, 3, 1).await.header("etag").unwrap().to_owned();
    stand.advance_ms(55_000);
    told(&hold(&mut client, "bob", &nights(room, 4, 1, 2)).await, 409, "RESERVATION_NOT_AVAILABLE");
    stand.advance_ms(5_001);
    let shown = available(&mut client, room, 3, 1).await;
    assert_eq!(shown.json()["available"], 1, "{}", shown.text());
    assert_ne!(shown.header("etag").unwrap(), etag, "what lapsed is another moment");
    let gone = client.get_as("alice", &format!("/v1/holds/{id}")).await.json();
    assert_eq!((&gone["hold"]["state"], &gone["hold"]["secondsRemaining"]), (&json!("expired"), &json!(0)));
    assert_eq!(client.get_as("alice", "/v1/holds").await.json()["holds"], json!([]));
    for what in ["confirm", "extend"] {
        told(&on_hold(&mut client, "alice", &id, what).await, 400, "RESERVATION_HOLD_EXPIRED");
    }
    told(&give_back(&mut client, "alice", &id).await, 400, "RESERVATION_HOLD_EXPIRED");
    assert_eq!(hold(&mut client, "bob", &nights(room, 4, 1, 2)).await.status, 201);
}

async fn hold_is_extended_up_to_its_maximum_age(backing: Backing) {
    let stand = TestServer::on(backing, &[("HOLD_TTL", "60"), ("HOLD_MAX_AGE", "100")]).await;
    let mut client = stand.client();
    let room = room_type(&stand, 1).await;
    hold(&mut client, "alice", &nights(room, 3, 1, 1)).await;
    stand.advance_ms(30_000);
    // A replacement does not begin the age anew.
    let id = hold_id(&hold(&mut client, "alice", &nights(room, 3, 1, 2)).await);
    stand.advance_ms(30_000);
    let longer = on_hold(&mut client, "alice", &id, "extend").await;
    assert_eq!(longer.status, 200, "{}", longer.text());
    let left = longer.json()["hold"]["secondsRemaining"].as_u64().unwrap();
    assert!((37..=40).contains(&left), "{left}");
    told(&on_hold(&mut client, "alice", &id, "extend").await, 409, "limit_reached");
    stand.advance_ms(41_000);
    told(&on_hold(&mut client, "alice", &id, "extend").await, 400, "RESERVATION_HOLD_EXPIRED");
}

async fn admin_creates_and_changes_room_types(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let new = json!({ "name": "Suite", "totalQuantity": 3, "timeZone": "Asia/Seoul", "description": "A view", "price": 350000 });
    let made = stand.admin("POST", "room-types", &new).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["roomType"]["id"].as_u64().unwrap();
    let mut expected = new.clone();
    expected["id"] = id.into();
    assert_eq!(made.json()["roomType"], expected);
    assert_eq!(client.get(&format!("/v1/room-types/{id}")).await.json()["roomType"], expected);
    let listed = client.get("/v1/room-types").await.json();
    assert_eq!(listed["roomTypes"], json!([expected]), "{listed}");
    for none in ["0", "99", "-1", "x", "01"] {
        told(&client.get(&format!("/v1/room-types/{none}")).await, 404, "not_found");
    }
    told(
        &client.send("POST", "/api/v1/admin/room-types", &[("Content-Type", "application/json")], "{}").await,
        401,
        "unauthorized",
    );
    for (user, n) in [("alice", 1), ("bob", 2)] {
        assert_eq!(hold(&mut client, user, &nights(id, 20, 3, n)).await.status, 201);
    }
    let path = format!("room-types/{id}");
    let low = stand.admin("PATCH", &path, &json!({ "totalQuantity": 1 })).await;
    told(&low, 409, "in_use");
    assert_eq!(low.json()["leastQuantity"], 2);
    let fits = stand.admin("PATCH", &path, &json!({ "totalQuantity": 2, "price": null, "name": "Room" })).await;
    assert_eq!(fits.status, 200, "{}", fits.text());
    let body = fits.json()["roomType"].clone();
    assert_eq!((&body["totalQuantity"], &body["price"], &body["name"]), (&json!(2), &json!(null), &json!("Room")));
    told(&hold(&mut client, "carol", &nights(id, 21, 1, 3)).await, 409, "RESERVATION_NOT_AVAILABLE");
    assert_eq!(available(&mut client, id, 20, 1).await.json()["nights"][0]["total"], 2);
    for (bad, field) in
        [(json!({ "timeZone": "Mars" }), "timeZone"), (json!({ "totalQuantity": "2" }), "totalQuantity")]
    {
        let refused = stand.admin("PATCH", &path, &bad).await;
        assert_eq!((refused.status, refused.json()["field"].as_str()), (400, Some(field)), "{}", refused.text());
    }
    told(&stand.admin("PATCH", "room-types/99", &json!({})).await, 404, "not_found");
}

async fn own_stays_are_listed_beside_seats(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let (room, other) = (room_type(&stand, 3).await, room_type(&stand, 3).await);
    client.reserve(1, "alice").await;
    let mut ids = Vec::new();
    for (i, room) in [room, other, other].into_iter().enumerate() {
        let id = hold_id(&hold(&mut client, "alice", &nights(room, i as i32, 1, i as u64)).await);
        let paid = on_hold(&mut client, "alice", &id, "confirm").await.json();
        ids.push(paid["reservation"]["reservationId"].as_str().unwrap().to_owned());
    }
    let mut found: Vec<Value> = Vec::new();
    let mut path = "/api/v1/reservations?limit=2".to_owned();
    loop {
        let page = client.get_as("alice", &path).await.json();
        found.extend(page["reservations"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/reservations?limit=2&after={next}");
    }
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[0]["eventId"], 1);
    let listed: Vec<&str> = found[1..].iter().map(|r| r["reservationId"].as_str().unwrap()).collect();
    assert_eq!(listed, ids);
    assert_eq!((&found[1]["roomTypeId"], &found[1]["checkOut"]), (&json!(room), &json!(day(1))));
    let one = client.get_as("alice", &format!("/api/v1/reservations/{}", ids[0])).await.json();
    assert_eq!(one["reservation"], found[1]);
    told(&client.get_as("bob", &format!("/api/v1/reservations/{}", ids[0])).await, 403, "forbidden");
    told(&client.cancel("bob", &ids[0]).await, 403, "forbidden");
    assert_eq!(client.cancel("alice", &ids[0]).await.json(), json!({ "success": true }));
    told(&client.cancel("alice", &ids[0]).await, 404, "not_found");
    assert_eq!(available(&mut client, room, 0, 1).await.json()["available"], 3);
    let taken = stand.admin("DELETE", &format!("reservations/{}", ids[1]), &Value::Null).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
    for none in ["r1-999999", "r99-1", "r-1", "rx"] {
        told(&client.cancel("alice", none).await, 404, "not_found");
    }
}

async fn seats_are_held_and_confirmed(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let event = stand.event(9, 4).await;
    let held = hold(&mut client, "alice", &seats(event, &[4, 3], 1)).await;
    assert_eq!(held.status, 201, "{}", held.text());
    let (id, body) = (hold_id(&held), held.json()["hold"].clone());
    assert_eq!((&body["eventId"], &body["seatIds"], &body["state"]), (&json!(event), &json!([3, 4]), &json!("held")));
    let again = hold(&mut client, "alice", &seats(event, &[3, 4], 1)).await;
    assert_eq!((again.status, hold_id(&again)), (200, id.clone()));
    told(&hold(&mut client, "bob", &seats(event, &[3, 4], 1)).await, 409, "RESERVATION_HOLD_KEY_CONFLICT");
    let taken = hold(&mut client, "bob", &seats(event, &[2, 3], 2)).await;
    told(&taken, 409, "RESERVATION_NOT_AVAILABLE");
    assert_eq!(taken.json()["seatIds"], json!([3]));
    told(&hold(&mut client, "bob", &seats(event, &[99], 3)).await, 404, "not_found");
    told(&hold(&mut client, "bob", &seats(99, &[1], 3)).await, 404, "not_found");
    let seat = format!("/api/v1/events/{event}/seats/3");
    assert_eq!(
        client.get(&seat).await.json()["seat"],
        json!({ "id": 3, "name": "A3", "status": true, "state": "held" })
    );
    let chosen = client.post_as("bob", &format!("{seat}/reservation"), BUYER).await;
    told(&chosen, 409, "seat_taken");
    let paid = on_hold(&mut client, "alice", &id, "confirm").await;
    assert_eq!(paid.status, 200, "{}", paid.text());
    let all = paid.json()["reservations"].clone();
    assert_eq!(all.as_array().unwrap().len(), 2, "{}", paid.text());
    assert_eq!(paid.json()["reservation"], all[0]);
    assert_eq!((&all[1]["seat"], &all[1]["eventId"]), (&json!({ "id": 4, "name": "A4" }), &json!(event)));
    let again = on_hold(&mut client, "alice", &id, "confirm").await;
    told(&again, 409, "RESERVATION_HOLD_ALREADY_PROCESSED");
    assert_eq!(again.json()["reservations"], all);
    let mine = client.get_as("alice", "/api/v1/reservations").await.json();
    let ids =
        |list: &Value| list.as_array().unwrap().iter().map(|one| one["reservationId"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&mine["reservations"]), ids(&all));
    assert_eq!(client.get(&seat).await.json()["seat"]["state"], "sold");
    let first = all[0]["reservationId"].as_str().unwrap();
    assert_eq!(client.cancel("alice", first).await.status, 200);
    assert_eq!(client.get(&seat).await.json()["seat"]["state"], "free");
}

async fn held_seats_count_in_lists_and_limits(backing: Backing) {
    let stand = TestServer::on(backing, &[("HOLD_TTL", "60")]).await;
    let mut client = stand.client();
    let event = stand.event(4, 3).await;
    let id = hold_id(&hold(&mut client, "alice", &seats(event, &[2, 3], 1)).await);
    let states = |list: &TestResponse| -> Vec<String> {
        let list = list.json();
        list["seats"].as_array().unwrap().iter().map(|s| s["state"].as_str().unwrap().to_owned()).collect()
    };
    let path = format!("/api/v1/events/{event}/seats");
    let list = client.get(&path).await;
    assert_eq!(states(&list), ["free", "held", "held", "free"]);
    let shown = client.get(&format!("/api/v1/events/{event}")).await.json();
    assert_eq!(shown["event"]["remainingSeats"], 2);
    let limit = hold(&mut client, "alice", &seats(event, &[1, 4], 2)).await;
    told(&limit, 409, "limit_reached");
    assert_eq!(limit.json()["seatIds"], json!([2, 3]));
    // Whoever has nothing and asks for too much is told how much that is.
    let nothing = hold(&mut client, "erin", &seats(event, &[1, 2, 3, 4], 9)).await;
    told(&nothing, 409, "limit_reached");
    let told_erin = nothing.json();
    assert_eq!(told_erin["message"], "You asked for 4 seats and have none; the limit is 3 seats per person.");
    assert_eq!([&told_erin["requested"], &told_erin["current"], &told_erin["limit"]], [4, 0, 3]);
    hold(&mut client, "alice", &seats(event, &[4], 3)).await;
    let limit = client.reserve(event, "alice").await;
    told(&limit, 409, "limit_reached");
    assert_eq!(limit.json()["seatIds"], json!([2, 3, 4]));
    assert_eq!(client.reserve(event, "bob").await.seat(), Some(1));
    let out = client.reserve(event, "carol").await;
    told(&out, 409, "held_out");
    let after = out.json()["retryAfter"].as_u64().unwrap();
    assert!((55..=60).contains(&after) && out.header("retry-after").is_some(), "{}", out.text());
    let etag = client.get(&path).await.header("etag").unwrap().to_owned();
    stand.advance_ms(60_001);
    // The list is at most 250 ms behind; the counts and one seat are exact.
    let shown = client.get(&format!("/api/v1/events/{event}")).await.json();
    assert_eq!(shown["event"]["remainingSeats"], 3);
    tokio::time::sleep(std::time::Duration::from_millis(260)).await;
    client.get(&path).await;
    tokio::time::sleep(std::time::Duration::from_millis(120)).await;
    let list = client.get(&path).await;
    assert_eq!(states(&list), ["sold", "free", "free", "free"]);
    assert_ne!(list.header("etag").unwrap(), etag);
    told(&on_hold(&mut client, "alice", &id, "confirm").await, 400, "RESERVATION_HOLD_EXPIRED");
    assert_eq!(client.reserve(event, "carol").await.seat(), Some(2));
    // An event may have a time of its own.
    let path = format!("events/{event}");
    assert_eq!(stand.admin("PATCH", &path, &json!({ "holdTtl": 7 })).await.json()["event"]["holdTtl"], 7);
    let short = hold(&mut client, "erin", &seats(event, &[4], 20)).await.json();
    assert!((6..=7).contains(&short["hold"]["secondsRemaining"].as_u64().unwrap()), "{short}");
    let new = json!({ "name": "Short", "seats": 3, "holdTtl": 9 });
    let made = stand.admin("POST", "events", &new).await.json()["event"].clone();
    assert_eq!(made["holdTtl"], 9);
    let short = hold(&mut client, "erin", &seats(made["id"].as_u64().unwrap(), &[1], 21)).await.json();
    assert!((8..=9).contains(&short["hold"]["secondsRemaining"].as_u64().unwrap()), "{short}");
    assert_eq!(stand.admin("PATCH", &path, &json!({ "holdTtl": null })).await.json()["event"]["holdTtl"], Value::Null);
    assert_eq!(stand.admin("POST", &format!("events/{event}/pause"), &Value::Null).await.status, 200);
    told(&hold(&mut client, "dave", &seats(event, &[3], 9)).await, 409, "not_open");
}

async fn hold_requests_are_idempotent(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let (room, event) = (room_type(&stand, 3).await, stand.event(9, 4).await);
    for (n, body) in [(1, nights(room, 5, 1, 1)), (2, seats(event, &[5, 6], 2))] {
        let sent = |idem: String, method: &'static str, path: String, body: String| {
            let mut client = stand.client();
            async move {
                let headers =
                    [("X-User-Id", "alice"), ("Content-Type", "application/json"), ("Idempotency-Key", &*idem)];
                client.send(method, &path, &headers, &body).await
            }
        };
        let make = || sent(format!("make-{n}"), "POST", "/v1/holds".into(), body.to_string());
        let (first, second) = (make().await, make().await);
        assert_eq!((first.status, second.status), (201, 201), "{} {}", first.text(), second.text());
        assert_eq!((first.text(), second.header("idempotent-replayed")), (second.text(), Some("true")));
        let altered = sent(format!("make-{n}"), "POST", "/v1/holds".into(), nights(room, 8, 1, 9).to_string());
        if n == 1 {
            told(&altered.await, 422, "idempotency_mismatch");
        }
        let id = hold_id(&first);
        let pay = || sent(format!("pay-{n}"), "POST", format!("/v1/holds/{id}/confirm"), String::new());
        let (first, second) = (pay().await, pay().await);
        assert_eq!((first.status, first.text()), (200, second.text()));
        assert_eq!(second.header("idempotent-replayed"), Some("true"));
        let made =
            hold(&mut client, "alice", &if n == 1 { nights(room, 6, 1, 7) } else { seats(event, &[8], 8) }).await;
        let id = hold_id(&made);
        let back = || sent(format!("back-{n}"), "DELETE", format!("/v1/holds/{id}"), String::new());
        let (first, second) = (back().await, back().await);
        assert_eq!((first.status, second.status), (200, 200), "{}", second.text());
        assert_eq!(second.header("idempotent-replayed"), Some("true"));
    }
}

async fn service_token_confirms_holds(backing: Backing) {
    let stand = TestServer::on(backing, &[("CONFIRM_BY", "service")]).await;
    let mut client = stand.client();
    let room = room_type(&stand, 3).await;
    let id = hold_id(&hold(&mut client, "alice", &nights(room, 5, 1, 1)).await);
    told(&on_hold(&mut client, "alice", &id, "confirm").await, 401, "unauthorized");
    let token = format!("Bearer {}", stand.app.admin_token);
    let path = format!("/v1/holds/{id}/confirm");
    let paid = client.send("POST", &path, &[("Authorization", &token)], "").await;
    assert_eq!(paid.status, 200, "{}", paid.text());
    let mine = client.get_as("alice", "/api/v1/reservations").await.json();
    assert_eq!(mine["reservations"][0]["reservationId"], paid.json()["reservation"]["reservationId"]);
}

async fn bad_hold_requests_name_the_field(backing: Backing) {
    let stand = TestServer::on(backing, &[("MAX_DAYS_AHEAD", "400")]).await;
    let mut client = stand.client();
    let (room, event) = (room_type(&stand, 3).await, stand.event(9, 4).await);
    let stay = |check_in: &str, check_out: &str| json!({ "roomTypeId": room, "checkIn": check_in, "checkOut": check_out, "clientHoldKey": key(1) });
    for (body, field) in [
        (stay(&day(5), &day(4)), "checkOut"),
        (stay("2026-02-30", "2026-03-02"), "checkIn"),
        (stay(&day(1), &day(401)), "checkOut"),
        (stay(&day(-2), &day(2)), "checkIn"),
        (stay(&day(402), &day(403)), "checkIn"),
        (stay(&day(399), &day(403)), "checkOut"),
        (stay("tomorrow", &day(2)), "checkIn"),
        (seats(event, &[], 1), "seatIds"),
        (seats(event, &[1, 1], 1), "seatIds"),
        (json!({ "roomTypeId": room, "checkIn": day(1), "checkOut": day(2), "clientHoldKey": "x" }), "clientHoldKey"),
        (json!({ "roomTypeId": room, "checkIn": day(1), "checkOut": day(2) }), "clientHoldKey"),
        (json!({ "clientHoldKey": key(1) }), "roomTypeId"),
    ] {
        let refused = hold(&mut client, "alice", &body).await;
        told(&refused, 400, "validation");
        assert_eq!(refused.json()["field"], field, "{body}: {}", refused.text());
    }
    assert_eq!(
        hold(&mut client, "alice", &stay(&day(400), &day(401))).await.status,
        201,
        "the last night that is sold"
    );
    let query = |check_in: &str, check_out: &str| {
        format!("/v1/room-types/{room}/availability?checkIn={check_in}&checkOut={check_out}")
    };
    for (path, field) in [
        (format!("/v1/room-types/{room}/availability"), "checkIn"),
        (query(&day(1), ""), "checkOut"),
        (query(&day(2), &day(1)), "checkOut"),
        (query("2026-02-30", &day(1)), "checkIn"),
        (query(&day(1), &day(367)), "checkOut"),
        (query(&day(-3), &day(1)), "checkIn"),
    ] {
        let refused = client.get(&path).await;
        told(&refused, 400, "validation");
        assert_eq!(refused.json()["field"], field, "{path}");
    }
    let year = client.get(&query(&day(1), &day(366))).await;
    assert_eq!(year.json()["nights"].as_array().map(Vec::len), Some(365), "{}", year.text());
    told(&hold(&mut client, "alice", &nights(999, 1, 1, 1)).await, 404, "not_found");
    let nobody = client.send("POST", "/v1/holds", &[("Content-Type", "application/json")], "{}").await;
    told(&nobody, 400, "missing_user");
    told(&client.send("PUT", "/v1/holds", &[], "").await, 405, "validation");
    told(&client.send("POST", "/v1/holds", &[("X-User-Id", "a")], "{}").await, 415, "validation");
}
