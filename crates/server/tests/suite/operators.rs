//! The tokens of operators: names, roles, rotation over all servers, and the name in the history.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::folder::TestFolder;
use testing::http::TestResponse;
use testing::on_every_backing;
use testing::process::{ServerProcess, binary};
use testing::server::TestServer;

use crate::holds::{hold, hold_id, seats};

on_every_backing!(roles_limit_tokens, rotated_token_ends_after_its_grace, history_names_the_token);

async fn ask(stand: &TestServer, token: &str, method: &str, path: &str, body: &Value) -> TestResponse {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    stand.client().send(method, path, &headers, &body).await
}

async fn admin(stand: &TestServer, token: &str, method: &str, path: &str, body: &Value) -> TestResponse {
    ask(stand, token, method, &format!("/api/v1/admin/{path}"), body).await
}

/// Whether the token is one.
async fn accepted(stand: &TestServer, token: &str) -> bool {
    let told = admin(stand, token, "GET", "events", &Value::Null).await;
    assert!(matches!(told.status, 200 | 401), "{}", told.text());
    told.status == 200
}

fn secret(made: &TestResponse) -> String {
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["secret"].as_str().unwrap().to_owned()
}

async fn make(stand: &TestServer, name: &str, role: &str) -> String {
    secret(&stand.admin("POST", "tokens", &json!({ "name": name, "role": role })).await)
}

