//! `AUTH_MODE`: a gateway starts only in a mode that the servers have, removes an untrusted user header in
//! every mode, and stops passing requests to a server that runs in another mode.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use testing::folder::TestFolder;
use testing::gateway::TestGateway;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::edge::{BODY, Edge, FCFS, JSON};
use super::files::write;

/// Stands where a server would, records what reaches it, and reports a mode.
struct Upstream {
    address: std::net::SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    mode: Arc<Mutex<&'static str>>,
}

impl Upstream {
    async fn in_mode(mode: &'static str) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (heads, mode) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(mode)));
        let (record, report) = (heads.clone(), mode.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (record, report) = (record.clone(), report.clone());
                tokio::spawn(async move {
                    let mut part = [0; 8192];
                    while let Ok(read @ 1..) = stream.read(&mut part).await {
                        record.lock().unwrap().push(String::from_utf8_lossy(&part[..read]).to_lowercase());
                        let mode = *report.lock().unwrap();
                        let head = format!("HTTP/1.1 200 OK\r\nX-Fcfs-Auth: {mode}\r\nContent-Length: 2\r\n\r\n{{}}");
                        stream.write_all(head.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        Upstream { address, heads, mode }
    }

    fn reached(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

#[test]
fn unknown_mode_is_refused_at_start() {
    let folder = TestFolder::new("gateway");
    let files = folder.path().join("files");
    let (code, _, complaint) = write(&files, &[("AUTH_MODE", "basic")]);
    assert_eq!(code, Some(2), "{complaint}");
    assert!(complaint.contains("AUTH_MODE") && !files.exists(), "{complaint}");

    // The Lua refuses too: its settings may have been edited, or written by another version.
    let port = testing::free_port().to_string();
    let (code, _, complaint) = write(&files, &[("GATEWAY_PORT", &port)]);
    assert_eq!(code, Some(0), "{complaint}");
    let settings = files.join("settings.lua");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text.replace("auth = \"header\"", "auth = \"basic\"")).unwrap();
    let output = Command::new("timeout").args(["5", "nginx", "-c"]).arg(files.join("nginx.conf")).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && complaint.contains("AUTH_MODE"), "{complaint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_user_header_is_removed_in_every_mode() {
    let upstream = Upstream::in_mode("jwt").await;
    let settings = [("AUTH_MODE", "jwt"), ("GATEWAY_TRUST_USER_HEADER", "0"), ("REDIS_URL", "redis://127.0.0.1:1")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let gate = TestGateway::start(&[upstream.address], &settings);
    let mut client = gate.client();
    for (method, path, body) in [
        ("POST", FCFS, BODY),
        ("GET", "/api/v1/reservations", ""),
        ("DELETE", "/api/v1/reservations/e1-2", ""),
        ("POST", "/api/v1/holds", BODY),
    ] {
        for name in ["X-User-Id", "x-user-id", "X-USER-ID"] {
            let headers = [(name, "victim"), ("Authorization", "Bearer t"), JSON];
            assert_eq!(client.send(method, path, &headers, body).await.status, 200, "{method} {path}");
        }
    }
    let heads = upstream.heads.lock().unwrap();
    assert_eq!(heads.len(), 12);
    for head in heads.iter() {
        assert!(!head.contains("victim") && head.contains("x-gateway-key"), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_in_another_mode_gets_no_requests() {
    let edge = Edge::new(&[("GATEWAY_WORKERS", "1")]).await;
    let upstream = Upstream::in_mode("jwt").await;
    edge.gate.turn_to(&[upstream.address]);
    let mut client = edge.client();
    // The first response tells the gateway.
    assert_eq!(client.get("/api/v1/seats").await.status, 200);
    for i in 0..20 {
        let seats = client.get("/api/v1/seats").await;
        assert_eq!((seats.status, seats.reason().as_str()), (503, "service_unavailable"), "{}", seats.text());
        assert_eq!(client.reserve(1, &format!("u{i}")).await.status, 503);
        assert_eq!(client.cancel("alice", "e1-2").await.status, 503);
    }
    assert!(upstream.reached() <= 3, "{} of 61 reached it", upstream.reached());
    let log = edge.gate.nginx().log();
    assert_eq!(log.matches("AUTH_MODE").count(), 1, "said once, whatever the load: {log}");
    assert!(log.contains("jwt") && log.contains("header") && log.contains(&upstream.address.to_string()), "{log}");

    // A server in the right mode beside it takes everything.
    edge.gate.turn_to(&[upstream.address, edge.servers[0].server]);
    client = edge.client();
    for _ in 0..4 {
        client.get("/api/v1/seats").await;
    }
    let (before, began) = (upstream.reached(), Instant::now());
    for _ in 0..40 {
        assert_eq!(client.get("/api/v1/seats").await.status, 200);
    }
    let (reached, seconds) = (upstream.reached() - before, began.elapsed().as_secs());
    assert!(reached as u64 <= seconds + 1, "{reached} of 40 reached it in {seconds} s");

    // Corrected, it is used again within about a second.
    edge.gate.turn_to(&[upstream.address]);
    client = edge.client();
    client.get("/api/v1/seats").await;
    assert_eq!(client.get("/api/v1/seats").await.status, 503);
    *upstream.mode.lock().unwrap() = "header";
    let corrected = Instant::now();
    while client.get("/api/v1/seats").await.status != 200 {
        assert!(corrected.elapsed() < Duration::from_secs(2), "still refused");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for _ in 0..5 {
        assert_eq!(client.get("/api/v1/seats").await.status, 200);
    }
}
