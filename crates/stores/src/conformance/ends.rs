//! Ends: what has ended is removed in bounded steps once it is old enough, and nothing else is.

use rules::arrive::{Arrival, Arrived};
use rules::command::{Command, EventAction};
use rules::holds::Ask;
use rules::ids::{ClientAddress, EventId, RequestName, Seat, User};
use rules::outcome::Refusal;
use rules::queue::{PlaceClaim, QueueReply, What};

use super::hotel::{client_key, expect_held};
use super::queue::Hallway;
use super::{Stand, Verdict, expect_refusal, expect_sale, with_key};
use crate::ensure;
use crate::ledger::LedgerFault;
use crate::ledger::tidy::{Aged, Tidied};

const DAY_MS: i64 = 86_400_000;

pub async fn chapter(stand: &Stand) -> Verdict {
    answers_end(stand).await?;
    holds_end(stand).await?;
    deleted_events_end(stand).await?;
    numbers_do_not_come_back(stand).await?;
    silent_users_are_forgotten(stand).await
}

fn fault(fault: LedgerFault) -> String {
    fault.to_string()
}

/// Tidies in steps of `most` until a step finds less. What was removed in all.
async fn all_steps(stand: &Stand, what: Aged, keep_ms: i64, most: usize) -> Result<usize, String> {
    let mut all = 0;
    loop {
        let tidied = stand.ledger.tidy(what, keep_ms, most).await.map_err(fault)?;
        ensure!(tidied.rows() <= most, "a step of {most} removed {tidied:?}");
        all += tidied.rows();
        if tidied.rows() < most {
            return Ok(all);
        }
    }
}

async fn answers_end(stand: &Stand) -> Verdict {
    let event = stand.event(60, 1).await?.id;
    // What other chapters left.
    (stand.advance)(DAY_MS);
    all_steps(stand, Aged::Answers, DAY_MS, 500).await?;
    let old: Vec<Command> = (0..25).map(|i| with_key(stand.reserve(&format!("old{i}")), "k", 1)).collect();
    stand.commit(event, old).await?;
    (stand.advance)(DAY_MS / 2);
    let young = || with_key(stand.reserve("young"), "k", 1);
    let first = expect_sale(&stand.one(event, young()).await?)?;
    ensure!(all_steps(stand, Aged::Answers, DAY_MS, 10).await? == 0, "answers of half a day were removed");
    ensure!(all_steps(stand, Aged::Answers, 1, 10).await? == 0, "answers were removed that are still repeated");
    (stand.advance)(DAY_MS / 2);
    let gone = all_steps(stand, Aged::Answers, DAY_MS, 10).await?;
    ensure!(gone == 25, "{gone} of 25 old answers were removed");
    let again = stand.one(event, young()).await?;
    ensure!(expect_sale(&again)?.seat == first.seat, "a young answer is gone: {:?}", again.outcome);
    let row = stand.ledger.event(event).await.map_err(fault)?.ok_or("no event")?;
    ensure!(row.counts.sold == 26, "sales went with their answers: {:?}", row.counts);
    Ok(())
}

async fn hold(stand: &Stand, event: EventId, user: &str, seat: u32) -> Result<rules::holds::Hold, String> {
    let action = EventAction::Hold { seats: vec![Seat(seat)], key: client_key(stand.next()).into() };
    let wants = Command { number: None, action, ..stand.reserve(user) };
    expect_held(&stand.one(event, wants).await?)
}

async fn ask(stand: &Stand, event: EventId, user: &str, n: u64, ask: Ask) -> Verdict {
    let command = Command { number: None, action: EventAction::OnHold { n, ask }, ..stand.reserve(user) };
    stand.one(event, command).await.map(drop)
}

