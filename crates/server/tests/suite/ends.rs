//! What has ended is removed, on every backing: what must stay stays, and sales go on meanwhile.

use serde_json::Value;
use server::tidier::{Tidier, forget_unused};
use testing::backing::Backing;
use testing::http::{BUYER, TestClient};
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(ended_things_are_removed_while_sales_go_on, unused_memory_is_forgotten_and_read_again);

const SHORT: &[(&str, &str)] = &[("KEY_KEEP", "60"), ("HOLD_KEEP", "60"), ("DELETED_KEEP", "60")];

async fn metrics(server: &TestServer) -> String {
    TestClient::new(server.server).send("GET", "/metrics", &[], "").await.text()
}

async fn reserve(server: &TestServer, event: u64, user: &str, key: &str) -> Value {
    let headers = [("X-User-Id", user), ("Content-Type", "application/json"), ("Idempotency-Key", key)];
    let path = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    let answer = server.client().send("POST", &path, &headers, BUYER).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn cancel(server: &TestServer, user: &str, id: &str) {
    let path = format!("/api/v1/reservations/{id}");
    let answer = server.client().send("DELETE", &path, &[("X-User-Id", user)], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

async fn ended_things_are_removed_while_sales_go_on(backing: Backing) {
    let server = TestServer::on(backing, SHORT).await;
    let (stays, goes) = (server.event(60, 1).await, server.event(9, 1).await);
    let kept = reserve(&server, stays, "keeper", "k").await;
    let sold = reserve(&server, goes, "leaver", "k").await;
    cancel(&server, "leaver", sold["reservationId"].as_str().unwrap()).await;
    assert_eq!(server.admin("DELETE", &format!("events/{goes}"), &Value::Null).await.status, 200);

    let tidier = Tidier::new(&server.app);
    tidier.round(&server.app).await.unwrap();
    assert!(!metrics(&server).await.contains("tickettock_tidied_total{"), "removed before its time");

    server.advance_ms(61_000);
    let selling = async {
        for i in 0..20 {
            reserve(&server, stays, &format!("u{i}"), "k").await;
        }
    };
    let (tidied, ()) = tokio::join!(tidier.round(&server.app), selling);
    tidied.unwrap();
    let told = metrics(&server).await;
    for (kind, count) in [("answers", 2), ("seats", 1), ("halls", 1), ("events", 1)] {
        let line = format!("tickettock_tidied_total{{kind=\"{kind}\"}} {count}\n");
        assert!(told.contains(&line), "{line}{told}");
    }
    // Young answers are repeated, the sale stands, the history stays.
    assert_eq!(
        reserve(&server, stays, "u3", "k").await["sequence"],
        reserve(&server, stays, "u3", "k").await["sequence"]
    );
    let path = format!("/api/v1/reservations/{}", kept["reservationId"].as_str().unwrap());
    assert_eq!(server.client().send("GET", &path, &[("X-User-Id", "keeper")], "").await.status, 200);
    let gone = rules::ids::EventId(goes as i64);
    assert_eq!(server.app.ledger.history(gone, 0, 100).await.unwrap().len(), 4);
    let found = server.client().send("GET", &format!("/api/v1/events/{goes}"), &[], "").await;
    assert_eq!(found.status, 404, "{}", found.text());
    assert!(server.event(1, 1).await > goes, "an id was used again");
}

async fn unused_memory_is_forgotten_and_read_again(backing: Backing) {
    let server = TestServer::on(backing, SHORT).await;
    let event = server.event(60, 1).await;
    let first = reserve(&server, event, "a", "k").await;
    forget_unused(&server.app);
    let told = metrics(&server).await;
    assert!(told.contains("tickettock_remembered{kind=\"lanes\"} 1\n"), "used since the last time: {told}");
    assert!(told.contains(&format!("tickettock_remaining_seats{{event=\"{event}\"}} 59\n")), "{told}");
    forget_unused(&server.app);
    let told = metrics(&server).await;
    for kind in ["lanes", "halls", "series"] {
        assert!(told.contains(&format!("tickettock_remembered{{kind=\"{kind}\"}} 0\n")), "{kind}: {told}");
    }
    assert!(!told.contains("tickettock_remaining_seats{"), "{told}");
    let second = reserve(&server, event, "b", "k").await;
    assert_eq!(second["seat"]["id"].as_u64(), first["seat"]["id"].as_u64().map(|seat| seat + 1), "{second}");
    assert!(second["sequence"].as_u64() > first["sequence"].as_u64(), "numbers went back: {first} {second}");
}
