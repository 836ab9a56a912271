//! The wall clock is set while a server runs. What people see follows it: opening times, dates, shown
//! times. Ends of holds follow the monotonic clock, where the ledger has one.

use std::time::{Duration, Instant};

use rules::time::Moment;
use serde_json::json;
use server::http::wire::{moment, read_moment};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use crate::holds::{day, hold, hold_id, nights, room_type, seats};

on_every_backing!(
    event_opens_by_a_corrected_wall_clock,
    wall_clock_that_was_ahead_opens_nothing_early,
    event_made_by_a_wrong_wall_clock_opens_on_time,
    dates_follow_the_wall_clock,
);

const HALF_AN_HOUR: i64 = 1_800_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// A gateway's hint may be a second old.
const HINTED: Duration = Duration::from_secs(5);

async fn scheduled(stand: &TestServer, opens: Moment) -> u64 {
    let body = json!({ "name": "Later", "seats": 5, "maxPerUser": 2, "opensAt": moment(opens) });
    let made = stand.admin("POST", "events", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["event"]["id"].as_u64().unwrap()
}

async fn state(stand: &TestServer, event: u64) -> String {
    let shown = stand.client().get(&format!("/api/v1/events/{event}")).await;
    shown.json()["event"]["state"].as_str().unwrap().to_owned()
}

/// The wall clock was an hour behind when the server started, and is corrected.
async fn event_opens_by_a_corrected_wall_clock(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let event = scheduled(&stand, stand.app.ledger.wall().plus_ms(HALF_AN_HOUR)).await;
    let early = client.reserve(event, "alice").await;
    assert_eq!((early.status, early.reason().as_str()), (409, "not_open"), "{}", early.text());
    stand.step_wall_ms(HOUR);
    assert_eq!(state(&stand, event).await, "open");
    let began = Instant::now();
    let mut sold = client.reserve(event, "alice").await;
    while backing.is_gateway() && sold.status != 200 && began.elapsed() < HINTED {
        sold = client.reserve(event, "alice").await;
    }
    assert_eq!(sold.status, 200, "{}", sold.text());
}

/// The wall clock was an hour ahead while the event changed, and is corrected.
async fn wall_clock_that_was_ahead_opens_nothing_early(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let event = stand.event(5, 2).await;
    assert_eq!(client.reserve(event, "alice").await.status, 200);
    stand.step_wall_ms(-HOUR);
    // Asks the ledger, so that a server on PostgreSQL learns the time.
    state(&stand, event).await;
    let opens = moment(stand.app.ledger.wall().plus_ms(HALF_AN_HOUR));
    let changed = stand.admin("PATCH", &format!("events/{event}"), &json!({ "opensAt": opens })).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let early = client.reserve(event, "bob").await;
    assert_eq!((early.status, early.reason().as_str()), (409, "not_open"), "{}", early.text());
    assert_eq!(state(&stand, event).await, "scheduled");
}

/// When the event was made, its opening seemed to be past.
async fn event_made_by_a_wrong_wall_clock_opens_on_time(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = scheduled(&stand, stand.app.ledger.wall().plus_ms(-HALF_AN_HOUR)).await;
    assert_eq!(state(&stand, event).await, "open");
    stand.step_wall_ms(-HOUR);
    assert_eq!(state(&stand, event).await, "scheduled");
    let early = stand.client().reserve(event, "alice").await;
    assert_eq!((early.status, early.reason().as_str()), (409, "not_open"), "{}", early.text());
}

async fn dates_follow_the_wall_clock(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let mut client = stand.client();
    let room = room_type(&stand, 5).await;
    assert_eq!(hold(&mut client, "alice", &nights(room, 1, 1, 1)).await.status, 201);
    stand.step_wall_ms(3 * DAY);
    let path = |from, to| format!("/v1/room-types/{room}/availability?checkIn={}&checkOut={}", day(from), day(to));
    // Asks the ledger, so that a server on PostgreSQL learns the time.
    client.get(&path(5, 6)).await;
    let past = hold(&mut client, "alice", &nights(room, 1, 1, 2)).await;
    assert_eq!(past.status, 400, "{}", past.text());
    assert_eq!(hold(&mut client, "alice", &nights(room, 5, 1, 3)).await.status, 201);
}

/// Setting the wall clock of the machine neither ends nor revives a hold; only what is shown moves.
#[tokio::test(flavor = "multi_thread")]
async fn holds_end_by_the_monotonic_clock_and_are_shown_by_the_wall_clock() {
    let stand = TestServer::embedded(&[]).await;
    let mut client = stand.client();
    let event = stand.event(5, 2).await;
    let held = hold(&mut client, "alice", &seats(event, &[1], 1)).await;
    let path = format!("/v1/holds/{}", hold_id(&held));
    let at = |answer: &testing::http::TestResponse, field: &str| {
        read_moment(answer.json()["hold"][field].as_str().unwrap()).unwrap()
    };
    for step in [HOUR, -3 * HOUR] {
        let before = client.get_as("alice", &path).await;
        stand.step_wall_ms(step);
        let after = client.get_as("alice", &path).await;
        for field in ["createdAt", "expiredAt"] {
            assert_eq!(at(&before, field).ms_until(at(&after, field)), step, "{field}");
        }
        let body = after.json()["hold"].clone();
        assert_eq!(body["state"], "held", "{body}");
        assert!((590..=600).contains(&body["secondsRemaining"].as_u64().unwrap()), "{body}");
    }
    assert_eq!(client.reserve(event, "bob").await.seat(), Some(2), "seat 1 is still on hold");
    stand.advance_ms(601_000);
    assert_eq!(client.get_as("alice", &path).await.json()["hold"]["state"], "expired");
    assert_eq!(client.reserve(event, "carol").await.seat(), Some(1));
}
