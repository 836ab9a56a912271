//! FAULTS F3: what one reader takes for one request and another for two. Whatever is sent, the gateway
//! answers as often as it passes on, and the server sees no request that nobody sent.

use std::time::Duration;

use testing::raw_tcp::{self, statuses};

use super::edge::{BODY, Edge, FCFS};

/// All that comes back before the other side closes, or falls silent.
async fn everything(edge: &Edge, bytes: &[u8]) -> String {
    raw_tcp::exchange(edge.gate.address(), bytes, Duration::from_millis(800)).await
}

fn post(headers: &str, body: &str) -> String {
    format!(
        "POST {FCFS} HTTP/1.1\r\nHost: localhost\r\nX-User-Id: u\r\nContent-Type: application/json\r\n{headers}\r\n{body}"
    )
}

/// A second request that hides in the first one's body.
const HIDDEN: &str = "GET /api/v1/seats/1 HTTP/1.1\r\nHost: localhost\r\nX-Smuggled: 1\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_smuggled() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let chunked = format!("0\r\n\r\n{HIDDEN}");
    let length = chunked.len();
    let long = "x".repeat(8_200);
    let large = format!("{{\"userName\":\"{}\"}}", "x".repeat(64 * 1024));
    // What is sent, and whether it is certainly refused.
    let mut cases: Vec<(&str, Vec<u8>, bool)> = vec![
        (
            "length and chunks",
            post(&format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"), &chunked).into(),
            true,
        ),
        (
            "chunks and length",
            post(&format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"), &chunked).into(),
            true,
        ),
        ("two lengths", post(&format!("Content-Length: 2\r\nContent-Length: {length}\r\n"), &chunked).into(), true),
        ("equal lengths", post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}").into(), true),
        ("a list of lengths", post("Content-Length: 2, 2\r\n", "{}").into(), true),
        ("a signed length", post("Content-Length: +2\r\n", "{}").into(), true),
        ("a length in hexadecimal", post("Content-Length: 0x2\r\n", "{}").into(), true),
        ("chunks spelled oddly", post("Transfer-Encoding: xchunked\r\n", &chunked).into(), true),
        ("chunks twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", &chunked).into(), true),
        ("chunks and identity", post("Transfer-Encoding: identity, chunked\r\n", &chunked).into(), true),
        ("a tab before chunked", post("Transfer-Encoding:\x0bchunked\r\n", &chunked).into(), true),
        ("a folded header", post("X-A: b\r\n c\r\nContent-Length: 2\r\n", "{}").into(), false),
        ("a folded length", post("Content-Length:\r\n 2\r\n", "{}").into(), true),
        ("a space before the colon", post("Content-Length : 2\r\n", "{}").into(), true),
        ("a null in a header", post("X-A: a\0b\r\nContent-Length: 2\r\n", "{}").into(), true),
        ("a bare carriage return", post("X-A: a\rContent-Length: 5\r\nContent-Length: 2\r\n", "{}").into(), false),
        (
            "an extension of the last chunk",
            post("Transfer-Encoding: chunked\r\n", "2;x=y\r\n{}\r\n0;a=b\r\n\r\n").into(),
            true,
        ),
        ("a chunk of odd size", post("Transfer-Encoding: chunked\r\n", "-1\r\n{}\r\n0\r\n\r\n").into(), true),
        ("a chunk that is too large", post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n{}").into(), true),
        ("a body larger than allowed", post(&format!("Content-Length: {}\r\n", large.len()), &large).into(), true),
        ("an address of 8 KiB", format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n").into(), true),
        ("a header of 8 KiB", format!("GET / HTTP/1.1\r\nHost: localhost\r\nX-A: {long}\r\n\r\n").into(), true),
        ("no host", b"GET /api/v1/seats HTTP/1.1\r\n\r\n".to_vec(), true),
        ("two hosts", b"GET /api/v1/seats HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_vec(), true),
        ("no version", b"GET /api/v1/seats\r\n\r\n".to_vec(), false),
        ("another version", b"GET /api/v1/seats HTTP/3.7\r\nHost: localhost\r\n\r\n".to_vec(), true),
        ("no request at all", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n".to_vec(), true),
        (
            "another host in the line",
            b"GET http://evil/api/v1/seats/1 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
            false,
        ),
        ("a path out of the root", b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), true),
        ("a tunnel", b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), true),
        ("a trace", b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), true),
    ];
    // Lines that end without a carriage return: read as lines, by both.
    cases.push(("bare line feeds", post("Content-Length: 2\r\n", "{}").replace("\r\n", "\n").into(), false));
    for (name, bytes, refused) in cases {
        let before = edge.reached().await;
        let answer = everything(&edge, &bytes).await;
        let reached = edge.reached().await - before;
        let statuses = statuses(&answer);
        assert!(!answer.contains("<html"), "{name}: a page of nginx's own: {answer}");
        assert!(statuses.iter().all(|status| *status < 500), "{name}: {answer}");
        assert!(reached <= statuses.len() as u64, "{name}: {reached} reached the server, {statuses:?} came back");
        assert!(statuses.len() <= 1, "{name}: one was sent, {statuses:?} came back");
        if refused {
            assert!(statuses.iter().all(|status| (400..500).contains(status)), "{name}: {answer}");
        }
        for status in &statuses {
            let json = answer.contains("application/json");
            assert!(*status < 400 || json, "{name}: {answer}");
        }
    }
    assert_eq!(edge.client().reserve(1, "after").await.sequence(), Some(1), "none of it took a number");
}

/// What other readers may take apart differently gets one 400 and reaches nobody.
#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_requests_are_refused() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let get = |headers: &str| format!("GET /api/v1/seats HTTP/1.1\r\n{headers}\r\n");
    let length = format!("Content-Length: {}\r\n", BODY.len());
    let cases = [
        ("no host", get("")),
        ("no host in HTTP/1.0", "GET /api/v1/seats HTTP/1.0\r\n\r\n".into()),
        ("an empty host", get("Host:\r\n")),
        ("two hosts", get("Host: a\r\nHost: b\r\n")),
        ("the same host twice", get("Host: a\r\nHost: a\r\n")),
        ("length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
        ("chunks and length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")),
        ("chunks twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
        ("chunks, then identity", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "")),
        ("chunks in HTTP/1.0", post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n").replace("/1.1", "/1.0")),
        ("bare line feeds", post(&length, BODY).replace("\r\n", "\n")),
        ("one after the request line", get("Host: localhost\r\n").replacen("\r\n", "\n", 1)),
        ("one before a header", get("Host: t\nX-A: b\r\n")),
        ("one that hides a user", get("Host: localhost\r\nX-A: b\nX-User-Id: alice\r\n")),
        ("one before the end", get("Host: localhost\r\nX-A: b\n")),
        ("one as the end", "GET /api/v1/seats HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n\n".into()),
        ("two as the end", "GET /api/v1/seats HTTP/1.1\r\nHost: localhost\r\nX-A: b\n\n".into()),
        // A name that nginx drops, so that the lines are as many as the headers.
        ("one that is made up for", get("Host: localhost\r\nX_A: b\r\nX-B: c\nX-User-Id: alice\r\n")),
        ("one after a dropped name", get("Host: localhost\r\nX_A: b\nX-User-Id: alice\r\n")),
        ("one in a reservation", post(&format!("X-A: b\nX-B: c\r\n{length}"), BODY)),
        ("one in a cancellation", get("Host: localhost\r\nX-A: b\nX-B: c\r\n").replace("GET", "DELETE")),
    ];
    for (name, text) in cases {
        let before = edge.reached().await;
        let answer = everything(&edge, text.as_bytes()).await;
        assert_eq!(statuses(&answer), [400], "{name}: {answer}");
        assert!(answer.contains("application/json") && answer.contains("validation"), "{name}: {answer}");
        assert_eq!(edge.reached().await, before, "{name} reached the server");
    }
    // What is merely unusual is read: dropped names, no space or many around a value, one without a value, 64 headers.
    let many: String = (0..64).map(|i| format!("X-{i}: {}\r\n", "v".repeat(100))).collect();
    for usual in ["X_A: b\r\nX.B: c\r\n", "X-A:b\r\nX-B:   c  \r\nX-C: \r\nX-D:\r\n", "X-A: a\r\nx-a: b\r\n", &many] {
        let answer = everything(&edge, get(&format!("Host: localhost\r\n{usual}")).as_bytes()).await;
        assert_eq!(statuses(&answer), [200], "{usual:?}: {answer}");
    }
    assert_eq!(edge.client().reserve(1, "after").await.sequence(), Some(1), "none of it took a number");
}

/// Pipelined requests in one packet are counted alike by the gateway and the server.
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_counted() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let before = edge.reached().await;
    let one = |user: &str| {
        post(&format!("Content-Length: {}\r\n", BODY.len()), BODY).replace("Id: u", &format!("Id: {user}"))
    };
    let chunked = format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len());
    let other = post("Transfer-Encoding: chunked\r\n", &chunked).replace("Id: u", "Id: c");
    let answer = everything(&edge, format!("{}{}{other}", one("a"), one("b")).as_bytes()).await;
    assert_eq!(statuses(&answer), [200, 200, 200], "{answer}");
    assert_eq!(edge.reached().await - before, 3);
}

/// Bodies that are not valid JSON, or barely.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_json_is_refused() {
    let edge = Edge::new(&[]).await;
    edge.warm().await;
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(7_000), "]".repeat(7_000));
    let deeper = "[".repeat(10_000);
    for body in [
        &deep,
        &deeper,
        r#"{"userName":"A","phone":1e309}"#,
        r#"{"userName":"\ud800","phone":"010-1234-5678"}"#,
        r#"{"userName":"A","phone":9007199254740993}"#,
        "{\"userName\":\"A\",\"phone\":\"010-1234-5678\"}\0",
        "\u{feff}{}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":0x10}",
        "{'a':1}",
    ] {
        let answer = edge.client().post_as("u", FCFS, body).await;
        assert_eq!(answer.status, 400, "{}: {}", &body[..body.len().min(60)], answer.text());
        assert_eq!(answer.reason(), "validation");
    }
    assert_eq!(edge.mark(1, "u"), None);
}
