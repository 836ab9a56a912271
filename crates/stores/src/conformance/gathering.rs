//! Places that are drawn stand before those by arrival; a line may let in fewer than it has places.

use rules::command::EventAction;
use rules::entries::{WaitingRoom, WaitingRoomAmendment};
use rules::event::{Event, EventAmendment, State, Turn};
use rules::ids::{BEHIND_THE_DRAWN, Number};
use rules::outcome::{Outcome, Refusal};
use rules::queue::{Place, PlaceClaim, QueueReply, What};
use rules::time::Moment;

use super::queue::{Hallway, ROOM};
use super::{Stand, Verdict};
use crate::ensure;

const HOUR_MS: i64 = 3_600_000;

pub async fn chapter(stand: &Stand) -> Verdict {
    drawn_places_come_first(stand).await?;
    drawn_places_have_no_room_beyond_the_end(stand).await?;
    one_place_for_two(stand).await?;
    pace_is_kept(stand).await?;
    pace_is_spread(stand).await?;
    pace_is_known_from_the_first(stand).await?;
    settings_are_stored(stand).await?;
    draw_stays_over(stand).await?;
    opened_event_gathers_nobody(stand).await
}

async fn joins(hallway: &Hallway<'_>, user: &str, draw: Option<u64>) -> Result<QueueReply, String> {
    let claim = draw.map(|draw| PlaceClaim::drawn(Number::drawn(draw)));
    hallway.ask_with(user, What::Join, claim).await
}

async fn place(hallway: &Hallway<'_>, user: &str, draw: Option<u64>) -> Result<Place, String> {
    match joins(hallway, user, draw).await? {
        QueueReply::Place(place) => Ok(place),
        other => Err(format!("{user} should have a place: {other:?}")),
    }
}

/// The lowest draw first, whoever came first; then those who came when nothing was drawn any more.
async fn drawn_places_come_first(stand: &Stand) -> Verdict {
    let mut hallway = Hallway::new(stand, 9, 2).await?;
    let early = hallway.place("early", What::Join).await?;
    ensure!(early.number.0 == 1, "by arrival, before anybody spoke of a draw: {early:?}");
    hallway.waiting_room.gather_from = Some(Moment(1));
    // The highest draw that there is, twice the same place for one user, and two that are close.
    for (user, draw) in
        [("high", u64::MAX), ("low", 3), ("high", u64::MAX), ("middle", 1 << 40), ("next", (1 << 40) + 1)]
    {
        place(&hallway, user, Some(draw)).await?;
    }
    let (late, later) = (place(&hallway, "late", None).await?, place(&hallway, "later", None).await?);
    ensure!(late.number.0 > BEHIND_THE_DRAWN && later.number.0 == late.number.0 + 1, "{late:?} {later:?}");
    for (rank, user) in ["early", "low", "middle", "next", "high", "late", "later"].into_iter().enumerate() {
        let place = hallway.place(user, What::Poll).await?;
        ensure!(place.rank == rank as u64, "{user} stands at {rank}: {place:?}");
        ensure!(place.number.0 < 1 << 53, "as JavaScript and Redis hold it: {place:?}");
    }
    let serving = hallway.serving().await?;
    ensure!(serving.serving == Number::drawn(3).0 && serving.waiting == 7, "two places: {serving:?}");
    for user in ["early", "low"] {
        hallway.comes_in(user).await?;
    }
    let entered = hallway.enter("middle").await?;
    ensure!(matches!(entered, Err(Refusal::NotReady { .. })), "{entered:?}");
    Ok(())
}

/// Whoever gathers is somebody new: the end of the line is theirs too.
async fn drawn_places_have_no_room_beyond_the_end(stand: &Stand) -> Verdict {
    let mut hallway = Hallway::new(stand, 9, 1).await?;
    hallway.waiting_room = WaitingRoom { queue_most: 2, gather_from: Some(Moment(1)), ..hallway.waiting_room };
    for (user, draw) in [("a", 20), ("b", 10), ("a", 20)] {
        place(&hallway, user, Some(draw)).await?;
    }
    let third = joins(&hallway, "c", Some(5)).await?;
    ensure!(third == QueueReply::Full, "a third of two: {third:?}");
    let by_ticket = Some(PlaceClaim::by_ticket(Number::drawn(5)));
    let back = hallway.ask_with("c", What::Poll, by_ticket).await?;
    ensure!(matches!(back, QueueReply::Place(Place { rank: 0, .. })), "a ticket finds its place: {back:?}");
    Ok(())
}

