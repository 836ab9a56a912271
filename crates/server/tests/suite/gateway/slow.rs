//! Clients that send or read slowly, thousands of them: each holds a connection for a bounded time, one
//! address holds a bounded number, and everybody else is served as before.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::edge::{Edge, FCFS};
use crate::slow_clients;

/// More connections than an unprivileged process may have files, at one worker.
async fn served_beside(path: &str, arguments: &[&str]) {
    let edge = Edge::new(&[("GATEWAY_WORKERS", "1"), ("FCFS_SEATS", "2000")]).await;
    let gate = edge.gate.address();
    slow_clients::served_beside(gate, path, arguments).await;
    assert!(!edge.gate.nginx().log().contains("Too many open files"), "{}", edge.gate.nginx().log());
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_slow_bodies_delay_nobody() {
    served_beside(FCFS, &["-B", "-c", "3000", "-i", "1", "-s", "8192", "-x", "3", "-f", "application/json"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_slow_headers_delay_nobody() {
    served_beside("/api/v1/seats", &["-H", "-c", "3000", "-i", "1", "-x", "3"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_slow_readers_delay_nobody() {
    // Fewer a second than the others: each asks for a list of 2,000 seats, of a server that is a debug build.
    let slowly = ["-X", "-c", "1500", "-r", "250", "-w", "8", "-y", "16", "-n", "1", "-z", "4"];
    served_beside("/api/v1/seats", &slowly).await;
}

/// Sends `head`, then a byte of `rest` every 200 ms. How long the connection lived.
async fn trickle(gate: SocketAddr, head: &str, rest: &str) -> Duration {
    let mut stream = TcpStream::connect(gate).await.unwrap();
    let began = Instant::now();
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let sends = async {
        for byte in rest.as_bytes() {
            tokio::time::sleep(Duration::from_millis(200)).await;
            if writing.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let closed = async {
        let mut part = [0; 1024];
        while let Ok(1..) = reading.read(&mut part).await {}
    };
    tokio::select! {
        () = sends => {},
        () = closed => {},
        () = tokio::time::sleep(Duration::from_secs(20)) => {},
    }
    began.elapsed()
}

/// The limit is for the whole body and the whole header, not for the time between two bytes.
#[tokio::test(flavor = "multi_thread")]
async fn trickled_body_and_header_are_cut_off() {
    let edge = Edge::new(&[("GATEWAY_BODY_TIME", "2"), ("GATEWAY_WORKERS", "1")]).await;
    edge.warm().await;
    let before = edge.reached().await;
    let gate = edge.gate.address();
    let long = "x".repeat(200);
    let head = |method: &str, path: &str, framing: &str| {
        let json = "Content-Type: application/json\r\nX-User-Id: u";
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{json}\r\n{framing}\r\n\r\n")
    };
    let length = "Content-Length: 200";
    let chunked = format!("c8\r\n{long}");
    let trickles = [
        ("a reservation", head("POST", FCFS, length), long.as_str()),
        ("chunks", head("POST", FCFS, "Transfer-Encoding: chunked"), chunked.as_str()),
        ("another POST", head("POST", "/v1/holds", length), &long),
        ("a DELETE", head("DELETE", "/api/v1/reservations/e1-2", length), &long),
        ("an admin path", head("POST", "/api/v1/admin/events", length), &long),
        ("a read", head("GET", "/api/v1/seats", length), &long),
    ];
    let all = trickles.iter().map(async |(name, head, rest)| (*name, trickle(gate, head, rest).await));
    let header = trickle(gate, "GET /api/v1/seats HTTP/1.1\r\nX-A: ", &long);
    let (all, header) = futures_util::future::join(futures_util::future::join_all(all), header).await;
    for (name, lived) in all {
        assert!(lived < Duration::from_secs(5), "{name} lived {lived:?}");
        assert!(lived > Duration::from_millis(1_500), "{name} lived {lived:?} only");
    }
    assert!(header < Duration::from_secs(8), "a header lived {header:?}");
    assert_eq!(edge.reached().await, before, "and nothing of it reached the server");
    assert!(!edge.gate.nginx().log().contains("lua entry thread aborted"), "{}", edge.gate.nginx().log());

    // Slow, but in time.
    let head = head("POST", FCFS, &format!("Content-Length: {}", super::edge::BODY.len()));
    let mut stream = TcpStream::connect(gate).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    for part in super::edge::BODY.as_bytes().chunks(11) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stream.write_all(part).await.unwrap();
    }
    let mut answer = [0; 4096];
    let read = stream.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// One address has so many requests in progress, and no more; others are not touched.
#[tokio::test(flavor = "multi_thread")]
async fn requests_in_progress_are_limited_per_address() {
    let edge = Edge::new(&[("GATEWAY_ADDRESS_CONNECTIONS", "40")]).await;
    let gate = edge.gate.address();
    let mut held = Vec::new();
    for _ in 0..40 {
        let mut stream = TcpStream::connect(gate).await.unwrap();
        let head = format!(
            "POST {FCFS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        held.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut client = edge.client();
    let told = client.get("/api/v1/seats").await;
    assert_eq!((told.status, told.reason().as_str()), (429, "rate_limited"), "{}", told.text());
    assert_eq!((told.header("retry-after"), told.json()["retryAfter"].as_u64()), (Some("1"), Some(1)));
    assert_eq!(slow_clients::ask(gate).await, 200, "another address");
    drop(held);
    let began = Instant::now();
    while edge.client().get("/api/v1/seats").await.status != 200 {
        assert!(began.elapsed() < Duration::from_secs(2), "still counted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // IPv6 by /64, as everywhere.
    let gate = edge.another(&[("GATEWAY_ADDRESS_CONNECTIONS", "1"), ("TRUSTED_PROXIES", "127.0.0.1")]);
    let from = async |address: &str| {
        let mut client = gate.client();
        client.send("GET", "/api/v1/seats", &[("X-Forwarded-For", address)], "").await.status
    };
    let mut slow = TcpStream::connect(gate.address()).await.unwrap();
    let head =
        "POST /v1/holds HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 2001:db8::1\r\nContent-Length: 9\r\n\r\n";
    slow.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(from("2001:db8::ffff:2").await, 429);
    assert_eq!((from("2001:db8:0:1::1").await, from("::ffff:9.9.9.9").await, from("9.9.9.9").await), (200, 200, 200));
}