async fn holds_end(stand: &Stand) -> Verdict {
    let event = stand.event(40, 4).await?.id;
    all_steps(stand, Aged::Holds, 0, 500).await?;
    let confirmed = hold(stand, event, "buyer", 1).await?;
    ask(stand, event, "buyer", confirmed.id.n, Ask::Confirm).await?;
    let mut ended = Vec::new();
    for seat in 2..10 {
        let held = hold(stand, event, &format!("u{seat}"), seat).await?;
        if seat % 2 == 0 {
            ask(stand, event, &format!("u{seat}"), held.id.n, Ask::Cancel).await?;
        }
        ended.push(held.id);
    }
    (stand.advance)(DAY_MS);
    // The next batch expires what has lapsed.
    let live = hold(stand, event, "live", 20).await?;
    let gone = all_steps(stand, Aged::Holds, DAY_MS, 3).await?;
    ensure!(gone == 4, "{gone} of the 4 cancelled holds were removed after a day");
    (stand.advance)(DAY_MS);
    let last = hold(stand, event, "last", 21).await?;
    let gone = all_steps(stand, Aged::Holds, DAY_MS, 3).await?;
    ensure!(gone == 4, "{gone} of the 4 expired holds were removed after another day");
    for id in ended {
        ensure!(stand.ledger.hold(id).await.map_err(fault)?.found.is_none(), "hold {id} is still there");
    }
    for id in [confirmed.id, live.id, last.id] {
        ensure!(stand.ledger.hold(id).await.map_err(fault)?.found.is_some(), "hold {id} is gone");
    }
    Ok(())
}

/// An event that was sold, held, entered and cancelled, and then deleted.
async fn lived(stand: &Stand) -> Result<EventId, String> {
    let line = Hallway::new(stand, 30, 9).await?;
    let mut sold = Vec::new();
    for user in ["a", "b", "c", "d"] {
        line.ask(user, What::Join).await?;
        let entry = line.enter(user).await?.map_err(|refusal| format!("{refusal:?}"))?;
        let reserve = Command { entry: Some(entry.token), ..with_key(stand.reserve(user), "k", 1) };
        sold.push((user, expect_sale(&stand.one(line.event, reserve).await?)?));
    }
    expect_refusal(&stand.one(line.event, stand.operate(EventAction::Delete)).await?, &Refusal::InUse)?;
    for (user, sale) in sold {
        stand.one(line.event, stand.cancel(user, sale.reservation.n)).await?;
    }
    let deleted = stand.one(line.event, stand.operate(EventAction::Delete)).await?;
    ensure!(super::refusal(&deleted).is_none(), "{:?}", deleted.outcome);
    Ok(line.event)
}

async fn deleted_events_end(stand: &Stand) -> Verdict {
    let stays = stand.event(9, 1).await?.id;
    let sale = expect_sale(&stand.one(stays, stand.reserve("keeper")).await?)?;
    let event = lived(stand).await?;
    let history = stand.ledger.history(event, 0, 1_000).await.map_err(fault)?;
    let waiting = stand.ledger.deleted_events(DAY_MS, 1_000).await.map_err(fault)?;
    ensure!(!waiting.contains(&event), "an event is to be tidied as soon as it is deleted");
    (stand.advance)(DAY_MS);
    let waiting = stand.ledger.deleted_events(DAY_MS, 1_000).await.map_err(fault)?;
    ensure!(waiting.contains(&event) && !waiting.contains(&stays), "to be tidied: {waiting:?}");
    ensure!(stand.ledger.tidy_event(stays, 10).await.map_err(fault)? == Tidied::default(), "a live event was tidied");
    let mut all = Tidied::default();
    for _ in 0..100 {
        let step = stand.ledger.tidy_event(event, 3).await.map_err(fault)?;
        ensure!(step.rows() <= 3, "a step of 3 removed {step:?}");
        all.entries += step.entries;
        all.seats += step.seats;
        all.answers += step.answers;
        all.halls += step.halls;
        all.events += step.events;
    }
    let wanted = Tidied { entries: 4, seats: 4, answers: 4, halls: 1, events: 1, holds: 0, personal: 0 };
    ensure!(all == wanted, "{all:?} was removed instead of {wanted:?}");
    let waiting = stand.ledger.deleted_events(DAY_MS, 1_000).await.map_err(fault)?;
    ensure!(!waiting.contains(&event), "a tidied event is tidied again and again");
    stand.ledger.forget_unused();
    stand.ledger.forget_unused();
    let row = stand.ledger.event(event).await.map_err(fault)?.ok_or("the row of a deleted event is gone")?;
    ensure!(row.deleted && row.seat_count() == 30, "{row:?}");
    ensure!(stand.ledger.history(event, 0, 1_000).await.map_err(fault)? == history, "the history changed");
    let next = stand.event(9, 1).await?.id;
    ensure!(next > event, "the id of a deleted event was used again: {next}");
    let standing = stand.ledger.sale_of_seat(stays, sale.seat).await.map_err(fault)?;
    ensure!(standing.is_some(), "a sale of another event is gone");
    let sold = stand.one(stays, stand.reserve("another")).await?;
    expect_sale(&sold).map(drop)
}

