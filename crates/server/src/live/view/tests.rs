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
        occasion: Default::default(),
        waiting_room: None,
        gathered: false,
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

const AT_ONCE: HubPace = HubPace { pause: Duration::ZERO, turns: 1 };

fn sell(view: &mut EventView, seats: impl Iterator<Item = u32>) {
    let first = view.seats.newest().unwrap().n + 1;
    for (n, seat) in (first..).zip(seats) {
        view.seats.fold(&row(n, Happened::Reserved, seat));
    }
}

/// The round after these seats were sold.
fn sold(view: &mut EventView, seats: impl Iterator<Item = u32>) -> (String, usize) {
    sell(view, seats);
    let round = view.round(Moment(0), Moment(0), Instant::now(), AT_ONCE).unwrap();
    (String::from_utf8(round.text.to_vec()).unwrap(), round.messages)
}

/// It may be ended while it reads, writes a round, or looks whether anybody watches.
#[test]
fn view_that_was_ended_stays_ended() {
    let mut view = view(9);
    assert!(!view.ends_if(false));
    view.ended = true;
    assert!(view.ends_if(false), "somebody watches");
    sell(&mut view, 1..=2);
    let round = view.round(Moment(0), Moment(0), Instant::now(), AT_ONCE).unwrap();
    assert!(round.last && view.ended, "the event is not deleted");
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

#[test]
fn burst_that_goes_on_is_told_in_turns() {
    let (mut view, began) = (view(20_000), Instant::now());
    view.line = Some(LiveQueueBody { serving: 1, waiting: 2, inside: 3, admitted_per_minute: 0, sold_out: false });
    let pace = HubPace { pause: Duration::from_millis(300), turns: 4 };
    let mut said = |ms: u64, seats: std::ops::Range<u32>| {
        sell(&mut view, seats);
        let round = view.round(Moment(0), Moment(0), began + Duration::from_millis(ms), pace)?;
        assert_eq!(round.whole, round.text.starts_with(b"event: snapshot\n"));
        let queue = String::from_utf8(round.text.to_vec()).unwrap().contains("event: queue\n");
        Some((round.whole, round.turns, queue))
    };
    // A part gets the newest snapshot every 100 ms, always with the line.
    assert_eq!(said(0, 1..1_001), Some((true, 4, true)));
    assert_eq!(said(100, 1_001..1_201), Some((true, 4, true)));
    assert_eq!(said(200, 1_201..1_401), Some((true, 4, true)));
    // A few changes wait for the next round, which is for everybody.
    assert_eq!(said(300, 1_401..1_411), None);
    assert_eq!(said(400, 1_411..1_421), None);
    assert_eq!(said(500, 1_421..1_431), Some((false, 1, false)));
    assert_eq!(said(600, 1_431..1_631), None, "the burst is over");
    // Some of these waited for the pause, so nobody waits for a turn as well.
    assert_eq!(said(800, 1_631..2_231), Some((true, 1, true)));
    assert_eq!(said(900, 2_231..2_431), Some((true, 4, true)));
    assert_eq!(said(1_300, 2_431..3_031), Some((true, 4, true)));
}