/// Two users may be drawn the same number. Both have that place, and neither stays in line for the other's sake.
async fn one_place_for_two(stand: &Stand) -> Verdict {
    let mut hallway = Hallway::new(stand, 9, 1).await?;
    // It is nobody's turn while somebody is inside.
    hallway.place("first", What::Join).await?;
    hallway.comes_in("first").await?;
    hallway.waiting_room.gather_from = Some(Moment(1));
    for (user, draw) in [("a", 7), ("b", 7), ("c", 9)] {
        place(&hallway, user, Some(draw)).await?;
    }
    let waiting = || async { Ok::<u64, String>(hallway.serving().await?.waiting) };
    ensure!(waiting().await? == 3, "{} wait", waiting().await?);
    hallway.later(30_000);
    place(&hallway, "a", None).await?;
    hallway.later(40_000);
    ensure!(waiting().await? == 1, "b and c are silent, a is not: {} wait", waiting().await?);
    let late = place(&hallway, "late", None).await?;
    ensure!(late.rank == 1, "{late:?}");
    hallway.later(70_000);
    ensure!(waiting().await? == 0, "all are silent: {} wait", waiting().await?);
    for user in ["a", "b"] {
        let back = hallway.place(user, What::Poll).await?;
        ensure!(back.number == Number::drawn(7), "{user}: {back:?}");
    }
    hallway.command("first", EventAction::Leave, None).await?;
    hallway.comes_in("a").await?;
    ensure!(waiting().await? == 1, "b still waits");
    hallway.command("a", EventAction::Leave, None).await?;
    let second = hallway.enter("b").await?;
    ensure!(second == Err(Refusal::NotQueued), "the number is spent: {second:?}");
    Ok(())
}

/// Two per minute, although there are a hundred places.
async fn pace_is_kept(stand: &Stand) -> Verdict {
    let mut hallway = Hallway::new(stand, 9, 100).await?;
    hallway.waiting_room.admit_per_minute = Some(2);
    for user in ["a", "b", "c"] {
        hallway.place(user, What::Join).await?;
    }
    hallway.comes_in("a").await?;
    hallway.later(10_000);
    hallway.comes_in("b").await?;
    for _ in 0..2 {
        let waits = hallway.place("c", What::Poll).await?;
        ensure!((waits.rank, waits.ahead) == (0, 1), "two came in this minute: {waits:?}");
        let entered = hallway.enter("c").await?;
        ensure!(matches!(entered, Err(Refusal::NotReady { .. })), "{entered:?}");
        let serving = hallway.serving().await?;
        ensure!(serving.admitted_per_minute == 2 && serving.serving < waits.number.0, "{serving:?}");
        hallway.later(15_000);
    }
    hallway.place("c", What::Poll).await?;
    hallway.later(35_000);
    hallway.comes_in("c").await.map(|_| ())
}

/// Not all of a minute at once: sixty per minute are ten in ten seconds. The running ten seconds may end meanwhile.
async fn pace_is_spread(stand: &Stand) -> Verdict {
    let mut hallway = Hallway::new(stand, 99, 1_000).await?;
    hallway.waiting_room.admit_per_minute = Some(60);
    let users: Vec<String> = (0..40).map(|i| format!("user{i}")).collect();
    for user in &users {
        hallway.place(user, What::Join).await?;
    }
    let mut entered = 0;
    for user in &users {
        entered += u64::from(hallway.enter(user).await?.is_ok());
    }
    ensure!((10..=20).contains(&entered), "{entered} came in at once");
    Ok(())
}