async fn numbers_do_not_come_back(stand: &Stand) -> Verdict {
    let event = stand.event(9, 1).await?.id;
    let arrive = |name: u64| {
        let address = ClientAddress::V4([127, 0, 0, 1]);
        let arrival = Arrival { name: RequestName(name.into()), user: Some(User::stored("a")), address, keyed: true };
        stand.door.arrive(event, vec![arrival])
    };
    let open = || async {
        let generation = stand.ledger.raise_generation(event, None).await.map_err(fault)?;
        stand.door.open(event, generation).await.map_err(|f| f.to_string())
    };
    open().await?;
    let first = arrive(1).await.map_err(|f| f.to_string())?;
    stand.door.forget(event).await.map_err(|f| f.to_string())?;
    let none = arrive(2).await.map_err(|f| f.to_string())?;
    ensure!(none == [Arrived::NoNumber], "a forgotten door gave a number: {none:?}");
    open().await?;
    let again = arrive(3).await.map_err(|f| f.to_string())?;
    match (&first[..], &again[..]) {
        ([Arrived::Number(first)], [Arrived::Number(again)]) if again > first => {}
        other => return Err(format!("numbers came back: {other:?}")),
    }
    // Of a deleted event nobody opens the door again, however late they learn that it is deleted.
    stand.one(event, stand.operate(EventAction::Delete)).await?;
    stand.door.forget(event).await.map_err(|f| f.to_string())?;
    let opened = stand.ledger.raise_generation(event, None).await;
    ensure!(opened == Err(LedgerFault::NoSuchSubject), "the door of a deleted event opens again: {opened:?}");
    Ok(())
}

async fn silent_users_are_forgotten(stand: &Stand) -> Verdict {
    let line = Hallway::new(stand, 9, 1).await?;
    let places = [line.place("a", What::Join).await?, line.place("b", What::Join).await?];
    for user in ["c", "d", "e", "f"] {
        line.ask(user, What::Join).await?;
    }
    let forget = |most| async move {
        stand.door.forget_silent(line.event, line.waiting_room, DAY_MS, most).await.map_err(|f| f.to_string())
    };
    let forgotten = forget(100).await?;
    ensure!((forgotten.forgotten, forgotten.left) == (0, 6), "users who wait were forgotten: {forgotten:?}");
    // Nobody asks any more and all are passed over; `f` comes back half a day later.
    (stand.advance)(line.waiting_room.idle_ms + 1_000);
    forget(100).await?;
    (stand.advance)(DAY_MS / 2);
    line.ask("f", What::Poll).await?;
    (stand.advance)(DAY_MS / 2);
    let forgotten = forget(2).await?;
    ensure!((forgotten.forgotten, forgotten.left) == (2, 4), "a step of 2: {forgotten:?}");
    let forgotten = forget(100).await?;
    ensure!((forgotten.forgotten, forgotten.left) == (3, 1), "those who were silent for a day: {forgotten:?}");
    // The ticket still proves the place.
    let back = line.ask_with("b", What::Poll, Some(PlaceClaim::by_ticket(places[1].number))).await?;
    ensure!(matches!(&back, QueueReply::Place(place) if place.number == places[1].number), "{back:?}");
    let unproven = line.ask("c", What::Poll).await?;
    ensure!(unproven == QueueReply::NotQueued, "{unproven:?}");
    Ok(())
}
