//! Seats that were chosen far ahead of the cursor: what is refused does not walk over all of them, and what can
//! be sold is found behind them.

use std::time::{Duration, Instant};

use rules::ids::{EventId, Seat};
use rules::outcome::Refusal;
use stores::conformance::{Stand, expect_sale, refusal};
use stores::ledger::BATCH_MOST;
use testing::stands::{PostgresStand, SqliteStand};

/// Many times as many rows as a walk passes.
const CHOSEN: u32 = 40_000;
const ROUNDS: u32 = 40;

async fn choose(stand: &Stand, event: EventId, seats: std::ops::RangeInclusive<u32>) {
    let all: Vec<u32> = seats.collect();
    for seats in all.chunks(BATCH_MOST) {
        let commands = seats.iter().map(|seat| stand.choose(&format!("u{seat}"), *seat)).collect();
        let answers = stand.commit(event, commands).await.unwrap();
        assert!(answers.iter().all(|answer| expect_sale(answer).is_ok()));
    }
}

/// Four users at their limit, who ask again and again.
async fn refused(stand: &Stand, event: EventId) -> Duration {
    let began = Instant::now();
    for _ in 0..ROUNDS {
        let commands = ["u2", "u3", "u4", "u5"].map(|user| stand.reserve(user)).into();
        for answer in stand.commit(event, commands).await.unwrap() {
            assert!(matches!(refusal(&answer), Some(Refusal::Duplicate { .. })), "{answer:?}");
        }
    }
    began.elapsed()
}

async fn walk(stand: &Stand) {
    // Seat 1 is a gap, and the next one lies behind every chosen seat.
    let far = stand.event(CHOSEN + 10, 1).await.unwrap().id;
    choose(stand, far, 2..=CHOSEN).await;
    let near = stand.event(CHOSEN + 10, 1).await.unwrap().id;
    choose(stand, near, 2..=5).await;
    refused(stand, near).await;
    let (near, after_many) = (refused(stand, near).await, refused(stand, far).await);
    assert!(after_many < near * 8 + Duration::from_millis(100), "{after_many:?}, among few rows {near:?}");
    // Three at once: the walk goes on, because there is something to sell.
    let commands = ["a", "b", "c"].map(|user| stand.reserve(user)).into();
    let seats: Vec<Seat> =
        stand.commit(far, commands).await.unwrap().iter().map(|answer| expect_sale(answer).unwrap().seat).collect();
    assert_eq!(seats, [Seat(1), Seat(CHOSEN + 1), Seat(CHOSEN + 2)]);
    let counts = stand.ledger.event(far).await.unwrap().unwrap().counts;
    assert_eq!(counts.cursor, CHOSEN + 2, "the next walk begins behind them");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_requests_do_not_walk_over_chosen_seats_on_sqlite() {
    walk(&SqliteStand::fresh().stand).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_requests_do_not_walk_over_chosen_seats_on_postgres() {
    walk(&PostgresStand::fresh().await.stand).await;
}
