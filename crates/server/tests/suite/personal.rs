//! The history as operators see it: where requests came from, refused requests, heads that can be kept; and the end
//! of one person's data.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(
    history_says_where_from,
    refused_admin_requests_are_noted,
    heads_can_be_kept,
    one_person_is_erased,
    orders_of_one_person_are_erased,
    personal_data_ends_by_its_age,
    names_and_phones_stay_private,
);

const JSON: (&str, &str) = ("Content-Type", "application/json");
const NAME: &str = "Quirinius";
const PHONE: &str = "010-7772-3456";
const DIGITS: &str = "77723456";

async fn history(stand: &TestServer, query: &str) -> Vec<Value> {
    let told = stand.admin("GET", &format!("history{query}"), &Value::Null).await;
    assert_eq!(told.status, 200, "{}", told.text());
    told.json()["history"].as_array().unwrap().clone()
}

/// Rows about no event and no room type.
async fn of_ledger(stand: &TestServer) -> Vec<Value> {
    let rows = history(stand, "?limit=1000").await;
    rows.into_iter().filter(|row| row["eventId"].is_null() && row["roomTypeId"].is_null()).collect()
}

async fn buy(stand: &TestServer, event: u64, user: &str, name: &str, phone: &str) -> String {
    let body = json!({ "userName": name, "phone": phone }).to_string();
    let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    let headers = [JSON, ("X-User-Id", user), ("Idempotency-Key", "once"), ("X-Request-Id", "seen-by-the-buyer")];
    let sold = stand.client().send("POST", &path, &headers, &body).await;
    assert_eq!(sold.status, 200, "{}", sold.text());
    sold.json()["reservationId"].as_str().unwrap().to_owned()
}

async fn audit(stand: &TestServer) -> Value {
    let audit = stand.admin("GET", "audit", &Value::Null).await.json();
    assert_eq!(audit["holds"], true, "{audit}");
    audit
}

async fn history_says_where_from(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 1).await;
    buy(&stand, event, "alice", NAME, PHONE).await;
    let rows = history(&stand, &format!("?event={event}")).await;
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row["address"], "127.0.0.1", "{row}");
        assert!(row["traceId"].is_string() && row["hash"].as_str().is_some_and(|hash| hash.len() == 64), "{row}");
    }
    assert_eq!(rows[1]["traceId"], "seen-by-the-buyer");
    assert_eq!(rows[0]["byName"], "admin");
}

async fn refused_admin_requests_are_noted(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let path = "/api/v1/admin/events/1";
    let wrong = [("Authorization", "Bearer no-such-token-0123456789"), JSON, ("X-Request-Id", "stranger")];
    assert_eq!(stand.client().send("DELETE", path, &wrong, "").await.status, 401);
    assert_eq!(stand.admin("PATCH", "events/1", &json!({ "maxPerUzer": 1 })).await.status, 400);
    assert_eq!(stand.admin("GET", "events/999", &Value::Null).await.status, 404, "a read is no action");
    let rows = of_ledger(&stand).await;
    let told: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["by"].as_str().unwrap(), row["detail"].as_str().unwrap())).collect();
    assert_eq!(
        told,
        [
            ("nobody", "DELETE /api/v1/admin/events/1 unauthorized"),
            ("admin", "PATCH /api/v1/admin/events/1 validation"),
        ]
    );
    assert_eq!((&rows[0]["what"], &rows[0]["traceId"]), (&json!("refused"), &json!("stranger")));
    // Nobody fills the disk with them.
    for _ in 0..30 {
        assert_eq!(stand.admin("PATCH", "events/1", &json!({ "maxPerUzer": 1 })).await.status, 400);
    }
    assert_eq!(of_ledger(&stand).await.len(), 10);
    let metrics = stand.client().get("/metrics").await.text();
    assert!(metrics.contains("admin_refusals_not_noted_total 22"), "{metrics}");
    audit(&stand).await;
}

