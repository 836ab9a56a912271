//! The gateway answers as a server does: the same request to both gets the same status, headers and body,
//! in every dialect and language, apart from ids, the clock's seconds, and the number that only a server's
//! answer has.

use serde_json::{Value, json};
use testing::http::TestResponse;

use super::edge::{BODY, Edge, FCFS, JSON};

const DIALECTS: [&str; 3] = ["1.1", "1.0", "2025-08-17"];
const OLD: &str = "/api/v1/seats/reservation";

/// Status, headers and body, without what differs from one request to the next.
fn told(answer: &TestResponse) -> (u16, Vec<(String, String)>, Value) {
    let mut headers: Vec<(String, String)> =
        answer.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
    headers.retain(|(name, _)| {
        !["date", "server", "connection", "content-length", "x-request-id", "keep-alive"].contains(&name.as_str())
    });
    headers.sort();
    let mut body = if answer.body.is_empty() { Value::Null } else { answer.json() };
    let ids = [body.get("traceId").cloned(), body.pointer("/error/trace_id").cloned()];
    for id in ids.iter().flatten() {
        assert_eq!(id.as_str(), answer.header("x-request-id"), "{}", answer.text());
    }
    for (at, field) in [("", "traceId"), ("/error", "trace_id"), ("", "sequence"), ("/error/meta", "sequence")] {
        if let Some(object) = body.pointer_mut(at).and_then(Value::as_object_mut) {
            object.remove(field);
        }
    }
    // Two JSON parsers report the same error at different positions.
    for at in ["/message", "/error/message"] {
        if let Some(Value::String(words)) = body.pointer_mut(at)
            && let Some(column) = words.find(", column ")
        {
            words.truncate(column);
        }
    }
    (answer.status, headers, body)
}

