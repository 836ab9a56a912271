//! A scrape is bounded, however many events and lines there are, and asks no door.

use std::time::{Duration, Instant};

use rules::entries::WaitingRoom;
use rules::event::NewEvent;
use rules::seats::Hall;
use testing::server::TestServer;

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
