//! Carts: seats on hold, one or many, all or none; beside first come, first served and chosen
//! seats, and under contention for overlapping sets.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rules::command::{Command, EventAction};
use rules::decide::Answer;
use rules::history::Happened;
use rules::holds::{Ask, Hold, On};
use rules::ids::{EventId, Seat};
use rules::outcome::{Done, Forbidden, Limit, Outcome, Refusal};
use tokio::sync::Barrier;

use super::hotel::{client_key, expect_held, held};
use super::{Stand, Verdict, expect_refusal, expect_sale, refusal, sale};
use crate::ensure;
use crate::ledger::LedgerFault;

pub async fn chapter(stand: &Stand) -> Verdict {
    all_or_none(stand).await?;
    repeat_replace_conflict(stand).await?;
    limits(stand).await?;
    held_out(stand).await?;
    confirm_and_give_back(stand).await?;
    what_lapsed_is_free(stand).await?;
    in_one_batch(stand).await?;
    overlapping_sets(stand).await
}

fn wants(stand: &Stand, user: &str, seats: &[u32], key: u64) -> Command {
    let seats = seats.iter().copied().map(Seat).collect();
    Command { number: None, action: EventAction::Hold { seats, key: client_key(key).into() }, ..stand.reserve(user) }
}

fn asks(stand: &Stand, user: &str, n: u64, ask: Ask) -> Command {
    Command { number: None, action: EventAction::OnHold { n, ask }, ..stand.reserve(user) }
}

async fn hold(stand: &Stand, event: EventId, user: &str, seats: &[u32], key: u64) -> Result<Hold, String> {
    expect_held(&stand.one(event, wants(stand, user, seats, key)).await?)
}

fn unavailable(seats: &[u32]) -> Refusal {
    Refusal::NotAvailable { nights: vec![], seats: seats.iter().copied().map(Seat).collect() }
}

async fn remaining(stand: &Stand, event: EventId) -> Result<u32, String> {
    let row = stand.ledger.event(event).await.map_err(|f| f.to_string())?.ok_or("no event")?;
    Ok(row.remaining())
}

/// The history lists the seats of every hold and ends each hold once; the counts agree with it.
async fn audit(stand: &Stand, event: EventId) -> Verdict {
    let fault = |f: LedgerFault| f.to_string();
    let row = stand.ledger.event(event).await.map_err(fault)?.ok_or("no event")?;
    let history = stand.ledger.history(event, 0, usize::MAX >> 1).await.map_err(fault)?;
    let mut state: HashMap<Seat, (Happened, Option<u64>)> = HashMap::new();
    for (i, entry) in history.iter().enumerate() {
        ensure!(entry.n == i as u64 + 1, "history number {} stands at place {}", entry.n, i + 1);
        let Some(seat) = entry.seat else { continue };
        let before = state.insert(seat, (entry.what, entry.hold));
        let of_hold = |what: &[Happened]| before.is_some_and(|(b, hold)| what.contains(&b) && hold == entry.hold);
        let fits = match entry.what {
            Happened::Held => {
                !before.is_some_and(|(b, _)| matches!(b, Happened::Held | Happened::Extended | Happened::Reserved))
            }
            Happened::Reserved if entry.hold.is_none() => {
                !before.is_some_and(|(b, _)| matches!(b, Happened::Held | Happened::Extended | Happened::Reserved))
            }
            Happened::Cancelled => before.is_some_and(|(b, _)| b == Happened::Reserved),
            _ => of_hold(&[Happened::Held, Happened::Extended]),
        };
        ensure!(fits, "seat {}: {:?} behind {before:?}", seat.0, entry.what);
    }
    let count = |what: &[Happened]| state.values().filter(|(w, _)| what.contains(w)).count();
    let (sold, on_hold) = (count(&[Happened::Reserved]), count(&[Happened::Held, Happened::Extended]));
    let counts = row.counts;
    ensure!(
        (counts.sold as usize, counts.held as usize) == (sold, on_hold),
        "{counts:?}, the history says {sold} sold and {on_hold} held"
    );
    let standing = stand.ledger.reservations_in(event, None, usize::MAX >> 1).await.map_err(fault)?;
    ensure!(standing.len() == sold, "{} stand, {sold} were sold", standing.len());
    Ok(())
}

