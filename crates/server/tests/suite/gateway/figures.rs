//! The gateway's own metrics: requests, refusals without a server, calls to the door, times of the servers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testing::http::TestClient;

use super::edge::{Edge, FCFS, JSON};

/// Samples by name with labels.
async fn figures(address: SocketAddr) -> (String, BTreeMap<String, f64>) {
    let text = TestClient::new(address).get("/metrics").await.text();
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
    };
    let samples = text.lines().filter(|line| !line.starts_with('#')).map(sample).collect();
    (text, samples)
}

/// The sum over the series whose names have all of these words.
fn sum(samples: &BTreeMap<String, f64>, words: &[&str]) -> f64 {
    samples.iter().filter(|(name, _)| words.iter().all(|word| name.contains(word))).map(|(_, value)| value).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_counts_what_it_does() {
    let address: SocketAddr = ([127, 0, 0, 1], testing::free_port()).into();
    let listen = address.to_string();
    let edge = Edge::with(2, &[("GATEWAY_METRICS_LISTEN", &listen)], &[]).await;
    edge.warm().await;
    let event = edge.event(3, 1).await;
    for user in ["a", "b", "c"] {
        assert_eq!(edge.client().reserve(event, user).await.status, 200);
    }
    // A form that needs no server, and a server that is asked.
    for _ in 0..5 {
        assert_eq!(edge.client().send("POST", FCFS, &[JSON], "{").await.status, 400);
    }
    // Sold out, from memory, as soon as the gateway knows.
    let began = Instant::now();
    let (text, samples) = loop {
        assert_eq!(edge.client().reserve(event, "late").await.reason(), "sold_out");
        let (text, samples) = figures(address).await;
        let remembered = sum(&samples, &["refusals_total", "kind=\"sold_out\"", "from=\"memory\""]);
        if remembered >= 3.0 && sum(&samples, &["requests_total", "status=\"2xx\""]) >= 3.0 {
            break (text, samples);
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{text}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(sum(&samples, &["requests_total", "status=\"4xx\""]) >= 5.0, "{text}");
    assert!(sum(&samples, &["refusals_total", "from=\"form\""]) >= 5.0, "{text}");
    assert!(sum(&samples, &["redis_calls_total", "result=\"ok\""]) >= 3.0, "{text}");
    assert!(sum(&samples, &["redis_seconds_count"]) >= 3.0, "{text}");
    assert_eq!(sum(&samples, &["server_up"]), 2.0, "{text}");
    for server in &edge.servers {
        let label = format!("server=\"{}\"", server.server);
        let (all, count) =
            (sum(&samples, &["upstream_seconds_bucket", &label, "+Inf"]), ["upstream_seconds_count", &label]);
        assert!(all >= 1.0 && all == sum(&samples, &count), "{label}: {text}");
    }
    // Nobody who asked is in it, and neither is an event.
    assert!(!text.contains("late") && !text.contains(&format!("\"{event}\"")), "{text}");
    assert!(sound(&text), "{text}");
    // The crowd's port does not have it, and this port nothing else.
    assert!(!edge.client().get("/metrics").await.text().contains("tickettock_gateway_"));
    assert_eq!(TestClient::new(address).get(FCFS).await.status, 404);
    // But for probes.
    for path in ["/livez", "/readyz"] {
        let answer = TestClient::new(address).get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_counts_failures_of_servers_and_redis() {
    let address: SocketAddr = ([127, 0, 0, 1], testing::free_port()).into();
    let listen = address.to_string();
    let mut edge = Edge::with(1, &[("GATEWAY_METRICS_LISTEN", &listen)], &[]).await;
    edge.warm().await;
    let event = edge.event(3, 1).await;
    assert_eq!(edge.client().reserve(event, "first").await.status, 200);
    edge.redis.kill();
    assert_eq!(edge.client().reserve(event, "second").await.status, 503);
    edge.servers[0].ask_to_stop();
    edge.servers[0].stopped().await;
    assert_eq!(edge.client().get("/api/v1/seats").await.status, 503);
    assert_eq!(TestClient::new(address).get("/livez").await.status, 200);
    assert_ne!(TestClient::new(address).get("/readyz").await.status, 200);
    let began = Instant::now();
    loop {
        let (text, samples) = figures(address).await;
        let failed = [
            ["redis_calls_total", "failed"],
            ["upstream_failures_total", "server"],
            ["refusals_total", "server_unreachable"],
        ];
        if failed.iter().all(|words| sum(&samples, words) >= 1.0) && sum(&samples, &["server_up"]) == 0.0 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{text}");
        // A failed server is doubted for a moment only.
        edge.client().get("/api/v1/seats").await;
    }
}

/// As Prometheus itself reads it.
fn sound(text: &str) -> bool {
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    child.wait().unwrap().success()
}
