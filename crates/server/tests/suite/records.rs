//! The operator's view of the whole ledger: the history by event, user, seat and hold, and the audit.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{give_back, hold, hold_id, nights, seats};

on_every_backing!(history_is_filtered_and_paged, audit_checks_the_invariants, csv_of_reservations_is_whole);

async fn history(stand: &TestServer, query: &str) -> Value {
    let answer = stand.admin("GET", &format!("history{query}"), &Value::Null).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

fn column(page: &Value, name: &str) -> Vec<String> {
    let rows = page["history"].as_array().unwrap().iter();
    rows.map(|row| row[name].as_str().map_or_else(|| row[name].to_string(), str::to_owned)).collect()
}

async fn history_is_filtered_and_paged(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let event = stand.event(9, 3).await;
    let room = json!({ "name": "Double", "totalQuantity": 5 });
    let room = stand.admin("POST", "room-types", &room).await.json()["roomType"]["id"].as_u64().unwrap();
    let bought = client.reserve(event, "alice").await.json()["reservationId"].as_str().unwrap().to_owned();
    let held = hold_id(&hold(&mut client, "bob", &seats(event, &[5, 6], 1)).await);
    hold(&mut client, "alice", &nights(room, 5, 2, 2)).await;
    assert_eq!(give_back(&mut client, "bob", &held).await.status, 200);
    assert_eq!(stand.admin("DELETE", &format!("reservations/{bought}"), &Value::Null).await.status, 200);

    let of_event = history(&stand, &format!("?event={event}")).await;
    let expected = ["created", "reserved", "held", "held", "released", "released", "cancelled"];
    assert_eq!(column(&of_event, "what"), expected, "{of_event}");
    let numbers: Vec<String> = (1..=7).map(|n| n.to_string()).collect();
    assert_eq!(column(&of_event, "n"), numbers);
    assert_eq!(column(&of_event, "by"), ["admin", "user", "user", "user", "user", "user", "admin"]);
    assert_eq!(of_event["next"], Value::Null);
    let sale = &of_event["history"][1];
    assert_eq!((&sale["eventId"], &sale["seatId"], &sale["userId"]), (&json!(event), &json!(1), &json!("alice")));
    assert!(sale["sequence"].is_u64() && sale["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{sale}");

    assert_eq!(column(&history(&stand, &format!("?event={event}&seat=5")).await, "what"), ["held", "released"]);
    let of_hold = history(&stand, &format!("?hold={held}")).await;
    assert_eq!(column(&of_hold, "what"), ["held", "held", "released", "released"]);
    assert!(column(&of_hold, "holdId").iter().all(|id| *id == format!("he{event}-3")), "readable: {of_hold}");
    // Over all events and room types: room types first.
    let of_alice = history(&stand, "?user=alice").await;
    assert_eq!(column(&of_alice, "what"), ["held", "reserved", "cancelled"]);
    let nights_of_alice = &of_alice["history"][0];
    assert_eq!(
        (&nights_of_alice["roomTypeId"], &nights_of_alice["holdId"]),
        (&json!(room), &json!(format!("hr{room}-2")))
    );
    assert!(nights_of_alice["checkIn"].is_string() && nights_of_alice["eventId"].is_null());
    assert_eq!(history(&stand, "?user=nobody-of-that-name").await["history"], json!([]));
    // What one operator did, and what one request did.
    let by_admin = history(&stand, &format!("?event={event}&byName=admin")).await;
    assert_eq!(column(&by_admin, "what"), ["created", "cancelled"], "{by_admin}");
    assert_eq!(history(&stand, "?byName=box-office").await["history"], json!([]));
    let trace = of_hold["history"][0]["traceId"].as_str().unwrap();
    let of_request = history(&stand, &format!("?traceId={trace}")).await;
    assert_eq!(column(&of_request, "what"), ["held", "held"], "{of_request}");

    // In pages, each row once.
    let whole = history(&stand, "").await;
    for filter in ["", "&user=alice"] {
        let (mut after, mut paged) = (String::new(), Vec::new());
        loop {
            let page = history(&stand, &format!("?limit=2{filter}{after}")).await;
            let rows = page["history"].as_array().unwrap();
            assert!(rows.len() <= 2);
            paged.extend(rows.iter().cloned());
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        let expected = if filter.is_empty() { &whole } else { &of_alice };
        assert_eq!(Value::Array(paged), expected["history"], "{filter}");
    }
    for (query, field) in [
        ("?event=x", "event"),
        ("?event=1&roomType=1", "roomType"),
        ("?seat=-1", "seat"),
        ("?hold=e1-2", "hold"),
        ("?event=1&hold=hr1-2", "hold"),
        ("?user=%00", "user"),
        ("?after=x", "after"),
        ("?limit=0", "limit"),
    ] {
        let answer = stand.admin("GET", &format!("history{query}"), &Value::Null).await;
        assert_eq!((answer.status, answer.json()["field"].as_str()), (400, Some(field)), "{query}");
    }
    assert_eq!(client.get("/api/v1/admin/history").await.status, 401);
}

async fn audit_checks_the_invariants(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    client.reserve(1, "alice").await;
    let audit = stand.admin("GET", "audit", &Value::Null).await;
    let told = audit.json();
    assert_eq!((audit.status, &told["success"], &told["holds"]), (200, &json!(true), &json!(true)), "{told}");
    assert_eq!((&told["events"], &told["reservations"], &told["history"]), (&json!(1), &json!(1), &json!(2)));
    let invariants = told["invariants"].as_array().unwrap();
    assert!(invariants.len() >= 16, "{told}");
    for invariant in invariants {
        assert_eq!((&invariant["holds"], &invariant["broken"]), (&json!(true), &json!([])), "{invariant}");
    }
    let (first, second) =
        tokio::join!(stand.admin("GET", "audit", &Value::Null), stand.admin("GET", "audit", &Value::Null));
    assert_eq!((first.status, second.status), (200, 200), "one after the other");
    assert_eq!(client.get("/api/v1/admin/audit").await.status, 401);
}

/// Several pages of the ledger, and no row twice or missing.
async fn csv_of_reservations_is_whole(backing: Backing) {
    let stand = TestServer::on(backing, &[("FCFS_SEATS", "2500")]).await;
    let mut client = stand.client();
    let made = json!({ "name": "Many", "seats": 2_500, "maxPerUser": 1_000 });
    let event = stand.admin("POST", "events", &made).await.json()["event"]["id"].as_u64().unwrap();
    let mut buyers = tokio::task::JoinSet::new();
    for buyer in 0..21 {
        let mut client = stand.client();
        buyers.spawn(async move {
            for _ in 0..100 {
                assert_eq!(client.reserve(event, &format!("buyer-{buyer}")).await.status, 200);
            }
        });
    }
    buyers.join_all().await;
    let token = format!("Bearer {}", stand.app.admin_token);
    let headers = [("Authorization", token.as_str()), ("Accept", "text/csv")];
    let csv = client.send("GET", &format!("/api/v1/admin/events/{event}/reservations"), &headers, "").await;
    assert_eq!((csv.status, csv.header("x-next")), (200, None));
    let text = csv.text();
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|heading| heading.starts_with("reservationId,eventId,seatId,")));
    let seats: Vec<u32> = lines.map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert!(seats.iter().copied().eq(1..=2_100), "{} rows", seats.len());
    let headers = [("Authorization", token.as_str()), ("Accept", "application/x-ndjson")];
    let path = format!("/api/v1/admin/events/{event}/reservations");
    let lines = client.send("GET", &path, &headers, "").await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson; charset=utf-8"));
    let rows: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().map(|row| row["seat"]["id"].as_u64().unwrap()).eq(1..=2_100), "{} rows", rows.len());
    // More than a page of the history, and only what was asked for.
    let path = format!("/api/v1/admin/history?event={event}");
    let all = client.send("GET", &path, &headers, "").await;
    let rows: Vec<Value> = all.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().map(|row| row["n"].as_u64().unwrap()).eq(1..=2_101), "{} rows", rows.len());
    let headers = [("Authorization", token.as_str()), ("Accept", "text/csv")];
    let one = client.send("GET", &format!("{path}&user=buyer-3"), &headers, "").await;
    let text = one.text();
    assert!(text.starts_with("eventId,roomTypeId,n,what,by,userId,"), "{text}");
    assert_eq!(text.lines().skip(1).filter(|line| line.contains(",reserved,user,buyer-3,")).count(), 100);
    assert_eq!(text.lines().count(), 101);
}
