//! A line has an end. Whoever has a place in it keeps it.

use rules::command::EventAction;
use rules::entries::{WaitingRoom, WaitingRoomAmendment};
use rules::event::EventAmendment;
use rules::ids::{Number, User};
use rules::queue::{PlaceClaim, QueueReply, What};

use super::queue::{Hallway, ROOM};
use super::{Stand, Verdict};
use crate::ensure;

pub async fn chapter(stand: &Stand) -> Verdict {
    full_line_takes_nobody_new(stand).await?;
    looking_up_a_number_is_no_sign_of_life(stand).await?;
    tickets_find_their_place_in_a_full_line(stand).await?;
    end_of_the_line_is_stored(stand).await
}

/// Whoever is in it keeps their place; a place that is given up can be taken.
async fn full_line_takes_nobody_new(stand: &Stand) -> Verdict {
    let mut hallway = Hallway::new(stand, 9, 1).await?;
    hallway.waiting_room.queue_most = 3;
    for user in ["a", "b", "c"] {
        hallway.place(user, What::Join).await?;
    }
    for _ in 0..2 {
        let full = hallway.ask("d", What::Join).await?;
        ensure!(full == QueueReply::Full, "a fourth of three: {full:?}");
    }
    let place = hallway.place("c", What::Join).await?;
    ensure!(place.rank == 2, "joining again costs nothing: {place:?}");
    ensure!(hallway.ask("d", What::Poll).await? == QueueReply::NotQueued, "d has no place");
    hallway.ask("b", What::Leave).await?;
    let (joined, place) = (hallway.place("d", What::Join).await?, hallway.place("c", What::Poll).await?);
    ensure!(joined.number > place.number && joined.rank == 2, "{joined:?} {place:?}");
    // Silent users count: they have a place.
    (stand.advance)(ROOM.idle_ms + 1);
    let full = hallway.ask("e", What::Join).await?;
    ensure!(full == QueueReply::Full, "the silent keep their places: {full:?}");
    Ok(())
}

/// Whoever is silent is passed over, and keeps the number.
async fn looking_up_a_number_is_no_sign_of_life(stand: &Stand) -> Verdict {
    let hallway = Hallway::new(stand, 9, 1).await?;
    let number = |user: &str| {
        let found = stand.door.number_in_line(hallway.event, User::stored(user));
        async { found.await.map_err(|f| f.to_string()) }
    };
    ensure!(number("a").await?.is_none(), "nobody is in line");
    let (a, _) = (hallway.place("a", What::Join).await?, hallway.place("b", What::Join).await?);
    ensure!(number("a").await? == Some(a.number) && number("c").await?.is_none(), "a has {}", a.number.0);
    for _ in 0..3 {
        (stand.advance)(ROOM.idle_ms / 2);
        ensure!(number("a").await? == Some(a.number), "a keeps the place");
        hallway.place("b", What::Poll).await?;
    }
    let b = hallway.place("b", What::Poll).await?;
    ensure!(b.rank == 0, "a was silent: {b:?}");
    hallway.ask("a", What::Leave).await?;
    ensure!(number("a").await?.is_none(), "a has left");
    Ok(())
}

/// The ticket finds the old place, also in a full line; the line is never longer than twice its end.
async fn tickets_find_their_place_in_a_full_line(stand: &Stand) -> Verdict {
    let mut hallway = Hallway::new(stand, 9, 1).await?;
    hallway.waiting_room.queue_most = 3;
    let number = hallway.place("a", What::Join).await?.number;
    let later = |n: u64| Number(number.0 + 100 + n);
    hallway.ask("a", What::Leave).await?;
    for user in ["b", "c", "d"] {
        hallway.place(user, What::Join).await?;
    }
    for (user, number) in [("a", number), ("e", later(1)), ("f", later(2))] {
        match hallway.ask_with(user, What::Poll, Some(PlaceClaim::by_ticket(number))).await? {
            QueueReply::Place(place) => ensure!(place.number == number, "{user}: {place:?}"),
            other => return Err(format!("{user} shows a ticket: {other:?}")),
        }
    }
    let first = hallway.place("a", What::Poll).await?;
    ensure!(first.rank == 0, "before all who came later: {first:?}");
    let seventh = hallway.ask_with("g", What::Poll, Some(PlaceClaim::by_ticket(later(3)))).await?;
    ensure!(seventh == QueueReply::Full, "twice three are in it: {seventh:?}");
    Ok(())
}

/// It is a setting of the event, which can be changed.
async fn end_of_the_line_is_stored(stand: &Stand) -> Verdict {
    let hallway = Hallway::new(stand, 9, 1).await?;
    let stored = || async {
        let event = stand.ledger.event(hallway.event).await.map_err(|f| f.to_string())?.ok_or("no event")?;
        event.waiting_room.ok_or_else(|| "no waiting room".to_owned())
    };
    ensure!(stored().await? == hallway.waiting_room, "as it was made");
    let room = WaitingRoom { queue_most: 77, ..hallway.waiting_room };
    let change = WaitingRoomAmendment { queue_most: Some(77), ..WaitingRoomAmendment::default() };
    let amendment = EventAmendment { waiting_room: Some(Some(change)), ..EventAmendment::default() };
    stand.one(hallway.event, stand.operate(EventAction::Amend(amendment))).await?;
    ensure!(stored().await? == room, "as it was changed");
    Ok(())
}
