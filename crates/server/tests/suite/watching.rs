//! A real Prometheus scrapes a rush: every query of every dashboard returns data, and no alert fires.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testing::database::Database;
use testing::folder::TestFolder;
use testing::gateway::TestGateway;
use testing::http::TestClient;
use testing::process::{ServerProcess, binary};
use testing::redis::OwnRedis;

use crate::webhooks::receiver::Receiver;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap().join(path)
}

struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    fn scraping(folder: &Path, servers: &[&ServerProcess], gateway: u16) -> Prometheus {
        let targets: Vec<String> = servers.iter().map(|server| format!("'{}'", server.address)).collect();
        let config = format!(
            "global: {{scrape_interval: 500ms, evaluation_interval: 1s}}\nrule_files: ['{}']\nscrape_configs:\n\
             - job_name: tickettock\n  static_configs: [{{targets: [{}]}}]\n\
             - job_name: tickettock-gateway\n  static_configs: [{{targets: ['127.0.0.1:{gateway}']}}]\n",
            repository("deploy/prometheus/rules.yml").display(),
            targets.join(", ")
        );
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let port = testing::free_port();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "prometheus"])
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--enable-feature=exemplar-storage")
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.join("prometheus.log")).unwrap())
            .spawn()
            .unwrap_or_else(|e| panic!("prometheus: {e}"));
        Prometheus { child, port }
    }

    async fn ask(&self, path: &str) -> Option<Value> {
        let mut client = TestClient::new(([127, 0, 0, 1], self.port).into());
        let answer = client.try_send("GET", path, &[], "").await.ok()?;
        // While it starts it answers 503.
        if answer.status == 200 { answer.json().get("data").cloned() } else { None }
    }

    /// How many series answer, or none if there is no answer.
    async fn series(&self, query: &str) -> Option<usize> {
        let query = query.replace("$__rate_interval", "20s");
        let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let data = self.ask(&format!("/api/v1/query?query={query}")).await?;
        Some(data["result"].as_array()?.len())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Title of the panel and query.
fn queries() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(repository("deploy/grafana/dashboards")).unwrap() {
        let board: Value = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        for panel in board["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                all.push((format!("{}: {}", text(&board["title"]), text(&panel["title"])), text(&target["expr"])));
            }
        }
    }
    assert!(all.len() > 30, "{} queries", all.len());
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_every_panel_shows_a_rush() {
    let folder = TestFolder::new("prometheus");
    let (database, redis) = (Database::fresh().await, OwnRedis::start());
    let kept = folder.path().join("backups");
    // Slow requests leave exemplars: here all are.
    let embedded = [
        ("AUDIT_EVERY", "1"),
        ("BACKUP_DIR", kept.to_str().unwrap()),
        ("SLOW_REQUEST_MS", "1"),
        ("WEBHOOK_PRIVATE", "1"),
    ];
    let embedded = ServerProcess::start(&folder.path().join("data"), &embedded).await;
    let receiver = Receiver::start();
    let token = format!("Bearer {}", embedded.admin_token());
    let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
    let body = serde_json::json!({ "url": receiver.url() }).to_string();
    let made = embedded.client().send("POST", "/api/v1/admin/webhooks", &headers, &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let url = redis.url();
    let stores = [("DATABASE_URL", database.url.as_str()), ("REDIS_URL", url.as_str()), ("ADMIN_TOKEN", TOKEN)];
    // The crowd comes through the gateway, and past it.
    let both = [("GATEWAY_KEY", testing::gateway::KEY), ("ALLOW_TRUSTED_HEADER", "1")];
    let scaled: Vec<(&str, &str)> = stores.into_iter().chain(both).collect();
    let scaled = ServerProcess::start(&folder.path().join("scaled"), &scaled).await;
    let figures = testing::free_port();
    let gateway = [
        ("REDIS_URL", url.clone()),
        ("GATEWAY_TRUST_USER_HEADER", "1".into()),
        ("GATEWAY_ADDRESS_RATE", "0".into()),
        ("GATEWAY_METRICS_LISTEN", format!("127.0.0.1:{figures}")),
    ];
    let gateway = TestGateway::start(&[scaled.address], &gateway.map(|(name, value)| (name.to_owned(), value)));
    let prometheus = Prometheus::scraping(folder.path(), &[&embedded, &scaled], figures);
    let rush = |address: SocketAddr, token: String, more: &[&str]| {
        let mut command = binary();
        command.args(["rush", &format!("http://{address}"), "--buyers", "1500", "--seats", "100"]).args(more);
        command.env("ADMIN_TOKEN", token).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut waiting: Vec<(String, String)> = queries();
    let began = Instant::now();
    let mut through = [gateway.address(), scaled.address].into_iter().cycle();
    while !waiting.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(150), "no data: {waiting:#?}");
        let (mut one, mut two) = (
            rush(embedded.address, embedded.admin_token(), &["--waiting-room", "20"]),
            rush(through.next().unwrap(), TOKEN.into(), &[]),
        );
        loop {
            let mut left = Vec::new();
            for (panel, query) in waiting {
                if prometheus.series(&query).await.unwrap_or_default() == 0 {
                    left.push((panel, query));
                }
            }
            waiting = left;
            let ended = one.try_wait().unwrap().is_some() && two.try_wait().unwrap().is_some();
            if ended || waiting.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        one.wait().unwrap();
        two.wait().unwrap();
    }
    // A bucket leads to a trace.
    let range = "start=2020-01-01T00:00:00Z&end=2100-01-01T00:00:00Z";
    let query = "query=tickettock_request_seconds_bucket";
    let found = prometheus.ask(&format!("/api/v1/query_exemplars?{query}&{range}")).await.unwrap();
    let id = found[0]["exemplars"][0]["labels"]["trace_id"].as_str().unwrap_or_else(|| panic!("{found}"));
    assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
    let alerts = prometheus.ask("/api/v1/alerts").await.unwrap();
    let firing: Vec<&Value> = alerts["alerts"].as_array().unwrap().iter().filter(|a| a["state"] == "firing").collect();
    assert!(firing.iter().all(|alert| alert["labels"]["alertname"] == "DoorReopened"), "{firing:#?}");
    assert_eq!(prometheus.series("tickettock_oversell_total == 0").await, Some(2));
    assert_eq!(prometheus.series("tickettock_webhooks_delivered_total > 0").await, Some(1));
}

/// What must never rise does rise when the ledger is broken.
#[tokio::test(flavor = "multi_thread")]
async fn background_audit_counts_what_is_oversold() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::start(folder.path(), &[("AUDIT_EVERY", "1")]).await;
    for user in ["alice", "bob"] {
        process.client().reserve(1, user).await;
    }
    let metric = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned));
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    let text = process.client().get("/metrics").await.text();
    assert_eq!(metric(&text, "tickettock_oversell_total"), "0");
    let conn = rusqlite::Connection::open(folder.path().join("tickettock.db")).unwrap();
    conn.execute_batch("PRAGMA busy_timeout = 5000; PRAGMA ignore_check_constraints = 1; UPDATE event SET sold = 1")
        .unwrap();
    let began = Instant::now();
    loop {
        let text = process.client().get("/metrics").await.text();
        if metric(&text, "tickettock_oversell_total") == "1" && metric(&text, "tickettock_audit_broken") != "0" {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{text}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What the benchmark compares with.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_can_be_switched_off_for_the_benchmark() {
    let folder = TestFolder::new("server");
    let process = ServerProcess::spawn(folder.path(), &[], |command| command.arg("--without-metrics")).await;
    assert_eq!(process.client().reserve(1, "alice").await.status, 200);
    let text = process.client().get("/metrics").await.text();
    assert!(text.contains("tickettock_requests_total 0\n"), "{text}");
    let counted = |series: &str| !text.contains(&format!("{series} 0\n"));
    assert!(!counted("tickettock_request_seconds_count{operation=\"reserve\",status=\"2xx\"}"), "{text}");
    assert!(!counted("tickettock_outcomes_total{outcome=\"reserved\",operation=\"reserve\"}"), "{text}");
    assert!(!counted("tickettock_batch_requests_count"), "{text}");
}
