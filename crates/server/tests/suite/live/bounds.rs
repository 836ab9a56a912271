//! Streams have bounds: how many there are, how much they say, how long they outlive their server.

use std::time::{Duration, Instant};

use client::HttpRequest;
use serde_json::json;
use testing::http::BUYER;
use testing::raw_tcp;
use testing::server::TestServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::watcher::{TestWatcher, open};

fn stream_of(event: u64) -> HttpRequest {
    HttpRequest::new("GET", &format!("/api/v1/events/{event}/stream"))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_watcher_too_many_gets_503_until_another_leaves() {
    let server = TestServer::embedded(&[("MAX_WATCHERS", "2")]).await;
    let event = server.event(5, 1).await;
    let first = TestWatcher::of(&server, event).await;
    let _second = TestWatcher::of(&server, event).await;
    let refused = server.client().get(&format!("/api/v1/events/{event}/stream")).await;
    assert_eq!((refused.status, refused.reason().as_str()), (503, "service_unavailable"));
    assert!(refused.header("retry-after").is_some());
    assert!(server.app.metrics.text(&server.app).contains("tickettock_watchers 2\n"));
    // A stream that has nothing to say notices at once that its client is gone.
    drop(first);
    let began = Instant::now();
    while open(&server, stream_of(event)).await.head.status != 200 {
        assert!(began.elapsed() < Duration::from_secs(5), "the place of a watcher that left stays taken");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_at_once_when_the_server_stops() {
    let server = TestServer::embedded(&[]).await;
    let event = server.event(5, 1).await;
    let mut watcher = TestWatcher::of(&server, event).await;
    watcher.until("a snapshot", |model| model.snapshots == 1).await;
    let began = Instant::now();
    server.ask_to_stop();
    while watcher.next().await.is_some() {}
    assert!(began.elapsed() < Duration::from_millis(500), "the stream ended after {:?}", began.elapsed());
    server.stopped().await;
    assert!(began.elapsed() < Duration::from_secs(3), "the server stopped after {:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_gets_at_most_ten_messages_a_second() {
    let server = TestServer::embedded(&[("USER_RATE", "0")]).await;
    let event = server.event(2_000, 1).await;
    let mut watcher = TestWatcher::of(&server, event).await;
    watcher.until("a snapshot", |model| model.snapshots == 1).await;
    let address = server.address;
    let buying = tokio::spawn(async move {
        let mut client = testing::http::TestClient::new(address);
        for n in 0..1_000 {
            assert_eq!(client.reserve(event, &format!("u{n}")).await.status, 200);
        }
    });
    let mut times = Vec::new();
    while watcher.model.count('s') < 1_000 {
        watcher.next().await.expect("the stream goes on");
        times.push(Instant::now());
    }
    buying.await.unwrap();
    for (i, from) in times.iter().enumerate() {
        // On a busy machine messages that were sent apart may be read together, one round at most.
        let within = times[i..].iter().take_while(|at| at.duration_since(*from) < Duration::from_millis(900)).count();
        assert!(within <= 10, "{within} messages in a second");
    }
}

/// The connection of a stream is not idle, so a full server does not close it; a shorter one would make room.
#[tokio::test(flavor = "multi_thread")]
async fn streams_keep_their_connection_when_the_server_is_full() {
    let server = TestServer::embedded(&[("MAX_CONNECTIONS", "8")]).await;
    let event = server.event(5, 1).await;
    let mut watchers = Vec::new();
    for _ in 0..6 {
        let mut watcher = TestWatcher::of(&server, event).await;
        watcher.until("a snapshot", |model| model.snapshots == 1).await;
        watchers.push(watcher);
    }
    // Idle connections take the other places; they are closed for those who come.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for n in 0..6 {
        let idle = raw_tcp::send(server.address, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await;
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        let answer = tokio::time::timeout(Duration::from_secs(10), server.client().get("/livez")).await;
        assert_eq!(answer.expect("somebody made room").status, 200, "{n}");
        drop(idle);
    }
    assert_eq!(server.client().reserve(event, "alice").await.seat(), Some(1));
    for watcher in &mut watchers {
        watcher.until("the sale", |model| model.states[0] == 's').await;
    }
}

fn watchers(server: &TestServer) -> String {
    let text = server.app.metrics.text(&server.app);
    text.lines().find_map(|line| line.strip_prefix("tickettock_watchers ")).unwrap().to_owned()
}

/// What it does not take stays in a small buffer of the kernel; then it is closed, and nobody waited for it.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_reader_that_does_not_read_is_dropped() {
    let server = TestServer::embedded(&[("USER_RATE", "0")]).await;
    let event = server.event(30_000, 1).await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2_048).unwrap();
    let silent = socket.connect(server.address).await.unwrap();
    let head = format!("GET /api/v1/events/{event}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while silent.try_write(head.as_bytes()).is_err() {
        silent.writable().await.unwrap();
    }
    let began = Instant::now();
    while watchers(&server) != "1" {
        assert!(began.elapsed() < Duration::from_secs(5), "it does not watch");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut buying = Vec::new();
    for buyer in 0..32u64 {
        let address = server.address;
        buying.push(tokio::spawn(async move {
            let mut client = testing::http::TestClient::new(address);
            for n in 0..900u64 {
                // Scattered over the hall, so that no short message tells them.
                let seat = (buyer * 900 + n) * 7_919 % 30_000 + 1;
                let path = format!("/api/v1/events/{event}/seats/{seat}/reservation");
                client.post_as(&format!("u{buyer}-{n}"), &path, BUYER).await;
            }
        }));
    }
    for buyer in buying {
        buyer.await.unwrap();
    }
    let began = Instant::now();
    while watchers(&server) != "0" {
        assert!(began.elapsed() < Duration::from_secs(30), "it still takes a place");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(silent);
}

/// After its end the connection is as good as any: what was written to it directly was whole.
#[tokio::test(flavor = "multi_thread")]
async fn connection_serves_on_after_the_end_of_a_stream() {
    let server = TestServer::embedded(&[]).await;
    let event = server.event(5, 1).await;
    let head = format!("GET /api/v1/events/{event}/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut wire = raw_tcp::send(server.address, head.as_bytes()).await;
    let mut text = read_until(&mut wire, "\"states\":\"5f\"").await;
    assert_eq!(server.client().reserve(event, "alice").await.seat(), Some(1));
    text += &read_until(&mut wire, "\"remaining\":4").await;
    let answer = server.admin("POST", &format!("events/{event}/close"), &json!(null)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    text += &read_until(&mut wire, "\"state\":\"closed\"").await;
    server.app.live.forget_all();
    text += &read_until(&mut wire, "\r\n0\r\n\r\n").await;
    assert_eq!(text.matches("HTTP/1.1 200").count(), 1, "{text}");
    wire.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let next = read_until(&mut wire, "\r\n\r\n").await;
    assert!(next.starts_with("HTTP/1.1 200"), "{next}");
}

/// HTTP/1.0 has no chunks: the messages come as they are, until the connection ends.
#[tokio::test(flavor = "multi_thread")]
async fn old_client_gets_a_stream_without_chunks() {
    let server = TestServer::embedded(&[]).await;
    let event = server.event(5, 1).await;
    let head = format!("GET /api/v1/events/{event}/stream HTTP/1.0\r\nHost: localhost\r\n\r\n");
    let mut wire = raw_tcp::send(server.address, head.as_bytes()).await;
    let first = read_until(&mut wire, "\"time\":\"").await;
    assert!(first.contains("\r\n\r\nretry: 2000\n\nevent: snapshot\n"), "{first}");
    read_until(&mut wire, "\n\n").await;
    assert_eq!(server.client().reserve(event, "alice").await.seat(), Some(1));
    let next = read_until(&mut wire, "\"sold\":1}\n\n").await;
    assert!(next.starts_with("event: seats\nid: 2."), "{next}");
}

/// Reads on until this has come.
async fn read_until(wire: &mut tokio::net::TcpStream, end: &str) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(end.as_bytes()) {
        let read = tokio::time::timeout(Duration::from_secs(20), wire.read(&mut byte)).await.expect("it comes");
        assert_eq!(read.unwrap(), 1, "the end before {end:?}: {}", String::from_utf8_lossy(&text));
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}
