//! Traces over OTLP: the spans of a reservation, batches linked to their requests, sampling, the way to SQL, and a
//! collector that is not there.

pub mod collector;
mod others;

use std::time::{Duration, Instant};

use serde_json::Value;
use testing::backing::Backing;
use testing::http::{BUYER, TestClient, TestResponse};
use testing::on_every_backing;
use testing::server::TestServer;

use self::collector::Collector;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
const FLUSH: Duration = Duration::from_secs(30);

async fn traced(backing: Backing, collector: &Collector, ratio: &str, more: &[(&str, &str)]) -> TestServer {
    let url = collector.url();
    let mut settings = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("OTEL_TRACES_SAMPLER_ARG", ratio)];
    settings.extend(more);
    TestServer::on(backing, &settings).await
}

async fn reserve(client: &mut TestClient, user: &str, more: &[(&str, &str)]) -> TestResponse {
    let mut headers = vec![("X-User-Id", user), ("Content-Type", "application/json")];
    headers.extend(more);
    client.send("POST", "/api/v1/events/1/seats/reservation/fcfs", &headers, BUYER).await
}

fn text<'a>(span: &'a Value, field: &str) -> &'a str {
    span[field].as_str().unwrap_or_else(|| panic!("{field} in {span}"))
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let all = span["attributes"].as_array()?;
    all.iter().find(|one| one["key"] == key).map(|one| &one["value"])
}

/// The spans of requests.
fn roots(spans: &[Value]) -> Vec<&Value> {
    spans.iter().filter(|span| span["kind"] == 2).collect()
}

fn batches(spans: &[Value]) -> Vec<&Value> {
    spans.iter().filter(|span| span["name"] == "batch" && span["parentSpanId"].is_null()).collect()
}

fn times(span: &Value) -> (u128, u128) {
    let at = |field| text(span, field).parse::<u128>().unwrap_or_else(|_| panic!("{field} of {span}"));
    (at("startTimeUnixNano"), at("endTimeUnixNano"))
}

