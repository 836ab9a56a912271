use std::sync::Arc;

use rules::event::{Counts, State};
use rules::hall::Hall;
use rules::history::EventRecord;
use rules::ids::{EventId, Seat};
use stores::ledger::Snapshot;

use super::*;

fn row(n: u64, what: Happened, seat: u32) -> EventRecord {
    EventRecord {
        n,
        what,
        seat: (seat > 0).then_some(Seat(seat)),
        owner: None,
        admin: None,
        number: None,
        at: Moment(n as i64),
        hold: None,
        origin: Default::default(),
        details: None,
    }
}

fn view(seats: u32) -> EventView {
    let event = Event {
        id: EventId(1),
        name: "Concert".into(),
        hall: Arc::new(Hall::Count(seats)),
        max_per_user: 1,
        opens_at: None,
        waiting_room: None,
        oldest_key: 0,
        hold_ttl_ms: None,
        buyer_fields: Default::default(),
        price: None,
        rehearsal: false,
        archived_at: None,
        state: State::Open,
        deleted: false,
        created_at: Moment(0),
        counts: Counts::default(),
        times: Default::default(),
    };
    let snapshot = Snapshot { n: 1, seat_count: seats, sold: Vec::new() };
    let watched = WatchedSeats::new(&snapshot, &[], Moment(0), &[row(1, Happened::Created, 0)]);
    EventView::new(event, watched, Moment(0), LiveBug::None)
}

/// The round after these seats were sold.
fn sold(view: &mut EventView, seats: impl Iterator<Item = u32>) -> (String, usize) {
    let first = view.seats.newest().unwrap().n + 1;
    for (n, seat) in (first..).zip(seats) {
        view.seats.fold(&row(n, Happened::Reserved, seat));
    }
    let round = view.round(Moment(0), Moment(0), Instant::now(), Duration::ZERO).unwrap();
    (String::from_utf8(round.text.to_vec()).unwrap(), round.messages)
}

#[test]
fn burst_is_told_as_a_snapshot_where_that_is_much_shorter() {
    let mut view = view(10_000);
    let (few, count) = sold(&mut view, 1..=100);
    assert!(few.starts_with("event: seats\n") && few.contains("event: remaining\n"), "{few}");
    assert_eq!(count, 2);
    let (many, count) = sold(&mut view, 101..=4_000);
    assert!(many.starts_with("event: snapshot\nid: 4001."), "{many}");
    assert!(many.contains(r#""remaining":6000,"held":0,"sold":4000,"states":"4000s6000f""#), "{many}");
    assert_eq!((count, many.matches("event: ").count()), (1, 1));
    // Every second seat: all states take as much as the ids.
    let (scattered, _) = sold(&mut view, (4_002..=8_000).step_by(2));
    assert!(scattered.starts_with("event: seats\nid: 6001."), "{}", &scattered[..40]);
    // The next to come gets the same state.
    let [snapshot, _] = view.snapshot(Moment(0));
    assert!(String::from_utf8(snapshot.to_vec()).unwrap().contains("\"sold\":6000"));
}