/// What both say to it.
async fn same(edge: &Edge, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
    let here = told(&edge.client().send(method, path, headers, body).await);
    let there = told(&edge.direct().send(method, path, headers, body).await);
    assert_eq!(here, there, "{method} {path} {headers:?} {}", &body[..body.len().min(100)]);
    (here.0, here.2)
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_errors_match_the_server() {
    let edge = Edge::new(&[("FCFS_ANONYMOUS", "0")]).await;
    edge.warm().await;
    let large = format!(r#"{{"userName":"{}","phone":"010-1234-5678"}}"#, "x".repeat(17_000));
    let user = ("X-User-Id", "alice");
    let before = edge.reached().await;
    let mut asked = 0;
    for dialect in DIALECTS {
        let version = ("Api-Version", dialect);
        for path in [FCFS, OLD, "/fcfs/join", "/api/v1/events/1/seats/reservation/fcfs"] {
            for (headers, body) in [
                (&[version, user, ("Content-Type", "text/plain")][..], BODY),
                (&[version, user][..], BODY),
                (&[version, user, JSON, JSON][..], BODY),
                (&[version, user, JSON][..], "{"),
                (&[version, user, JSON][..], "{\"phone\""),
                (&[version, user, JSON][..], "nul"),
                (&[version, user, JSON][..], &large),
                (&[version, user, ("Content-Type", "text/plain")][..], &large),
            ] {
                let (status, _) = same(&edge, "POST", path, headers, body).await;
                assert!([400, 413, 415].contains(&status), "{status}");
                asked += 1;
            }
        }
        let (status, _) = same(&edge, "POST", "/api/v1/events/1/seats/reservation/fcfs", &[version, JSON], BODY).await;
        assert_eq!(status, 400, "without a user");
        asked += 1;
    }
    assert_eq!(edge.reached().await - before, asked, "each reached the server once, directly");
}

/// Both choose the language of a message alike, whatever `Accept-Language` looks like.
#[tokio::test(flavor = "multi_thread")]
async fn languages() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let plain = ("Content-Type", "text/plain");
    let many = "fr,".repeat(31);
    for (asked, korean) in [
        ("ko", true),
        ("ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7", true),
        ("en;q=0.8 ,\tko ; Q=0.801", true),
        ("fr, ko;q=0.1", true),
        ("ko, *", true),
        ("*, en;q=0.5", true),
        ("ko;q=x, KO-kr;q=0.5", true),
        (",,ko", true),
        (&format!("{many}ko"), true),
        (&format!("{many},ko"), false),
        ("", false),
        ("*", false),
        ("en, ko", false),
        ("en;q=1.0, ko;q=1", false),
        ("*;q=0.9, ko;q=0.5", false),
        ("ko;q=0.000", false),
        ("ko;q=1.1", false),
        ("ko;q=1.0000", false),
        ("ko;q=05", false),
        ("ko;q=1;q=1", false),
        ("ko;level=1", false),
        ("kok", false),
        ("ko*", false),
        ("k o", false),
        ("ko;", false),
    ] {
        let language = ("Accept-Language", asked);
        let user = ("X-User-Id", "alice");
        let (status, body) = same(&edge, "POST", FCFS, &[language, user, plain], BODY).await;
        let message = "Content-Type은 application/json이어야 합니다.";
        assert_eq!((status, body["message"] == message), (415, korean), "{asked:?}: {body}");
        for dialect in ["1.0", "2025-08-17"] {
            let (_, body) = same(&edge, "POST", FCFS, &[("Api-Version", dialect), language, user, plain], BODY).await;
            assert!(body.to_string().is_ascii(), "{dialect} keeps the words of its seed: {body}");
        }
        assert_eq!(same(&edge, "GET", "/nothing", &[language], "").await.0, 404);
        assert_eq!(same(&edge, "GET", "/-gateway-refuses", &[language], "").await.0, 404);
    }
}

/// Requests that the gateway forwards get the server's answer unchanged.
#[tokio::test(flavor = "multi_thread")]
async fn forwarded_answers_are_unchanged() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let user = ("X-User-Id", "alice");
    let long = "k".repeat(129);
    for dialect in DIALECTS {
        let version = ("Api-Version", dialect);
        for body in [
            "{}",
            "[]",
            "null",
            r#"{"userName":"A","phone":"12"}"#,
            r#"{"userName":"A","phone":"010-1234-5678","phone":"010-1234-5678"}"#,
            r#"{"userName":"\ud800","phone":5}"#,
            r#"{"userName":"A","phone":1e309}"#,
        ] {
            same(&edge, "POST", FCFS, &[version, user, JSON], if dialect == "2025-08-17" { "[]" } else { body }).await;
        }
        let key = ("Idempotency-Key", long.as_str());
        assert_eq!(same(&edge, "POST", FCFS, &[version, user, key, JSON], BODY).await.0, 400);
        assert_eq!(same(&edge, "POST", FCFS, &[version, user, user, JSON], BODY).await.0, 400);
        assert_eq!(same(&edge, "PUT", FCFS, &[version, user], "").await.0, 405);
        assert_eq!(same(&edge, "GET", "/api/v1/seats/99", &[version], "").await.0, 404);
        assert_eq!(same(&edge, "GET", "/api/v1/seats", &[version], "").await.0, 200);
        assert_eq!(same(&edge, "GET", "/nothing", &[version], "").await.0, 404);
        assert_eq!(same(&edge, "POST", FCFS, &[version, ("Api-Version", "9"), user, JSON], BODY).await.0, 400);
        assert_eq!(same(&edge, "GET", "/-gateway-refuses", &[version], "").await.0, 404);
    }
    let admin = format!("Bearer {}", edge.servers[0].app.admin_token);
    let huge = format!(r#"{{"name":"{}","seats":1}}"#, "x".repeat(1_100_000));
    let headers = [("Authorization", admin.as_str()), JSON];
    assert_eq!(same(&edge, "POST", "/api/v1/admin/events", &headers, &huge).await.0, 413);
    let big = format!(r#"{{"name":"{}","seats":1}}"#, "x".repeat(900_000));
    assert_eq!(same(&edge, "POST", "/api/v1/admin/events", &headers, &big).await.0, 400, "read, and too long a name");
}

/// Sold out, not open, closed: from the hint and from the ledger.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_from_the_hint_match_the_server() {
    let edge = Edge::new(&[("FCFS_SEATS", "1")]).await;
    edge.warm().await;
    let admin = &edge.servers[0];
    let opens = server::http::wire::moment(admin.app.ledger.now().plus_ms(3_600_500));
    let later = admin.admin("POST", "events", &json!({ "name": "Later", "seats": 5, "opensAt": opens })).await;
    let later = later.json()["event"]["id"].as_u64().unwrap();
    let (closed, paused) = (edge.event(5, 1).await, edge.event(5, 1).await);
    admin.admin("POST", &format!("events/{closed}/close"), &Value::Null).await;
    admin.admin("POST", &format!("events/{paused}/pause"), &Value::Null).await;
    edge.direct().reserve(1, "first").await;
    for (event, code) in [(1, "sold_out"), (later, "not_open"), (closed, "closed"), (paused, "not_open")] {
        let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
        for (dialect, language) in DIALECTS.iter().flat_map(|dialect| [(*dialect, "en"), (*dialect, "ko")]) {
            let headers = [("Api-Version", dialect), ("Accept-Language", language), ("X-User-Id", "late"), JSON];
            // Its batch says anew what is left, so that the gateway knows it.
            let mut there = told(&edge.direct().send("POST", &path, &headers, BODY).await);
            let numbers = edge.numbers(event);
            let mut here = told(&edge.client().send("POST", &path, &headers, BODY).await);
            assert_eq!(edge.numbers(event), numbers, "{code}: no number was asked for");
            // The countdown of an opening may have moved on by a second in between.
            for (_, headers, body) in [&mut here, &mut there] {
                headers.retain(|(name, _)| name != "retry-after" || code != "not_open");
                for at in ["/retryAfter", "/error/meta/retryAfter"] {
                    if let Some(seconds) = body.pointer_mut(at).filter(|s| s.as_u64() > Some(3_000)) {
                        *seconds = json!("about an hour");
                    }
                }
            }
            assert_eq!(here, there, "{code} in {dialect}, {language}");
        }
    }
    // Nothing sells a hold yet that the ledger knows; the door's own words say it.
    let _: () = edge.redis.ask(&["HSET", "left:{e:1}", "n", "999", "free", "0", "held", "2", "state", "open"]);
    for (dialect, status) in [("1.1", 409), ("1.0", 200), ("2025-08-17", 200)] {
        let ends = admin.app.ledger.now().plus_ms(41_500).0.to_string();
        let now = admin.app.ledger.now().0.to_string();
        let _: () = edge.redis.ask(&["HSET", "left:{e:1}", "first_end", &ends, "at", &now]);
        tokio::time::sleep(std::time::Duration::from_millis(130)).await;
        let headers = [("Api-Version", dialect), ("X-User-Id", "la\"te"), JSON];
        let answer = edge.client().send("POST", FCFS, &headers, BODY).await;
        let expected = match dialect {
            "1.1" => json!({ "success": false, "reason": "held_out", "retryAfter": 42, "remainingSeats": 0,
                "message": "No seat is free, but some are on hold and may come back." }),
            "1.0" => json!({ "success": false, "reason": "no seat available" }),
            _ => json!({ "success": false, "seat_id": null, "reserved_by": "la\"te", "reason": "contention" }),
        };
        assert_eq!((answer.status, answer.header("retry-after")), (status, Some("42")), "{}", answer.text());
        assert_eq!(told(&answer).2, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_the_door_match_the_server() {
    let edge = Edge::new(&[("FCFS_IP_LIMIT", "2"), ("FCFS_IP_WINDOW", "3600")]).await;
    let event = edge.event(9, 1).await;
    for user in ["a", "b"] {
        assert_eq!(edge.client().reserve(event, user).await.status, 200);
    }
    let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    for dialect in DIALECTS {
        let headers = [("Api-Version", dialect), ("X-User-Id", "c"), JSON];
        let (status, _) = same(&edge, "POST", &path, &headers, BODY).await;
        assert_eq!(status, 409, "the budget is spent");
    }
    let edge = Edge::new(&[]).await;
    assert_eq!(edge.client().reserve(1, "a").await.status, 200);
    let _: () = edge.redis.ask(&["SET", "dup:user:{e:1}:c", "somebody 99999999999999"]);
    for dialect in DIALECTS {
        let headers = [("Api-Version", dialect), ("X-User-Id", "c"), JSON];
        assert_eq!(same(&edge, "POST", FCFS, &headers, BODY).await.0, 409, "already asking");
    }
    // A value that no script of ours can work with: the door fails.
    let _: () = edge.redis.ask(&["DEL", "dup:user:{e:1}:c"]);
    let _: () = edge.redis.ask(&["HSET", "dup:user:{e:1}:c", "a", "b"]);
    for dialect in DIALECTS {
        let headers = [("Api-Version", dialect), ("X-User-Id", "c"), JSON];
        let (status, body) = same(&edge, "POST", FCFS, &headers, BODY).await;
        assert_eq!(status, 503);
        assert!(body.to_string().replace('_', " ").contains("redis error"), "{body}");
    }
}
