//! What buyers and shops give appears in nothing that others read: every public answer, every error, streams, metrics,
//! traces and logs of a real process, in both formats, with every log line and every trace switched on.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use client::{Connection, EventStream, HttpRequest, Target};
use serde_json::{Value, json};
use testing::database::Database;
use testing::folder::TestFolder;
use testing::http::TestClient;
use testing::process::ServerProcess;
use testing::redis::OwnRedis;

use crate::traces::collector::Collector;

const NAME: &str = "Quirinius Zebedee";
const PHONE: &str = "010-7772-3456";
/// How they would stand in a text, in lower case and without what separates digits.
const OF_BUYER: [&str; 3] = ["quirinius", "zebedee", "77723456"];
/// The shop's own words, which the buyer may see as well.
const OF_ORDER: [&str; 2] = ["order-of-hers", "reason-of-hers"];
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const JSON: (&str, &str) = ("Content-Type", "application/json");
const PATIENCE: Duration = Duration::from_secs(60);
/// What reads may have to be asked for.
const ASKED: [(&str, &str); 3] = [("checkIn", "2027-02-01"), ("checkOut", "2027-02-03"), ("month", "2027-02")];

/// Where something was found.
#[derive(Default)]
struct Leaks(Vec<String>);

impl Leaks {
    fn look(&mut self, place: &str, text: &str, secrets: &[&str]) {
        let plain: String = text.to_lowercase().chars().filter(|c| !matches!(c, ' ' | '-')).collect();
        for secret in secrets {
            if plain.contains(&secret.replace('-', "")) {
                self.0.push(format!("{secret} in {place}"));
            }
        }
    }

    /// In what anybody may read.
    fn public(&mut self, place: &str, text: &str) {
        self.look(place, text, &OF_BUYER);
        self.look(place, text, &OF_ORDER);
    }
}

/// A server with everything that it would ever log in a file.
struct Loud {
    server: ServerProcess,
    log: std::path::PathBuf,
    traces: Collector,
    _stores: Option<(Database, OwnRedis)>,
}

impl Loud {
    async fn embedded(folder: &Path, planted: Option<&str>) -> Loud {
        Loud::start(folder, &[("LOG_FORMAT", "text")], None, planted).await
    }

    async fn scaled(folder: &Path, planted: Option<&str>) -> Loud {
        let (database, redis) = (Database::fresh().await, OwnRedis::start());
        let (url, door) = (database.url.clone(), redis.url());
        let settings = [("LOG_FORMAT", "json"), ("DATABASE_URL", url.as_str()), ("REDIS_URL", door.as_str())];
        Loud::start(folder, &settings, Some((database, redis)), planted).await
    }

    async fn start(
        folder: &Path,
        settings: &[(&str, &str)],
        stores: Option<(Database, OwnRedis)>,
        planted: Option<&str>,
    ) -> Loud {
        let (log, traces) = (folder.join("log"), Collector::start().await);
        let collector = traces.url();
        let file = File::create(&log).unwrap();
        let always = [
            ("RUST_LOG", "trace"),
            ("SLOW_REQUEST_MS", "1"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.as_str()),
            ("OTEL_TRACES_SAMPLER_ARG", "1"),
            ("ADMIN_TOKEN", TOKEN),
            ("USER_RATE", "0"),
            ("ADDRESS_RATE", "0"),
        ];
        let settings: Vec<(&str, &str)> = settings.iter().copied().chain(always).collect();
        let data = folder.join("data");
        let server = ServerProcess::spawn(&data, &settings, |command| {
            if let Some(place) = planted {
                command.env("PLANTED_LEAK", place);
            }
            command.stderr(file)
        });
        Loud { server: server.await, log, traces, _stores: stores }
    }

