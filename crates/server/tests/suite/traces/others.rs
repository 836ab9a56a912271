//! A collector that is not ours takes the traces: Rotel, from PyPI. It decodes them by the official definitions and prints
//! what it understood.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testing::backing::Backing;
use testing::folder::TestFolder;
use testing::server::TestServer;

use super::{CALLER, FLUSH, TRACE, reserve};

struct Rotel {
    child: Child,
    http: u16,
    log: PathBuf,
    _folder: TestFolder,
}

/// As Rotel prints it.
#[derive(Clone, Debug, Default)]
struct PrintedSpan {
    trace: String,
    id: String,
    parent: String,
    name: String,
    kind: String,
    attributes: BTreeMap<String, String>,
    /// Traces and spans.
    links: Vec<(String, String)>,
}

impl Rotel {
    async fn start() -> Rotel {
        let folder = TestFolder::new("rotel");
        let log = folder.path().join("rotel.log");
        let (http, grpc) = (testing::free_port(), testing::free_port());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/collector.sh");
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(script)
            .args([http, grpc].map(|port| format!("127.0.0.1:{port}")))
            .stdout(File::create(&log).unwrap())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap_or_else(|e| panic!("setpriv: {e}"));
        let mut rotel = Rotel { child, http, log, _folder: folder };
        // The first start installs it.
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", http)).is_err() {
            assert_eq!(rotel.child.try_wait().unwrap(), None, "{}", rotel.text());
            assert!(began.elapsed() < Duration::from_secs(180), "{}", rotel.text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        rotel
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn spans(&self) -> Vec<PrintedSpan> {
        let mut spans: Vec<PrintedSpan> = Vec::new();
        for line in self.text().lines() {
            if line.starts_with("Span #") {
                spans.push(PrintedSpan::default());
            }
            // Before the first span: the resource.
            let Some(span) = spans.last_mut() else { continue };
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim().to_owned();
            match name.trim() {
                "Trace ID" => span.trace = value,
                "ID" => span.id = value,
                "Parent ID" => span.parent = value,
                "Name" => span.name = value,
                "Kind" => span.kind = value,
                "-> Trace ID" => span.links.push((value, String::new())),
                "-> ID" => span.links.last_mut().unwrap().1 = value,
                other => {
                    if let Some(key) = other.strip_prefix("-> ") {
                        span.attributes.insert(key.to_owned(), value);
                    }
                }
            }
        }
        spans
    }

    async fn spans_when(&self, what: &str, enough: impl Fn(&[PrintedSpan]) -> bool) -> Vec<PrintedSpan> {
        let began = Instant::now();
        loop {
            let spans = self.spans();
            if enough(&spans) {
                return spans;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "never: {what}; {}", self.text());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Rotel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// From the gateway over the server to SQL, as somebody else's collector sees it.
#[tokio::test(flavor = "multi_thread")]
async fn collector_of_others_gets_the_way_from_gateway_to_sql() {
    let rotel = Rotel::start().await;
    let url = format!("http://127.0.0.1:{}", rotel.http);
    let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("OTEL_TRACES_SAMPLER_ARG", "0")];
    let stand = TestServer::on(Backing::Gateway, &settings).await;
    // The first arrival opens the door, which is a change of the event by itself.
    assert_eq!(reserve(&mut stand.client(), "first", &[]).await.status, 200);
    // Somebody has the event's row, so that the transaction can be looked at.
    let other = stand.stores.database().connect().await;
    other.batch_execute("BEGIN; SELECT FROM event WHERE id = 1 FOR UPDATE").await.unwrap();
    let mut client = stand.client();
    let asking = tokio::spawn(async move {
        let traceparent = format!("00-{TRACE}-{CALLER}-01");
        reserve(&mut client, "alice", &[("traceparent", &traceparent)]).await
    });
    let watcher = stand.stores.database().connect().await;
    let query = "SELECT application_name FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE '00-%'";
    let began = Instant::now();
    let in_sql: String = loop {
        if let Some(row) = watcher.query_opt(query, &[]).await.unwrap() {
            break row.get(0);
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no transaction has a traceparent");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    other.batch_execute("ROLLBACK").await.unwrap();
    let answer = asking.await.unwrap();
    assert_eq!((answer.status, answer.header("x-request-id")), (200, Some(TRACE)));
    stand.app.metrics.traces.flush(FLUSH).await;
    let spans = rotel.spans_when("fourteen spans", |spans| spans.len() >= 14).await;
    let root = spans.iter().find(|span| span.kind == "SPAN_KIND_SERVER").unwrap_or_else(|| panic!("{spans:#?}"));
    assert_eq!((root.trace.as_str(), root.parent.as_str()), (TRACE, CALLER));
    assert_eq!(root.name, "POST /api/v1/events/{eventId}/seats/reservation/fcfs");
    assert_eq!(root.attributes["http.response.status_code"], "Int(200)");
    assert_eq!(root.attributes["tickettock.outcome"], "Str(reserved)");
    let steps: Vec<&str> = spans.iter().filter(|span| span.parent == root.id).map(|span| span.name.as_str()).collect();
    assert_eq!(steps, ["read", "arrive", "batch", "admit", "decide", "commit", "publish", "respond"]);
    let batch = spans.iter().find(|span| span.name == "batch" && span.parent.is_empty()).expect("a batch");
    assert_eq!(batch.links, [(root.trace.clone(), root.id.clone())]);
    let commit = spans.iter().find(|span| span.name == "commit" && span.parent == root.id).expect("a commit");
    assert_eq!(commit.links, [(batch.trace.clone(), batch.id.clone())]);
    assert_eq!(in_sql, format!("00-{}-{}-01", batch.trace, batch.id), "the transaction names the batch");
    assert!(rotel.text().contains("service.name: Str(tickettock)"));
    assert!(!rotel.text().contains("alice"), "nobody is named");
}
