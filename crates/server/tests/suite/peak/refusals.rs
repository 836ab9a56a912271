//! Refusals that hyper never sees: they are whole answers, the connection can be used again, and what is more
//! important than a reservation is served meanwhile.

use std::time::{Duration, Instant};

use server::gate::planted::OverloadBug;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::people::{PEAK, come, slowed, told};

const RUSH: Duration = Duration::from_secs(10);

/// Reads until so many answers are complete.
async fn answers(stream: &mut TcpStream, count: usize) -> Vec<(u16, String)> {
    let (mut bytes, mut all) = (Vec::new(), Vec::new());
    while all.len() < count {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut parsed = httparse::Response::new(&mut headers);
        if let Ok(httparse::Status::Complete(head)) = parsed.parse(&bytes) {
            let length = parsed.headers.iter().find(|one| one.name.eq_ignore_ascii_case("content-length")).unwrap();
            let length: usize = std::str::from_utf8(length.value).unwrap().parse().unwrap();
            if bytes.len() >= head + length {
                all.push((parsed.code.unwrap(), String::from_utf8(bytes[head..head + length].to_vec()).unwrap()));
                bytes.drain(..head + length);
                continue;
            }
        }
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "closed after {all:?}");
    }
    assert!(bytes.is_empty(), "{}", String::from_utf8_lossy(&bytes));
    all
}

fn reservation(user: &str) -> (String, String) {
    let body = r#"{"userName":"Alice","phone":"010-1234-5678"}"#;
    let head = format!(
        "POST /api/v1/events/1/seats/reservation/fcfs HTTP/1.1\r\nHost: localhost\r\nX-User-Id: {user}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    (head, body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_refused_connection_is_used_again() {
    let stand = slowed(OverloadBug::None).await;
    let rush = tokio::spawn({
        let stand = stand.clone();
        async move { come(&stand, PEAK * 6, RUSH, RUSH).await }
    });
    let mut stream = TcpStream::connect(stand.address).await.unwrap();
    // So that it is served, and not refused before it is.
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    assert_eq!(answers(&mut stream, 1).await[0].0, 200);
    let (began, mut refused, mut healthy) = (Instant::now(), 0u32, Duration::ZERO);
    for i in 0.. {
        if began.elapsed() > RUSH {
            break;
        }
        let (head, body) = reservation(&format!("kept-{i}"));
        match i % 3 {
            // In one piece.
            0 => stream.write_all((head + &body).as_bytes()).await.unwrap(),
            // The body comes later: hyper may refuse it before that, and then closes.
            1 => {
                let mut stream = TcpStream::connect(stand.address).await.unwrap();
                stream.write_all(head.as_bytes()).await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
                let _ = stream.write_all(body.as_bytes()).await;
                let (status, body) = answers(&mut stream, 1).await.remove(0);
                assert!(matches!(status, 200 | 503), "{status} {body}");
                continue;
            }
            // Behind another request.
            _ => {
                let sent = Instant::now();
                let live = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
                stream.write_all((live.to_owned() + &head + &body).as_bytes()).await.unwrap();
                let both = answers(&mut stream, 2).await;
                assert_eq!(both[0].0, 200);
                healthy = healthy.max(sent.elapsed());
                assert!(matches!(both[1].0, 200 | 503), "{both:?}");
                refused += u32::from(both[1].0 == 503);
                continue;
            }
        }
        let (status, body) = answers(&mut stream, 1).await.remove(0);
        if status != 200 {
            assert_eq!(status, 503, "{body}");
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["reason"], "service_unavailable");
            assert!((1..=30).contains(&body["retryAfter"].as_u64().unwrap()));
            refused += 1;
        }
    }
    for one in rush.await.unwrap() {
        assert!(one.served.is_some() || !one.refusals.is_empty(), "everybody got an answer");
    }
    println!("{refused} refused on one connection, pipelined requests within {healthy:?}");
    assert!(refused >= 6, "{refused} were refused");
    // The crowd has gone.
    let ended = Instant::now();
    loop {
        let answer = stand.client().reserve(1, &format!("after-{:?}", ended.elapsed())).await;
        if answer.status == 200 {
            break;
        }
        told(&answer);
        assert!(ended.elapsed() < Duration::from_secs(10), "it still refuses");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (head, body) = reservation("kept-at-last");
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    assert_eq!(answers(&mut stream, 1).await[0].0, 200);
}