    async fn admin(&self, method: &str, path: &str, body: &Value) -> Value {
        let token = format!("Bearer {TOKEN}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let path = format!("/api/v1/admin/{path}");
        let answer = self.server.client().send(method, &path, &[("Authorization", token.as_str()), JSON], &body).await;
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
        answer.json()
    }

    async fn stream(&self, path: &str) -> EventStream {
        let connection = Connection::open(&Target::from(self.server.address)).await.unwrap();
        connection.stream(HttpRequest::new("GET", path)).await.unwrap()
    }

    /// Everything that was logged, once the process has ended.
    fn logged(mut self) -> String {
        self.server.end();
        std::fs::read_to_string(&self.log).unwrap()
    }
}

/// What was sold and held, and by which ids.
struct Seeded {
    event: u64,
    room_type: u64,
    reservation: String,
    hold: String,
}

async fn post(client: &mut TestClient, user: &str, path: &str, body: &Value) -> Value {
    let answer = client.post_as(user, path, &body.to_string()).await;
    assert!(answer.status < 300, "{path}: {}", answer.text());
    answer.json()
}

/// Sales, holds, a stay, cancellations with reasons; `event_name` is public.
async fn seed(server: &Loud, event_name: &str, leaks: &mut Leaks) -> Seeded {
    let fields = json!({ "userName": "required", "phone": "required", "email": "required" });
    let new = json!({ "name": event_name, "seats": 20, "maxPerUser": 9, "buyerFields": fields });
    let event = server.admin("POST", "events", &new).await["event"]["id"].as_u64().unwrap();
    let room = json!({ "name": "Double", "totalQuantity": 5 });
    let room_type = server.admin("POST", "room-types", &room).await["roomType"]["id"].as_u64().unwrap();
    let mut streams = Vec::new();
    for path in [
        format!("/api/v1/events/{event}/stream"),
        format!("/api/v1/room-types/{room_type}/stream?from=2027-01-15&to=2027-02-15"),
    ] {
        streams.push((server.stream(&path).await, path));
    }
    let mut client = server.server.client();
    let buyer = json!({ "userName": NAME, "phone": PHONE, "email": "quirinius@zebedee.example" });
    let order = json!({ "note": "order-of-hers" });
    let mut with_order = buyer.clone();
    with_order["metadata"] = order.clone();
    let fcfs = format!("/api/v1/events/{event}/seats/reservation/fcfs");
    let first = post(&mut client, "alice", &fcfs, &with_order).await;
    let second = post(&mut client, "alice", &fcfs, &with_order).await;
    leaks.look("her own answer", &first.to_string(), &OF_BUYER);
    let cancelled = format!("/api/v1/reservations/{}", second["reservationId"].as_str().unwrap());
    let why = json!({ "reason": "reason-of-hers" }).to_string();
    let gone = client.send("DELETE", &cancelled, &[JSON, ("X-User-Id", "alice")], &why).await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    let mut hold = String::new();
    for (key, stock) in [
        (1, json!({ "eventId": event, "seatIds": [5, 6] })),
        (2, json!({ "roomTypeId": room_type, "checkIn": "2027-02-01", "checkOut": "2027-02-03" })),
        (3, json!({ "eventId": event, "seatIds": [7] })),
    ] {
        let mut body = stock;
        body["clientHoldKey"] = json!(format!("00000000-0000-4000-8000-00000000000{key}"));
        body["metadata"] = order.clone();
        let held = post(&mut client, "alice", "/api/v1/holds", &body).await;
        hold = held["hold"]["holdId"].as_str().unwrap().to_owned();
        if key < 3 {
            let paid = post(&mut client, "alice", &format!("/api/v1/holds/{hold}/confirm"), &buyer).await;
            leaks.look("her own answer", &paid.to_string(), &OF_BUYER);
        }
    }
    for (stream, path) in &mut streams {
        // The snapshot, and what changed; many changes are a snapshot of their own.
        let mut snapshots = 0;
        loop {
            let next = tokio::time::timeout(PATIENCE, stream.next()).await.expect("a message comes").unwrap();
            let message = next.expect("the stream goes on");
            leaks.public(path, &format!("{} {}", message.event, message.data));
            snapshots += usize::from(message.event == "snapshot");
            if matches!(message.event.as_str(), "seats" | "nights") || snapshots > 1 {
                break;
            }
        }
    }
    Seeded { event, room_type, reservation: first["reservationId"].as_str().unwrap().to_owned(), hold }
}

/// Every public operation of the document, as nobody and as a stranger, with bodies that are hers and wrong.
async fn ask_everything(server: &Loud, seeded: &Seeded, leaks: &mut Leaks) -> usize {
    let mut client = server.server.client();
    let document = client.get("/openapi.json").await.json();
    let known = [
        ("{eventId}", seeded.event.to_string()),
        ("{roomTypeId}", seeded.room_type.to_string()),
        ("{seatId}", "1".to_owned()),
        ("{reservationId}", seeded.reservation.clone()),
        ("{holdId}", seeded.hold.clone()),
        ("{file}", "1.0.json".to_owned()),
    ];
    let bad = json!({ "userName": NAME, "phone": format!("{PHONE}x"), "email": "quirinius", "seatIds": [NAME] });
    let bodies = [String::new(), bad.to_string(), format!("{{\"userName\":\"{NAME}")];
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        if path.starts_with("/api/v1/admin") || path.ends_with("/stream") {
            continue;
        }
        let filled = known.iter().fold(path.clone(), |path, (name, value)| path.replace(name, value));
        assert!(!filled.contains('{'), "nothing is known for {filled}");
        for (method, operation) in operations.as_object().unwrap() {
            let reads = method == "get";
            let needed = operation["parameters"].as_array().unwrap();
            let needed = |name: &str| needed.iter().any(|one| one["name"] == name && one["in"] == "query");
            let query: Vec<String> =
                ASKED.iter().filter(|(name, _)| needed(name)).map(|(name, value)| format!("{name}={value}")).collect();
            let path = if query.is_empty() { filled.clone() } else { format!("{filled}?{}", query.join("&")) };
            for user in [None, Some("mallory")] {
                let headers: Vec<(&str, &str)> =
                    [JSON].into_iter().chain(user.map(|user| ("X-User-Id", user))).collect();
                for body in &bodies[..if reads { 1 } else { bodies.len() }] {
                    let answer = client.send(&method.to_uppercase(), &path, &headers, body).await;
                    asked += 1;
                    leaks.public(&format!("{method} {path}"), &format!("{:?} {}", answer.headers, answer.text()));
                }
            }
        }
    }
    for path in ["/metrics", "/readyz", "/livez", "/", "/docs"] {
        leaks.public(path, &client.get(path).await.text());
    }
    asked
}

