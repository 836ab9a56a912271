//! What buyers see of ids: none of them counts sales or requests.

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::TestResponse;
use testing::on_every_backing;
use testing::server::TestServer;

on_every_backing!(reservation_ids_do_not_count);

/// Two purchases do not tell how many were made in between. The readable ids of the operator stay valid.
async fn reservation_ids_do_not_count(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let mut told = Vec::new();
    for user in ["alice", "bob", "carol"] {
        told.push(client.reserve(1, user).await.json()["reservationId"].as_str().unwrap().to_owned());
    }
    for id in &told {
        assert!(id.starts_with("e1-x") && id.len() == 17, "{id}");
    }
    let mine = client.get_as("alice", "/api/v1/reservations").await.json();
    assert_eq!(mine["reservations"][0]["reservationId"], told[0].as_str(), "the same everywhere");
    let listed = stand.admin("GET", "events/1/reservations", &Value::Null).await.json();
    let readable: Vec<&str> =
        listed["reservations"].as_array().unwrap().iter().map(|r| r["reservationId"].as_str().unwrap()).collect();
    assert_eq!(readable, ["e1-2", "e1-3", "e1-4"]);
    assert_eq!(listed["reservations"][1]["publicId"], told[1].as_str());
    for id in [told[0].as_str(), "e1-2"] {
        let one = client.get_as("alice", &format!("/api/v1/reservations/{id}")).await;
        assert_eq!(one.json()["reservation"]["reservationId"], told[0].as_str(), "{id}");
        assert_eq!(client.get_as("bob", &format!("/api/v1/reservations/{id}")).await.status, 403);
    }
    // Another event's, a changed one, one that was never given.
    for id in [told[0].replace("e1", "e2"), told[0].to_uppercase(), "e1-x0000000000000".to_owned()] {
        assert_eq!(client.get_as("alice", &format!("/api/v1/reservations/{id}")).await.status, 404, "{id}");
    }
    assert_eq!(client.cancel("alice", "e1-2").await.status, 200);
    assert_eq!(client.cancel("bob", &told[1]).await.status, 200);
    assert_eq!(stand.admin("DELETE", &format!("reservations/{}", told[2]), &Value::Null).await.status, 200);
    assert_eq!(client.get_as("carol", "/api/v1/reservations").await.json()["reservations"], json!([]));
    let trace = |answer: &TestResponse| answer.json()["traceId"].as_str().unwrap().to_owned();
    let (one, two) = (trace(&client.get("/api/v1/seats/99").await), trace(&client.get("/api/v1/seats/99").await));
    let shared = one.chars().zip(two.chars()).filter(|(a, b)| a == b).count();
    assert!(shared < 16, "{one} {two}: trace ids do not count either");
}