async fn all_or_none(stand: &Stand) -> Verdict {
    let event = stand.event(9, 6).await?.id;
    let cart = hold(stand, event, "alice", &[3, 5, 7], 1).await?;
    ensure!(cart.on == On::Seats(vec![Seat(3), Seat(5), Seat(7)]), "{cart:?}");
    expect_refusal(&stand.one(event, wants(stand, "bob", &[4, 5, 6, 7], 2)).await?, &unavailable(&[5, 7]))?;
    ensure!(remaining(stand, event).await? == 6, "a refused cart left something");
    for none in [[0, 1], [1, 10]] {
        expect_refusal(&stand.one(event, wants(stand, "bob", &none, 3)).await?, &Refusal::NotFound)?;
    }
    expect_refusal(&stand.one(event, stand.choose("bob", 5)).await?, &Refusal::SeatTaken)?;
    let own = stand.one(event, stand.choose("alice", 5)).await?;
    expect_refusal(&own, &Refusal::AlreadyReserved { seat: Seat(5) })?;
    // First come, first served skips held seats.
    for seat in [1, 2, 4, 6, 8, 9] {
        let given = expect_sale(&stand.one(event, stand.reserve(&format!("u{seat}"))).await?)?;
        ensure!(given.seat == Seat(seat), "{given:?} instead of {seat}");
    }
    audit(stand, event).await
}

async fn repeat_replace_conflict(stand: &Stand) -> Verdict {
    let event = stand.event(9, 4).await?.id;
    let first = hold(stand, event, "alice", &[2, 3], 1).await?;
    let again = stand.one(event, wants(stand, "alice", &[2, 3], 1)).await?;
    ensure!(matches!(&again.outcome, Outcome::Done(Done::Held { fresh: false, .. })), "{again:?}");
    expect_refusal(&stand.one(event, wants(stand, "bob", &[2, 3], 1)).await?, &Refusal::HoldKeyConflict)?;
    // Another set under the same key is another hold, if its seats are free.
    expect_refusal(&stand.one(event, wants(stand, "alice", &[3, 4], 1)).await?, &unavailable(&[3]))?;
    let replaced = hold(stand, event, "alice", &[2, 3], 2).await?;
    ensure!(replaced.first_at == first.first_at && replaced.id != first.id, "{replaced:?}");
    expect_refusal(&stand.one(event, asks(stand, "alice", first.id.n, Ask::Cancel)).await?, &Refusal::HoldNotFound)?;
    ensure!(remaining(stand, event).await? == 7, "a replacement is held twice");
    audit(stand, event).await
}

async fn limits(stand: &Stand) -> Verdict {
    let event = stand.event(30, 3).await?.id;
    hold(stand, event, "alice", &[1, 2], 1).await?;
    let three = stand.one(event, wants(stand, "alice", &[3, 4], 2)).await?;
    let limit = Limit::Seats { asked: 2, has: 2, most: 3 };
    expect_refusal(&three, &Refusal::LimitReached { seats: vec![Seat(1), Seat(2)], limit })?;
    let four = stand.one(event, wants(stand, "dave", &[3, 4, 5, 6], 7)).await?;
    let limit = Limit::Seats { asked: 4, has: 0, most: 3 };
    expect_refusal(&four, &Refusal::LimitReached { seats: vec![], limit })?;
    hold(stand, event, "alice", &[9], 3).await?;
    let limit = Limit::Seats { asked: 1, has: 3, most: 3 };
    let held = Refusal::LimitReached { seats: vec![Seat(1), Seat(2), Seat(9)], limit };
    expect_refusal(&stand.one(event, stand.reserve("alice")).await?, &held)?;
    expect_refusal(&stand.one(event, wants(stand, "alice", &[10], 4)).await?, &held)?;
    // Bought and held seats count together; the refusal names the newest bought one.
    expect_sale(&stand.one(event, stand.choose("bob", 20)).await?)?;
    hold(stand, event, "bob", &[21, 22], 5).await?;
    let both = stand.one(event, stand.reserve("bob")).await?;
    ensure!(matches!(refusal(&both), Some(Refusal::Duplicate { seat: Seat(20), .. })), "{both:?}");
    let many = stand.event(30, 30).await?.id;
    for i in 1..=5 {
        hold(stand, many, "carol", &[i], u64::from(i)).await?;
    }
    let sixth = stand.one(many, wants(stand, "carol", &[6], 6)).await?;
    ensure!(
        matches!(refusal(&sixth), Some(Refusal::LimitReached { seats, limit: Limit::Holds { most: 5, .. } }) if seats.len() == 5),
        "{sixth:?}"
    );
    audit(stand, event).await
}

