//! The keys that tickets are signed with, while they are being made and found: a ticket that a server
//! gave is never refused, whoever looks for its key at the same moment.

use std::sync::Arc;

use serde_json::{Value, json};
use testing::backing::{Backing, TestStores};
use testing::on_every_backing;
use testing::server::TestServer;
use tokio::sync::Barrier;

use super::{Person, refused, room};

on_every_backing!(concurrent_first_tickets_share_one_key);

/// Concurrent first joins need the first key: one is made, and every ticket is valid at once.
async fn concurrent_first_tickets_share_one_key(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room(&stand, 9, 1).await;
    let barrier = Arc::new(Barrier::new(32));
    let mut people = Vec::new();
    for i in 0..32 {
        let (mut person, barrier) = (Person::new(&stand, event, &format!("p{i}")), barrier.clone());
        people.push(tokio::spawn(async move {
            barrier.wait().await;
            let joined = person.join().await;
            assert_eq!(joined.status, 200, "{}", joined.text());
            let shown = person.poll_with_ticket().await;
            assert_eq!(shown.status, 200, "{}: {}", person.ticket.unwrap(), shown.text());
            person.ticket
        }));
    }
    for person in people {
        let ticket = person.await.unwrap().unwrap();
        assert!(ticket.starts_with("1."), "one key was needed: {ticket}");
    }
}

/// A server that has just looked for keys, because somebody showed a ticket of a key that nobody
/// made, knows a key that another server made right afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn ticket_key_made_right_after_a_lookup_is_known() {
    let stores = Arc::new(TestStores::new(Backing::Redis).await);
    let (here, there) = (TestServer::at(stores.clone(), &[]).await, TestServer::at(stores, &[]).await);
    let event = room(&here, 9, 1).await;
    let mut mallory = Person::new(&here, event, "mallory");
    mallory.join().await;
    mallory.ticket = Some(mallory.ticket.unwrap().replacen("1.", "9.", 1));
    refused(&mallory.poll_with_ticket().await, 403, "forbidden");
    let rotated = there.admin("POST", "ticket-keys", &Value::Null).await;
    assert_eq!((rotated.status, &rotated.json()["key"]), (201, &json!(2)));
    let mut bob = Person::new(&there, event, "bob");
    bob.join().await;
    assert!(bob.ticket.as_ref().unwrap().starts_with("2."), "the new key signs");
    bob.client = here.client();
    let shown = bob.poll_with_ticket().await;
    assert_eq!(shown.status, 200, "{}", shown.text());
}
