//! What a draw must stand: a wall clock that is set back, tickets of another event, users who are silent for long, and
//! many who join at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use rules::ids::{BEHIND_THE_DRAWN, DRAWN_FROM, EventId, Number, User};
use serde_json::{Value, json};
use server::tidier::Tidier;
use stores::conformance::bent::{Bent, BentRead};
use testing::backing::Backing;
use testing::on_every_backing;
use testing::server::TestServer;

use super::gathering::{HOUR_MS, after, drawn, drawn_event, event, gathered, seed_of};
use super::{Person, refused, room, room_with};

on_every_backing!(
    wall_clock_set_back_draws_nobody,
    drawn_place_is_computed_whatever_the_ticket_says,
    users_who_gather_are_not_forgotten,
    wait_is_estimated_while_the_sale_is_open,
);

/// The seed is public, and the event seems to be scheduled again: whoever joins now could have tried names until one is
/// first.
async fn wall_clock_set_back_draws_nobody(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let id = drawn_event(&stand).await;
    stand.advance_ms(HOUR_MS + 1_000);
    let mut people = gathered(&stand, id, 2).await;
    stand.advance_ms(HOUR_MS + 5_000);
    let seed = seed_of(&stand, id).await;
    // PostgreSQL and Redis have no other clock than the wall clock.
    let set = |ms| if backing == Backing::Embedded { stand.step_wall_ms(ms) } else { stand.advance_ms(ms) };
    set(-HOUR_MS);
    assert_eq!(event(&stand, id).await["state"], "scheduled", "the sale follows the wall clock");
    let mut grinder = Person::new(&stand, id, "grinder");
    let joined = grinder.join().await.json();
    assert!(joined["status"] == "waiting" && joined["number"].as_u64() > Some(BEHIND_THE_DRAWN), "{joined}");
    refused(&grinder.enter().await, 409, "not_ready");
    for (i, person) in people.iter_mut().enumerate() {
        let told = person.poll().await.json();
        assert_eq!(told["number"], drawn(&seed, id, &format!("user{i}")), "{told}");
    }
    assert_eq!(seed_of(&stand, id).await, seed);
    let postponed = json!({ "opensAt": after(&stand, 2 * HOUR_MS) });
    refused(&stand.admin("PATCH", &format!("events/{id}"), &postponed).await, 400, "validation");
    set(HOUR_MS);
    assert_eq!(event(&stand, id).await["state"], "open");
}

/// Ids of events come again after a restore, and with them tickets that were signed for another draw.
async fn drawn_place_is_computed_whatever_the_ticket_says(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let (id, plain) = (drawn_event(&stand).await, room(&stand, 9, 1).await);
    let first_place = async |id: u64, user: &str| {
        let event = stand.app.ledger.event(EventId(id as i64)).await.unwrap().unwrap();
        let signed = stand.app.tickets.sign(&event, &User::stored(user), Number(DRAWN_FROM)).await.unwrap();
        Person { ticket: Some(signed), ..Person::new(&stand, id, user) }
    };
    stand.advance_ms(HOUR_MS + 1_000);
    let mut mallory = first_place(id, "mallory").await;
    assert_eq!(mallory.join_with_ticket().await.json()["status"], "gathering");
    stand.advance_ms(HOUR_MS + 5_000);
    let seed = seed_of(&stand, id).await;
    let told = mallory.poll_with_ticket().await.json();
    assert_eq!(told["number"], drawn(&seed, id, "mallory"), "{told}");
    let mut eve = first_place(plain, "eve").await;
    let told = eve.join_with_ticket().await.json();
    assert_eq!(told["number"], 1, "nothing was drawn here: {told}");
}