async fn heads_can_be_kept(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 1).await;
    let room = stand.admin("POST", "room-types", &json!({ "name": "Double", "totalQuantity": 5 })).await.json();
    let room = &room["roomType"]["id"];
    let path = format!("events/{event}/history/head");
    let first = stand.admin("GET", &path, &Value::Null).await.json()["head"].clone();
    buy(&stand, event, "alice", NAME, PHONE).await;
    let second = stand.admin("GET", &path, &Value::Null).await.json()["head"].clone();
    assert_eq!((&first["number"], &second["number"]), (&json!(1), &json!(2)));
    let rows = history(&stand, &format!("?event={event}")).await;
    assert_eq!((&rows[0]["hash"], &rows[1]["hash"]), (&first["hash"], &second["hash"]));
    assert_eq!(second["time"], rows[1]["at"]);
    let kept = format!("e{event}-2:{}", second["hash"].as_str().unwrap());
    assert_eq!(second["kept"], kept);
    let of_room = stand.admin("GET", &format!("room-types/{room}/history/head"), &Value::Null).await;
    assert_eq!(of_room.json()["head"]["number"], 1, "{}", of_room.text());
    assert_eq!(stand.admin("GET", "events/999/history/head", &Value::Null).await.status, 404);
    let of_ledger = stand.admin("GET", "history/head", &Value::Null).await;
    assert_eq!(of_ledger.json()["head"]["number"], 0, "{}", of_ledger.text());
}

async fn one_person_is_erased(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 2).await;
    let id = buy(&stand, event, "alice", NAME, PHONE).await;
    buy(&stand, event, "bob", "Bob", "010-1111-2222").await;
    let before = audit(&stand).await;
    assert_eq!(before["erased"], 0);
    let erased = stand.admin("DELETE", "users/alice/data", &Value::Null).await;
    assert_eq!(
        erased.json()["erased"],
        json!({ "historyRows": 1, "reservations": 1, "holds": 0, "stays": 0, "answers": 1 }),
        "{}",
        erased.text()
    );
    let sold = stand.admin("GET", &format!("events/{event}/reservations"), &Value::Null).await.text();
    assert!(!sold.contains(NAME) && !sold.contains(DIGITS), "{sold}");
    assert!(sold.contains("alice") && sold.contains("Bob"), "the seat stays hers, and bob keeps his name: {sold}");
    let rows = history(&stand, &format!("?event={event}&user=alice")).await;
    assert_eq!((&rows[0]["erased"], &rows[0]["address"]), (&json!(true), &Value::Null), "{rows:?}");
    let note = of_ledger(&stand).await.pop().unwrap();
    assert_eq!((&note["what"], &note["userId"], &note["by"]), (&json!("erased"), &json!("alice"), &json!("admin")));
    let after = audit(&stand).await;
    assert_eq!((&after["erased"], &after["reservations"]), (&json!(1), &json!(2)), "{after}");
    let again = stand.admin("DELETE", "users/alice/data", &Value::Null).await;
    let nothing = json!({ "historyRows": 0, "reservations": 0, "holds": 0, "stays": 0, "answers": 0 });
    assert_eq!(again.json()["erased"], nothing);
    assert_eq!(stand.client().cancel("alice", &id).await.status, 200, "she can still give it back");
    audit(&stand).await;
}

/// Metadata and reasons go from sales, holds and stays, wherever an operator can read them.
async fn orders_of_one_person_are_erased(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(9, 4).await;
    let room = stand.admin("POST", "room-types", &json!({ "name": "Double", "totalQuantity": 5 })).await.json();
    let room = &room["roomType"]["id"];
    let mut client = stand.client();
    for user in ["alice", "bob"] {
        let note = json!({ "order": format!("order of {user}") });
        let body = json!({ "userName": user, "phone": PHONE, "metadata": note }).to_string();
        let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
        assert_eq!(client.post_as(user, &path, &body).await.status, 200);
        let seat = if user == "alice" { 5 } else { 6 };
        for (key, stock) in [
            (1, json!({ "eventId": event, "seatIds": [seat] })),
            (2, json!({ "roomTypeId": room, "checkIn": "2027-02-01", "checkOut": "2027-02-03" })),
        ] {
            let mut body = stock;
            body["clientHoldKey"] = json!(format!("00000000-0000-4000-8000-00000000000{key}"));
            body["metadata"] = note.clone();
            let held = client.post_as(user, "/api/v1/holds", &body.to_string()).await;
            assert_eq!(held.status, 201, "{}", held.text());
            let id = held.json()["hold"]["holdId"].as_str().unwrap().to_owned();
            if key == 2 {
                let paid = client.post_as(user, &format!("/api/v1/holds/{id}/confirm"), "{}").await;
                assert_eq!(paid.status, 200, "{}", paid.text());
            }
        }
    }
    let lists = [
        format!("events/{event}/reservations"),
        format!("events/{event}/holds"),
        format!("room-types/{room}/holds"),
        format!("room-types/{room}/reservations"),
        "history?limit=1000".to_owned(),
        "holds?user=alice".to_owned(),
        "reservations?user=alice".to_owned(),
    ];
    let erased = stand.admin("DELETE", "users/alice/data", &Value::Null).await.json()["erased"].clone();
    assert_eq!(
        (&erased["reservations"], &erased["holds"], &erased["stays"]),
        (&json!(1), &json!(2), &json!(1)),
        "{erased}"
    );
    for list in lists {
        let told = stand.admin("GET", &list, &Value::Null).await;
        assert_eq!(told.status, 200, "{list}: {}", told.text());
        assert!(!told.text().contains("order of alice"), "{list}: {}", told.text());
        assert!(list.ends_with("user=alice") || told.text().contains("order of bob"), "{list}: {}", told.text());
    }
    audit(&stand).await;
}

