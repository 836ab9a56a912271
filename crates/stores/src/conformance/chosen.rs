//! Chosen seats: the same rules as first come, first served; and the lowest free seat stays exact,
//! whichever seats were chosen before.

use std::collections::BTreeSet;
use std::sync::Arc;

use rules::event::stock::WALK_MOST;
use rules::ids::Seat;
use rules::outcome::{Refusal, Reserved};
use tokio::sync::Barrier;

use super::{Stand, Verdict, audit, expect_refusal, expect_sale, refusal, sale};
use crate::ensure;

pub async fn chapter(stand: &Stand) -> Verdict {
    one_seat_one_owner(stand).await?;
    the_lowest_free_seat_is_exact(stand).await?;
    in_one_batch(stand).await?;
    a_long_row_of_chosen_seats(stand).await?;
    one_seat_wanted_by_many(stand).await?;
    every_way_at_once(stand).await
}

async fn one_seat_one_owner(stand: &Stand) -> Verdict {
    let event = stand.event(9, 2).await?.id;
    let reserved = expect_sale(&stand.one(event, stand.choose("alice", 5)).await?)?;
    ensure!(reserved.seat == Seat(5) && reserved.remaining == 8, "{reserved:?}");
    expect_refusal(&stand.one(event, stand.choose("bob", 5)).await?, &Refusal::SeatTaken)?;
    let own = stand.one(event, stand.choose("alice", 5)).await?;
    expect_refusal(&own, &Refusal::AlreadyReserved { seat: Seat(5) })?;
    for none in [0, 10, u32::MAX] {
        expect_refusal(&stand.one(event, stand.choose("bob", none)).await?, &Refusal::NotFound)?;
    }
    expect_sale(&stand.one(event, stand.choose("alice", 9)).await?)?;
    let limit = stand.one(event, stand.choose("alice", 1)).await?;
    ensure!(matches!(refusal(&limit), Some(Refusal::Duplicate { seat: Seat(9), .. })), "at the limit: {limit:?}");
    let taken = stand.one(event, stand.choose("alice", 5)).await?;
    ensure!(matches!(refusal(&taken), Some(Refusal::Duplicate { .. })), "the limit comes first: {taken:?}");
    stand.one(event, stand.cancel("alice", reserved.reservation.n)).await?;
    let again = expect_sale(&stand.one(event, stand.choose("bob", 5)).await?)?;
    ensure!(again.seat == Seat(5), "{again:?}");
    Ok(())
}

async fn the_lowest_free_seat_is_exact(stand: &Stand) -> Verdict {
    let event = stand.event(8, 9).await?.id;
    let mut chosen = Vec::new();
    for seat in [2, 3, 6] {
        chosen.push(expect_sale(&stand.one(event, stand.choose("chooser", seat)).await?)?);
    }
    // Seat 3 comes back: a free row behind the cursor.
    stand.one(event, stand.cancel("chooser", chosen[1].reservation.n)).await?;
    for wanted in [1, 3, 4, 5, 7, 8] {
        let reserved = expect_sale(&stand.one(event, stand.reserve("crowd")).await?)?;
        ensure!(reserved.seat == Seat(wanted), "seat {:?} was given, {wanted} was the lowest", reserved.seat);
    }
    expect_refusal(&stand.one(event, stand.reserve("late")).await?, &Refusal::SoldOut)
}

async fn in_one_batch(stand: &Stand) -> Verdict {
    let event = stand.event(6, 1).await?.id;
    let batch = vec![
        stand.choose("a", 2),
        stand.reserve("b"),
        stand.reserve("c"),
        stand.choose("d", 3),
        stand.choose("e", 5),
        stand.reserve("f"),
        stand.reserve("g"),
    ];
    let answers = stand.commit(event, batch).await?;
    let seats: Vec<Option<u32>> = answers.iter().map(|a| sale(a).map(|r| r.seat.0)).collect();
    let wanted = [Some(2), Some(1), Some(3), None, Some(5), Some(4), Some(6)];
    ensure!(seats == wanted, "{seats:?} were given");
    expect_refusal(&answers[3], &Refusal::SeatTaken)
}

