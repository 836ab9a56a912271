//! Parameters of the query string that nobody declared: refused by name in the admin API and in canonical reads, ignored
//! by the dialects of the seeds, by pages and by health checks.

use salvo::http::Method;
use serde_json::{Value, json};
use server::http::openapi::query;
use server::http::routes::table;
use testing::http::TestResponse;
use testing::server::TestServer;

fn refused(answer: &TestResponse) -> (u16, String, String) {
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (answer.status, text("reason"), text("field"))
}

fn unknown(field: &str) -> (u16, String, String) {
    (400, "validation".into(), field.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn misspelt_parameters_are_named_with_the_nearest() {
    let stand = TestServer::embedded(&[]).await;
    let event = stand.event(5, 1).await;
    for (path, field, nearest) in [
        ("events?limits=5", "limits", "limit"),
        ("events?Archived=true", "Archived", "archived"),
        ("history?usr=alice", "usr", "user"),
        ("history?user=alice&room_type=1", "room_type", "roomType"),
        ("users/alice?aftr=x", "aftr", "after"),
    ] {
        let answer = stand.admin("GET", path, &Value::Null).await;
        assert_eq!(refused(&answer), unknown(field), "{path}: {}", answer.text());
        assert!(answer.json()["message"].as_str().unwrap().contains(nearest), "{}", answer.text());
    }
    let answer = stand.admin("DELETE", &format!("events/{event}?sld=true"), &Value::Null).await;
    assert_eq!(refused(&answer), unknown("sld"));
    let answer = stand.admin("POST", "events?dryRun=1", &json!({ "name": "x", "seats": 1 })).await;
    assert_eq!(refused(&answer), unknown("dryRun"));
    let listed = stand.admin("GET", "events", &Value::Null).await.json();
    assert_eq!(listed["events"].as_array().unwrap().len(), 2, "nothing was deleted or made");
    // Who may not ask is told that, and nothing of parameters.
    let answer = stand.client().get("/api/v1/admin/events?limits=5").await;
    assert_eq!(answer.status, 401);
    let mut client = stand.client();
    for (path, field) in [("/api/v1/seats?form=2", "form"), ("/api/v1/events?=5", "query"), ("/api/v1/events?%1b", "?")]
    {
        assert_eq!(refused(&client.get(path).await), unknown(field), "{path}");
    }
    assert_eq!(refused(&client.get_as("alice", "/api/v1/reservations?user=bob").await), unknown("user"));
}

/// Every operation knows what the document says that it takes, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn declared_parameters_are_the_known_ones() {
    let stand = TestServer::embedded(&[]).await;
    let token = format!("Bearer {}", stand.app.admin_token);
    let mut client = stand.client();
    let (mut strict, mut lenient) = (0, 0);
    for route in table() {
        let path = route.path.replace("{eventId}", "1").replace("{seatId}", "1").replace("{userId}", "alice");
        let path = path.replace("/openapi/{file}", "/openapi/1.1.json").replace("{file}", "page.css");
        let path: String = path
            .split('/')
            .map(|part| if part.starts_with('{') { "/1" } else { "/x" }.replace("/x", &format!("/{part}")))
            .collect();
        let path = path.trim_start_matches('/');
        for operation in route.operations.iter().filter(|operation| operation.method == Method::GET) {
            let headers: &[(&str, &str)] =
                if operation.access.is_operators() { &[("Authorization", &token)] } else { &[("X-User-Id", "alice")] };
            let answer = client.send("GET", &format!("/{path}?nonsense=1"), headers, "").await;
            if path.starts_with("api/v1/") {
                assert_eq!(refused(&answer), unknown("nonsense"), "{path}: {}", answer.text());
                strict += 1;
            } else {
                assert!(!answer.text().contains(r#""field":"nonsense""#), "{path}: {}", answer.text());
                lenient += 1;
            }
            for declared in query(&operation.doc) {
                // Of whatever value: a stream would not end.
                if operation.doc.tag == "live" {
                    continue;
                }
                let answer = client.send("GET", &format!("/{path}?{}=%01", declared.name), headers, "").await;
                let body = answer.text();
                assert!(!body.contains("is not a known field"), "{path} does not know {}: {body}", declared.name);
            }
        }
    }
    assert!(strict > 30 && lenient > 10, "{strict} {lenient}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dialects_of_the_seeds_ignore_what_they_do_not_know() {
    let stand = TestServer::embedded(&[]).await;
    let mut client = stand.client();
    for version in ["1.0", "2025-08-17"] {
        let headers = [("Api-Version", version)];
        let plain = client.send("GET", "/api/v1/seats", &headers, "").await;
        let asked = client.send("GET", "/api/v1/seats?a=b&form=1", &headers, "").await;
        assert_eq!((asked.status, asked.text()), (200, plain.text()), "{version}");
    }
    for path in ["/v1/room-types?a=b", "/livez?a=b", "/?utm_source=mail", "/events/1?utm_source=mail"] {
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }
    let bought = client.post_as("alice", "/api/v1/seats/reservation/fcfs?a=b", testing::http::BUYER).await;
    assert_eq!(bought.status, 200, "{}", bought.text());
}
