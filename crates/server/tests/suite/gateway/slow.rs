//! Clients that send or read slowly, thousands of them: each holds a connection for a bounded time, one
//! address holds a bounded number, and everybody else is served as before.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::edge::{Edge, FCFS};

/// Attackers have 127.0.0.1; this is somebody else.
const HONEST: [u8; 4] = [127, 0, 0, 2];

/// One request on a connection of its own. Its status; 0 without a response in five seconds.
async fn ask(gate: SocketAddr) -> u16 {
    let exchange = async {
        let socket = TcpSocket::new_v4()?;
        socket.bind((HONEST, 0).into())?;
        let mut stream = socket.connect(gate).await?;
        stream.write_all(b"GET /api/v1/seats/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    match tokio::time::timeout(Duration::from_secs(5), exchange).await {
        Ok(Ok(answer)) => answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0),
        _ => 0,
    }
}

/// Asks every 10 ms for that long. The 99th percentile, and how many were not served.
async fn honest(gate: SocketAddr, time: Duration) -> (Duration, usize) {
    let (began, mut took, mut failed) = (Instant::now(), Vec::new(), 0);
    while began.elapsed() < time {
        let asked = Instant::now();
        failed += usize::from(ask(gate).await != 200);
        took.push(asked.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    took.sort_unstable();
    (took[took.len() * 99 / 100], failed)
}

/// slowhttptest, which ends with the test.
struct Attack(Child);

impl Attack {
    fn start(gate: SocketAddr, path: &str, arguments: &[&str]) -> Attack {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "slowhttptest", "-u", &format!("http://{gate}{path}")]);
        command.args(["-r", "1500", "-l", "9", "-p", "3"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Attack(command.spawn().expect("setpriv; scripts/install-services.sh installs slowhttptest"))
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// More connections than an unprivileged process may have files, at one worker.
async fn served_beside(path: &str, arguments: &[&str]) {
    let edge = Edge::new(&[("GATEWAY_WORKERS", "1"), ("FCFS_SEATS", "2000")]).await;
    let gate = edge.gate.address();
    let (quiet, failed) = honest(gate, Duration::from_secs(2)).await;
    assert_eq!(failed, 0);
    let attack = Attack::start(gate, path, arguments);
    let (beside, failed) = honest(gate, Duration::from_secs(9)).await;
    drop(attack);
    println!("{arguments:?}: p99 {quiet:?}, beside the attack {beside:?}, {failed} failed");
    assert_eq!(failed, 0, "not served beside {arguments:?}");
    // Two cores do all of it, the attack included.
    let most = quiet.mul_f64(1.2) + Duration::from_millis(150);
    assert!(beside < most, "p99 {beside:?} beside {arguments:?}, {quiet:?} without");
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
    assert_eq!(ask(gate).await, 200, "another address");
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