async fn roles_limit_tokens(backing: Backing) {
    let stand = TestServer::on(backing, &[("CONFIRM_BY", "service")]).await;
    let (viewer, service) = (make(&stand, "press", "viewer").await, make(&stand, "shop", "service").await);
    let second = make(&stand, "night-shift", "admin").await;
    let event = stand.event(9, 2).await;
    let new = json!({ "name": "Gala", "seats": 9 });
    for path in ["events", "events/1", "events/1/reservations", "room-types", "history", "audit", "tokens"] {
        assert_eq!(admin(&stand, &viewer, "GET", path, &Value::Null).await.status, 200, "{path}");
        assert_eq!(admin(&stand, &second, "GET", path, &Value::Null).await.status, 200, "{path}");
        let told = admin(&stand, &service, "GET", path, &Value::Null).await;
        assert_eq!((told.status, told.reason().as_str()), (403, "forbidden"), "{path}");
    }
    for (method, path, body) in [
        ("POST", "events".to_owned(), &new),
        ("PATCH", format!("events/{event}"), &json!({ "maxPerUser": 3 })),
        ("POST", format!("events/{event}/pause"), &Value::Null),
        ("DELETE", format!("events/{event}"), &Value::Null),
        ("POST", "ticket-keys".to_owned(), &Value::Null),
        ("POST", "tokens".to_owned(), &json!({ "name": "mine", "role": "admin" })),
        ("POST", "tokens/admin/rotate".to_owned(), &json!({})),
        ("DELETE", "tokens/night-shift".to_owned(), &Value::Null),
    ] {
        for token in [&viewer, &service] {
            let told = admin(&stand, token, method, &path, body).await;
            assert_eq!((told.status, told.reason().as_str()), (403, "forbidden"), "{method} {path}: {}", told.text());
        }
    }
    assert_eq!(admin(&stand, &second, "POST", "events", &new).await.status, 201);
    // Only a service and an admin confirm.
    for (n, token, status) in [(1, &viewer, 403), (2, &service, 200), (3, &second, 200)] {
        let user = format!("buyer-{n}");
        let held = hold(&mut stand.client(), &user, &seats(event, &[n], n)).await;
        let told = ask(&stand, token, "POST", &format!("/v1/holds/{}/confirm", hold_id(&held)), &Value::Null).await;
        assert_eq!(told.status, status, "{}", told.text());
    }
    let listed = stand.admin("GET", "tokens", &Value::Null).await;
    for token in [&viewer, &service, &second, &stand.app.admin_token] {
        assert!(!listed.text().contains(token.as_str()), "a token is shown");
    }
    let names: Vec<String> =
        listed.json()["tokens"].as_array().unwrap().iter().map(|t| t["name"].to_string()).collect();
    assert_eq!(names, [r#""admin""#, r#""press""#, r#""shop""#, r#""night-shift""#]);
}

async fn rotated_token_ends_after_its_grace(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let old = stand.app.admin_token.clone();
    let new = secret(&stand.admin("POST", "tokens/admin/rotate", &json!({ "graceSeconds": 60 })).await);
    assert!(accepted(&stand, &new).await && accepted(&stand, &old).await);
    stand.advance_ms(59_000);
    assert!(accepted(&stand, &old).await);
    stand.advance_ms(2_000);
    assert!(!accepted(&stand, &old).await, "the grace is over");
    assert!(accepted(&stand, &new).await);
    // It stays ended, although it is still configured.
    let stand = stand.restart().await;
    // The database's clock is moved again.
    stand.advance_ms(0);
    assert_eq!(stand.app.admin_token, old);
    assert!(!accepted(&stand, &old).await && accepted(&stand, &new).await);
    // The next one, without grace; and one whose grace is ended by hand.
    let rotate = json!({ "graceSeconds": 0 });
    let third = secret(&admin(&stand, &new, "POST", "tokens/admin/rotate", &rotate).await);
    assert!(!accepted(&stand, &new).await && accepted(&stand, &third).await);
    let fourth = secret(&admin(&stand, &third, "POST", "tokens/admin/rotate", &json!({})).await);
    assert!(accepted(&stand, &third).await, "an hour by default");
    let ended = admin(&stand, &fourth, "DELETE", "tokens/admin/replaced", &Value::Null).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    assert!(!accepted(&stand, &third).await && accepted(&stand, &fourth).await);
    let again = admin(&stand, &fourth, "DELETE", "tokens/admin/replaced", &Value::Null).await;
    assert_eq!(again.status, 404, "{}", again.text());
}

async fn history_names_the_token(backing: Backing) {
    let stand = TestServer::on(backing, &[("CONFIRM_BY", "service")]).await;
    let (ops, shop) = (make(&stand, "ops", "admin").await, make(&stand, "shop", "service").await);
    let made = admin(&stand, &ops, "POST", "events", &json!({ "name": "Gala", "seats": 9, "maxPerUser": 2 })).await;
    let event = made.json()["event"]["id"].as_u64().unwrap();
    stand.admin("POST", &format!("events/{event}/pause"), &Value::Null).await;
    admin(&stand, &ops, "POST", &format!("events/{event}/resume"), &Value::Null).await;
    let held = hold(&mut stand.client(), "alice", &seats(event, &[1], 1)).await;
    ask(&stand, &shop, "POST", &format!("/v1/holds/{}/confirm", hold_id(&held)), &Value::Null).await;
    let sold = stand.client().reserve(event, "bob").await;
    let bobs = sold.json()["reservationId"].as_str().unwrap().to_owned();
    assert_eq!(admin(&stand, &ops, "DELETE", &format!("reservations/{bobs}"), &Value::Null).await.status, 200);
    let told = stand.admin("GET", &format!("history?event={event}"), &Value::Null).await.json();
    let rows: Vec<String> = told["history"].as_array().unwrap().iter().map(row).collect();
    let wanted = [
        "created admin ops",
        "paused admin admin",
        "resumed admin ops",
        "held user -",
        "reserved admin shop",
        "reserved user -",
        "cancelled admin ops",
    ];
    assert_eq!(rows, wanted);
    let room = admin(&stand, &ops, "POST", "room-types", &json!({ "name": "Double", "totalQuantity": 2 })).await;
    let room = room.json()["roomType"]["id"].as_u64().unwrap();
    stand.admin("PATCH", &format!("room-types/{room}"), &json!({ "totalQuantity": 3 })).await;
    let told = stand.admin("GET", &format!("history?roomType={room}"), &Value::Null).await.json();
    let rows: Vec<String> = told["history"].as_array().unwrap().iter().map(row).collect();
    assert_eq!(rows, ["created admin ops", "amended admin admin"]);
}

fn row(row: &Value) -> String {
    let word = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
    format!("{} {} {}", word("what"), word("by"), word("byName"))
}

/// What one server makes, rotates or revokes, the other one knows.
#[tokio::test(flavor = "multi_thread")]
async fn servers_share_tokens() {
    let one = TestServer::on(Backing::Redis, &[]).await;
    let other = TestServer::at(one.stores.clone(), &[]).await;
    for n in 0..5 {
        // Both have just looked.
        assert!(!accepted(&one, "guess").await && !accepted(&other, "guess").await);
        let token = make(&one, &format!("ops-{n}"), "admin").await;
        assert!(accepted(&other, &token).await, "not valid at once");
        let path = format!("tokens/ops-{n}/rotate");
        let new = secret(&admin(&other, &token, "POST", &path, &json!({ "graceSeconds": 3600 })).await);
        assert!(accepted(&one, &new).await && accepted(&one, &token).await && accepted(&other, &token).await);
        assert_eq!(one.admin("DELETE", &format!("tokens/ops-{n}"), &Value::Null).await.status, 200);
        assert!(!accepted(&one, &new).await);
        let began = Instant::now();
        while accepted(&other, &new).await || accepted(&other, &token).await {
            assert!(began.elapsed() < Duration::from_secs(2), "still accepted by the other server");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_checked() {
    let stand = TestServer::embedded(&[]).await;
    make(&stand, "ops", "admin").await;
    for (body, field) in [
        (json!({ "name": "ops", "role": "viewer" }), "name"),
        (json!({ "name": "admin", "role": "viewer" }), "name"),
        (json!({ "name": "Ops", "role": "viewer" }), "name"),
        (json!({ "name": "a/b", "role": "viewer" }), "name"),
        (json!({ "name": "x".repeat(65), "role": "viewer" }), "name"),
        (json!({ "role": "viewer" }), "name"),
        (json!({ "name": "x", "role": "root" }), "role"),
        (json!({ "name": "x" }), "role"),
        (json!({ "name": "x", "rol": "viewer" }), "rol"),
    ] {
        let told = stand.admin("POST", "tokens", &body).await;
        assert_eq!((told.status, told.json()["field"].as_str()), (400, Some(field)), "{body}: {}", told.text());
    }
    for (method, path, body, status) in [
        ("POST", "tokens/nobody/rotate", json!({}), 404),
        ("POST", "tokens/A/rotate", json!({}), 404),
        ("POST", "tokens/ops/rotate", json!({ "graceSeconds": 2_592_001 }), 400),
        ("POST", "tokens/ops/rotate", json!({ "graceSeconds": -1 }), 400),
        ("DELETE", "tokens/nobody", Value::Null, 404),
        // Whoever asks would lock themselves out.
        ("DELETE", "tokens/admin", Value::Null, 400),
        ("DELETE", "tokens/ops", Value::Null, 200),
        ("DELETE", "tokens/ops", Value::Null, 404),
    ] {
        let told = stand.admin(method, path, &body).await;
        assert_eq!(told.status, status, "{method} {path}: {}", told.text());
    }
    // A name whose token has ended can be used again.
    make(&stand, "ops", "viewer").await;
}

fn tickettock(process: &ServerProcess, data: &TestFolder, arguments: &[&str]) -> (Option<i32>, String, String) {
    let url = format!("http://{}", process.address);
    let mut command = binary();
    command.arg("token").args(arguments).args(["--url", &url]).env("DATA_DIR", data.path());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_make_rotate_and_revoke() {
    let data = TestFolder::new("server");
    let process = ServerProcess::start(data.path(), &[]).await;
    let status = async |token: &str| {
        let bearer = format!("Bearer {token}");
        process.client().send("GET", "/api/v1/admin/events", &[("Authorization", &bearer)], "").await.status
    };
    let old = process.admin_token();
    let (code, said, complaint) = tickettock(&process, &data, &["rotate-admin", "--grace", "1h"]);
    assert_eq!(code, Some(0), "{complaint}");
    let new = process.admin_token();
    assert!(new != old && !said.contains(&new), "the file has the new one, the terminal does not: {said}");
    let mode = std::fs::metadata(data.path().join("admin-token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!((status(&old).await, status(&new).await), (200, 200));
    let (code, _, complaint) = tickettock(&process, &data, &["end-old", "admin"]);
    assert_eq!(code, Some(0), "{complaint}");
    assert_eq!((status(&old).await, status(&new).await), (401, 200));

    let (code, press, complaint) = tickettock(&process, &data, &["create", "--name", "press", "--role", "viewer"]);
    assert_eq!(code, Some(0), "{complaint}");
    assert_eq!(status(&press).await, 200);
    let (_, list, _) = tickettock(&process, &data, &["list"]);
    assert!(list.contains("press") && list.contains("viewer") && !list.contains(&press), "{list}");
    let (code, next, complaint) = tickettock(&process, &data, &["rotate", "press", "--grace", "0s"]);
    assert_eq!(code, Some(0), "{complaint}");
    assert_eq!((status(&press).await, status(&next).await), (401, 200));
    let (code, _, complaint) = tickettock(&process, &data, &["revoke", "press"]);
    assert_eq!((code, status(&next).await), (Some(0), 401), "{complaint}");
    let (code, _, complaint) = tickettock(&process, &data, &["revoke", "press"]);
    assert!(code == Some(2) && !complaint.is_empty());
    let (code, _, complaint) = tickettock(&process, &data, &["create", "--name", "x", "--role", "root"]);
    assert!(code == Some(2) && complaint.contains("root"), "{complaint}");
}
