//! The server itself, without a gateway: one spelling per path, one way to read a request.

use std::time::Duration;

use serde_json::{Value, json};
use testing::raw_tcp::{self, statuses};
use testing::server::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn other_spellings_of_a_path_are_not_found() {
    let stand = TestServer::embedded(&[]).await;
    let admin = format!("Bearer {}", stand.app.admin_token);
    let headers = [("Authorization", admin.as_str()), ("X-User-Id", "u")];
    for path in ["/api/v1/seats", "/api/v1/admin/events", "/", "/docs", "/?a=%20//"] {
        assert_eq!(raw_tcp::request(stand.server, "GET", path, &headers, "").await.status, 200, "{path}");
    }
    for path in [
        "//api//v1//seats",
        "/api/v1//seats",
        "/api/v1/seats/",
        "/api/v1/seats/?a=b",
        "/docs/",
        "//",
        "/%61pi/v1/seats",
        "/api/v1/%61dmin/events",
        "/api/v1/admin%2Fevents",
        "/api/v1/seats/%31",
        "/api/v1/./seats",
        "/api/v1/admin/../seats",
        "/api/v1/seats;a=b",
    ] {
        let told = raw_tcp::request(stand.server, "GET", path, &headers, "").await;
        assert_eq!((told.status, told.reason().as_str()), (404, "not_found"), "{path}: {}", told.text());
    }
}

/// Reason and field of the first answer in what was read, which has the headers that every answer has.
fn envelope(answer: &str) -> (Value, Value) {
    assert_eq!(raw_tcp::header(answer, "x-content-type-options"), Some("nosniff"), "{answer}");
    assert_eq!(raw_tcp::header(answer, "content-type"), Some("application/json; charset=utf-8"), "{answer}");
    assert_eq!(raw_tcp::header(answer, "cache-control"), Some("no-store"), "{answer}");
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(raw_tcp::header(answer, "x-request-id"), body["traceId"].as_str(), "{answer}");
    (body["reason"].clone(), body["field"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_requests_are_refused_and_end_the_connection() {
    let stand = TestServer::embedded(&[]).await;
    let next = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    let post = |headers: &[&str], body: &str| {
        let json = "Content-Type: application/json\r\nX-User-Id: u\r\n";
        format!("POST /fcfs/join HTTP/1.1\r\nHost: localhost\r\n{json}{}\r\n{body}", headers.concat())
    };
    for (name, head) in [
        ("no HTTP", "HELLO localhost\r\n\r\n".to_owned()),
        ("another version", "GET /livez HTTP/2.0\r\nHost: localhost\r\n\r\n".to_owned()),
        ("a header without a colon", "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A\r\n\r\n".to_owned()),
        ("a space in a name", "GET /livez HTTP/1.1\r\nHost: localhost\r\nX A: b\r\n\r\n".to_owned()),
        ("no host", "GET /livez HTTP/1.1\r\n\r\n".to_owned()),
        ("an empty host", "GET /livez HTTP/1.1\r\nHost:\r\n\r\n".to_owned()),
        ("two hosts", "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned()),
        ("the same host twice", "GET /livez HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".to_owned()),
        ("chunks twice", post(&[chunked, chunked], "0\r\n\r\n")),
        ("chunks and a length", post(&[chunked, "Content-Length: 5\r\n"], "0\r\n\r\n")),
        ("a length and chunks", post(&["Content-Length: 5\r\n", chunked], "0\r\n\r\n")),
        ("two lengths", post(&["Content-Length: 2\r\n", "Content-Length: 3\r\n"], "{}")),
        ("equal lengths", post(&["Content-Length: 2\r\n", "content-length: 2\r\n"], "{}")),
        ("a list of lengths", post(&["Content-Length: 2, 2\r\n"], "{}")),
        ("another encoding", post(&["Transfer-Encoding: gzip, chunked\r\n"], "0\r\n\r\n")),
        ("chunks spelled oddly", post(&["Transfer-Encoding: identity, chunked\r\n"], "0\r\n\r\n")),
        ("bare line feeds", "GET /livez HTTP/1.1\nHost: localhost\n\n".to_owned()),
        ("a bare line feed behind the first line", "GET /livez HTTP/1.1\nHost: localhost\r\n\r\n".to_owned()),
        ("a bare line feed in the headers", "GET /livez HTTP/1.1\r\nHost: localhost\nX-A: b\r\n\r\n".to_owned()),
        ("a bare line feed at the end", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\n".to_owned()),
        ("a line feed before the first line", "\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()),
    ] {
        let bytes = format!("{head}{next}");
        let answer = raw_tcp::exchange(stand.server, bytes.as_bytes(), Duration::from_millis(800)).await;
        assert_eq!(statuses(&answer), [400], "{name}: {answer}");
        assert_eq!(envelope(&answer), (json!("validation"), json!("request")), "{name}: {answer}");
        // The same behind sound requests on the same connection, in one write.
        let sound =
            [next.to_owned(), post(&["Content-Length: 4\r\n"], "\n\n{}"), post(&[chunked], "1\r\n\n\r\n0\r\n\r\n")];
        let bytes = format!("{}{head}{next}", sound.concat());
        let answer = raw_tcp::exchange(stand.server, bytes.as_bytes(), Duration::from_millis(800)).await;
        let told = statuses(&answer);
        assert_eq!((told.len(), told[0], told[3]), (4, 200, 400), "{name}: {answer}");
        let last = answer.rsplit_once("HTTP/1.1 ").unwrap().1;
        assert_eq!(envelope(last), (json!("validation"), json!("request")), "{name}: {answer}");
    }
    let old = raw_tcp::exchange(stand.server, b"GET /livez HTTP/1.0\r\n\r\n", Duration::from_millis(800)).await;
    assert!(old.starts_with("HTTP/1.0 200"), "HTTP/1.0 knows no Host: {old}");
}