/// One in the first seconds is no pace of one per minute.
async fn pace_is_known_from_the_first(stand: &Stand) -> Verdict {
    let hallway = Hallway::new(stand, 9, 9).await?;
    let [free, paced, slow] =
        [None, Some(60), Some(2)].map(|admit_per_minute| WaitingRoom { admit_per_minute, ..hallway.waiting_room });
    for user in ["a", "b"] {
        hallway.place(user, What::Join).await?;
    }
    let serving = hallway.serving().await?;
    ensure!((serving.pace(&paced), serving.counted_ms) == (0, 60_000), "nobody came in: {serving:?}");
    hallway.comes_in("a").await?;
    let serving = hallway.serving().await?;
    ensure!((4..=60).contains(&serving.pace(&paced)), "in some ten seconds: {serving:?}");
    ensure!((serving.pace(&slow), serving.pace(&free)) == (2, 1), "no more than may come in: {serving:?}");
    hallway.later(30_000);
    let serving = hallway.serving().await?;
    ensure!((30_000..=45_000).contains(&serving.counted_ms) && serving.pace(&paced) <= 2, "{serving:?}");
    hallway.later(40_000);
    let serving = hallway.serving().await?;
    ensure!((serving.admitted_per_minute, serving.counted_ms) == (0, 60_000), "{serving:?}");
    Ok(())
}

/// They are settings of the event. The draw is fixed once somebody may wait for it.
async fn settings_are_stored(stand: &Stand) -> Verdict {
    let wall = stand.ledger.wall();
    let (from, opens) = (wall.plus_ms(HOUR_MS), wall.plus_ms(2 * HOUR_MS));
    let room = WaitingRoom { gather_from: Some(from), admit_per_minute: Some(77), ..ROOM };
    let hallway = Hallway::with(stand, 9, room, Some(opens)).await?;
    let stored = || async {
        let event = stand.ledger.event(hallway.event).await.map_err(|f| f.to_string())?.ok_or("no event")?;
        event.waiting_room.ok_or_else(|| "no waiting room".to_owned())
    };
    ensure!(stored().await? == room, "as it was made");
    let change = |room: WaitingRoomAmendment| async move {
        let amendment = EventAmendment { waiting_room: Some(Some(room)), ..EventAmendment::default() };
        Ok::<Outcome, String>(stand.one(hallway.event, stand.operate(EventAction::Amend(amendment))).await?.outcome)
    };
    let later = WaitingRoomAmendment { gather_from: Some(Some(from.plus_ms(1))), ..Default::default() };
    change(later).await?;
    ensure!(stored().await? == WaitingRoom { gather_from: Some(from.plus_ms(1)), ..room }, "moved before it began");
    (stand.advance)(HOUR_MS + 1_000);
    for gather_from in [Some(from), None] {
        let refused = change(WaitingRoomAmendment { gather_from: Some(gather_from), ..Default::default() }).await?;
        ensure!(matches!(refused, Outcome::Refused(Refusal::Invalid(_))), "it has begun: {refused:?}");
    }
    change(WaitingRoomAmendment { admit_per_minute: Some(None), ..Default::default() }).await?;
    let after = WaitingRoom { gather_from: Some(from.plus_ms(1)), admit_per_minute: None, ..room };
    ensure!(stored().await? == after, "the pace was taken away, the draw was not");
    // Without its room it gathers nobody, and it never will again: the seed would be the same.
    let without = EventAmendment { waiting_room: Some(None), ..EventAmendment::default() };
    stand.one(hallway.event, stand.operate(EventAction::Amend(without))).await?;
    let anew = change(WaitingRoomAmendment { gather_from: Some(Some(from)), ..Default::default() }).await?;
    ensure!(matches!(anew, Outcome::Refused(Refusal::Invalid(_))), "a second draw: {anew:?}");
    change(WaitingRoomAmendment::default()).await?;
    let plain = WaitingRoom { gathered: true, ..WaitingRoom::default() };
    ensure!(stored().await? == plain, "a plain room may come, and knows who stands in its line");
    let anew = change(WaitingRoomAmendment { gather_from: Some(Some(from)), ..Default::default() }).await?;
    ensure!(matches!(anew, Outcome::Refused(Refusal::Invalid(_))), "a second draw: {anew:?}");
    Ok(())
}