/// A user without a ticket at hand, silent for longer than a line remembers.
async fn users_who_gather_are_not_forgotten(backing: Backing) {
    let stand = TestServer::on(backing, &[("QUEUE_KEEP", "60")]).await;
    let id = drawn_event(&stand).await;
    stand.advance_ms(HOUR_MS + 1_000);
    let mut people = gathered(&stand, id, 2).await;
    let tidier = Tidier::new(&stand.app);
    // They are passed over first, and forgotten a minute later.
    let silence = async || {
        for _ in 0..2 {
            stand.advance_ms(120_000);
            tidier.round(&stand.app).await.unwrap();
        }
    };
    silence().await;
    assert_eq!(people[0].poll().await.json()["status"], "gathering");
    silence().await;
    stand.advance_ms(HOUR_MS);
    let seed = seed_of(&stand, id).await;
    let told = people[1].poll().await.json();
    assert_eq!(told["number"], drawn(&seed, id, "user1"), "{told}");
    silence().await;
    refused(&people[1].poll().await, 404, "not_queued");
    let back = people[1].poll_with_ticket().await.json();
    assert_eq!(back["number"], drawn(&seed, id, "user1"), "as in every line: {back}");
}

/// Ten seconds for each: the first one who was let in says nothing of a whole minute. A pause has no known end.
async fn wait_is_estimated_while_the_sale_is_open(backing: Backing) {
    let stand = TestServer::on(backing, &[]).await;
    let id = room_with(&stand, 9, json!({ "maxConcurrent": 100, "admitPerMinute": 6 })).await;
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|user| Person::new(&stand, id, user));
    for person in [&mut a, &mut b, &mut c] {
        person.join().await;
    }
    assert_eq!(a.enter().await.status, 200);
    // A pace is remembered for a second.
    stand.advance_ms(1_500);
    let waits = c.poll().await.json();
    assert_eq!(waits["status"], "waiting", "{waits}");
    // The running ten seconds may have ended meanwhile.
    assert!(waits["estimatedWait"].as_u64().is_some_and(|wait| (10..=20).contains(&wait)), "{waits}");
    let turn = async |turn: &str| stand.admin("POST", &format!("events/{id}/{turn}"), &Value::Null).await.status;
    assert_eq!(turn("pause").await, 200);
    let waits = c.poll().await.json();
    assert_eq!((&waits["status"], &waits["estimatedWait"]), (&json!("waiting"), &Value::Null), "{waits}");
    assert_eq!(turn("resume").await, 200);
    assert!(c.poll().await.json()["estimatedWait"].is_u64());
}

/// The crowd that gathers costs the ledger one read at a time, whatever its size.
#[tokio::test(flavor = "multi_thread")]
async fn many_who_join_share_the_reads_of_an_event() {
    let [events, numbers] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let (of_events, of_numbers) = (events.clone(), numbers.clone());
    let stand = TestServer::bent(&[], move |good| {
        let bent = Bent::new(good, |good, batch| good.commit(batch));
        Arc::new(bent.telling(move |read| {
            let reads = if read == BentRead::Event { &of_events } else { &of_numbers };
            reads.fetch_add(1, Ordering::SeqCst);
        }))
    })
    .await;
    let id = drawn_event(&stand).await;
    stand.advance_ms(HOUR_MS + 1_000);
    let mut people = gathered(&stand, id, 3).await;
    for person in &mut people {
        person.join_with_ticket().await;
        person.leave().await;
        assert_eq!(person.join_with_ticket().await.json()["status"], "gathering");
        assert_eq!(person.poll_with_ticket().await.json()["status"], "gathering");
    }
    assert_eq!(numbers.load(Ordering::SeqCst), 0, "nobody enters before the opening: no number is spent");
    let event = Arc::new(stand.app.ledger.event(EventId(id as i64)).await.unwrap().unwrap());
    let before = events.load(Ordering::SeqCst);
    let asking = (0..100).map(|_| server::line::now(&stand.app, event.clone()));
    assert!(join_all(asking).await.into_iter().all(|now| now.is_ok_and(|now| now.id == event.id)));
    let reads = events.load(Ordering::SeqCst) - before;
    // Two, and those of the server itself.
    assert!((1..10).contains(&reads), "{reads} reads for a hundred who asked at once");
}