/// The cursor passes chosen seats. Refused batches pass a long run of them a part at a time, and each part once.
async fn a_long_row_of_chosen_seats(stand: &Stand) -> Verdict {
    let event = stand.event(3_000, 1).await?.id;
    for block in (2..=2_900u32).collect::<Vec<_>>().chunks(512) {
        let asked = block.iter().map(|seat| stand.choose(&format!("u{seat}"), *seat)).collect();
        let answers = stand.commit(event, asked).await?;
        ensure!(answers.iter().all(|a| sale(a).is_some()), "not every seat of a block was sold");
    }
    let first = expect_sale(&stand.one(event, stand.reserve("first")).await?)?;
    ensure!(first.seat == Seat(1), "{first:?}");
    for _ in 0..3 {
        let twice = stand.one(event, stand.reserve("first")).await?;
        ensure!(matches!(refusal(&twice), Some(Refusal::Duplicate { .. })), "{twice:?}");
    }
    let cursor = async || {
        let row = stand.ledger.event(event).await.map_err(|f| f.to_string())?.ok_or("no event")?;
        Ok::<u32, String>(row.counts.cursor)
    };
    let left = 2_900 - cursor().await?;
    ensure!(left < WALK_MOST as u32, "refused batches left {left} rows before the next seat");
    let next = expect_sale(&stand.one(event, stand.reserve("next")).await?)?;
    ensure!(next.seat == Seat(2_901), "{next:?}");
    ensure!(cursor().await? == 2_901, "the cursor stays behind: {}", cursor().await?);
    Ok(())
}

async fn one_seat_wanted_by_many(stand: &Stand) -> Verdict {
    let event = stand.event(3, 1).await?.id;
    let barrier = Arc::new(Barrier::new(12));
    let mut running = Vec::new();
    for i in 0..12 {
        let (stand, barrier) = (stand.clone(), barrier.clone());
        running.push(tokio::spawn(async move {
            barrier.wait().await;
            let user = format!("u{i}");
            let answer = stand.one(event, stand.choose(&user, 2)).await?;
            Ok::<_, String>((user, answer))
        }));
    }
    let mut told = Vec::new();
    for task in running {
        let (user, answer) = task.await.map_err(|e| e.to_string())??;
        match sale(&answer) {
            Some(reserved) => told.push((user, reserved.clone())),
            None => expect_refusal(&answer, &Refusal::SeatTaken)?,
        }
    }
    ensure!(told.len() == 1, "{} people have seat 2", told.len());
    audit(stand, event, &told, &[]).await
}

/// Lowest, chosen and returned seats, by many clients: all of the stock is sold, and never more.
async fn every_way_at_once(stand: &Stand) -> Verdict {
    const SEATS: u32 = 60;
    let event = stand.event(SEATS, 2).await?.id;
    let barrier = Arc::new(Barrier::new(8));
    let mut running = Vec::new();
    for task in 0..8u32 {
        let (stand, barrier) = (stand.clone(), barrier.clone());
        running.push(tokio::spawn(async move {
            barrier.wait().await;
            let (mut told, mut cancelled) = (Vec::<(String, Reserved)>::new(), Vec::new());
            for round in 0..12u32 {
                let user = format!("t{task}r{round}");
                let seat = 1 + (task * 7 + round * 13) % SEATS;
                let asked = vec![stand.choose(&user, seat), stand.reserve(&user)];
                for answer in stand.commit(event, asked).await? {
                    told.extend(sale(&answer).map(|reserved| (user.clone(), reserved.clone())));
                }
                if round % 3 == 0
                    && let Some((owner, reserved)) = told.last().cloned()
                    && !cancelled.contains(&reserved.reservation.n)
                {
                    stand.one(event, stand.cancel(&owner, reserved.reservation.n)).await?;
                    cancelled.push(reserved.reservation.n);
                }
            }
            Ok::<_, String>((told, cancelled))
        }));
    }
    let (mut told, mut cancelled) = (Vec::new(), Vec::new());
    for task in running {
        let (t, c) = task.await.map_err(|e| e.to_string())??;
        told.extend(t);
        cancelled.extend(c);
    }
    ensure!(!cancelled.is_empty() && told.len() > SEATS as usize / 2, "too little happened");
    let standing: BTreeSet<Seat> =
        told.iter().filter(|(_, r)| !cancelled.contains(&r.reservation.n)).map(|(_, r)| r.seat).collect();
    for seat in (1..=SEATS).map(Seat).filter(|seat| !standing.contains(seat)) {
        let reserved = expect_sale(&stand.one(event, stand.reserve(&format!("rest{}", seat.0))).await?)?;
        ensure!(reserved.seat == seat, "{:?} was given, {seat:?} was the lowest", reserved.seat);
        told.push((format!("rest{}", seat.0), reserved));
    }
    audit(stand, event, &told, &cancelled).await
}