/// The event, and what the wall clock says after it was read.
async fn seen(hallway: &Hallway<'_>) -> Result<(Event, Moment), String> {
    let ledger = &hallway.stand.ledger;
    let event = ledger.event(hallway.event).await.map_err(|f| f.to_string())?.ok_or("no event")?;
    Ok((event, ledger.wall()))
}

async fn amend(hallway: &Hallway<'_>, opens_at: Moment) -> Result<Outcome, String> {
    let amendment = EventAmendment { opens_at: Some(Some(opens_at)), ..EventAmendment::default() };
    let command = hallway.stand.operate(EventAction::Amend(amendment));
    Ok(hallway.stand.one(hallway.event, command).await?.outcome)
}

/// The wall clock is set back after the seed may have been shown: nobody gathers again. The sale waits again all the
/// same, because it follows the wall clock.
async fn draw_stays_over(stand: &Stand) -> Verdict {
    let wall = stand.ledger.wall();
    let room = WaitingRoom { gather_from: Some(wall.plus_ms(-1_000)), ..ROOM };
    let hallway = Hallway::with(stand, 9, room, Some(wall.plus_ms(HOUR_MS))).await?;
    let batch = || async { stand.commit(hallway.event, vec![]).await.map(drop) };
    (stand.advance)(HOUR_MS + 1_000);
    batch().await?;
    let (open, wall) = seen(&hallway).await?;
    ensure!(open.state_at(wall) == State::Open && !open.gathers(wall) && !open.gathered, "its seed is kept: {open:?}");
    (stand.step_wall)(-HOUR_MS);
    let (before, wall) = seen(&hallway).await?;
    ensure!(before.gathers(wall), "nobody could know the seed: {before:?}");
    (stand.step_wall)(HOUR_MS);
    (stand.advance)(5_000);
    let (due, wall) = seen(&hallway).await?;
    ensure!(due.draw_ends(wall) && !due.gathered, "no batch has stored it: {due:?}");
    batch().await?;
    let (over, _) = seen(&hallway).await?;
    let room = over.waiting_room.ok_or("no waiting room")?;
    ensure!(over.gathered && room.gathered && over.state == State::Scheduled, "the draw is over: {over:?}");
    ensure!(over.counts.n == open.counts.n, "that is no row of the history");
    (stand.step_wall)(-HOUR_MS);
    let (after, wall) = seen(&hallway).await?;
    ensure!(!after.gathers(wall), "somebody would join who knows the seed: {after:?}");
    ensure!(after.state_at(wall) == State::Scheduled, "{after:?}");
    let postponed = amend(&hallway, wall.plus_ms(2 * HOUR_MS)).await?;
    ensure!(matches!(postponed, Outcome::Refused(Refusal::Invalid(_))), "it was drawn: {postponed:?}");
    (stand.step_wall)(HOUR_MS);
    seen(&hallway).await.map(drop)
}

/// An operator opened it, so that its seed is known, and wrote another opening into it afterwards.
async fn opened_event_gathers_nobody(stand: &Stand) -> Verdict {
    let wall = stand.ledger.wall();
    let room = WaitingRoom { gather_from: Some(wall.plus_ms(-HOUR_MS)), ..ROOM };
    let hallway = Hallway::with(stand, 9, room, Some(wall.plus_ms(HOUR_MS))).await?;
    stand.one(hallway.event, stand.operate(EventAction::Turn(Turn::Open))).await?;
    ensure!(seen(&hallway).await?.0.gathered, "the draw is over at once");
    let changed = amend(&hallway, wall.plus_ms(-1_000)).await?;
    ensure!(matches!(changed, Outcome::Done(_)), "it has opened, and stays so: {changed:?}");
    (stand.step_wall)(-HOUR_MS / 2);
    let (after, wall) = seen(&hallway).await?;
    ensure!(!after.gathers(wall), "somebody would join who knows the seed: {after:?}");
    (stand.step_wall)(HOUR_MS / 2);
    seen(&hallway).await.map(drop)
}