async fn personal_data_ends_by_its_age(backing: Backing) {
    let stand = TestServer::on(backing, &[("PERSONAL_DATA_DAYS", "30")]).await;
    let event = stand.event(9, 1).await;
    buy(&stand, event, "alice", NAME, PHONE).await;
    stand.advance_ms(31 * 86_400_000);
    buy(&stand, event, "bob", "Bob", "010-1111-2222").await;
    server::tidier::Tidier::new(&stand.app).round(&stand.app).await.unwrap();
    let sold = stand.admin("GET", &format!("events/{event}/reservations"), &Value::Null).await.text();
    assert!(!sold.contains(NAME) && sold.contains("Bob"), "{sold}");
    let rows = history(&stand, &format!("?event={event}")).await;
    let erased: Vec<&Value> = rows.iter().map(|row| &row["erased"]).collect();
    assert_eq!(erased, [&json!(true), &json!(true), &json!(false)]);
    audit(&stand).await;
}

/// Nothing that is not the operator's says who bought.
async fn names_and_phones_stay_private(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = stand.event(3, 1).await;
    let id = buy(&stand, event, "alice", NAME, PHONE).await;
    let mut client = stand.client();
    let mut answers = Vec::new();
    for path in [
        "/api/v1/events".to_owned(),
        format!("/api/v1/events/{event}"),
        format!("/api/v1/events/{event}/seats"),
        format!("/api/v1/events/{event}/seats/1"),
        "/metrics".to_owned(),
        "/readyz".to_owned(),
        "/openapi.json".to_owned(),
    ] {
        answers.push(client.get(&path).await.text());
    }
    answers.push(client.get_as("alice", "/api/v1/reservations").await.text());
    answers.push(client.get_as("alice", &format!("/api/v1/reservations/{id}")).await.text());
    let stranger = client.get_as("mallory", &format!("/api/v1/reservations/{id}")).await;
    assert_eq!(stranger.status, 403);
    answers.push(stranger.text());
    let body = json!({ "userName": NAME, "phone": PHONE }).to_string();
    let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    answers.push(client.post_as("alice", &path, &body).await.text());
    answers.push(client.post_as("mallory", &format!("/api/v1/events/{event}/seats/1/reservation"), &body).await.text());
    for bad in [format!(r#"{{"userName":"{NAME}","phone":"{PHONE}x"}}"#), format!(r#"{{"userName":"{NAME}""#)] {
        let refused = client.post_as("eve", &path, &bad).await;
        assert_eq!(refused.status, 400);
        answers.push(refused.text());
    }
    let rows = stand.admin("GET", "history", &Value::Null).await.text();
    answers.push(rows);
    for answer in &answers {
        assert!(!answer.contains(NAME), "{answer}");
        assert!(!answer.replace(['-', ' '], "").contains(DIGITS), "{answer}");
    }
    // A random id is no id: whoever does not know one learns nothing from 404 or 403.
    let (subject, hidden) = id.split_once("-x").expect("ids do not count");
    let mut digits: Vec<char> = hidden.chars().collect();
    digits.reverse();
    let guess: String = digits.into_iter().collect();
    assert_eq!(client.get_as("mallory", &format!("/api/v1/reservations/{subject}-x{guess}")).await.status, 404);
}