/// As the OTLP specification wants JSON.
fn well_formed(span: &Value) {
    let hex = |field: &str, length: usize| {
        let id = text(span, field);
        assert!(id.len() == length && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{span}");
    };
    hex("traceId", 32);
    hex("spanId", 16);
    if !span["parentSpanId"].is_null() {
        hex("parentSpanId", 16);
    }
    let (start, end) = times(span);
    assert!(start <= end && start > 1_600_000_000_000_000_000, "{span}");
    assert!(span["kind"].is_u64() && span["name"].is_string(), "{span}");
    for attribute in span["attributes"].as_array().into_iter().flatten() {
        let value = &attribute["value"];
        assert!(attribute["key"].is_string() && (value["stringValue"].is_string() || value["intValue"].is_string()));
    }
}

async fn reservation_is_a_tree_of_spans(backing: Backing) {
    let collector = Collector::start().await;
    let stand = traced(backing, &collector, "0", &[]).await;
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let answer = reserve(&mut stand.client(), "alice", &[("traceparent", &traceparent)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("x-request-id"), Some(TRACE));
    let whole = |spans: &[Value]| roots(spans).len() == 1 && batches(spans).len() == 1;
    let spans = collector.spans_when("a request and its batch", whole).await;
    spans.iter().for_each(well_formed);
    assert!(!format!("{spans:?}").contains("lice"), "nobody is named");
    let (root, batch) = (roots(&spans)[0], batches(&spans)[0]);
    assert_eq!((text(root, "traceId"), text(root, "parentSpanId")), (TRACE, CALLER));
    assert_eq!(text(root, "name"), "POST /api/v1/events/{eventId}/seats/reservation/fcfs");
    assert_eq!(attribute(root, "http.response.status_code").unwrap()["intValue"], "200");
    assert_eq!(attribute(root, "tickettock.outcome").unwrap()["stringValue"], "reserved");
    assert_eq!(attribute(root, "tickettock.subject").unwrap()["stringValue"], "e1");
    let children: Vec<&Value> = spans.iter().filter(|span| span["parentSpanId"] == root["spanId"]).collect();
    let names: Vec<&str> = children.iter().map(|span| text(span, "name")).collect();
    assert_eq!(names, ["read", "arrive", "batch", "admit", "decide", "commit", "publish", "respond"]);
    assert!(children.iter().all(|span| text(span, "traceId") == TRACE));
    // One after the other, from the beginning to the end.
    assert_eq!(times(children[0]).0, times(root).0);
    assert_eq!(times(children[7]).1, times(root).1);
    assert!(children.windows(2).all(|two| times(two[0]).1 == times(two[1]).0));
    // The batch is another trace; both show the way.
    assert_ne!(batch["traceId"], root["traceId"]);
    assert_eq!(batch["links"][0]["traceId"], root["traceId"]);
    assert_eq!(batch["links"][0]["spanId"], root["spanId"]);
    for in_ledger in &children[3..=5] {
        assert_eq!(in_ledger["links"][0]["spanId"], batch["spanId"]);
        assert_eq!(in_ledger["links"][0]["traceId"], batch["traceId"]);
    }
    let of_batch: Vec<&Value> = spans.iter().filter(|span| span["parentSpanId"] == batch["spanId"]).collect();
    assert_eq!(
        of_batch.iter().map(|span| text(span, "name")).collect::<Vec<_>>(),
        ["admit", "decide", "commit", "publish"]
    );
    // The history has the same id.
    let history = stand.admin("GET", "history?event=1", &Value::Null).await;
    assert!(history.text().contains(&format!("\"traceId\":\"{TRACE}\"")), "{}", history.text());
    // And the histograms show it.
    let metrics = TestClient::new(stand.server).get("/metrics").await.text();
    for (series, id) in [
        ("tickettock_request_seconds_bucket{", TRACE),
        ("tickettock_step_seconds_bucket{", text(batch, "traceId")),
        ("tickettock_commit_seconds_bucket{", text(batch, "traceId")),
    ] {
        let exemplar = format!("# {{trace_id=\"{id}\"}}");
        assert!(
            metrics.lines().any(|line| line.starts_with(series) && line.contains(&exemplar)),
            "{series}: {metrics}"
        );
    }
    for step in ["read", "batch", "admit", "decide", "commit", "publish", "respond"] {
        let counted = metrics.lines().find_map(|line| {
            line.strip_prefix(&format!("tickettock_step_seconds_count{{step=\"{step}\"}} "))?.parse::<u64>().ok()
        });
        assert!(counted.is_some_and(|count| count > 0), "{step}: {metrics}");
    }
    let headers = [("Accept", "text/plain;version=0.0.4")];
    let plain = TestClient::new(stand.server).send("GET", "/metrics", &headers, "").await;
    assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(!plain.text().contains("trace_id") && !plain.text().contains("# EOF"));
    let (head, body) = &collector.exports()[0];
    assert_eq!(head[0], "POST /v1/traces HTTP/1.1");
    assert!(head.iter().any(|line| line.eq_ignore_ascii_case("content-type: application/json")), "{head:?}");
    assert_eq!(body["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "tickettock");
}

on_every_backing!(reservation_is_a_tree_of_spans);

#[tokio::test(flavor = "multi_thread")]
async fn batch_is_linked_to_all_its_requests() {
    let collector = Collector::start().await;
    let stand = traced(Backing::Embedded, &collector, "1", &[("FCFS_SEATS", "20")]).await;
    let other = rusqlite::Connection::open(stand.stores.folder().join("tickettock.db")).unwrap();
    other.execute_batch("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").unwrap();
    let asking: Vec<_> = (0..12)
        .map(|n| {
            let mut client = stand.client();
            tokio::spawn(async move { reserve(&mut client, &format!("u{n}"), &[]).await })
        })
        .collect();
    while stand.app.lanes.depth() < 12 {
        tokio::task::yield_now().await;
    }
    other.execute_batch("ROLLBACK").unwrap();
    for one in asking {
        assert_eq!(one.await.unwrap().status, 200);
    }
    stand.app.metrics.traces.flush(FLUSH).await;
    let spans = collector.spans();
    let requests = roots(&spans);
    assert_eq!(requests.len(), 12);
    let mut linked: Vec<(&str, &str)> = Vec::new();
    for batch in batches(&spans) {
        let links = batch["links"].as_array().unwrap();
        assert_eq!(attribute(batch, "tickettock.requests").unwrap()["intValue"], links.len().to_string());
        linked.extend(links.iter().map(|link| (text(link, "traceId"), text(link, "spanId"))));
    }
    let mut asked: Vec<(&str, &str)> =
        requests.iter().map(|span| (text(span, "traceId"), text(span, "spanId"))).collect();
    linked.sort_unstable();
    asked.sort_unstable();
    assert_eq!(linked, asked, "each request is in one batch");
    let most = batches(&spans).iter().map(|batch| batch["links"].as_array().unwrap().len()).max().unwrap();
    assert!(most >= 2, "those behind the lock were one batch: {most}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sampling_follows_the_caller_and_then_the_ratio() {
    let (sampled, not) = (format!("00-{TRACE}-{CALLER}-01"), format!("00-{TRACE}-{CALLER}-00"));
    for (ratio, traceparent, expected) in [
        ("0", None, 0),
        ("1", None, 1),
        ("0", Some(&sampled), 1),
        ("1", Some(&not), 0),
        ("0", Some(&"nonsense".to_owned()), 0),
        ("1", Some(&"nonsense".to_owned()), 1),
    ] {
        let collector = Collector::start().await;
        let stand = traced(Backing::Embedded, &collector, ratio, &[]).await;
        let headers: Vec<(&str, &str)> = traceparent.iter().map(|value| ("traceparent", value.as_str())).collect();
        let answer = reserve(&mut stand.client(), "alice", &headers).await;
        assert_eq!(answer.status, 200);
        stand.client().get("/metrics").await;
        stand.app.metrics.traces.flush(FLUSH).await;
        let spans = collector.spans();
        assert_eq!(roots(&spans).len(), expected, "ratio {ratio}, {traceparent:?}: {spans:#?}");
        assert_eq!(batches(&spans).len(), expected);
        // The id in the answer is the trace's.
        let id = answer.header("x-request-id").unwrap();
        assert!(roots(&spans).iter().all(|root| text(root, "traceId") == id));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn id_that_the_caller_chose_is_an_attribute() {
    let collector = Collector::start().await;
    let stand = traced(Backing::Embedded, &collector, "1", &[]).await;
    let answer = reserve(&mut stand.client(), "alice", &[("X-Request-Id", "order-7")]).await;
    assert_eq!((answer.status, answer.header("x-request-id")), (200, Some("order-7")));
    stand.app.metrics.traces.flush(FLUSH).await;
    let spans = collector.spans();
    spans.iter().for_each(well_formed);
    assert_eq!(attribute(roots(&spans)[0], "tickettock.request_id").unwrap()["stringValue"], "order-7");
}

#[tokio::test(flavor = "multi_thread")]
async fn collector_that_is_busy_is_asked_again() {
    let collector =
        Collector::answering(vec!["503 Service Unavailable", "429 Too Many Requests\r\nRetry-After: 0"]).await;
    let headers = [("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=secret")];
    let stand = traced(Backing::Embedded, &collector, "1", &headers).await;
    assert_eq!(reserve(&mut stand.client(), "alice", &[]).await.status, 200);
    let spans = collector.spans_when("the third try", |spans| !spans.is_empty()).await;
    assert_eq!(roots(&spans).len(), 1);
    assert!(collector.exports()[0].0.iter().any(|line| line.eq_ignore_ascii_case("x-collector-key: secret")));
}

/// The value of a counter, or 0.
async fn spans_counted(stand: &TestServer, result: &str) -> u64 {
    let text = stand.client().get("/metrics").await.text();
    let name = format!("tickettock_spans_total{{result=\"{result}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |count| count.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn sale_goes_on_without_a_collector_and_lost_spans_are_counted() {
    let nobody = format!("http://127.0.0.1:{}", testing::free_port());
    let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", nobody.as_str()), ("OTEL_TRACES_SAMPLER_ARG", "1")];
    let stand = TestServer::on(Backing::Embedded, &settings).await;
    for n in 0..9 {
        assert_eq!(reserve(&mut stand.client(), &format!("u{n}"), &[]).await.status, 200);
    }
    assert_eq!(reserve(&mut stand.client(), "late", &[]).await.reason(), "sold_out");
    let began = Instant::now();
    // Ten requests of seven spans, and their batches of three.
    while spans_counted(&stand, "failed").await < 100 {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", stand.client().get("/metrics").await.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(spans_counted(&stand, "exported").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn traced_transaction_names_its_span() {
    let collector = Collector::start().await;
    let stand = traced(Backing::Postgres, &collector, "1", &[]).await;
    // The first arrival opens the door, which is a change of the event by itself.
    assert_eq!(reserve(&mut stand.client(), "first", &[]).await.status, 200);
    let other = stand.stores.database().connect().await;
    other.batch_execute("BEGIN; SELECT FROM event WHERE id = 1 FOR UPDATE").await.unwrap();
    let mut client = stand.client();
    let asking = tokio::spawn(async move { reserve(&mut client, "alice", &[]).await });
    let watcher = stand.stores.database().connect().await;
    let query = "SELECT application_name FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE '00-%'";
    let began = Instant::now();
    let name: String = loop {
        if let Some(row) = watcher.query_opt(query, &[]).await.unwrap() {
            break row.get(0);
        }
        assert!(began.elapsed() < Duration::from_secs(20), "no transaction has a traceparent");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    other.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(asking.await.unwrap().status, 200);
    stand.app.metrics.traces.flush(FLUSH).await;
    let spans = collector.spans();
    let names: Vec<String> = batches(&spans)
        .iter()
        .map(|batch| format!("00-{}-{}-01", text(batch, "traceId"), text(batch, "spanId")))
        .collect();
    assert!(names.contains(&name), "{name} is not in {names:?}");
    assert!(watcher.query_opt(query, &[]).await.unwrap().is_none(), "the name ends with its transaction");
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_and_server_take_the_same_id_from_a_request() {
    let stand = TestServer::on(Backing::Gateway, &[]).await;
    let (none, no_span) = ("0".repeat(32), "0".repeat(16));
    for (traceparent, taken) in [
        (format!("00-{TRACE}-{CALLER}-01"), true),
        (format!("00-{TRACE}-{CALLER}-00"), true),
        (format!("cc-{TRACE}-{CALLER}-01-more"), true),
        (format!("cc-{TRACE}-{CALLER}-01more"), false),
        (format!("00-{TRACE}-{CALLER}-01-more"), false),
        (format!("ff-{TRACE}-{CALLER}-01"), false),
        (format!("00-{}-{CALLER}-01", TRACE.to_uppercase()), false),
        (format!("00-{none}-{CALLER}-01"), false),
        (format!("00-{TRACE}-{no_span}-01"), false),
        (format!("00-{TRACE}-{CALLER}"), false),
        ("nonsense".to_owned(), false),
    ] {
        let headers = [("traceparent", traceparent.as_str()), ("Content-Type", "application/json"), ("X-User-Id", "a")];
        // Not JSON: each refuses it by itself.
        for address in [stand.address, stand.server] {
            let path = "/api/v1/seats/reservation/fcfs";
            let refused = TestClient::new(address).send("POST", path, &headers, "{").await;
            let id = refused.header("x-request-id").unwrap();
            assert_eq!(id == TRACE, taken, "{traceparent} at {address}: {id}");
            assert_eq!(id.len(), 32, "{traceparent} at {address}: {id}");
        }
    }
}
