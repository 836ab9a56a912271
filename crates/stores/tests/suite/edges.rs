//! A6: confirm, cancel and expiry within a millisecond of each other, ten thousand times: one of
//! them wins, and what was held comes back exactly once.

use std::collections::HashMap;
use std::sync::Arc;

use rules::history::Happened;
use rules::holds::Ask;
use rules::outcome::{Done, Outcome, Refusal};
use stores::conformance::Stand;
use stores::conformance::hotel::{Hotel, client_key, expect_held, nights};
use testing::database::Database;
use testing::stands::{SqliteStand, postgres_stand};
use tokio::sync::Barrier;

const HOLDS: u64 = 250;
const BATCHES: usize = 5;
const PER_BATCH: usize = HOLDS as usize / BATCHES;
const ROUNDS: u64 = 40;

struct Edge {
    hotel: Hotel,
    /// Time until the others are fired, given the round.
    wait: fn(&Stand, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Won {
    Confirmed,
    Cancelled,
    Nobody,
}

/// One round: holds that end at the same moment, confirmed and cancelled by two at once.
async fn round(edge: &Edge, round: u64, wins: &mut HashMap<Won, u64>) {
    let Edge { hotel, wait } = edge;
    let user = |i: u64| format!("r{round}u{i}");
    let wants = (0..HOLDS).map(|i| hotel.wants(&user(i), nights(0, 1), &client_key(round * 1_000 + i)));
    let answers = hotel.batch(wants.collect()).await.unwrap();
    let holds: Vec<u64> = answers.iter().map(|answer| expect_held(answer).unwrap().id.n).collect();
    wait(&hotel.stand, round);
    let barrier = Arc::new(Barrier::new(2));
    let fire = |ask: Ask| {
        let (hotel, barrier, holds) = (hotel.clone(), barrier.clone(), holds.clone());
        tokio::spawn(async move {
            let mut answers = vec![Vec::new(); BATCHES];
            barrier.wait().await;
            // From both ends, so that the two meet in the middle and each is the first for some.
            for step in 0..BATCHES {
                let at = if ask == Ask::Confirm { step } else { BATCHES - 1 - step };
                let asked = holds.iter().zip(0..).skip(at * PER_BATCH).take(PER_BATCH);
                let asks = asked.map(|(n, i)| hotel.asks(&format!("r{round}u{i}"), *n, ask));
                answers[at] = hotel.batch(asks.collect()).await.unwrap();
            }
            answers.concat()
        })
    };
    let (confirms, cancels) = (fire(Ask::Confirm), fire(Ask::Cancel));
    let (confirms, cancels) = (confirms.await.unwrap(), cancels.await.unwrap());
    for (confirm, cancel) in confirms.iter().zip(&cancels) {
        let confirmed = matches!(confirm.outcome, Outcome::Done(Done::Confirmed { .. }));
        let cancelled = matches!(cancel.outcome, Outcome::Done(Done::Released));
        assert!(!(confirmed && cancelled), "two winners: {confirm:?} {cancel:?}");
        for (won, answer) in [(confirmed, confirm), (cancelled, cancel)] {
            let lost = matches!(answer.outcome, Outcome::Refused(Refusal::HoldExpired | Refusal::HoldProcessed { .. }));
            assert!(won || lost, "{answer:?}");
        }
        let won = match (confirmed, cancelled) {
            (true, _) => Won::Confirmed,
            (_, true) => Won::Cancelled,
            _ => Won::Nobody,
        };
        *wins.entry(won).or_default() += 1;
    }
}

async fn ten_thousand(stand: &Stand, ttl_ms: i64, wait: fn(&Stand, u64)) {
    let mut hotel = Hotel::open(stand, 20_000).await.unwrap();
    hotel.terms.holds.ttl_ms = ttl_ms;
    let edge = Edge { hotel, wait };
    let mut wins = HashMap::new();
    for i in 0..ROUNDS {
        round(&edge, i, &mut wins).await;
    }
    assert_eq!(wins.values().sum::<u64>(), 10_000);
    assert!(wins.len() == 3 && wins.values().all(|won| *won >= 100), "every one of the three must win: {wins:?}");
    // Whatever ended is turned by now, and stock came back exactly once for each.
    (stand.advance)(1_000_000);
    let hotel = &edge.hotel;
    for turned in 0..11 {
        hotel.hold("last", nights(1, 1), &client_key(900_000 + turned)).await.unwrap();
    }
    let shown = hotel.free(nights(0, 1)).await.unwrap()[0];
    let confirmed = wins[&Won::Confirmed] as u32;
    assert_eq!((shown.reserved, shown.held, shown.free()), (confirmed, 0, 20_000 - confirmed));
    hotel.audit(&[], nights(0, 2)).await.unwrap();
    let history = stand.ledger.room_history(hotel.id, 0, usize::MAX >> 1).await.unwrap();
    let ended = |what| history.iter().filter(|entry| entry.what == what).count() as u64;
    assert_eq!(ended(Happened::Reserved), wins[&Won::Confirmed]);
    assert_eq!(ended(Happened::Released), wins[&Won::Cancelled]);
    println!("{wins:?}");
}

/// By a fixture clock: a millisecond before the end, at the end, a millisecond after it.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_ten_thousand_hold_ends_on_sqlite() {
    let kept = SqliteStand::fresh();
    ten_thousand(&kept.stand, 600_000, |stand, round| (stand.advance)(599_999 + (round % 3) as i64)).await;
}

/// By the database's own clock: fired when the holds are about to end, or have just ended.
#[tokio::test(flavor = "multi_thread")]
async fn heavy_ten_thousand_hold_ends_on_postgres() {
    let database = Database::fresh().await;
    let stand = postgres_stand(&database).await;
    ten_thousand(&stand, 250, |_, round| {
        std::thread::sleep(std::time::Duration::from_millis(round % 8 * 40));
    })
    .await;
}

/// The same with a ledger that confirms what has ended: it is caught.
#[tokio::test(flavor = "multi_thread")]
#[should_panic(expected = "two winners")]
async fn planted_confirmation_of_an_ended_hold_is_caught() {
    use stores::conformance::broken_rooms::{RoomBug, broken};
    let kept = SqliteStand::fresh();
    let bad = kept.stand.with_ledger(broken(RoomBug::ConfirmsWithoutState, kept.stand.ledger.clone()));
    let mut wins = HashMap::new();
    let hotel = Hotel::open(&bad, 20_000).await.unwrap();
    let edge = Edge { hotel, wait: |stand, _| (stand.advance)(599_999) };
    for i in 0..ROUNDS {
        round(&edge, i, &mut wins).await;
    }
}

/// D1: ten thousand holds that end a millisecond after each other, and nobody who sweeps: at every
/// moment exactly those that last are held. None is let go early, none is a ghost.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_holds_end_at_their_exact_moment() {
    let kept = SqliteStand::fresh();
    let stand = &kept.stand;
    let mut hotel = Hotel::open(stand, 20_000).await.unwrap();
    hotel.terms.holds.ttl_ms = 2_000;
    for batch in 0..20u64 {
        let wants = (0..500u64).map(|i| {
            let n = batch * 500 + i;
            hotel.wants(&format!("u{n}"), nights(0, 1), &client_key(n))
        });
        hotel.batch(wants.collect()).await.unwrap();
        (stand.advance)(1);
    }
    // 20 ms have passed; the first batch ends 1,980 ms from now.
    (stand.advance)(1_979);
    for ms in 0..=20u32 {
        let shown = hotel.free(nights(0, 1)).await.unwrap()[0];
        assert_eq!(shown.held, 10_000 - 500 * ms, "{ms} ms behind the last moment at which all were held");
        (stand.advance)(1);
    }
}
