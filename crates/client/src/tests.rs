//! Runs against a server that sends what each test scripts.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::api::forms::BuyerForm;
use crate::api::{ApiClient, calls};
use crate::{Client, ClientError, Connection, HttpRequest, Target, ask_once};

/// Accepts one connection per list, answers each request head with the next text in it, then closes.
/// Returns what it read.
async fn scripted(connections: Vec<Vec<&'static str>>) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let mut heard = Vec::new();
        for answers in connections {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            for answer in answers {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") && !request.ends_with(b"}") {
                    let read = stream.read_buf(&mut request).await.unwrap();
                    assert!(read > 0, "the client hung up");
                }
                heard.push(String::from_utf8(request).unwrap());
                // In two parts, so that nothing depends on how the bytes are split.
                let (first, second) = answer.split_at(answer.len() / 2);
                stream.write_all(first.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
                stream.write_all(second.as_bytes()).await.unwrap();
            }
        }
        heard
    });
    (address, serving)
}

#[tokio::test]
async fn many_requests_use_one_connection() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\n{}";
    let (address, server) = scripted(vec![vec![ok; 20]]).await;
    let mut connection = Connection::open(&address.into()).await.unwrap();
    for _ in 0..20 {
        let response = connection.ask(HttpRequest::get("/a?b=c").header("X-User-Id", "u")).await.unwrap();
        assert_eq!((response.status, &response.body[..], response.header("x-a")), (200, &b"{}"[..], Some("b")));
    }
    let heard = server.await.unwrap();
    let wanted = format!("GET /a?b=c HTTP/1.1\r\nX-User-Id: u\r\nHost: {address}\r\n\r\n");
    assert_eq!((heard.len(), heard[0].as_str()), (20, wanted.as_str()));
}

#[tokio::test]
async fn chunks_are_put_together_and_head_has_no_body() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2;x=y\r\n2]\r\n0\r\n\r\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    let none = "HTTP/1.1 304 Not Modified\r\n\r\n";
    let (address, server) = scripted(vec![vec![chunked, head, none]]).await;
    let mut connection = Connection::open(&address.into()).await.unwrap();
    assert_eq!(connection.ask(HttpRequest::get("/")).await.unwrap().json().unwrap()[1], 2);
    let response = connection.ask(HttpRequest::new("HEAD", "/")).await.unwrap();
    assert_eq!((response.header("content-length"), response.body.len()), (Some("9"), 0));
    assert_eq!(connection.ask(HttpRequest::get("/")).await.unwrap().status, 304);
    server.await.unwrap();
}

#[tokio::test]
async fn a_body_may_end_with_the_connection() {
    let (address, _server) = scripted(vec![vec!["HTTP/1.1 200 OK\r\n\r\nwhole"]]).await;
    let response = ask_once(&address.into(), HttpRequest::get("/"), Duration::from_secs(5)).await.unwrap();
    assert_eq!(response.text(), "whole");
}

#[tokio::test]
async fn lengths_are_sent_where_a_body_may_be() {
    let ok = "HTTP/1.1 204 No Content\r\n\r\n";
    let (address, server) = scripted(vec![vec![ok; 2]]).await;
    let mut client = Client::new(address);
    client.ask(HttpRequest::post("/")).await.unwrap();
    client.ask(HttpRequest::post("/").json("{}")).await.unwrap();
    let heard = server.await.unwrap();
    assert!(heard[0].contains("Content-Length: 0\r\n"), "{heard:?}");
    assert!(heard[1].contains("Content-Type: application/json\r\n"), "{heard:?}");
    assert!(heard[1].contains("Content-Length: 2\r\n") && heard[1].ends_with("{}"), "{heard:?}");
}

