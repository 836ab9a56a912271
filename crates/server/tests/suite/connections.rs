//! Connections that strangers hold: how many, how long, and what they cost.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::ServerProcess;
use testing::raw_tcp;
use testing::server::TestServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// FAULTS E6: all places are taken by connections that send nothing. They make room.
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_make_room_when_the_server_is_full() {
    let stand = TestServer::embedded(&[("MAX_CONNECTIONS", "8")]).await;
    let mut idle = Vec::new();
    for half in [&b""[..], b"POST /fcfs/join HTTP/1.1\r\nHost: t\r\nX-"] {
        for _ in 0..4 {
            idle.push(raw_tcp::send(stand.address, half).await);
        }
    }
    for user in ["alice", "bob"] {
        let began = Instant::now();
        assert_eq!(stand.client().reserve(1, user).await.status, 200);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_gets_its_share_of_connections() {
    let stand = TestServer::embedded(&[("ADDRESS_CONNECTIONS", "3")]).await;
    let mut clients: Vec<TestClient> = (0..3).map(|_| stand.client()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/livez").await.status, 200);
    }
    let mut fourth = TcpStream::connect(stand.address).await.unwrap();
    let read = tokio::time::timeout(Duration::from_secs(5), fourth.read(&mut [0; 16])).await;
    assert!(matches!(read, Ok(Ok(0) | Err(_))), "it is closed: {read:?}");
    assert_eq!(clients[0].get("/livez").await.status, 200, "the others stay");
    let metrics = clients[0].get("/metrics").await.text();
    assert!(metrics.contains("tickettock_connections_turned_away_total 1"), "{metrics}");
    drop(clients);
    let began = Instant::now();
    loop {
        let mut again = TcpStream::connect(stand.address).await.unwrap();
        let read = tokio::time::timeout(Duration::from_millis(100), again.read(&mut [0; 16])).await;
        if read.is_err() {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "its places come back");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_over_64_kib_get_431() {
    let stand = TestServer::embedded(&[]).await;
    let around = "GET /livez HTTP/1.1\r\nHost: t\r\nX-Long: \r\n\r\n".len();
    for (bytes, status) in [(60_000, 200), (65_536, 200), (65_537, 431), (70_000, 431), (200_000, 431)] {
        let head = format!("GET /livez HTTP/1.1\r\nHost: t\r\nX-Long: {}\r\n\r\n", "x".repeat(bytes - around));
        let answer = raw_tcp::exchange(stand.address, head.as_bytes(), Duration::from_millis(500)).await;
        assert_eq!(raw_tcp::statuses(&answer), [status], "{bytes} bytes");
        assert_eq!(raw_tcp::header(&answer, "x-content-type-options"), Some("nosniff"), "{answer}");
        assert_eq!(raw_tcp::header(&answer, "content-type"), Some("application/json; charset=utf-8"), "{answer}");
        assert_eq!(answer.contains(r#""reason":"validation""#), status == 431, "{answer}");
    }
}

/// `ADMIN_LISTEN` answers health checks and scrapes within this time, whatever the crowd does.
const OPERATORS_TIME: Duration = Duration::from_millis(200);

/// Resident memory of the process, in MiB.
fn resident(process: &ServerProcess) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// 1,000 connections that ask for a large file and for the list of 20,000 seats and never read.
#[tokio::test(flavor = "multi_thread")]
async fn clients_that_never_read_cost_little_memory() {
    let folder = TestFolder::new("server");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listen = free.to_string();
    let settings = [("FCFS_SEATS", "20000"), ("ADMIN_LISTEN", listen.as_str())];
    let process = ServerProcess::start(folder.path(), &settings).await;
    let paths = ["/docs/swagger-ui-bundle.js", "/api/v1/seats"];
    for path in paths {
        assert_eq!(process.client().get(path).await.status, 200);
    }
    let before = resident(&process);
    let mut silent = Vec::new();
    for i in 0..1_000 {
        let head = format!("GET {} HTTP/1.1\r\nHost: t\r\n\r\n", paths[i % 2]);
        silent.push(raw_tcp::send(process.address, head.as_bytes()).await);
    }
    let mut late = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(TestClient::new(free).get("/livez").await.status, 200);
        late.extend(Some(began.elapsed()).filter(|took| *took >= OPERATORS_TIME));
    }
    // Other tests share the processor.
    assert!(late.len() <= 2, "{late:?}");
    let after = resident(&process);
    println!("1,000 clients that never read: {before} MiB before, {after} MiB after");
    assert!(after.saturating_sub(before) < 100, "{before} to {after} MiB");
}

/// `ADMIN_LISTEN` serves operators while every place of the other listener is taken, and nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn admin_listener_is_out_of_reach_of_a_flood() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = TestFolder::new("server");
    let listen = free.to_string();
    let settings = [("ADMIN_LISTEN", listen.as_str()), ("MAX_CONNECTIONS", "4")];
    let process = ServerProcess::start(folder.path(), &settings).await;
    let mut taken = Vec::new();
    for _ in 0..64 {
        taken.push(TcpStream::connect(process.address).await.unwrap());
    }
    let mut client = TestClient::new(free);
    for path in ["/livez", "/readyz", "/metrics"] {
        let began = Instant::now();
        assert_eq!(client.get(path).await.status, 200, "{path}");
        assert!(began.elapsed() < OPERATORS_TIME, "{path}: {:?}", began.elapsed());
    }
    let token = format!("Bearer {}", process.admin_token());
    let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
    let made = client.send("POST", "/api/v1/admin/events", &headers, r#"{"name":"Flood","seats":5}"#).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let event = made.json()["event"]["id"].as_u64().unwrap();
    let paused = client.send("POST", &format!("/api/v1/admin/events/{event}/pause"), &headers, "").await;
    assert_eq!((paused.status, &paused.json()["success"]), (200, &Value::Bool(true)), "{}", paused.text());
    assert_eq!(client.get("/api/v1/admin/events").await.status, 401);
    assert_eq!(client.reserve(1, "alice").await.status, 404, "buyers have the other listener");
}

/// One request on a connection of its own, without this test's runtime. The status, and how long it took.
fn ask_blocking(address: SocketAddr, path: &str) -> (u16, Duration) {
    let began = Instant::now();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (raw_tcp::statuses(&answer)[0], began.elapsed())
}

/// The crowd's runtime is busy to the last thread: `ADMIN_LISTEN` has its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_are_served_while_every_worker_is_busy() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stand = TestServer::embedded(&[("ADMIN_LISTEN", &free.to_string())]).await;
    assert_eq!(TestClient::new(free).get("/readyz").await.status, 200);
    let blocked = Duration::from_secs(3);
    // More than there are workers: none of them turns to anything else.
    let busy: Vec<_> = (0..4).map(|_| tokio::spawn(async move { std::thread::sleep(blocked) })).collect();
    let asked = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        ["/livez", "/readyz", "/metrics"].map(|path| (path, ask_blocking(free, path)))
    });
    for (path, (status, took)) in asked.join().unwrap() {
        assert_eq!(status, 200, "{path}");
        assert!(took < OPERATORS_TIME, "{path}: {took:?}");
    }
    for task in busy {
        task.await.unwrap();
    }
    stand.ask_to_stop();
    let began = Instant::now();
    while ask_blocking(free, "/readyz").0 == 200 {
        assert!(began.elapsed() < Duration::from_secs(2), "a server that shuts down says so");
    }
}

/// Requests whose bodies are on their way do not count as in progress: a thousand of them would make the gate refuse
/// everybody else.
#[tokio::test(flavor = "multi_thread")]
async fn slow_bodies_do_not_fill_the_gate() {
    let stand = TestServer::embedded(&[]).await;
    let json = "Content-Type: application/json\r\nContent-Length: 44";
    let mut waiting = Vec::new();
    for i in 0..100 {
        let head = format!("POST /fcfs/join HTTP/1.1\r\nHost: localhost\r\nX-User-Id: u{i}\r\n{json}\r\n\r\n");
        let mut stream = raw_tcp::send(stand.server, head.as_bytes()).await;
        stream.write_all(&testing::http::BUYER.as_bytes()[..9]).await.unwrap();
        waiting.push(stream);
    }
    let began = Instant::now();
    while stand.app.gate.in_progress() > 0 {
        assert!(began.elapsed() < Duration::from_secs(2), "{} in progress", stand.app.gate.in_progress());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(stand.client().get("/api/v1/seats/1").await.status, 200);
    let mut first = waiting.swap_remove(0);
    first.write_all(&testing::http::BUYER.as_bytes()[9..]).await.unwrap();
    let mut answer = [0; 12];
    first.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert_eq!(stand.app.gate.in_progress(), 0, "counted and given back");
}

/// A body that is too large is refused before it is read. The connection ends, but is not reset while the client still
/// writes: many clients read the answer only then.
#[tokio::test(flavor = "multi_thread")]
async fn clients_that_still_write_are_not_cut_off() {
    let stand = TestServer::embedded(&[]).await;
    for framing in ["Content-Length: 100000", "Transfer-Encoding: chunked"] {
        let head = format!(
            "POST /fcfs/join HTTP/1.1\r\nHost: localhost\r\nX-User-Id: alice\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
        );
        let mut stream = raw_tcp::send(stand.server, head.as_bytes()).await;
        // A chunk larger than any body that is taken, without its end.
        stream.write_all(&[&b"10000\r\n"[..], &[b' '; 20_000]].concat()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("validation"), "{framing}: {answer}");
        for _ in 0..4 {
            stream.write_all(&[b' '; 5_000]).await.unwrap_or_else(|e| panic!("{framing}: {e}"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Nor do they keep their connection by writing on.
#[tokio::test(flavor = "multi_thread")]
async fn clients_that_write_for_ever_are_cut_off() {
    let stand = TestServer::embedded(&[]).await;
    let head = "POST /fcfs/join HTTP/1.1\r\nHost: localhost\r\nX-User-Id: alice\r\nContent-Type: application/json\r\n\
                Content-Length: 100000000\r\n\r\n";
    let mut stream = raw_tcp::send(stand.server, head.as_bytes()).await;
    let began = Instant::now();
    while stream.write_all(&[b' '; 100]).await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(10), "it is still open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
