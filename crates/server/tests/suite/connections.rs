//! Connections that strangers hold: how many, how long, and what they cost.

use std::time::{Duration, Instant};

use serde_json::Value;
use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::ServerProcess;
use testing::raw_tcp;
use testing::server::TestServer;
use tokio::io::AsyncReadExt;
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
    }
}

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
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(TestClient::new(free).get("/livez").await.status, 200);
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
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
        assert!(began.elapsed() < Duration::from_secs(1), "{path}: {:?}", began.elapsed());
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
