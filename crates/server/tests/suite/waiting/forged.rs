//! FAULTS G5 and G6: forged, foreign, truncated and replayed tickets and tokens, and ways to jump
//! the queue.

use std::sync::Arc;

use serde_json::{Value, json};
use testing::backing::Backing;
use testing::http::TestResponse;
use testing::on_every_backing;
use testing::rng::SeededRng;
use testing::server::TestServer;
use tokio::sync::Barrier;

use super::{Person, refused, room, room_with};

on_every_backing!(
    forged_tickets_are_refused,
    ticket_keys_are_rotated_without_a_gap,
    booking_needs_a_live_entry_of_the_same_user,
    fifty_tabs_share_one_place_in_line
);

async fn shown(person: &mut Person, ticket: &str) -> [TestResponse; 3] {
    let ticket = [("X-Queue-Ticket", ticket)];
    [
        person.send("POST", "queue", &ticket).await,
        person.send("GET", "queue", &ticket).await,
        person.send("POST", "queue/enter", &ticket).await,
    ]
}

async fn forged_tickets_are_refused(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let (event, other) = (room(&stand, 9, 1).await, room(&stand, 9, 1).await);
    let (mut alice, mut mallory) = (Person::new(&stand, event, "alice"), Person::new(&stand, event, "mallory"));
    let mut elsewhere = Person::new(&stand, other, "mallory");
    alice.join().await;
    elsewhere.join().await;
    let ticket = alice.ticket.clone().unwrap();
    let number_one_for_mallory = ticket.replace(&hex("alice"), &hex("mallory"));
    let mut forged = vec![ticket.clone(), elsewhere.ticket.clone().unwrap(), number_one_for_mallory, String::new()];
    forged.extend(["x", "1.1..", "1.1.61.00", "99.1.61.00", "1.1.616c696365"].map(str::to_owned));
    forged.push(format!("1.1.{}.{}", hex("mallory"), "0".repeat(64)));
    forged.push("1".repeat(5_000));
    let mut rng = SeededRng::new(5);
    for _ in 0..40 {
        // Every bit is tried in a test of the ticket itself; here some of them, over HTTP.
        let mut bytes = ticket.clone().into_bytes();
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        let cut = rng.below(ticket.len() as u64) as usize;
        forged.push(String::from_utf8(bytes).unwrap());
        forged.push(ticket[..cut].to_owned());
    }
    for ticket in forged {
        for answer in shown(&mut mallory, &ticket).await {
            refused(&answer, 403, "forbidden");
        }
    }
    refused(&mallory.poll().await, 404, "not_queued");
    // Her own, and alone: it says whose it is.
    assert_eq!(alice.poll_with_ticket().await.json()["number"], 1);
    let path = format!("/api/v1/events/{event}/queue");
    let alone = stand.client().send("GET", &path, &[("X-Queue-Ticket", &ticket)], "").await;
    assert_eq!((alone.status, &alone.json()["number"]), (200, &json!(1)));
    refused(&stand.client().send("GET", &path, &[], "").await, 400, "missing_user");
    let twice = [("X-User-Id", "alice"), ("X-Queue-Ticket", ticket.as_str()), ("X-Queue-Ticket", ticket.as_str())];
    refused(&stand.client().send("GET", &path, &twice, "").await, 403, "forbidden");
    // After use: the number is spent, for ever.
    alice.enter().await;
    alice.leave().await;
    refused(&alice.poll_with_ticket().await, 404, "not_queued");
    let ticketed = [("X-Queue-Ticket", ticket.as_str())];
    refused(&alice.send("POST", "queue/enter", &ticketed).await, 404, "not_queued");
    assert_eq!(alice.join_with_ticket().await.json()["number"], 2);
    assert_eq!(alice.poll_with_ticket().await.json()["number"], 2);
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

async fn ticket_keys_are_rotated_without_a_gap(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let (event, over) = (room(&stand, 9, 1).await, room(&stand, 9, 1).await);
    let (mut alice, mut late) = (Person::new(&stand, event, "alice"), Person::new(&stand, over, "alice"));
    alice.join().await;
    late.join().await;
    stand.admin("POST", &format!("events/{over}/close"), &Value::Null).await;
    refused(&stand.client().send("POST", "/api/v1/admin/ticket-keys", &[], "").await, 401, "unauthorized");
    let rotated = stand.admin("POST", "ticket-keys", &Value::Null).await;
    assert_eq!((rotated.status, &rotated.json()["key"]), (201, &json!(2)));
    assert_eq!(alice.poll_with_ticket().await.status, 200, "open at the rotation: the old key counts");
    let mut bob = Person::new(&stand, event, "bob");
    bob.join().await;
    assert!(bob.ticket.as_ref().unwrap().starts_with("2."), "the new key signs");
    assert_eq!(bob.poll_with_ticket().await.status, 200);
    // Closed at the rotation, and made after it: the old key does not.
    stand.admin("POST", &format!("events/{over}/open"), &Value::Null).await;
    refused(&late.poll_with_ticket().await, 403, "forbidden");
    // Open at the rotation, and closed since: not any more, also when it opens again.
    stand.admin("POST", &format!("events/{event}/close"), &Value::Null).await;
    stand.admin("POST", &format!("events/{event}/open"), &Value::Null).await;
    refused(&alice.poll_with_ticket().await, 403, "forbidden");
    assert_eq!(bob.poll_with_ticket().await.status, 200, "the newest key counts");
    let new = room(&stand, 9, 1).await;
    let mut carol = Person::new(&stand, new, "carol");
    carol.join().await;
    assert!(carol.ticket.as_ref().unwrap().starts_with("2."));
}

/// Nobody books without a live entry of their own, whatever they bring.
async fn booking_needs_a_live_entry_of_the_same_user(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let event = room_with(&stand, 9, json!({ "maxConcurrent": 1, "tokenTtl": 60, "tokenMaxAge": 120 })).await;
    let [mut alice, mut bob, mut eve] = ["alice", "bob", "eve"].map(|user| Person::new(&stand, event, user));
    for person in [&mut alice, &mut bob, &mut eve] {
        person.join().await;
    }
    // Re-joining and leaving do not help: the number only grows.
    assert_eq!(eve.join().await.json()["number"], 3);
    eve.leave().await;
    assert_eq!(eve.join().await.json()["number"], 4);
    assert_eq!(eve.join_with_ticket().await.json()["number"], 4);
    alice.enter().await;
    let token = alice.token.clone().unwrap();
    let guess = "0".repeat(32);
    let long = format!("{token}00");
    let upper = token.to_uppercase();
    for bad in [None, Some(""), Some("x"), Some(guess.as_str()), Some(&token[..31]), Some(&long), Some(&upper)] {
        refused(&alice.book_with(bad).await, 403, "entry_required");
    }
    refused(&eve.book_with(Some(&token)).await, 403, "entry_required");
    let other = room(&stand, 9, 5).await;
    refused(&Person::new(&stand, other, "alice").book_with(Some(&token)).await, 403, "entry_required");
    // Polling does not extend it for ever.
    for _ in 0..5 {
        stand.advance_ms(30_000);
        alice.poll().await;
        bob.poll().await;
    }
    refused(&alice.book().await, 403, "entry_required");
    assert_eq!(bob.enter().await.status, 200);
    refused(&bob.book_with(Some(&token)).await, 403, "entry_required");
    assert_eq!(bob.book().await.seat(), Some(1));
}

/// Fifty tabs of one account: one place, one entry, one seat.
async fn fifty_tabs_share_one_place_in_line(backing: Backing) {
    let stand = Arc::new(TestServer::on(backing, &[]).await);
    let event = room(&stand, 9, 5).await;
    let barrier = Arc::new(Barrier::new(50));
    let mut running = Vec::new();
    for _ in 0..50 {
        let (stand, barrier) = (stand.clone(), barrier.clone());
        running.push(tokio::spawn(async move {
            let mut tab = Person::new(&stand, event, "alice");
            barrier.wait().await;
            let joined = tab.join().await;
            let entered = tab.enter().await;
            (joined, entered)
        }));
    }
    let (mut numbers, mut tokens) = (Vec::new(), Vec::new());
    for task in running {
        let (joined, entered) = task.await.unwrap();
        numbers.extend(joined.json()["number"].as_u64());
        assert_eq!(entered.status, 200, "{}", entered.text());
        tokens.push(entered.json()["token"].as_str().unwrap().to_owned());
    }
    numbers.dedup();
    tokens.dedup();
    assert_eq!((numbers, tokens.len()), (vec![1], 1), "one place, one entry");
    let serving =
        stand.app.door.serving(rules::ids::EventId(event as i64), rules::entries::WaitingRoom::default()).await;
    let Ok(stores::door::Heard::Said(serving)) = serving else { panic!("{serving:?}") };
    assert_eq!((serving.inside, serving.waiting), (1, 0));
}
