//! What a cancellation removes: the name and the telephone number, also where the number is the identity.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::folder::TestFolder;
use testing::on_every_backing;
use testing::process::ServerProcess;
use testing::server::TestServer;

on_every_backing!(phone_identity_is_not_in_the_history);

const FCFS: &str = "/api/v1/seats/reservation/fcfs";
const JSON: (&str, &str) = ("Content-Type", "application/json");
const SEED_000: (&str, &str) = ("Api-Version", "2025-08-17");

async fn phone_identity_is_not_in_the_history(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let body = r#"{"phone":"010-5550-1234"}"#;
    let sold = client.send("POST", FCFS, &[SEED_000, JSON], body).await.json();
    let (seat, by) = (&sold["seat_id"], &sold["reserved_by"]);
    assert_eq!((seat, by), (&json!(1), &json!("+821055501234")), "the answer names the number");
    let again = client.send("POST", FCFS, &[SEED_000, JSON], r#"{"phone":"+82 10-5550-1234"}"#).await.json();
    assert_eq!((&again["seat_id"], &again["reason"]), (&json!(1), &json!("already_reserved")), "the same person");
    let other = client.send("POST", FCFS, &[SEED_000, JSON], r#"{"phone":"010-5550-9999"}"#).await.json();
    assert_eq!(other["seat_id"], 2);

    let listed = stand.admin("GET", "events/1/reservations", &Value::Null).await.json();
    let listed = &listed["reservations"][0];
    assert_eq!(listed["phone"], "+821055501234", "while it stands, the operator can call");
    let user = listed["userId"].as_str().unwrap().to_owned();
    assert!(user.starts_with("tel-") && !user.contains("1234"), "{user}");
    let id = listed["reservationId"].as_str().unwrap();
    assert_eq!(stand.admin("DELETE", &format!("reservations/{id}"), &Value::Null).await.status, 200);

    let history = stand.admin("GET", &format!("history?user={user}"), &Value::Null).await;
    assert_eq!(history.json()["history"].as_array().map(Vec::len), Some(2), "sold and cancelled: {}", history.text());
    for path in ["history", "events/1/reservations", "audit"] {
        let shown = stand.admin("GET", path, &Value::Null).await.text();
        assert!(!shown.contains("55501234"), "{path}: {shown}");
    }
    let back = client.send("POST", FCFS, &[SEED_000, JSON], body).await.json();
    assert_eq!(back["seat_id"], 1, "and may buy again");
}

/// Nothing of it is left in the files either.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_names_and_numbers_are_overwritten() {
    let folder = TestFolder::new("erasure");
    let data = folder.path().join("data");
    let mut process = ServerProcess::start(&data, &[("FCFS_SEATS", "500")]).await;
    let mut client = process.client();
    let mut ids = Vec::new();
    for i in 0..300 {
        let metadata = json!({ "note": "Quixote ".repeat(200) });
        let body =
            json!({ "userName": format!("Zebulon {i}"), "phone": format!("010-7770-{i:04}"), "metadata": metadata });
        let body = body.to_string();
        let sold = client.post_as(&format!("user-{i}"), FCFS, &body).await;
        ids.push(sold.json()["reservationId"].as_str().unwrap().to_owned());
    }
    for i in 0..100 {
        let body = format!(r#"{{"phone":"010-7771-{i:04}"}}"#);
        assert_eq!(client.send("POST", FCFS, &[SEED_000, JSON], &body).await.status, 200);
    }
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(client.cancel(&format!("user-{i}"), id).await.status, 200);
    }
    let token = format!("Bearer {}", process.admin_token());
    let path = "/api/v1/admin/events/1/reservations?limit=1000";
    let listed = client.send("GET", path, &[("Authorization", &token)], "").await.json();
    for one in listed["reservations"].as_array().unwrap() {
        let path = format!("/api/v1/admin/reservations/{}", one["reservationId"].as_str().unwrap());
        assert_eq!(client.send("DELETE", &path, &[("Authorization", &token)], "").await.status, 200);
    }
    drop(client);
    process.signal("TERM");
    assert_eq!(process.ended_within(Duration::from_secs(10)).await, Some(0));
    for file in std::fs::read_dir(&data).unwrap() {
        let file = file.unwrap().path();
        let bytes = std::fs::read(&file).unwrap();
        for canary in ["Zebulon", "82107770", "82107771"] {
            let found = bytes.windows(canary.len()).filter(|window| *window == canary.as_bytes()).count();
            assert_eq!(found, 0, "{canary} in {}", file.display());
        }
    }
}

/// How often this text is in a file.
fn count(file: &Path, text: &str) -> usize {
    let bytes = std::fs::read(file).unwrap_or_default();
    bytes.windows(text.len()).filter(|window| *window == text.as_bytes()).count()
}

/// The text of one person leaves the database file and its log while the server sells on: short fields, and metadata
/// that fills pages of its own.
#[tokio::test(flavor = "multi_thread")]
async fn erased_people_are_overwritten_while_it_runs() {
    let folder = TestFolder::new("erasure");
    let data = folder.path().join("data");
    let process = ServerProcess::start(&data, &[("FCFS_SEATS", "500")]).await;
    let mut client = process.client();
    for i in 0..300 {
        let long = format!("Quixote-{i:03} ").repeat(150);
        let body = json!({ "userName": format!("Zebulon-{i:03}"), "phone": format!("010-7770-{i:04}"), "metadata": { "note": long } });
        let user = format!("user-{i}");
        let headers = [JSON, ("X-User-Id", user.as_str()), ("Idempotency-Key", "once")];
        let sold = client.send("POST", FCFS, &headers, &body.to_string()).await;
        assert_eq!(sold.status, 200, "{}", sold.text());
    }
    let files = ["tickettock.db", "tickettock.db-wal"].map(|name| data.join(name));
    let left = |text: &str| files.iter().map(|file| count(file, text)).sum::<usize>();
    let erased = [7, 150, 151, 299];
    for i in erased {
        assert!(left(&format!("Quixote-{i:03}")) > 100 && left(&format!("Zebulon-{i:03}")) > 0, "it can be seen");
    }
    let token = format!("Bearer {}", process.admin_token());
    for i in erased {
        let path = format!("/api/v1/admin/users/user-{i}/data");
        let told = client.send("DELETE", &path, &[("Authorization", &token)], "").await;
        assert_eq!(told.status, 200, "{}", told.text());
    }
    for i in erased {
        for text in [format!("Zebulon-{i:03}"), format!("Quixote-{i:03}"), format!("82107770{i:04}")] {
            let began = Instant::now();
            while left(&text) > 0 {
                assert!(began.elapsed() < Duration::from_secs(20), "{text} is {} times in the files", left(&text));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    assert!(left("Zebulon-008") > 0 && left("Quixote-298") > 100, "of nobody else");
    assert_eq!(client.reserve(1, "later").await.status, 200);
}