async fn held_out(stand: &Stand) -> Verdict {
    let event = stand.event(3, 3).await?.id;
    expect_sale(&stand.one(event, stand.choose("owner", 2)).await?)?;
    hold(stand, event, "alice", &[1], 1).await?;
    (stand.advance)(100_000);
    let cart = hold(stand, event, "bob", &[3], 2).await?;
    let out = stand.one(event, stand.reserve("late")).await?;
    let Some(Refusal::HeldOut { retry_after }) = refusal(&out) else { return Err(format!("{out:?}")) };
    ensure!((480..=500).contains(retry_after), "the first hold ends in about 500 s, not {retry_after}");
    stand.one(event, asks(stand, "bob", cart.id.n, Ask::Cancel)).await?;
    let given = expect_sale(&stand.one(event, stand.reserve("late")).await?)?;
    ensure!(given.seat == Seat(3), "{given:?}");
    let shown = stand.ledger.held_seats(event).await.map_err(|f| f.to_string())?;
    ensure!(shown.found.iter().map(|(seat, _)| seat.0).eq([1]), "{shown:?}");
    audit(stand, event).await
}

async fn confirm_and_give_back(stand: &Stand) -> Verdict {
    let fault = |f: LedgerFault| f.to_string();
    let event = stand.event(9, 4).await?.id;
    let cart = hold(stand, event, "alice", &[2, 8], 1).await?;
    let (n, another) = (cart.id.n, Refusal::Forbidden(Forbidden::AnothersHold));
    for ask in [Ask::Confirm, Ask::Cancel, Ask::Extend] {
        expect_refusal(&stand.one(event, asks(stand, "mallory", n, ask)).await?, &another)?;
    }
    (stand.advance)(60_000);
    let longer = expect_held(&stand.one(event, asks(stand, "alice", n, Ask::Extend)).await?)?;
    ensure!(longer.ends_at > cart.ends_at, "{longer:?}");
    let paid = stand.one(event, asks(stand, "alice", n, Ask::Confirm)).await?;
    let Outcome::Done(Done::Confirmed { hold: paid }) = &paid.outcome else { return Err(format!("{paid:?}")) };
    ensure!(paid.reserved.len() == 2, "{paid:?}");
    let again = stand.one(event, asks(stand, "alice", n, Ask::Confirm)).await?;
    ensure!(matches!(refusal(&again), Some(Refusal::HoldProcessed { confirmed: Some(_) })), "{again:?}");
    let mine = stand.ledger.reservations_in(event, None, 9).await.map_err(fault)?;
    ensure!(
        mine.iter().map(|r| (r.sale.seat.0, r.sale.n)).eq([(2, paid.reserved[0]), (8, paid.reserved[1])]),
        "{mine:?}"
    );
    let given_back = stand.one(event, stand.cancel("alice", paid.reserved[0])).await?;
    ensure!(given_back.outcome == Outcome::Done(Done::Cancelled), "{given_back:?}");
    let next = expect_sale(&stand.one(event, stand.choose("bob", 2)).await?)?;
    ensure!(next.seat == Seat(2), "{next:?}");
    audit(stand, event).await
}

async fn what_lapsed_is_free(stand: &Stand) -> Verdict {
    let event = stand.event(4, 4).await?.id;
    let cart = hold(stand, event, "alice", &[1, 2, 3, 4], 1).await?;
    let out = stand.one(event, stand.reserve("bob")).await?;
    ensure!(matches!(refusal(&out), Some(Refusal::HeldOut { .. })), "{out:?}");
    (stand.advance)(600_000);
    // Shown by reading alone: no batch has ended the hold yet.
    ensure!(remaining(stand, event).await? == 4, "a ghost is held");
    let is_held = stand.ledger.seat_is_held(event, Seat(1)).await.map_err(|f| f.to_string())?;
    ensure!(!is_held, "a ghost is held");
    let given = expect_sale(&stand.one(event, stand.reserve("bob")).await?)?;
    ensure!(given.seat == Seat(1) && given.remaining == 3, "{given:?}");
    expect_refusal(&stand.one(event, asks(stand, "alice", cart.id.n, Ask::Confirm)).await?, &Refusal::HoldExpired)?;
    let chosen = expect_sale(&stand.one(event, stand.choose("carol", 3)).await?)?;
    ensure!(chosen.seat == Seat(3), "{chosen:?}");
    hold(stand, event, "alice", &[2, 4], 1).await?;
    audit(stand, event).await
}

