//! What a cache between the server and its callers may keep.

use testing::backing::Backing;
use testing::http::BUYER;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{hold, nights, room_type};

on_every_backing!(only_public_answers_may_be_stored);

async fn only_public_answers_may_be_stored(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let room = room_type(&stand, 3).await;
    let token = format!("Bearer {}", stand.app.admin_token);
    let admin = [("Authorization", token.as_str())];
    let alice = [("X-User-Id", "alice")];
    let held = hold(&mut client, "alice", &nights(room, 5, 1, 1)).await;
    assert_eq!((held.status, held.header("cache-control")), (201, Some("no-store")));
    let sold = client.post_as("alice", "/api/v1/seats/reservation/fcfs", BUYER).await;
    assert_eq!((sold.status, sold.header("cache-control")), (200, Some("no-store")));
    for (path, headers) in [
        ("/api/v1/reservations", &alice[..]),
        ("/v1/holds", &alice[..]),
        ("/api/v1/seats/1", &[]),
        ("/api/v1/admin/events", &admin[..]),
        ("/api/v1/admin/events/1/reservations", &admin[..]),
        ("/livez", &[]),
        ("/readyz", &[]),
        ("/metrics", &[]),
        ("/api/v1/reservations", &[]),
        ("/api/v1/events/99", &[]),
        ("/no/such/path", &[]),
    ] {
        let answer = client.send("GET", path, headers, "").await;
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}: {}", answer.status);
    }
    let availability = format!(
        "/v1/room-types/{room}/availability?checkIn={}&checkOut={}",
        crate::holds::day(1),
        crate::holds::day(2)
    );
    for (path, cached, vary) in [
        ("/api/v1/seats", "max-age=1", Some("Api-Version, Accept-Encoding")),
        ("/api/v1/events", "public, max-age=1", None),
        ("/api/v1/events/1", "public, max-age=1", None),
        ("/api/v1/events/1/layout", "max-age=60", None),
        ("/v1/room-types", "public, max-age=1", None),
        ("/openapi.json", "public, max-age=1", None),
        (&availability, "no-cache", None),
    ] {
        let answer = client.get(path).await;
        let found = (answer.status, answer.header("cache-control"), answer.header("vary"));
        assert_eq!(found, (200, Some(cached), vary), "{path}");
    }
}
