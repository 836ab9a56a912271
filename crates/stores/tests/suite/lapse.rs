//! More lapsed holds than a batch turns, on both ledgers: every batch does a bounded part of the work, and
//! still decides and shows what is free exactly.

use std::sync::Arc;

use rules::command::{Command, EventAction, Terms};
use rules::event::Event;
use rules::history::Happened;
use rules::holds::{Backlog, COUNTED_MOST, LAPSED_MOST};
use rules::ids::{EventId, Seat};
use rules::outcome::{Done, Outcome, Refusal};
use rules::room_type::RoomType;
use rules::subject::SubjectId;
use stores::conformance::hotel::{Hotel, client_key, expect_held, nights};
use stores::conformance::{Stand, expect_sale, refusal};
use stores::ledger::{BATCH_MOST, Batch, Committed, postgres, sqlite};
use stores::verify::Finding;
use testing::stands::{PostgresStand, SqliteStand};

/// Rooms, and holds on each of two nights.
const ROOMS: u32 = 12_000;
/// Seats of the event, ten in each hold.
const SEATS: u32 = 30_000;

async fn fill(hotel: &Hotel, night: i32) {
    let all: Vec<u64> = (0..u64::from(ROOMS)).map(|i| night as u64 * 1_000_000 + i).collect();
    for users in all.chunks(BATCH_MOST) {
        let wants = users.iter().map(|n| hotel.wants(&format!("u{n}"), nights(night, 1), &client_key(*n)));
        let answers = hotel.batch(wants.collect()).await.unwrap();
        assert!(answers.iter().all(|answer| matches!(answer.outcome, Outcome::Done(Done::Held { .. }))));
    }
}

/// Commits a batch. What it did, and how many holds it turned.
async fn step(hotel: &Hotel, commands: Vec<Command<RoomType>>) -> (Committed<RoomType>, usize) {
    let before = hotel.stand.ledger.room_type(hotel.id).await.unwrap().unwrap().n;
    let batch = Batch::new(hotel.id, Arc::new(commands), hotel.terms);
    let committed = hotel.stand.ledger.commit(batch).await.unwrap();
    let happened = hotel.stand.ledger.room_history(hotel.id, before, 1_000_000).await.unwrap();
    (committed, happened.iter().filter(|record| record.what == Happened::Expired).count())
}

/// The oldest lapsed holds are all on one night; what is asked for is another night that only lapsed holds
/// make full.
async fn rooms(stand: &Stand) -> Hotel {
    let hotel = Hotel::open(stand, ROOMS).await.unwrap();
    fill(&hotel, 0).await;
    (stand.advance)(1_000);
    fill(&hotel, 5).await;
    (stand.advance)(hotel.terms.holds.ttl_ms);
    for night in [0, 5] {
        let shown = hotel.free(nights(night, 1)).await.unwrap()[0];
        assert_eq!((shown.held, shown.free()), (0, ROOMS), "shown by reading alone");
    }
    let (committed, turned) = step(&hotel, vec![hotel.wants("first", nights(5, 1), &client_key(9_000_000))]).await;
    expect_held(&committed.answers[0]).unwrap();
    assert_eq!((turned, committed.backlog), (LAPSED_MOST + 1, Backlog::Uncounted), "what is needed, and the oldest");
    let many = (0..BATCH_MOST as u64).map(|i| hotel.wants(&format!("m{i}"), nights(5, 1), &client_key(9_100_000 + i)));
    let (committed, turned) = step(&hotel, many.collect()).await;
    let held = committed.answers.iter().filter(|answer| matches!(answer.outcome, Outcome::Done(_))).count();
    assert_eq!((held, turned), (BATCH_MOST, LAPSED_MOST + BATCH_MOST));
    assert_eq!(committed.backlog, Backlog::Counted);
    let live = BATCH_MOST as u32 + 1;
    let shown = hotel.free(nights(0, 6)).await.unwrap();
    assert_eq!((shown[0].held, shown[5].held, shown[5].free()), (0, live, ROOMS - live));
    hotel.audit(&[], nights(0, 6)).await.unwrap();
    // Lapsed holds are not in use. Those that are in the way of a lower total are turned first.
    let (committed, _) = step(&hotel, vec![hotel.amends(live - 1)]).await;
    assert_eq!(refusal(&committed.answers[0]), Some(&Refusal::RoomsInUse { least: live }));
    let (committed, _) = step(&hotel, vec![hotel.amends(live)]).await;
    assert_eq!(refusal(&committed.answers[0]), Some(&Refusal::Overloaded));
    hotel
}