/// Two double clicks, a cancellation and a waiting request, all in one batch.
async fn in_one_batch(stand: &Stand) -> Verdict {
    let event = stand.event(6, 4).await?.id;
    let cart = hold(stand, event, "alice", &[1, 2], 1).await?;
    let batch = vec![
        wants(stand, "bob", &[3, 4], 2),
        wants(stand, "bob", &[3, 4], 3),
        wants(stand, "bob", &[3, 4], 3),
        wants(stand, "carol", &[2, 5], 4),
        asks(stand, "alice", cart.id.n, Ask::Cancel),
        stand.reserve("dave"),
    ];
    let answers = stand.commit(event, batch).await?;
    let (first, second, third) = (expect_held(&answers[0])?, expect_held(&answers[1])?, expect_held(&answers[2])?);
    ensure!(first.id != second.id && second == third, "{first:?} {second:?} {third:?}");
    expect_held(&answers[3])?;
    ensure!(answers[4].outcome == Outcome::Done(Done::Released), "{:?}", answers[4]);
    ensure!(sale(&answers[5]).is_some_and(|s| s.seat == Seat(1)), "{:?}", answers[5]);
    let paid = stand.one(event, asks(stand, "bob", second.id.n, Ask::Confirm)).await?;
    ensure!(matches!(paid.outcome, Outcome::Done(Done::Confirmed { .. })), "{paid:?}");
    audit(stand, event).await
}

async fn tried(stand: &Stand, event: EventId, command: Command) -> Result<Answer, String> {
    let commands = Arc::new(vec![command]);
    for _ in 0..50 {
        let batch = crate::ledger::Batch::new(event, commands.clone(), Default::default());
        match stand.ledger.commit(batch).await {
            Ok(committed) => return committed.answers.into_iter().next().ok_or_else(|| "no answer".into()),
            Err(LedgerFault::Locked | LedgerFault::Passing(_)) => {}
            Err(fault) => return Err(fault.to_string()),
        }
    }
    Err("the lock was never to be had".into())
}

/// Carts of two to six seats out of twenty, from eight clients at a barrier: whole sets only.
async fn overlapping_sets(stand: &Stand) -> Verdict {
    let event = stand.event(20, 6).await?.id;
    let barrier = Arc::new(Barrier::new(8));
    let mut running = Vec::new();
    for task in 0..8u64 {
        let (stand, barrier) = (stand.clone(), barrier.clone());
        running.push(tokio::spawn(async move {
            barrier.wait().await;
            shop(&stand, event, task).await
        }));
    }
    let (mut kept, mut refused) = (Vec::new(), 0);
    for task in running {
        let (mine, no) = task.await.map_err(|e| e.to_string())??;
        kept.extend(mine);
        refused += no;
    }
    ensure!(!kept.is_empty() && refused > 0, "{} carts kept and {refused} refused show nothing", kept.len());
    let mut seats = BTreeSet::new();
    for seat in kept.iter().flatten() {
        ensure!(seats.insert(*seat), "seat {} was paid twice", seat.0);
    }
    let standing = stand.ledger.reservations_in(event, None, 100).await.map_err(|f| f.to_string())?;
    ensure!(standing.iter().map(|r| r.sale.seat).eq(seats.iter().copied()), "{standing:?} is not {seats:?}");
    audit(stand, event).await
}

/// The carts that one client paid for, and how many it did not get.
async fn shop(stand: &Stand, event: EventId, task: u64) -> Result<(Vec<Vec<Seat>>, usize), String> {
    let (mut kept, mut refused) = (Vec::new(), 0);
    let mut dice = task + 77;
    let mut roll = |below: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % below
    };
    for round in 0..12u64 {
        let user = format!("t{task}r{round}");
        let mut seats = BTreeSet::new();
        while seats.len() < 2 + (task as usize + round as usize) % 5 {
            seats.insert(1 + roll(20) as u32);
        }
        let seats: Vec<u32> = seats.into_iter().collect();
        let answer = tried(stand, event, wants(stand, &user, &seats, task * 100 + round)).await?;
        let Some(cart) = held(&answer) else {
            ensure!(matches!(refusal(&answer), Some(Refusal::NotAvailable { .. })), "{answer:?}");
            refused += 1;
            continue;
        };
        let ask = if roll(4) == 0 { Ask::Confirm } else { Ask::Cancel };
        let ended = tried(stand, event, asks(stand, &user, cart.id.n, ask)).await?;
        match (&ended.outcome, ask) {
            (Outcome::Done(Done::Confirmed { .. }), Ask::Confirm) => kept.push(seats.into_iter().map(Seat).collect()),
            (Outcome::Done(Done::Released), Ask::Cancel) => {}
            _ => return Err(format!("{ask:?} was answered {ended:?}")),
        }
    }
    Ok((kept, refused))
}
