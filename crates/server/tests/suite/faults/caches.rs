//! I10: what one server changes or deletes, another knows within a second; and a request that is answered 404
//! takes no arrival number.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rules::time::{Clock, Moment};
use serde_json::{Value, json};
use server::clock::EmbeddedClock;
use testing::backing::{Backing, TestStores};
use testing::server::TestServer;

use crate::holds::{hold, nights};

/// A second, and the time of a request.
const WITHIN: Duration = Duration::from_millis(1_300);

struct Two {
    stores: Arc<TestStores>,
    first: TestServer,
    second: TestServer,
}

async fn two(backing: Backing) -> Two {
    let stores = Arc::new(TestStores::new(backing).await);
    let (first, second) = (TestServer::at(stores.clone(), &[]).await, TestServer::at(stores.clone(), &[]).await);
    Two { stores, first, second }
}

impl Two {
    /// How many numbers the door has given in its generation; none: the door is closed.
    fn numbers(&self, event: u64) -> Option<i64> {
        self.stores.ask_redis(&["GET", &format!("fcfs:seq:{{e:{event}}}")])
    }
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < WITHIN, "{what}: not within {WITHIN:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn deleted_event_is_gone_on_the_other_server(backing: Backing) {
    let two = two(backing).await;
    let event = two.first.event(9, 1).await;
    let list = format!("/api/v1/events/{event}/seats");
    let mut client = two.second.client();
    let bought = client.reserve(event, "a").await;
    assert_eq!((bought.status, client.get(&list).await.status), (200, 200));
    let id = bought.json()["reservationId"].as_str().unwrap().to_owned();
    assert_eq!(client.cancel("a", &id).await.status, 200);
    assert_eq!(two.first.admin("POST", &format!("events/{event}/close"), &Value::Null).await.status, 200);
    let deleted = two.first.admin("DELETE", &format!("events/{event}"), &Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    // At once, although the other server has a lane for it.
    for user in ["b", "c"] {
        let refused = client.reserve(event, user).await;
        assert_eq!((refused.status, refused.sequence()), (404, None), "{}", refused.text());
    }
    assert_eq!(two.numbers(event), None, "no number was given");
    until("the list is gone", async || client.get(&list).await.status == 404).await;
    for path in ["layout", "queue", "queue/serving"] {
        let answer = client.get_as("a", &format!("/api/v1/events/{event}/{path}")).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
    assert_eq!(client.reserve(9_999, "d").await.status, 404);
    assert_eq!(two.numbers(9_999), None, "an event that never was has no numbers");
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_event_is_gone_on_the_other_server_redis() {
    deleted_event_is_gone_on_the_other_server(Backing::Redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_event_is_gone_behind_the_other_gateway() {
    deleted_event_is_gone_on_the_other_server(Backing::Gateway).await;
}

/// The door was not told: the list goes within a second all the same, and then no number is given.
#[tokio::test(flavor = "multi_thread")]
async fn deletion_that_the_door_missed_is_known_within_a_second() {
    let two = two(Backing::Redis).await;
    let event = two.first.event(9, 1).await;
    let list = format!("/api/v1/events/{event}/seats");
    let mut client = two.second.client();
    assert_eq!(client.get(&list).await.status, 200);
    let sql = "UPDATE event SET deleted = true, state = 'closed' WHERE id = $1";
    two.stores.database().connect().await.execute(sql, &[&(event as i64)]).await.unwrap();
    until("the list is gone", async || client.get(&list).await.status == 404).await;
    assert_eq!(client.reserve(event, "b").await.status, 404);
    assert_eq!(two.numbers(event), None);
}

/// The two zones never have the same date: they are 25 hours apart.
#[tokio::test(flavor = "multi_thread")]
async fn zone_of_a_room_type_follows_a_change_on_the_other_server() {
    let two = two(Backing::Redis).await;
    let new = json!({ "name": "Double", "totalQuantity": 9, "timeZone": "Pacific/Kiritimati" });
    let made = two.first.admin("POST", "room-types", &new).await;
    let room = made.json()["roomType"]["id"].as_u64().unwrap();
    let now = EmbeddedClock::starting(Moment(0)).now().0;
    let (utc, pago) = (now.div_euclid(86_400_000), (now - 11 * 3_600_000).div_euclid(86_400_000));
    let mut client = two.second.client();
    let mut keys = 0;
    let mut held = async || {
        keys += 1;
        hold(&mut client, "a", &nights(room, (pago - utc) as i32, 1, keys)).await.status == 201
    };
    assert!(!held().await, "yesterday in Kiritimati");
    let change = |zone: &str| json!({ "timeZone": zone });
    let path = format!("room-types/{room}");
    assert_eq!(two.first.admin("PATCH", &path, &change("Pacific/Pago_Pago")).await.status, 200);
    until("today in Pago Pago", &mut held).await;
    assert_eq!(two.first.admin("PATCH", &path, &change("Pacific/Kiritimati")).await.status, 200);
    until("yesterday again", async || !held().await).await;
}