/// What nobody asks for is turned too, in steps without a command.
async fn work_off(hotel: &Hotel) {
    let subject = SubjectId::RoomType(hotel.id);
    let mut steps = 0;
    while hotel.stand.ledger.with_holds_ending(0, 10).await.unwrap() == [subject] {
        let (_, turned) = step(hotel, vec![]).await;
        assert!((1..=LAPSED_MOST).contains(&turned), "{turned} in one step");
        steps += 1;
        assert!(steps < 100, "it does not end");
    }
    let live = BATCH_MOST as u32 + 1;
    assert!(matches!(hotel.one(hotel.amends(live)).await.unwrap().outcome, Outcome::Done(_)));
    let full = hotel.one(hotel.wants("late", nights(5, 1), &client_key(9_999_999))).await.unwrap();
    assert!(matches!(refusal(&full), Some(Refusal::NotAvailable { .. })), "{full:?}");
    let shown = hotel.free(nights(0, 6)).await.unwrap();
    assert_eq!((shown[0].free(), shown[5].free()), (live, 0));
}

fn wants(stand: &Stand, i: u32) -> Command {
    let seats = (1..=10).map(|seat| Seat(i * 10 + seat)).collect();
    let action = EventAction::Hold { seats, key: client_key(i.into()).into() };
    Command { number: None, action, ..stand.reserve(&format!("u{i}")) }
}

/// An event whose every seat is on a lapsed hold.
async fn lapsed_event(stand: &Stand) -> EventId {
    let event = stand.event(SEATS, 10).await.unwrap().id;
    let all: Vec<u32> = (0..SEATS / 10).collect();
    for holds in all.chunks(BATCH_MOST) {
        let answers = stand.commit(event, holds.iter().map(|i| wants(stand, *i)).collect()).await.unwrap();
        assert!(answers.iter().all(|answer| matches!(answer.outcome, Outcome::Done(Done::Held { .. }))));
    }
    (stand.advance)(Terms::default().holds.ttl_ms);
    event
}

async fn turned(stand: &Stand, event: EventId, commands: Vec<Command>) -> (Committed<Event>, usize) {
    let before = stand.ledger.event(event).await.unwrap().unwrap().counts.n;
    let batch = Batch::new(event, Arc::new(commands), Terms::default());
    let committed = stand.ledger.commit(batch).await.unwrap();
    let happened = stand.ledger.history(event, before, 1_000_000).await.unwrap();
    (committed, happened.iter().filter(|record| record.what == Happened::Expired).count())
}

async fn seats(stand: &Stand) {
    let event = lapsed_event(stand).await;
    let row = stand.ledger.event(event).await.unwrap().unwrap();
    assert_eq!((row.remaining(), row.counts.live()), (SEATS, 0), "shown by reading alone");
    // A chosen seat of the newest hold, and the lowest seat.
    let (committed, seats) = turned(stand, event, vec![stand.choose("a", SEATS), stand.reserve("b")]).await;
    assert_eq!(expect_sale(&committed.answers[1]).unwrap().seat, Seat(1));
    assert_eq!(expect_sale(&committed.answers[0]).unwrap().seat, Seat(SEATS));
    let most = (LAPSED_MOST + 2) * 10;
    assert!(seats <= most && seats >= LAPSED_MOST * 10, "{seats} seats in one batch");
    assert_eq!(committed.backlog, Backlog::Uncounted, "{SEATS} seats are more than {COUNTED_MOST}");
    // Everything is counted now: what is left in an answer is what a read shows.
    let (committed, seats) = turned(stand, event, vec![stand.reserve("c")]).await;
    assert!(seats <= most, "{seats} seats in one batch");
    assert_eq!(committed.backlog, Backlog::Counted);
    assert_eq!(expect_sale(&committed.answers[0]).unwrap().remaining, SEATS - 3);
    let row = stand.ledger.event(event).await.unwrap().unwrap();
    assert_eq!((row.remaining(), row.counts.live()), (SEATS - 3, 0));
    assert!(row.counts.held > 0, "not all are turned");
}