#[tokio::test]
async fn a_closed_connection_is_opened_again() {
    let stays = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let closes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let (address, server) = scripted(vec![vec![closes], vec![stays], vec![stays]]).await;
    let mut client = Client::new(address);
    for _ in 0..3 {
        assert_eq!(client.ask(HttpRequest::get("/")).await.unwrap().status, 200);
        // The server closes without saying so; give the end time to arrive.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = Client::new(address).with_timeout(Duration::from_millis(50));
    assert!(matches!(client.ask(HttpRequest::get("/")).await, Err(ClientError::Timeout(_))));
}

#[tokio::test]
async fn faults_are_told_apart() {
    let (address, _server) = scripted(vec![vec!["SSH-2.0-x\r\n\r\n"], vec!["HTTP/1.1 200 OK\r\nContent-Le"]]).await;
    let target = Target::from(address);
    for (what, is_not_http) in [("not HTTP", true), ("half an answer", false)] {
        let broken = ask_once(&target, HttpRequest::get("/"), Duration::from_secs(5)).await.unwrap_err();
        assert!(matches!(broken, ClientError::Broken(_)), "{what}: {broken:?}");
        assert_eq!(broken.is_not_http(), is_not_http, "{what}: {broken:?}");
    }
    let mut client = Client::new(SocketAddr::from(([127, 0, 0, 1], 1)));
    assert!(matches!(client.ask(HttpRequest::get("/")).await, Err(ClientError::Connect(_))));
}

#[tokio::test]
async fn headers_that_break_the_line_are_not_sent() {
    let (address, server) = scripted(vec![vec![]]).await;
    let mut connection = Connection::open(&address.into()).await.unwrap();
    for request in [
        HttpRequest::get("/").header("X-A", "a\r\nX-B: c"),
        HttpRequest::get("/").header("X-A\r\n", "a"),
        HttpRequest::get("/ HTTP/1.1\r\nX-B: c"),
    ] {
        assert!(matches!(connection.ask(request).await, Err(ClientError::Request(_))));
    }
    assert!(server.await.unwrap().is_empty());
}

const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 61\r\n\r\n{\"reason\":\"overloaded\",\"message\":\"Busy.\",\"traceId\":\"trace\"}\r\n";
const SOLD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 103\r\n\r\n{\"success\":true,\"seat\":{\"id\":5,\"name\":\"5\"},\"remainingSeats\":3,\"userTtlRemaining\":9,\"reservationId\":\"x\"}";

fn key_of(head: &str) -> &str {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("idempotency-key: ")).expect("a key");
    &line[17..]
}

#[tokio::test]
async fn calls_come_again_with_the_same_key_when_the_server_says_so() {
    // Busy, then a connection that breaks, then an answer.
    let (address, server) = scripted(vec![vec![BUSY, ""], vec![SOLD]]).await;
    let mut client = ApiClient::new(address).with_user("alice");
    let began = std::time::Instant::now();
    let sold = client.ask(calls::reserve(7, &BuyerForm::default())).await.unwrap();
    assert_eq!((sold.seat.id, sold.reservation_id.as_str()), (5, "x"));
    assert!(began.elapsed() >= Duration::from_secs(1), "Retry-After is honoured");
    let heard = server.await.unwrap();
    assert_eq!(heard.len(), 3);
    assert!(heard.iter().all(|head| head.starts_with("POST /api/v1/events/7/seats/reservation/fcfs HTTP/1.1")));
    assert!(heard.iter().all(|head| key_of(head) == key_of(&heard[0]) && key_of(head).len() == 32), "{heard:?}");
}

#[tokio::test]
async fn calls_without_a_key_are_sent_once() {
    let (address, server) = scripted(vec![vec![BUSY]]).await;
    let refused = ApiClient::new(address).ask(calls::delete_event(7, true)).await.unwrap_err();
    assert_eq!(refused.reason(), Some("overloaded"));
    let heard = server.await.unwrap();
    assert!(heard[0].starts_with("DELETE /api/v1/admin/events/7?sold=true HTTP/1.1"), "{heard:?}");
}
