use super::*;

fn row(n: u64, what: Happened, seat: u32) -> EventRecord {
    let seat = (seat > 0).then_some(Seat(seat));
    let at = Moment(n as i64);
    EventRecord {
        n,
        what,
        seat,
        owner: None,
        admin: None,
        number: None,
        at,
        hold: None,
        origin: Default::default(),
        details: None,
    }
}

fn watched(held: &[(Seat, Moment)], rows: &[EventRecord]) -> WatchedSeats {
    let snapshot = Snapshot { n: 1, seat_count: 5, sold: vec![Seat(1)] };
    let rows: Vec<_> = [row(1, Happened::Created, 0)].into_iter().chain(rows.iter().cloned()).collect();
    WatchedSeats::new(&snapshot, held, Moment(0), &rows)
}

fn publish(seats: &mut WatchedSeats) -> Vec<(u32, SeatState)> {
    let changes = seats.changes();
    seats.publish(&changes);
    changes.into_iter().map(|(seat, state)| (seat.0, state)).collect()
}

#[test]
fn lapsed_hold_is_free_at_its_end_and_told_once() {
    let mut seats = watched(&[(Seat(2), Moment(10))], &[]);
    assert_eq!(seats.states(), "1s1h3f");
    seats.lapse(Moment(9));
    assert!(publish(&mut seats).is_empty() && !seats.due(Moment(9)) && seats.due(Moment(10)));
    seats.lapse(Moment(10));
    assert_eq!(publish(&mut seats), [(2, SeatState::Free)]);
    assert_eq!((seats.states().as_str(), seats.counts().remaining), ("1s4f", 4));
    seats.fold(&row(2, Happened::Expired, 2));
    assert!(publish(&mut seats).is_empty(), "the row of its end changes nothing");
    assert_eq!(seats.position().n, 2);
}

#[test]
fn extended_hold_waits_for_its_new_end() {
    let mut seats = watched(&[(Seat(3), Moment(20))], &[]);
    seats.fold(&row(2, Happened::Extended, 3));
    seats.lapse(Moment(25));
    assert!(publish(&mut seats).is_empty() && seats.ends_missing());
    seats.learn_ends(&[(Seat(3), Moment(30))]);
    seats.lapse(Moment(29));
    assert!(publish(&mut seats).is_empty());
    seats.lapse(Moment(30));
    assert_eq!(publish(&mut seats), [(3, SeatState::Free)]);
}

/// The holds were read after the snapshot, so they are newer; the rows behind it put that right.
#[test]
fn reads_of_different_moments_become_one_state() {
    let rows = [row(2, Happened::Held, 2), row(3, Happened::Released, 2), row(4, Happened::Cancelled, 1)];
    let seats = watched(&[(Seat(2), Moment(10))], &rows);
    assert_eq!((seats.states().as_str(), seats.position().n), ("5f", 4));
}

#[test]
fn snapshot_shows_what_was_published_and_no_more() {
    let mut seats = watched(&[], &[]);
    seats.fold(&row(2, Happened::Reserved, 5));
    assert_eq!((seats.states().as_str(), seats.position().n), ("1s4f", 1));
    assert_eq!(publish(&mut seats), [(5, SeatState::Sold)]);
    assert_eq!((seats.states().as_str(), seats.position().n), ("1s3f1s", 2));
}

#[test]
fn whoever_resumes_is_told_every_seat_that_changed() {
    let mut seats = watched(&[(Seat(4), Moment(10))], &[]);
    let before = seats.position();
    for row in [row(2, Happened::Reserved, 5), row(3, Happened::Held, 3), row(4, Happened::Released, 3)] {
        seats.fold(&row);
    }
    publish(&mut seats);
    let between = seats.position();
    let missed = seats.since(before, LiveBug::None).unwrap();
    assert_eq!((missed.sold, missed.held, missed.free), (vec![5], vec![], vec![3]));
    assert!(seats.since(between, LiveBug::None).unwrap().is_empty());
    // No row says that it lapsed, so it is told again.
    seats.lapse(Moment(10));
    publish(&mut seats);
    assert_eq!(seats.since(between, LiveBug::None).unwrap().free, [4]);
    assert!(seats.since(StreamPosition { mark: between.mark ^ 1, ..between }, LiveBug::None).is_none());
}