/// Nothing of it is sold or held, although most of its rows say so. What is left of it is not turned, but
/// removed with it.
async fn delete(stand: &Stand) {
    let event = lapsed_event(stand).await;
    let (committed, seats) = turned(stand, event, vec![stand.operate(EventAction::Delete)]).await;
    assert!(matches!(committed.answers[0].outcome, Outcome::Done(_)), "{:?}", committed.answers[0]);
    assert!(seats <= LAPSED_MOST * 10, "{seats} seats in one batch");
    let (_, seats) = turned(stand, event, vec![]).await;
    assert_eq!(seats, 0, "a deleted event is turned");
    assert!(stand.ledger.tidy_event(event, 100).await.unwrap().holds > 0);
    turned(stand, event, vec![]).await;
    // One that is live keeps it, whatever lapsed beside it.
    let event = lapsed_event(stand).await;
    let hold = Command { actor: stand.reserve("live").actor, ..wants(stand, SEATS / 10 - 1) };
    turned(stand, event, vec![hold]).await;
    let (committed, _) = turned(stand, event, vec![stand.operate(EventAction::Delete)]).await;
    assert_eq!(refusal(&committed.answers[0]), Some(&Refusal::InUse));
}

fn assert_sound(findings: Vec<Finding>) {
    let broken: Vec<Finding> = findings.into_iter().filter(|finding| !finding.holds()).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn room_backlog_is_turned_in_bounded_steps_on_sqlite() {
    let kept = SqliteStand::fresh();
    let hotel = rooms(&kept.stand).await;
    assert_sound(sqlite::verify(&kept.data()).unwrap().1);
    work_off(&hotel).await;
    assert_sound(sqlite::verify(&kept.data()).unwrap().1);
}

#[tokio::test(flavor = "multi_thread")]
async fn room_backlog_is_turned_in_bounded_steps_on_postgres() {
    let kept = PostgresStand::fresh().await;
    let hotel = rooms(&kept.stand).await;
    assert_sound(postgres::verify(&kept.database.url).await.unwrap().1);
    work_off(&hotel).await;
    assert_sound(postgres::verify(&kept.database.url).await.unwrap().1);
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_backlog_is_turned_in_bounded_steps_on_sqlite() {
    let kept = SqliteStand::fresh();
    seats(&kept.stand).await;
    assert_sound(sqlite::verify(&kept.data()).unwrap().1);
}

#[tokio::test(flavor = "multi_thread")]
async fn seat_backlog_is_turned_in_bounded_steps_on_postgres() {
    let kept = PostgresStand::fresh().await;
    seats(&kept.stand).await;
    assert_sound(postgres::verify(&kept.database.url).await.unwrap().1);
}

#[tokio::test(flavor = "multi_thread")]
async fn event_with_lapsed_holds_only_is_deleted_on_sqlite() {
    let kept = SqliteStand::fresh();
    delete(&kept.stand).await;
    assert_sound(sqlite::verify(&kept.data()).unwrap().1);
}

#[tokio::test(flavor = "multi_thread")]
async fn event_with_lapsed_holds_only_is_deleted_on_postgres() {
    let kept = PostgresStand::fresh().await;
    delete(&kept.stand).await;
    assert_sound(postgres::verify(&kept.database.url).await.unwrap().1);
}