async fn found(server: Loud, event_name: &str) -> Leaks {
    let mut leaks = Leaks::default();
    let seeded = seed(&server, event_name, &mut leaks).await;
    let asked = ask_everything(&server, &seeded, &mut leaks).await;
    assert!(asked > 80, "{asked} requests");
    server.admin("DELETE", "users/alice/data", &Value::Null).await;
    let spans = server.traces.spans_when("spans", |spans| spans.len() > 10).await;
    leaks.public("a trace", &Value::from(spans).to_string());
    let log = server.logged();
    assert!(log.contains("arrival numbers start"), "no log was read: {log}");
    leaks.public("the log", &log);
    leaks
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaks_from_an_embedded_server() {
    let folder = TestFolder::new("quiet");
    let leaks = found(Loud::embedded(folder.path(), None).await, "Gala").await;
    assert_eq!(leaks.0, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaks_from_a_scaled_server() {
    let folder = TestFolder::new("quiet");
    let leaks = found(Loud::scaled(folder.path(), None).await, "Gala").await;
    assert_eq!(leaks.0, Vec::<String>::new());
}

/// Where the buyer was found.
async fn places(server: Loud, event_name: &str) -> BTreeSet<String> {
    let leaks = found(server, event_name).await.0;
    leaks.iter().filter_map(|leak| Some(leak.split_once(" in ")?.1.to_owned())).collect()
}

/// The buyer's name in a public field.
#[tokio::test(flavor = "multi_thread")]
async fn planted_leak_in_answers_is_caught() {
    let folder = TestFolder::new("leaky");
    let found = places(Loud::embedded(folder.path(), None).await, NAME).await;
    assert!(found.iter().any(|place| place.starts_with("get /api/v1/events/")), "{found:?}");
}

/// A log line with the buyer, in both formats.
#[tokio::test(flavor = "multi_thread")]
async fn planted_leak_in_the_log_is_caught() {
    let folder = TestFolder::new("leaky");
    let found = places(Loud::embedded(folder.path(), Some("log")).await, "Gala").await;
    assert_eq!(found, BTreeSet::from(["the log".to_owned()]));
    let folder = TestFolder::new("leaky");
    let found = places(Loud::scaled(folder.path(), Some("log")).await, "Gala").await;
    assert_eq!(found, BTreeSet::from(["the log".to_owned()]));
}

/// A label with the buyer.
#[tokio::test(flavor = "multi_thread")]
async fn planted_leak_in_metrics_is_caught() {
    let folder = TestFolder::new("leaky");
    let found = places(Loud::embedded(folder.path(), Some("metrics")).await, "Gala").await;
    let metrics = |place: &String| place.contains("/metrics");
    assert!(found.contains("/metrics") && found.iter().all(metrics), "{found:?}");
}

/// A field with the buyer in what watchers get.
#[tokio::test(flavor = "multi_thread")]
async fn planted_leak_in_streams_is_caught() {
    let folder = TestFolder::new("leaky");
    let found = places(Loud::embedded(folder.path(), Some("streams")).await, "Gala").await;
    for of in ["/api/v1/events/", "/api/v1/room-types/"] {
        let stream = |place: &String| place.starts_with(of) && place.contains("/stream");
        assert!(found.iter().any(stream), "{of}: {found:?}");
    }
    assert!(found.iter().all(|place| place.contains("/stream")), "{found:?}");
}
