//! One spelling per path. nginx decodes, merges and resolves a path to choose a location, and the server
//! sees the bytes as they were sent: a second spelling would get the limits of one path and reach another.

use testing::raw_tcp;

use super::edge::{BODY, Edge, FCFS, JSON};

#[tokio::test(flavor = "multi_thread")]
async fn other_spellings_of_a_path_are_not_found() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let gate = edge.gate.address();
    let admin = format!("Bearer {}", edge.servers[0].app.admin_token);
    let headers = [("Authorization", admin.as_str()), ("X-User-Id", "u")];
    for path in ["/api/v1/seats", "/api/v1/admin/events", "/api/v1/events/1", "/", "/docs", "/?a=%20//"] {
        assert_eq!(raw_tcp::request(gate, "GET", path, &headers, "").await.status, 200, "{path}");
    }
    for path in ["/api/v1/admin/users/u", "/api/v1/admin/users/u%40example.com", "/api/v1/admin/users/a%2F..%2Fb"] {
        assert_eq!(raw_tcp::request(gate, "GET", path, &headers, "").await.status, 200, "{path}");
    }
    let before = edge.reached().await;
    for path in [
        "//api/v1/seats",
        "//api//v1//seats",
        "/api/v1//seats",
        "/api/v1/seats//",
        "/api/v1/seats/",
        "/api/v1/seats/?a=b",
        "/api/v1/events/1/",
        "/docs/",
        "//",
        "/%61pi/v1/seats",
        "/api/v1/%61dmin/events",
        "/api/v1/admin%2Fevents",
        "/api/v1/admin%2fevents",
        "/api%2Fv1/admin/events",
        "/api/v1/seats%2F",
        "/api/v1/seats%20",
        "/api/v1/seats/%31",
        "/api/v1/./seats",
        "/api/v1/admin/../seats",
        "/api/v1/seats/..",
        "/api/v1/seats/.",
        "/api/v1/%2e%2e/v1/seats",
        "/api/v1/seats#/../../admin",
        "/api/v1/seats;a=b",
        "/api/v1/admin/users/auth0%7c1",
        "/api/v1/admin/users/a@b",
        "/api/v1/admin/users/../events",
        "/api/v1/seats\\",
        "/api\\v1\\seats",
        "/api/v1/se\u{e4}ts",
    ] {
        let told = raw_tcp::request(gate, "GET", path, &headers, "").await;
        assert_eq!((told.status, told.reason().as_str()), (404, "not_found"), "{path}: {}", told.text());
    }
    for path in ["/api/v1/seats/reservation/fcfs/", "//fcfs/join", "/fcfs//join", "/fcfs/%6aoin"] {
        let told = raw_tcp::request(gate, "POST", path, &[("X-User-Id", "u"), JSON], BODY).await;
        assert_eq!((told.status, told.reason().as_str()), (404, "not_found"), "{path}: {}", told.text());
    }
    // The larger body of the admin paths is not to be had by another spelling.
    let large = "x".repeat(100_000);
    let told = raw_tcp::request(gate, "POST", "/api/v1/%61dmin/events", &[JSON], &large).await;
    assert_eq!(told.status, 404, "{}", told.text());
    assert_eq!(edge.reached().await, before, "none of them reached the server");
    assert_eq!(edge.client().post_as("u", FCFS, BODY).await.sequence(), Some(1), "and none took a number");
}
