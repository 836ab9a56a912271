//! A scrape is bounded, however many events and lines there are, and asks no door.

use std::time::{Duration, Instant};

use rules::entries::WaitingRoom;
use rules::event::NewEvent;
use rules::seats::Hall;
use server::telemetry::audits;
use testing::backing::Backing;
use testing::http::TestClient;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{give_back, hold, hold_id, nights, room_type};

const ROOMS: i64 = 300;

#[tokio::test(flavor = "multi_thread")]
async fn scrape_shows_the_busiest_events_and_sums_the_rest() {
    // One user joins them all.
    let stand = TestServer::embedded(&[("USER_RATE", "0")]).await;
    for i in 0..ROOMS {
        let new = NewEvent {
            by: rules::history::AdminName::default(),
            origin: rules::history::RequestOrigin::default(),
            name: format!("Room {i}").into(),
            hall: Hall::Count(5),
            max_per_user: 1,
            opens_at: None,
            occasion: Default::default(),
            hold_ttl_ms: None,
            buyer_fields: Default::default(),
            price: None,
            rehearsal: false,
            waiting_room: Some(WaitingRoom::default()),
        };
        stand.app.ledger.create_event(new).await.unwrap();
    }
    let mut client = stand.client();
    for event in 2..2 + ROOMS {
        let path = format!("/api/v1/events/{event}/queue");
        let joined = client.send("POST", &path, &[("X-User-Id", "alice")], "").await;
        assert_eq!(joined.status, 200, "{}", joined.text());
    }
    let began = Instant::now();
    loop {
        let text = client.get("/metrics").await.text();
        let shown = text.matches("tickettock_queue_waiting{").count();
        assert!(shown <= 101, "{shown} series");
        let waiting: u64 = text
            .lines()
            .filter(|line| line.starts_with("tickettock_queue_waiting{"))
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum();
        if waiting == ROOMS as u64 {
            assert_eq!(shown, 101, "{text}");
            assert!(text.contains("tickettock_queue_waiting{event=\"other\"}"), "{text}");
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{waiting} of {ROOMS} are shown");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

on_every_backing!(holds_are_counted_by_state);

async fn value(stand: &TestServer, series: &str) -> u64 {
    let text = TestClient::new(stand.server).get("/metrics").await.text();
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in {text}")).parse().unwrap()
}

async fn holds_are_counted_by_state(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let room = room_type(&stand, 5).await;
    let mut ids = Vec::new();
    for (n, user) in ["alice", "bob", "carol"].into_iter().enumerate() {
        ids.push(hold_id(&hold(&mut client, user, &nights(room, 10, 2, n as u64)).await));
    }
    audits::count(&stand.app).await.unwrap();
    assert_eq!(value(&stand, "tickettock_holds{state=\"live\"}").await, 3);
    assert_eq!(value(&stand, "tickettock_hold_changes_total{state=\"held\"}").await, 3);
    assert_eq!(give_back(&mut client, "alice", &ids[0]).await.status, 200);
    audits::count(&stand.app).await.unwrap();
    assert_eq!(value(&stand, "tickettock_holds{state=\"live\"}").await, 2);
    assert_eq!(value(&stand, "tickettock_hold_changes_total{state=\"cancelled\"}").await, 1);
    stand.advance_ms(601_000);
    // Lapsed, until the server has turned them in the background.
    let began = Instant::now();
    loop {
        audits::count(&stand.app).await.unwrap();
        let (live, lapsed) = (
            value(&stand, "tickettock_holds{state=\"live\"}").await,
            value(&stand, "tickettock_holds{state=\"lapsed\"}").await,
        );
        assert_eq!(live, 0);
        if lapsed == 0 && value(&stand, "tickettock_hold_changes_total{state=\"expired\"}").await == 2 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{lapsed} holds are still lapsed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Each request is in one series: by its operation and the class of its status.
#[tokio::test(flavor = "multi_thread")]
async fn durations_are_by_operation_and_status() {
    let stand = TestServer::embedded(&[("FCFS_SEATS", "1")]).await;
    let mut client = stand.client();
    for (user, status) in [("alice", 200), ("bob", 409), ("carol", 409)] {
        assert_eq!(client.reserve(1, user).await.status, status);
    }
    for (method, path) in [("GET", "/nothing/here"), ("PUT", "/api/v1/events")] {
        assert!((400..500).contains(&client.send(method, path, &[], "").await.status));
    }
    let text = client.get("/metrics").await.text();
    let count = |operation: &str, status: &str| {
        let series = format!("tickettock_request_seconds_count{{operation=\"{operation}\",status=\"{status}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&series)).map(|count| count.parse::<u64>().unwrap())
    };
    assert_eq!((count("reserve", "2xx"), count("reserve", "4xx"), count("reserve", "5xx")), (Some(1), Some(2), None));
    assert_eq!(count("unmatched", "4xx"), Some(2), "{text}");
    let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"].map(|class| format!("status=\"{class}\""));
    let labelled = text.lines().filter(|line| line.starts_with("tickettock_request_seconds_"));
    assert!(labelled.clone().count() > 0);
    assert!(labelled.into_iter().all(|line| classes.iter().any(|class| line.contains(class))), "{text}");
}
